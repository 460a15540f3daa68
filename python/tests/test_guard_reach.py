"""What a guard's verdict reaches: every figure that its finding touches, and nothing that it did not look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Outcome, Verdict
from inrush.guards.agreement import disagreements
from inrush.guards.analyse import analyse, measured_run
from inrush.guards.run import guard_study
from inrush.guards.saturation import client_beside_its_engine
from inrush.stats.figure_names import timed_figures
from inrush.stats.record import RunRecord, StudyRecord
from inrush.stats.run_figures import figures_of_run
from inrush.stats.trends import Trend, strongest
from tests import synthetic
from tests.synthetic import SECOND
from tests.test_agreement import answered

MS = 1_000_000


def verdict(run: RunRecord, guard: str) -> Verdict:
    (found,) = [v for v in measured_run(run).verdicts if v.guard == guard]
    return found


def study_verdict(record: StudyRecord, guard: str) -> Verdict:
    (found,) = [v for v in guard_study(analyse(record)) if v.guard == guard]
    return found


def two_roles(run: RunRecord, **tables: Sequence[Mapping[str, Any]]) -> RunRecord:
    """The run with rows of a second writing role, `loaders`."""
    segment = run.plan["segments"][-1]
    roles = [*segment["roles"], synthetic.role_plan("loaders")]
    plan = {**run.plan, "segments": [*run.plan["segments"][:-1], {**segment, "roles": roles}]}
    held = {
        name: synthetic.table(
            name, [*run.rows(name), *({"segment": 2, "role": "loaders", **r} for r in rows)]
        )
        for name, rows in tables.items()
    }
    return replace(run, plan=plan, tables={**run.tables, **held}, _rows={})


def totals(**words: Any) -> dict[str, Any]:
    usual = {
        "start_ns": SECOND,
        "end_ns": 3 * SECOND,
        "rows": 50_000,
        "bytes": 5_000_000,
        "ops": 50,
        "ok": 50,
        "sessions": 1,
    }
    return {**usual, **words}  # fmt: skip


def timed(kind: str, took_ns: int = 10 * MS, calls: int = 50) -> dict[str, Any]:
    return {
        "op": "insert",
        "t_ns": SECOND,
        "dt_ns": 2 * SECOND,
        "kind": kind,
        **synthetic.hist([took_ns] * calls),
    }


def times(took_ns: int = 10 * MS, calls: int = 50) -> list[dict[str, Any]]:
    return [timed(kind, took_ns, calls) for kind in ("latency", "service")]


# Every role that it is true of.


def test_every_role_whose_sessions_compute_is_named() -> None:
    run = two_roles(
        synthetic.run("postgresql", totals={"cpu_ns": int(1.7 * SECOND)}),
        repetitions=[totals(cpu_ns=int(1.9 * SECOND))], hist=times(),
    )  # fmt: skip
    found = verdict(run, "client not saturated")
    assert found.breaks("writers.rows_per_s") and found.breaks("loaders.rows_per_s")
    assert "loaders computed 95 %" in found.sentence and "writers 85 %" in found.sentence


def test_sessions_have_as_much_time_as_there_are_of_them_while_they_are_measured() -> None:
    busy = synthetic.run("postgresql", totals={"cpu_ns": int(1.9 * SECOND)})
    assert verdict(busy, "client not saturated").outcome is Outcome.INVALID
    four = synthetic.run("postgresql", totals={"cpu_ns": int(1.9 * SECOND), "sessions": 4})
    assert verdict(four, "client not saturated").outcome is Outcome.PASS
    warm = {**busy.rows("repetitions")[0], "segment": 1, "cpu_ns": 10 * SECOND}
    steal_free = synthetic.run("postgresql")
    repetitions = synthetic.table("repetitions", [warm, *steal_free.rows("repetitions")])
    before = replace(steal_free, tables={**steal_free.tables, "repetitions": repetitions}, _rows={})
    assert verdict(before, "client not saturated").outcome is Outcome.PASS


def test_the_clients_cores_are_those_of_its_quota() -> None:
    run = synthetic.run("postgresql", client_cores=1.8, env={"cgroup_cpu_cores": 2.0})
    assert verdict(run, "client not saturated").outcome is Outcome.INVALID


def test_any_answer_that_the_oracle_has_otherwise_hides_the_run() -> None:
    oracle = [
        {"op": "a", "holds": True, "found": ""},
        {"op": "b", "holds": False, "found": "19 rows, the oracle has 20"},
    ]
    found = verdict(synthetic.run("postgresql", doc={"oracle": oracle}), "oracle agrees")
    assert found.hides and found.sentence.startswith("b: 19 rows")


def test_every_role_in_which_the_client_beside_its_engine_is_full_is_named() -> None:
    figures = {
        "instrument.busy_cores": 1.0, "engine.busy_cores": 0.1, "writers.instrument_share": 0.9, "readers.instrument_share": 0.85,
        "deletes.instrument_share": 0.2, **{f"{role}.rows_per_s": 1.0 for role in ("writers", "readers", "deletes")},
    }  # fmt: skip
    found = client_beside_its_engine(figures, "client not saturated")
    assert found is not None
    assert [found.breaks(f"{role}.rows_per_s") for role in ("writers", "readers", "deletes")] == [
        True,
        True,
        False,
    ]


def test_a_part_that_is_full_leaves_the_parts_beside_it() -> None:
    figures = dict.fromkeys(
        ("writers.rows_per_s", "writers/a.rows_per_s", "writers/b.rows_per_s", "x.rows_per_s"), 1.0
    )
    assert timed_figures(figures, ["writers/a"]) == ["writers.rows_per_s", "writers/a.rows_per_s"]
    assert timed_figures(figures, ["writers"]) == list(figures)[:3]


def test_every_role_that_breaks_littles_law_is_named() -> None:
    run = two_roles(
        synthetic.run("postgresql", latency_ns=[90 * MS] * 50), repetitions=[totals()], hist=times(90 * MS)
    )
    found = verdict(run, "Little's law")
    assert found.breaks("writers.latency_p50_s") and found.breaks("loaders.latency_p50_s")


@pytest.mark.parametrize(("calls", "outcome"), [(2_030, Outcome.PASS), (2_200, Outcome.INVALID)])
def test_littles_law_holds_to_two_percent(calls: int, outcome: Outcome) -> None:
    """Calls of 1 ms by one session in 2 s."""
    run = synthetic.run("postgresql", rows=calls, batch_rows=1, latency_ns=[MS] * calls)
    assert verdict(run, "Little's law").outcome is outcome


def test_a_call_that_began_before_the_window_is_whole_in_it_and_a_session_holds_its_depth() -> None:
    long = synthetic.run("postgresql", rows=2, batch_rows=1, latency_ns=[1_500 * MS, 1_200 * MS])
    assert verdict(long, "Little's law").outcome is Outcome.PASS
    eight = synthetic.run("postgresql", rows=16_000, batch_rows=1, latency_ns=[MS] * 16_000)
    segment = eight.plan["segments"][-1]
    roles = [{**r, "depth": 8} for r in segment["roles"]]
    deep = {**eight.plan, "segments": [{**segment, "roles": roles}]}
    assert verdict(eight, "Little's law").outcome is Outcome.INVALID
    assert verdict(replace(eight, plan=deep), "Little's law").outcome is Outcome.PASS


def test_every_role_whose_parts_do_not_add_up_is_named() -> None:
    interval = {"op": "insert", "t_ns": SECOND, "dt_ns": SECOND, "rows": 49_999}
    session = {"segment": 2, "role": "writers", "ops": 49, "rows": 50_000}
    run = two_roles(
        synthetic.run("postgresql", more={"sessions": [session]}),
        repetitions=[totals()], hist=times(), intervals=[interval], sessions=[{"ops": 50, "rows": 50_000}],
    )  # fmt: skip
    found = verdict(run, "sum of parts")
    assert found.breaks("writers.rows_per_s") and found.breaks("loaders.rows_per_s")


def test_a_role_that_has_no_part_in_a_table_does_not_add_up() -> None:
    run = two_roles(synthetic.run("postgresql"), repetitions=[totals()], hist=times())
    found = verdict(run, "sum of parts")
    assert (
        found.outcome is Outcome.INVALID
        and "intervals add up to 0 rows, the role has 50000" in found.sentence
    )
    assert found.breaks("loaders.rows_per_s") and not found.breaks("writers.rows_per_s")


def test_only_tables_that_are_there_are_said_to_add_up() -> None:
    assert verdict(synthetic.run("postgresql"), "sum of parts").sentence == "Intervals add up to their roles"
    bare = synthetic.run("postgresql", without=["intervals", "sessions"])
    assert verdict(bare, "sum of parts").outcome is Outcome.NOT_CHECKED


def test_every_role_above_what_the_disk_can_do_is_named() -> None:
    run = two_roles(
        synthetic.run("postgresql", batch_rows=1, makespan_s=1.0),
        repetitions=[totals(ops=200_000, ok=200_000)], hist=times(calls=200_000),
    )  # fmt: skip
    found = verdict(run, "below physical ceilings")
    assert found.breaks("writers.rows_per_s") and found.breaks("loaders.rows_per_s")


def test_rows_that_need_not_survive_power_loss_are_not_held_against_the_disk() -> None:
    doc = {"durability": {"survives": "PROCESS_CRASH"}}
    run = synthetic.run("postgresql", batch_rows=1, makespan_s=1.0, doc=doc)
    assert verdict(run, "below physical ceilings").outcome is Outcome.NOT_CHECKED


def test_sessions_that_commit_together_may_share_a_write_to_the_disk() -> None:
    """50,000 commits/s of 64 sessions on a disk of 2,000 fsyncs/s: 781 of each session."""
    run = synthetic.run("postgresql", batch_rows=1, makespan_s=1.0, writers=64)
    assert verdict(run, "below physical ceilings").outcome is Outcome.PASS


def test_what_is_impossible_by_probes_that_agree_is_not_hidden_by_more_than_probes_that_do_not() -> None:
    """25 MB/s on a disk of 4 MB/s by every probe; 12,500 commits/s, 6.25 times probes that differ by a factor of four."""
    run = synthetic.run(
        "postgresql", rows=50_000, batch_rows=2, makespan_s=2.0, row_bytes=1000,
        env={"disk_fsync_probes": [2000.0, 500.0], "disk_write_probes": [4e6, 4e6]},
    )  # fmt: skip
    assert figures_of_run(run)["writers.ops_per_s"] == 12_500
    assert verdict(run, "below physical ceilings").outcome is Outcome.INVALID


def test_a_run_that_writes_nothing_is_not_held_against_the_disk() -> None:
    run = synthetic.run("postgresql", totals={"rows": 0, "bytes": 0, "ops": 0, "ok": 0}, latency_ns=[])
    assert verdict(run, "below physical ceilings").outcome is Outcome.NOT_CHECKED


def test_a_role_whose_calls_left_no_latency_and_no_failure_is_a_fault_of_the_instrument() -> None:
    run = two_roles(synthetic.run("postgresql"), repetitions=[totals()])
    found = verdict(run, "errors not counted as fast")
    assert found.hides and "loaders: 0 latencies and 0 failures of 50 calls" in found.sentence


def test_a_second_role_whose_unit_of_work_grows_is_told() -> None:
    def interval(k: int) -> dict[str, Any]:
        return {"op": "insert", "t_ns": SECOND + k * SECOND // 10, "dt_ns": SECOND // 10, "rows": 500, "bytes": 500 * (100 + k), "ops": 1}  # fmt: skip

    run = two_roles(
        synthetic.run("postgresql", makespan_s=10.0), repetitions=[totals(end_ns=11 * SECOND)], hist=times(),
        intervals=[interval(k) for k in range(100)],
    )  # fmt: skip
    found = verdict(run, "unit of work constant")
    assert found.outcome is Outcome.NOTE and found.sentence.startswith("loaders: bytes per row change")


def test_calls_that_failed_were_sent_and_the_longest_role_says_how_long_was_measured() -> None:
    failing = synthetic.run("postgresql", schedule="poisson", failed=10)
    assert verdict(failing, "keeps the rate").outcome is Outcome.PASS
    short = two_roles(
        synthetic.run("postgresql"), repetitions=[totals(end_ns=SECOND + 100 * MS)], hist=times(MS)
    )
    assert verdict(short, "long enough").outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("asked_s", "measured_s", "outcome"),
    [
        (0.5, 0.51, Outcome.PASS),
        (0.5, 0.49, Outcome.NOTE),  # as many repetitions as are allowed, and too short all the same
        (0.8, 0.7, Outcome.NOTE),
        (2.0, 1.1, Outcome.PASS),  # a study that asks for more has the note of every other
        (0.05, 0.3, Outcome.NOTE),  # asking for less than half a second hides no short run
        (None, 0.9, Outcome.NOTE),
    ],
)
def test_a_run_as_long_as_its_study_asks_draws_no_note(
    asked_s: float | None, measured_s: float, outcome: Outcome
) -> None:
    run = synthetic.run("sqlite", makespan_s=[measured_s / 2] * 2)
    [measured] = [s for s in run.plan["segments"] if s.get("phase") == "measure"]
    repeat = {"at_least_ns": int((asked_s or 0) * SECOND), "max": 30, "fresh": [], "proofs": []}
    measured["repeat"] = repeat if asked_s is not None else None
    assert verdict(run, "long enough").outcome is outcome


# What was not looked at.


@pytest.mark.parametrize("how", ["limit", "stop", "error"])
def test_a_run_whose_work_was_cut_is_invalid_in_every_figure(how: str) -> None:
    run = synthetic.run("duckdb")
    rows = [{**r, "ended_by": how} if r["phase"] else r for r in run.rows("segments")]
    cut = replace(run, tables={**run.tables, "segments": synthetic.table("segments", rows)}, _rows={})
    found = verdict(cut, "ended as planned")
    assert (
        found.outcome is Outcome.INVALID
        and found.figures is None
        and "work is not complete" in found.sentence
    )


def with_tables(run: RunRecord) -> RunRecord:
    """The plan says that the writers put rows into `pe`, and a second role into `pc`."""
    run = two_roles(run, repetitions=[totals()], hist=times())
    segment = run.plan["segments"][-1]
    roles = [
        {**r, "work": {"kind": "rows", "table": k, "rows": 50_000}} for k, r in enumerate(segment["roles"])
    ]
    plan = {**run.plan, "tables": [{"name": "t"}, {"name": "pc"}], "segments": [{**segment, "roles": roles}]}
    return replace(run, plan=plan)


def test_a_table_that_was_written_and_not_proven_is_unverified_beside_one_that_was() -> None:
    found = verdict(with_tables(synthetic.run("postgresql")), "rows proven")
    assert found.outcome is Outcome.INVALID and "Rows of pc were written and never counted" in found.sentence
    assert found.breaks("loaders.rows_per_s") and not found.breaks("writers.rows_per_s")
    proof = {"table": "pc", "item": "rows", "expected": "1", "found": "1", "holds": True}
    both = with_tables(synthetic.run("postgresql", more={"proofs": [proof]}))
    assert verdict(both, "rows proven").outcome is Outcome.PASS


def test_what_was_filled_before_the_clock_is_not_asked_to_be_proven_again() -> None:
    run = with_tables(synthetic.run("postgresql"))
    (segment,) = run.plan["segments"]
    measured, loaded = segment["roles"]
    segments = [{**segment, "phase": "load", "roles": [loaded]}, {**segment, "roles": [measured]}]
    assert (
        verdict(replace(run, plan={**run.plan, "segments": segments}), "rows proven").outcome is Outcome.PASS
    )


def test_a_missing_row_is_a_wrong_answer_and_named_first() -> None:
    failures = [
        {
            "segment": 2,
            "role": "readers",
            "op": "page",
            "outcome": outcome,
            "count": 1,
            "first_message": f"it was {outcome}",
        }
        for outcome in ("timeout", "missing")
    ]
    run = synthetic.run("postgresql", totals={"wrong": 1}, more={"failures": failures})
    assert "First: page: it was missing." in verdict(run, "answers right").sentence


def test_failures_of_a_role_that_ended_no_call_are_a_fault_of_the_instrument() -> None:
    failure = {
        "segment": 2,
        "role": "readers",
        "op": "page",
        "outcome": "timeout",
        "count": 3,
        "first_message": "x",
    }
    found = verdict(synthetic.run("postgresql", more={"failures": [failure]}), "errors not counted as fast")
    assert found.hides and "readers: 0 latencies and 3 failures of 0 calls" in found.sentence


def test_each_answer_counts_once_whatever_was_recorded_of_it() -> None:
    run = synthetic.run("postgresql", reader_ns=[MS] * 50)
    rows = run.rows("hist")
    again = [{**r, "kind": "service"} for r in rows if r["role"] == "readers"]
    both = replace(run, tables={**run.tables, "hist": synthetic.table("hist", [*rows, *again])}, _rows={})
    assert verdict(both, "answers right").sentence.startswith("50 answers of page")


def test_calls_before_the_clock_are_not_counted_with_those_that_were_timed() -> None:
    run = synthetic.run("postgresql")
    warm = {**run.rows("repetitions")[0], "segment": 1, "ops": 7, "ok": 7}
    repetitions = synthetic.table("repetitions", [warm, *run.rows("repetitions")])
    both = replace(run, tables={**run.tables, "repetitions": repetitions}, _rows={})
    assert verdict(both, "errors not counted as fast").outcome is Outcome.PASS


def test_no_server_on_the_data_folder_is_not_one() -> None:
    assert (
        verdict(synthetic.run("postgresql", env={"data_servers": []}), "one server").outcome
        is Outcome.NOT_CHECKED
    )
    assert (
        verdict(synthetic.run("postgresql", env={"data_servers": [7]}), "one server").outcome is Outcome.PASS
    )


def test_a_client_of_which_nothing_was_watched_was_not_checked() -> None:
    run = synthetic.run("postgresql", without=["resources", "repetitions"])
    assert verdict(run, "client not saturated").outcome is Outcome.NOT_CHECKED


def test_a_start_that_was_not_looked_at_is_not_called_warm() -> None:
    assert verdict(synthetic.run("postgresql"), "warm-up not counted").outcome is Outcome.NOT_CHECKED
    long = synthetic.run("postgresql", makespan_s=30.0, rows=500_000, batch_rows=10)
    assert verdict(long, "warm-up not counted").outcome is Outcome.PASS


def test_a_rate_above_the_best_probe_is_not_said_to_be_below_it() -> None:
    run = synthetic.run(
        "postgresql", rows=50_000, batch_rows=10, makespan_s=2.0
    )  # 2,500 commits/s, 2,000 fsyncs/s
    found = verdict(run, "below physical ceilings")
    assert found.outcome is Outcome.PASS and "1.2 times the best probe" in found.sentence


def test_a_quiet_machine_names_what_its_host_tells() -> None:
    run = synthetic.run("postgresql")
    rows = [r for r in run.rows("resources") if r["metric"] != "psi_cpu_some_s"]
    silent = replace(run, tables={**run.tables, "resources": synthetic.table("resources", rows)}, _rows={})
    detail, untold = verdict(run, "quiet machine"), verdict(silent, "quiet machine")
    assert detail.outcome is untold.outcome is Outcome.PASS
    assert (
        "CPU pressure" in detail.sentence
        and "CPU pressure" not in untold.sentence
        and "steal" in untold.sentence
    )


def test_what_the_host_took_is_not_counted_as_other_processes_too() -> None:
    found = verdict(synthetic.run("postgresql", noise={"steal": 0.05, "others": 0.1}), "quiet machine")
    assert "steal 5.0 %" in found.sentence and "other processes 5.0 %" in found.sentence


def test_answers_of_which_nothing_can_be_compared_are_no_agreement() -> None:
    texts = [answered("duckdb", [["a"]]), answered("sqlite", [["b"]])]
    assert disagreements(texts) == (0, [])
    assert disagreements([answered("duckdb", [["a"]]), answered("sqlite", [["b"], ["c"]])])[0] == 1


def test_every_run_of_an_engine_is_asked_whether_it_agrees() -> None:
    runs = [answered("duckdb", [["1"]]), answered("sqlite", [["1"]]), answered("sqlite", [["2"]])]
    questions, detail = disagreements(runs)
    assert questions == 1 and len(detail) == 1


def test_a_trend_that_is_to_be_reported_stands_before_one_that_is_surer_and_small() -> None:
    small, large = Trend(1.05, 1e-9, 10.0), Trend(1.5, 1e-4, 10.0)
    assert not small.found and strongest([small, large]).found
    by_chance = Trend(1.5, 1e-3, 10.0)
    assert by_chance.found and not strongest([by_chance, *[Trend(1.0, 0.5, 10.0)] * 9]).found


# The study as a whole.


def overlapping(*spans: tuple[int, int]) -> StudyRecord:
    runs = [
        synthetic.run("postgresql", {"batch_rows": i}, 1, i, doc={"begun_unix_ns": 1 + a * SECOND, "ended_unix_ns": b * SECOND})
        for i, (a, b) in enumerate(spans)
    ]  # fmt: skip
    return StudyRecord(synthetic.STUDY, runs)


def test_every_run_that_overlaps_another_is_invalid() -> None:
    found = study_verdict(
        overlapping((0, 100), (10, 20), (30, 40), (200, 210), (205, 215), (300, 310)), "one run at a time"
    )
    assert {dict(p)["batch_rows"] for p in found.points or ()} == {0, 1, 2, 3, 4}
    assert "and 2 more pairs" in found.sentence


def test_a_block_without_a_point_does_not_have_every_point() -> None:
    record = synthetic.study({("duckdb", b): 1.0 for b in (1, 2, 3)})
    whole = study_verdict(record, "interleaved repeats")
    assert whole.outcome is Outcome.PASS and "every point once a block" in whole.sentence
    lost = replace(record, runs=[r for r in record.runs if (r.block, r.point["batch_rows"]) != (2, 3)])
    found = study_verdict(lost, "interleaved repeats")
    assert found.outcome is Outcome.NOTE and "not every point once in block 2" in found.sentence


def test_durability_that_differs_where_no_point_is_shared_is_not_called_the_same() -> None:
    record = synthetic.study({("duckdb", 1): 1.0, ("sqlite", 2): 1.0})
    weaker = {"durability": {"survives": "PROCESS_CRASH"}}
    runs = [replace(r, summary={**r.summary, **weaker}) if r.engine == "sqlite" else r for r in record.runs]
    found = study_verdict(replace(record, runs=runs), "equal durability")
    assert found.outcome is Outcome.NOTE and "process crash: sqlite" in found.sentence


def test_a_limit_says_in_how_many_runs_its_figure_was() -> None:
    runs = [synthetic.run("duckdb", {"readers": n}, 1, n, reader_ns=[MS] * 50 * n) for n in (0, 1, 2)]
    accept = {"accept": {"readers.latency_p99_s": 1.0}}
    found = study_verdict(StudyRecord({**synthetic.STUDY, **accept}, runs), "limits were measured")
    assert found.outcome is Outcome.PASS and "readers.latency_p99_s in 2 of 3" in found.sentence


def test_an_invalid_figure_of_the_study_that_nothing_asks_of_leaves_its_result_valid() -> None:
    """The writers are as fast as the client alone; the readers are what is asked about."""
    runs = [
        synthetic.run(engine, {"batch_rows": 1}, block, place, makespan_s=span_s, reader_ns=[MS] * 50)
        for block in range(1, 6)
        for place, (engine, span_s) in enumerate((("null", 1.0), ("sqlite", 1.1)))
    ]
    asked = {"answer": {"kind": "curve", "of": "readers.latency_p50_s", "along": "batch_rows"}, "accept": {}}
    analysis: Analysis = analyse(StudyRecord({**synthetic.STUDY, **asked}, runs))
    near = next(v for v in analysis.study_verdicts if v.guard == "client is not the bottleneck")
    assert near.outcome is Outcome.INVALID and analysis.valid
    from inrush.report.report import verdict_line

    assert "also INVALID (not used in the answer): makespan, rows per s" in verdict_line(analysis)


def test_the_last_line_names_the_point_at_which_a_figure_is_invalid_where_others_stand() -> None:
    from inrush.report.report import verdict_line

    def runs(debug: set[int]) -> list[RunRecord]:
        made = [
            (n, synthetic.run("sqlite", {"batch_rows": n}, b, n, makespan_s=2.0))
            for b in (1, 2)
            for n in (1, 2)
        ]
        return [
            replace(r, env={**r.env, "core_build_profile": "debug"}) if n in debug else r for n, r in made
        ]

    def line(debug: set[int]) -> str:
        return verdict_line(analyse(StudyRecord(synthetic.STUDY, runs(debug))))

    assert line({2}).startswith("INVALID: release build (sqlite, batch_rows 2): "), line({2})
    assert line({1, 2}).startswith("INVALID: release build: "), "everywhere: no point is named"


def test_an_empty_answers_table_asks_nothing() -> None:
    assert disagreements([synthetic.run("duckdb"), synthetic.run("sqlite")]) == (0, [])
