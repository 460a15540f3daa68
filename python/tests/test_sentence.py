"""The first sentence of a report: what every engine did, rounded to what is known, and nothing invalid in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis import parts
from inrush.analysis import sentence as sentences
from inrush.analysis.answer import answer
from inrush.analysis.overview import Cell, overview
from inrush.analysis.points import Analysis, Measured
from inrush.analysis.sentence import beside, level
from inrush.analysis.settled import headed
from inrush.analysis.verdicts import Verdict, invalid
from inrush.guards.analyse import analysis_of
from inrush.stats.quantity import known, show, show_known
from inrush.stats.record import Absent, RunRecord, StudyRecord
from inrush.stats.run_figures import figures_of_run
from inrush.stats.stats import Interval
from tests import synthetic
from tests.synthetic import SECOND

SAMPLES, ROWS = 40, 20_000
KEEPS_UP = {"kind": "keeps_up", "of": "writers.in_time_share", "along": "readers", "per": ["engine"]}
LATE = "client on time"
#: Of the blocks, so that an interval knows two digits.
SPREAD = (0.98, 1.0, 1.02)


def paced(
    engine: str, readers: int, block: int, stored_s: Sequence[float], every_s: float = 1.0
) -> RunRecord:
    """A run that writes a sample of ROWS rows each `every_s`, each stored after a known time, while readers look."""
    due_ns = [SECOND + round(i * every_s * SECOND) for i in range(len(stored_s))]
    samples = [
        {"segment": 2, "repetition": 0, "role": "writers", "sample": i, "due_ns": due, "collected_ns": due, "sent_ns": due,
         "done_ns": due + round(s * SECOND), "rows": ROWS, "sent_on_time_ns": due, "done_on_time_ns": due + round(s * SECOND)}
        for i, (due, s) in enumerate(zip(due_ns, stored_s, strict=True))
    ]  # fmt: skip
    made = synthetic.run(
        engine, {"readers": readers}, block, makespan_s=len(stored_s) * every_s, rows=ROWS * len(stored_s),
        batch_rows=ROWS // 4, writers=4, more={"samples": samples}, resources=False, interval_s=every_s,
        reader_ns=[10**6 * (k + 1) for k in range(100)] if readers else (),
    )  # fmt: skip
    control, measured = made.plan["segments"]
    writers, *others = measured["roles"]
    sampled = {**writers, "schedule": {"kind": "samples", "every_ns": round(every_s * SECOND), "parts": 4},
               "work": {"kind": "rows", "batch_rows": ROWS // 4}}  # fmt: skip
    looking = [{**role, "sessions": readers} for role in others]
    plan = {**made.plan, "segments": [control, {**measured, "roles": [sampled, *looking]}]}
    return replace(made, plan=plan)


def analysed(
    runs: Sequence[RunRecord], doc: Mapping[str, Any], verdicts: Mapping[str, Sequence[Verdict]] | None = None
) -> Analysis:
    """Runs with their figures; verdicts as the test says, by engine."""
    measured = [Measured(run, figures_of_run(run), (verdicts or {}).get(run.engine, ())) for run in runs]
    return analysis_of(StudyRecord({**synthetic.STUDY, "accept": {}, **doc}, runs), measured)


def kept(
    times_s: Mapping[tuple[str, int], float],
    verdicts: Mapping[str, Sequence[Verdict]] | None = None,
    every_s: float = 1.0,
) -> Analysis:
    """(engine, readers) -> seconds that a sample takes, in three blocks."""
    runs = [
        paced(engine, readers, block, [s * spread] * SAMPLES, every_s)
        for block, spread in enumerate(SPREAD, start=1)
        for (engine, readers), s in times_s.items()
    ]
    return analysed(runs, {"answer": KEEPS_UP}, verdicts)


def sentence(analysis: Analysis) -> str:
    return sentences.sentence(analysis, answer(analysis))


ALL = {
    (engine, readers): s
    for readers in (0, 4)
    for engine, s in (("postgresql", 0.085), ("clickhouse", 0.030), ("mysql", 0.165))
}


def test_all_engines_that_keep_up_are_one_clause_and_their_percentiles_stand_in_order() -> None:
    assert sentence(kept(ALL)) == (
        "All three keep up at 20,000 rows/s with 4 readers; a second's rows take ClickHouse 31, PostgreSQL 87, MySQL 168 ms (p99). "
        "3 runs each."
    )


def test_readers_that_every_point_had_are_part_of_the_load() -> None:
    alone = {(engine, readers): s for (engine, readers), s in ALL.items() if readers and engine != "mysql"}
    assert sentence(kept(alone)).startswith("Both keep up at 20,000 rows/s with 4 readers; ")


def test_an_engine_that_falls_behind_is_named_with_what_it_keeps_up_with() -> None:
    said = sentence(kept({**ALL, ("mysql", 4): 1.5}))
    assert said.startswith(
        "PostgreSQL and ClickHouse keep up at 20,000 rows/s with 4 readers; MySQL falls behind (in 3 of 3 runs), and keeps up with "
        "0 readers; a second's rows take ClickHouse 31, PostgreSQL 87 ms (p99)."
    )


def test_an_engine_alone_keeps_up_or_falls_behind() -> None:
    one = {("mysql", readers): s for readers, s in ((0, 0.1), (4, 0.2))}
    assert sentence(kept(one)) == (
        "MySQL keeps up at 20,000 rows/s with 4 readers; a second's rows take 204 ms (p99). 3 runs."
    )
    said = sentence(kept({**one, ("mysql", 4): 1.5}))
    assert said.startswith(
        "MySQL falls behind at 20,000 rows/s with 4 readers (in 3 of 3 runs), and keeps up with 0 readers; "
    )


def test_one_point_of_one_engine_is_a_sentence() -> None:
    assert sentence(kept({("mysql", 0): 0.01}, every_s=0.5)) == (
        "MySQL keeps up at 40,000 rows/s; the rows of 0.5 s take 10.2 ms (p99). 3 runs."
    )


def test_an_invalid_figure_is_in_no_sentence_and_its_engine_is_named_with_the_guard() -> None:
    broken = {"mysql": [invalid(LATE, "late", figures=["writers.in_time_share"])]}
    said = sentence(kept(ALL, broken))
    assert said.startswith("PostgreSQL and ClickHouse keep up at 20,000 rows/s with 4 readers; ")
    assert "take ClickHouse 31, PostgreSQL 87 ms" in said
    assert said.endswith("INVALID: the figures of MySQL (client on time).")
    assert "168" not in said


def test_an_invalid_percentile_is_left_out_of_the_percentiles_alone() -> None:
    broken = {"mysql": [invalid(LATE, "late", figures=["writers.sample_p99_s"])]}
    said = sentence(kept(ALL, broken))
    assert said.startswith("All three keep up") and "take ClickHouse 31, PostgreSQL 87 ms (p99)" in said
    assert "168" not in said


def test_where_every_figure_is_invalid_nothing_else_is_said() -> None:
    broken = {e: [invalid("release build", "debug")] for e in ("clickhouse", "postgresql", "mysql")}
    assert (
        sentence(kept(ALL, broken))
        == "INVALID: the figures of PostgreSQL, ClickHouse and MySQL (release build)."
    )


def test_percentiles_are_those_of_all_samples_together_not_of_the_runs() -> None:
    """One run in three is ten times slower: the mean of its percentiles would be that of no sample."""
    runs = [paced("mysql", 0, block, [s] * SAMPLES) for block, s in ((1, 0.1), (2, 0.1), (3, 0.9))]
    analysis = analysed(runs, {"answer": KEEPS_UP})
    seen = overview(analysis, answer(analysis))
    assert seen is not None and seen.rows[0].write is not None
    assert seen.rows[0].write.value == pytest.approx(0.9)


def test_few_samples_have_a_lower_percentile_and_it_is_named() -> None:
    runs = [paced("mysql", 0, block, [0.1 * (k + 1) for k in range(8)]) for block in (1, 2, 3)]
    assert "(p90)" in sentence(analysed(runs, {"answer": KEEPS_UP}))


def test_a_search_says_the_highest_that_held_and_whether_more_was_tried() -> None:
    held = {"clickhouse": {100: 1.0, 200: 1.0, 400: 0.5}, "mysql": {100: 1.0, 200: 1.0}, "sqlite": {100: 0.2}}
    runs = [
        synthetic.figured(engine, {"rows_per_s": rate}, block, 0, {"writers.in_time_share": share})
        for engine, of in held.items()
        for rate, share in of.items()
        for block in (1, 2)
    ]
    asked = {"kind": "sustained", "of": "writers.in_time_share", "along": "rows_per_s", "per": ["engine"]}
    doc = {"answer": asked, "search": {"at_least": 1}}
    analysis = analysis_of(StudyRecord({**synthetic.STUDY, **doc}, [m.run for m in runs]), runs)
    assert sentence(analysis) == (
        "ClickHouse sustains 200 rows/s (2 runs); MySQL sustains at least 200 rows/s (2 runs); SQLite sustains nothing that was tried."
    )


TRUTH = {("duckdb", b): s for b, s in ((200, 0.5), (2_000, 0.0714), (20_000, 0.0263))}


def fixed(truth: Mapping[tuple[str, int], float], verdicts: Mapping[str, Sequence[Verdict]] | None = None,
          **doc: Any) -> Analysis:  # fmt: skip
    runs = [
        synthetic.run(engine, {"batch_rows": b}, block, makespan_s=s * spread, rows=50_000, resources=False)
        for block, spread in enumerate(SPREAD, start=1)
        for (engine, b), s in truth.items()
    ]
    return analysed(runs, doc, verdicts)


def test_a_fixed_job_is_stated_by_its_rate_its_next_best_value_and_its_interval() -> None:
    assert sentence(fixed(TRUTH)) == (
        "DuckDB stores 1.90 M rows/s in batches of 20,000 (2,000 is 2.71 times slower). 95 % interval: 1.81 to 2.00 M rows/s (3 runs)."
    )


def test_what_fresh_runs_state_is_said_to_be_theirs_and_the_ratio_to_be_of_the_blocks() -> None:
    """In the blocks 20,000 took 26.3 ms, and in its fresh runs twice as long: 2.71 is the ratio of the blocks."""
    searched = [
        synthetic.run("duckdb", {"batch_rows": b}, block, makespan_s=s, rows=50_000, resources=False)
        for block in (1, 2, 3)
        for (engine, b), s in TRUTH.items()
    ]
    again = [
        synthetic.run("duckdb", {"batch_rows": 20_000}, block, makespan_s=0.05, rows=50_000, resources=False)
        for block in (4, 5, 6)
    ]
    confirmed = [
        replace(r, summary={**r.summary, "labels": {**r.summary["labels"], "confirms": True}}) for r in again
    ]
    said = sentence(analysed([*searched, *confirmed], {}))
    assert said == (
        "DuckDB stores 1.00 M rows/s in batches of 20,000 (in the blocks before, 2,000 was 2.71 times slower). "
        "95 % interval: 1.00 to 1.00 M rows/s (3 fresh runs)."
    )


def test_every_engine_of_a_fixed_job_has_its_own_best_value() -> None:
    said = sentence(
        fixed({**TRUTH, ("sqlite", 200): 0.5, ("sqlite", 2_000): 0.5004, ("sqlite", 20_000): 1.0})
    )
    assert "DuckDB stores 1.90 M rows/s in batches of 20,000 (2,000 is 2.71 times slower); " in said
    assert "SQLite stores 100 k rows/s in batches of 200 (2,000 is 0.08 % slower). " in said
    assert (
        "95 % intervals: DuckDB 1.81 to 2.00 M rows/s (3 runs); SQLite 95.2 to 105 k rows/s (3 runs)." in said
    )


def test_values_that_are_not_distinguishable_from_the_best_are_named() -> None:
    alike = [
        synthetic.figured("duckdb", {"batch_rows": b}, block, 0, {synthetic.MAKESPAN: s})
        for b, of in ((200, (1.0, 1.1, 0.9)), (2_000, (1.05, 0.95, 1.08)))
        for block, s in enumerate(of, start=1)
    ]
    analysis = analysis_of(StudyRecord(synthetic.STUDY, [m.run for m in alike]), alike)
    assert "DuckDB takes 1.0 s in batches of 200 (not distinguishable: 2,000)" in sentence(analysis)


def test_one_run_of_each_value_says_that_no_difference_is_known_and_not_that_there_is_none() -> None:
    """With one run a point, 20,000 of 980 k rows/s was said to be not distinguishable from 200 of 45 k rows/s."""
    once = [
        synthetic.figured("duckdb", {"batch_rows": b}, 1, 0, {synthetic.MAKESPAN: s})
        for b, s in ((200, 1.0), (2_000, 0.1))
    ]
    analysis = analysis_of(StudyRecord(synthetic.STUDY, [m.run for m in once]), once)
    said = sentence(analysis)
    assert "in batches of 2,000 (one run of each: it is not known whether 200 differs)" in said
    assert "not distinguishable" not in said
    found = answer(analysis)
    assert found is not None and [(t.value, t.word) for t in found.parts[0].tries] == [
        (2_000, parts.BEST),
        (200, parts.ONCE),
    ]


def test_a_rate_with_one_size_of_batches_names_it() -> None:
    """A rate without its batch cannot be compared with another one."""
    runs = [
        synthetic.run("postgresql", {"batch_rows": 200}, block, makespan_s=s, rows=50_000)
        for block, s in enumerate((1.0, 1.1, 0.9), 1)
    ]
    sized = []
    for run in runs:
        segments = [
            {**s, "roles": [{**r, "work": {"kind": "rows", "batch_rows": 200}} for r in s.get("roles", ())]}
            for s in run.plan["segments"]
        ]
        sized.append(replace(run, plan={**run.plan, "segments": segments}))
    assert "PostgreSQL stores 50 k rows/s in batches of 200. " in sentence(analysed(sized, {}))
    assert "in batches" not in sentence(analysed(runs, {}))


def test_a_best_value_among_invalid_ones_is_invalid() -> None:
    """The slow point may have been the best, had it been measured rightly."""
    runs = fixed(TRUTH).runs
    late = invalid(LATE, "late", figures=[synthetic.MAKESPAN])
    broken = [replace(m, verdicts=[late]) if dict(m.point)["batch_rows"] == 200 else m for m in runs]
    analysis = analysis_of(StudyRecord(synthetic.STUDY, [m.run for m in runs]), broken)
    assert sentence(analysis) == "INVALID: the figures of DuckDB (client on time)."


def test_engines_of_unequal_promises_stand_in_the_order_of_the_study_and_are_not_compared() -> None:
    record = synthetic.unequal({("duckdb", 1000): 3.0, ("sqlite", 1000): 1.0}, blocks=3)
    measured = [Measured(run, figures_of_run(run), ()) for run in record.runs]
    said = sentence(analysis_of(record, measured))
    assert said.index("DuckDB stores") < said.index("SQLite stores")
    assert "These engines are not compared: acknowledged rows survive different things" in said


def test_one_run_has_no_interval_and_says_so() -> None:
    runs = [synthetic.run("duckdb", {"batch_rows": 200}, 1, makespan_s=1.0)]
    assert sentence(analysed(runs, {})) == "DuckDB stores 50 k rows/s. 95 % interval: none (1 run)."


def test_a_curve_of_percentiles_states_them_with_the_range_of_the_runs() -> None:
    runs = [
        synthetic.run("duckdb", {"users": n}, block, reader_ns=[n * 10**7] * 200)
        for block in (1, 2, 3)
        for n in (1, 4)
    ]
    asked = {"kind": "curve", "of": "readers.latency_p99_s", "along": "users", "per": ["engine"]}
    said = sentence(analysed(runs, {"answer": asked}))
    assert said.startswith("DuckDB has a latency of 40") and "(p99 of readers) with 4 users" in said
    assert "Range of the runs: 40" in said and "interval" not in said


def test_an_engine_without_a_counted_run_is_named() -> None:
    wrong = invalid("rows proven", "a row is missing", hides=True)
    said = sentence(fixed({**TRUTH, ("sqlite", 200): 1.0}, {"sqlite": [wrong]}))
    assert said.startswith("DuckDB stores") and said.endswith("No counted run of SQLite measured it.")


def test_a_study_without_a_counted_run_has_no_answer() -> None:
    assert (
        sentence(analysis_of(StudyRecord({"title": "empty"}, []), []))
        == "No answer: no counted run measured it."
    )


@pytest.mark.parametrize(
    ("value", "bounds", "says"),
    [
        (1_923_456.0, (1.81e6, 2.04e6), "1.9 M rows/s"),
        (1_923_456.0, (1.92e6, 1.93e6), "1.92 M rows/s"),
        (1_923_456.0, (1e6, 4e6), "1.9 M rows/s"),
        (135_000.0, (51_700.0, 638_000.0), "140 k rows/s"),
        (965_000.0, (9e5, 1.03e6), "960 k rows/s"),
        (1_923_456.0, None, "1.9 M rows/s"),
        (20_000.0, (20_000.0, 20_000.0), "20.0 k rows/s"),
        (0.0, None, "0 rows/s"),
    ],
)
def test_a_figure_is_rounded_to_what_its_interval_knows(
    value: float, bounds: tuple[float, float] | None, says: str
) -> None:
    interval = None if bounds is None else Interval(value, *bounds, 0.95, 3)
    assert show_known(value, interval, "writers.rows_per_s") == says


def test_of_an_endless_interval_two_digits_are_shown_of_a_failed_percentile_none() -> None:
    endless = Interval(3.21, 0.0, float("inf"), 0.95, 2)
    assert known(3.21, endless) == "3.2"
    assert show_known(float("inf"), None, "readers.latency_p99_s") == "failed"


@pytest.mark.parametrize(
    ("value", "half", "says"),
    [(0.9996, None, "1.0 s"), (0.96, 0.2, "960 ms"), (0.96, 0.02, "960 ms"), (999.9e-6, None, "1.0 ms"), (0.94, 0.2, "940 ms")],
)  # fmt: skip
def test_a_time_that_rounds_to_a_larger_unit_is_in_that_unit(
    value: float, half: float | None, says: str
) -> None:
    interval = None if half is None else Interval(value, value - half, value + half, 0.95, 3)
    assert show_known(value, interval, "writers.sample_p99_s") == says


def test_three_digits_of_a_figure_are_never_a_thousand_of_its_unit() -> None:
    assert [show(v, "x.latency_s") for v in (0.9994, 0.9996, 1.0)] == ["999 ms", "1.00 s", "1.00 s"]
    assert show(999_600.0, "x.rows_per_s") == "1.00 M rows/s"


def test_a_switch_is_on_or_off_and_not_a_place() -> None:
    assert headed((("process_per_file", False),), "so") == "Without process_per_file: so"
    assert headed((("process_per_file", True),), "so") == "With process_per_file: so"
    mixed = (("table", "port_errors"), ("readers", 0), ("sort", False))
    assert headed(mixed, "so") == "At port_errors, 0 readers, without sort: so"
    assert headed((), "so") == "so"


def test_the_conditions_that_the_sentence_leaves_out_are_counted_in_a_sentence() -> None:
    analysis = fixed(TRUTH)
    seen = overview(analysis, answer(analysis))
    assert seen is not None and beside(analysis, seen) == []
    for n, said in {1: "1 other condition too; the table of every point shows it",
                    2: "2 other conditions too; the table of every point shows them"}.items():  # fmt: skip
        assert beside(analysis, replace(seen, others=n)) == [f"The study has {said}"]


def compared(
    of: Mapping[tuple[str, str], tuple[float, ...]], along: str, per: Sequence[str] = ("engine",)
) -> Analysis:
    """(engine, order) -> rows a second of each block."""
    runs = [
        synthetic.figured(engine, {"row_order": order}, block, 0, {"load.rows_per_s": rate})
        for (engine, order), rates in of.items()
        for block, rate in enumerate(rates, start=1)
    ]
    asked = {"kind": "comparison", "of": "load.rows_per_s", "along": along, "per": list(per)}
    return analysis_of(
        StudyRecord({**synthetic.STUDY, "accept": {}, "answer": asked}, [m.run for m in runs]), runs
    )


ALIKE, CLEAR = (1.0e6, 1.3e6, 0.9e6), (0.50e6, 0.51e6, 0.49e6)


def test_a_comparison_says_of_the_best_value_what_cannot_be_distinguished_from_it() -> None:
    """The detail said "is not distinguishable", and the first sentence named the order that happened to be first."""
    analysis = compared(
        {("duckdb", "key"): ALIKE, ("duckdb", "time"): ALIKE[::-1], ("sqlite", "key"): (1.0e6, 1.01e6, 0.99e6),
         ("sqlite", "time"): CLEAR}, "row_order")  # fmt: skip
    said = sentence(analysis)
    detail = answer(analysis)
    assert detail is not None and [t.word for t in detail.parts[0].tries] == [parts.BEST, parts.ALIKE]
    assert "with row_order key (not distinguishable: row_order time)" in said
    assert "with row_order key (row_order time is 2.00 times slower)" in said


def test_one_run_of_each_compared_value_is_no_order() -> None:
    said = sentence(compared({("duckdb", "key"): (2.0e6,), ("duckdb", "time"): (1.0e6,)}, "row_order"))
    assert "(one run of each: it is not known whether row_order time differs)" in said


def test_engines_that_a_comparison_cannot_distinguish_are_named_in_the_first_sentence() -> None:
    one = {("duckdb", "key"): ALIKE, ("sqlite", "key"): ALIKE[::-1]}
    assert "Not distinguishable: DuckDB and SQLite." in sentence(compared(one, "engine", ()))
    apart = {("duckdb", "key"): (1.0e6, 1.01e6, 0.99e6), ("sqlite", "key"): CLEAR}
    assert "Not distinguishable" not in sentence(compared(apart, "engine", ()))


def test_an_engine_that_was_left_out_is_named_with_the_reason() -> None:
    analysis = fixed(TRUTH)
    absent = [
        Absent({"engine": "sqlite", "batch_rows": b}, "unsupported", "it has no NaN") for b in (200, 2_000)
    ]
    left = analysis_of(replace(analysis.record, absent=absent), analysis.runs)
    said = sentence(left)
    assert said.endswith("SQLite has no run (unsupported: it has no NaN).") and "No counted run" not in said


@pytest.mark.parametrize(
    ("figure", "said"), [("readers.ops", "has 14 calls of readers"), ("load.rows", "has 14 rows of load")]
)
def test_a_count_is_said_as_a_count(figure: str, said: str) -> None:
    cell = Cell(figure, 14.0, None, (14.0,), False)
    assert level(synthetic.trial({("duckdb", 10): 2.0}), cell) == said
