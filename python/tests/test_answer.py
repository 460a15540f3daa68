"""From synthetic tables through measures, statistics and decisions: are the answers true as often as they claim?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from inrush.analysis.answer import Answer, answer, decided
from inrush.analysis.deciding import crossed
from inrush.analysis.effects import effects
from inrush.analysis.parts import ALIKE, BEHIND, FAILS, HOLDS, LATE, ONCE, UP, WORSE, Try, late_words
from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import invalid
from inrush.analysis.wording import interval_of, ratio_of, shown_runs
from inrush.guards.analyse import analyse, analysis_of
from inrush.report.curves import curve_rows
from inrush.stats import stats
from inrush.stats.quantity import digits, show
from inrush.stats.record import Absent, StudyRecord
from inrush.stats.stats import Interval
from inrush.text import number
from tests import synthetic

#: Makespans along batch_rows: per-batch cost and per-row cost, the known curve a/b + d.
CURVE = {b: 0.4 * 1000 / b + 1.0 for b in (200, 1000, 5000, 20_000)}
STUDIES = 200


def words(found: Answer | None, part: int = 0) -> dict[Any, str]:
    """Value -> what is decided of it."""
    assert found is not None
    return {t.value: t.word for t in found.parts[part].tries}


def tried(found: Answer | None, value: Any, part: int = 0) -> Try:
    assert found is not None
    return next(t for t in found.parts[part].tries if t.value == value)


def answered(record: StudyRecord) -> tuple[Analysis, Answer]:
    analysis = analyse(record)
    found = answer(analysis)
    assert found is not None
    return analysis, found


@pytest.fixture(scope="module")
def studies() -> list[Analysis]:
    """200 studies of five shuffled blocks over the known curve, noise of 5 % a run and 5 % a block."""
    truth = {("duckdb", b): s for b, s in CURVE.items()}
    return [synthetic.trial(truth, seed=seed) for seed in range(STUDIES)]


def test_a_study_known_by_its_makespans_answers_as_the_same_study_with_all_its_tables() -> None:
    """So the trials below speak of the whole chain, though they take the short way."""
    truth = {(engine, b): s for engine in ("duckdb", "sqlite") for b, s in CURVE.items()}
    whole, lean = analyse(synthetic.study(truth, seed=3)), synthetic.trial(truth, seed=3)
    for point, of in lean.values(synthetic.MAKESPAN).items():
        assert whole.values(synthetic.MAKESPAN)[point] == pytest.approx(of, rel=1e-8)
    found, same = answer(whole), answer(lean)
    assert found is not None and same is not None
    assert [words(found, k) for k in (0, 1)] == [words(same, k) for k in (0, 1)]
    assert [part.best for part in found.parts] == [part.best for part in same.parts]


def test_intervals_of_points_hold_the_true_curve_in_92_to_98_percent(studies: list[Analysis]) -> None:
    held = [
        s.interval is not None and s.interval.holds(CURVE[dict(s.point)["batch_rows"]])
        for a in studies for s in a.summaries("writers.makespan_s")
    ]  # fmt: skip
    assert len(held) == STUDIES * len(CURVE)
    assert 0.92 <= np.mean(held) <= 0.98


def test_intervals_of_paired_ratios_hold_the_true_ratio_in_92_to_98_percent(studies: list[Analysis]) -> None:
    held = []
    for analysis in studies:
        of = {dict(p)["batch_rows"]: v for p, v in analysis.values("writers.makespan_s").items()}
        for b in (1000, 5000, 20_000):
            ratio = stats.paired_ratio(
                [of[200][k] for k in sorted(of[200])], [of[b][k] for k in sorted(of[b])]
            )
            held.append(ratio.holds(CURVE[200] / CURVE[b]))
    assert 0.92 <= np.mean(held) <= 0.98


def test_the_best_batch_is_in_the_set_that_is_named_in_at_least_95_percent(studies: list[Analysis]) -> None:
    named = []
    for analysis in studies:
        found = answer(analysis)
        assert found is not None
        named.append(20_000 in found.parts[0].best)
    assert np.mean(named) >= 0.95


def test_a_clearly_worse_batch_is_never_named_the_best(studies: list[Analysis]) -> None:
    assert not any(200 in found.parts[0].best for a in studies if (found := answer(a)))


def test_an_engine_against_itself_has_ratio_one_at_the_nominal_rate() -> None:
    truth = {("duckdb", 1): 2.0, ("sqlite", 1): 2.0}
    doc = {"answer": {"kind": "comparison", "of": "writers.makespan_s", "along": "engine"}}
    different = []
    for seed in range(STUDIES):
        found = answer(synthetic.trial(truth, seed=seed, doc=doc, along="copy"))
        assert found is not None
        different.append(ALIKE not in words(found).values())
    assert 0.02 <= np.mean(different) <= 0.08


@pytest.mark.ci
def test_injected_carry_over_is_flagged_through_the_whole_chain() -> None:
    truth = {("duckdb", b): s for b, s in CURVE.items()}
    lean: dict[str, Any] = {
        "resources": False,
        "interval_s": 10.0,
        "rows": 20_000,
        "batch_rows": 20_000,
        "blocks": 10,
    }
    flagged = []
    for seed in range(20):
        carry = lambda before: 1.25 if before == ("duckdb", 200) else 1.0  # noqa: E731
        analysis = analyse(synthetic.study(truth, seed=seed, carry=carry, **lean))
        verdict = next(v for _, v in analysis.verdicts if v.guard == "no carry-over")
        flagged.append("depends on the run before" in verdict.sentence)
    assert np.mean(flagged) >= 0.9


def test_the_pilot_enters_no_figure() -> None:
    record = synthetic.study({("duckdb", 1): 1.0})
    slow = [
        replace(r, tables=synthetic.run(makespan_s=99.0).tables) if r.block == 0 else r for r in record.runs
    ]
    values = analyse(replace(record, runs=slow)).values("writers.makespan_s")
    assert max(v for of in values.values() for v in of.values()) < 2


def test_the_best_answer_names_its_interval_and_what_cannot_be_told_from_it() -> None:
    truth = {("duckdb", b): s for b, s in ((200, 3.0), (1000, 1.0), (5000, 1.001))}
    _, found = answered(synthetic.study(truth))
    best, other, _ = found.parts[0].tries
    assert found.figure == "writers.makespan_s" and found.parts[0].interval is not None
    assert {best.value, other.value} == {1000, 5000} and other.word == ALIKE


def test_a_scaling_answer_gives_speed_up_and_efficiency() -> None:
    truth = {("duckdb", n): 8.0 / n**0.5 for n in (1, 4, 16)}
    doc = {"answer": {"kind": "scaling", "of": "writers.makespan_s", "along": "writers"}}
    _, found = answered(synthetic.study(truth, doc=doc, along="writers", spread=0.001))
    assert found.parts[0].interval is not None and found.parts[0].interval.value == pytest.approx(
        4.0, rel=0.01
    )
    assert tried(found, 16).because.startswith("efficiency 25 %")


@pytest.mark.parametrize(("rows", "weak"), [(14_000, False), (16_000, True)])
def test_half_as_many_rows_again_is_more_work(rows: int, weak: bool) -> None:
    doc = {"answer": {"kind": "scaling", "of": "writers.makespan_s", "along": "writers"}}
    runs = [
        synthetic.run("duckdb", {"writers": n}, block, order, makespan_s=1.0 + 0.001 * block, rows=of)
        for block in (1, 2, 3) for order, (n, of) in enumerate(((1, 10_000), (8, rows)))
    ]  # fmt: skip
    _, found = answered(StudyRecord({**synthetic.STUDY, **doc}, runs))
    assert tried(found, 8).word.startswith("8 times the work") == weak


def test_weak_scaling_is_recognised_by_its_rows() -> None:
    doc = {"answer": {"kind": "scaling", "of": "writers.makespan_s", "along": "writers"}}
    runs = [
        synthetic.run("duckdb", {"writers": n}, block, order, makespan_s=1.0 + 0.001 * block, rows=10_000 * n)
        for block in (1, 2, 3) for order, n in enumerate((1, 8))
    ]  # fmt: skip
    _, found = answered(StudyRecord({**synthetic.STUDY, **doc}, runs))
    last = tried(found, 8)
    assert last.word == "8 times the work takes 1.00 times as long" and last.because.startswith(
        "efficiency 100 %"
    )


def test_a_curve_says_how_far_it_goes_and_whether_that_can_be_told() -> None:
    doc = {"answer": {"kind": "curve", "of": "writers.rows_per_s", "along": "batch_rows"}}
    _, found = answered(synthetic.study({("duckdb", b): s for b, s in CURVE.items()}, doc=doc, spread=0.01))
    last = tried(found, 20_000)
    assert (
        last.ratio is not None and last.ratio.value == pytest.approx(3.0 / 1.02, rel=0.1) and last.word == ""
    )


def test_one_block_gives_an_answer_without_an_interval_and_says_so() -> None:
    _, found = answered(synthetic.study({("duckdb", 1): 1.0, ("duckdb", 2): 2.0}, blocks=1))
    assert found.parts[0].interval is None and ONCE in words(found).values()


def test_a_figure_of_0_has_no_interval_and_is_shown_and_drawn_all_the_same() -> None:
    shares = {1: 0.0, 2: 0.5, 3: 0.1}
    assert interval_of(shares) is None and ratio_of(shares, {1: 1.0, 2: 1.0, 3: 1.0}) is None
    assert shown_runs(shares, "writers.in_time_share", "") == "10.0 % (median of 3 runs, 0 % to 50.0 %)"
    (row,) = curve_rows({(("readers", 4),): shares}, "readers", "writers.in_time_share", "clickhouse", 1.0)
    assert (row["low"], row["y"], row["high"]) == (0.0, 0.1, 0.5)
    # Above 0 they have one, as ever.
    assert interval_of({1: 0.2, 2: 0.5}) is not None


def test_a_study_with_nothing_measured_has_no_answer() -> None:
    assert answer(analyse(StudyRecord({"title": "empty"}, []))) is None
    only_pilot = answer(analyse(synthetic.study({("duckdb", 1): 1.0}, blocks=0)))
    assert only_pilot is not None and only_pilot.parts == []


def test_limits_of_accept_are_checked_on_counted_runs() -> None:
    record = synthetic.study(
        {("duckdb", 1): 1.0}, doc={"accept": {"writers.makespan_s": 0.5, "writers.errors": 0}}
    )
    found = crossed(analyse(record))
    assert len(found) == 1 and "accepted is at most 0.5" in found[0]


def test_figures_are_shown_with_three_digits_and_the_unit_that_fits() -> None:
    assert show(0.01234, "writers.makespan_s") == "12.3 ms"
    assert show(1_523_000, "writers.rows_per_s") == "1.52 M rows/s"
    assert show(950, "writers.rows_per_s") == "950 rows/s"
    assert show(0.5, "client.cpu_us_per_row") == "500 ns/row"
    assert show(2e9, "writers.bytes_per_s") == "2.00 GB/s"
    assert show(0.0, "readers.latency_p99_s") == "0 s"
    assert [
        digits(v)
        for v in (5_600_000.0, 0.0000456, 12345.6, 123.4, 12.34, 1.234, 0.5, 0.0333333, 0.00123, float("inf"))
    ] == [
        "5,600,000",
        "0.0000456",
        "12,346",
        "123",
        "12.3",
        "1.23",
        "0.500",
        "0.0333",
        "0.00123",
        "∞",
    ]


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [
        (2_000_000, None, "2,000,000"), (2e6, None, "2,000,000"), (1.5, None, "1.5"), (0.25, None, "0.25"), (0, None, "0"),
        (1234567.5, 3, "1,230,000"), (91.04, 3, "91"), (1e-7, None, "0.0000001"), (float("inf"), None, "inf"), (-12_000.0, None, "-12,000"),
    ],
)  # fmt: skip
def test_numbers_are_written_without_exponents(value: float, digits: int | None, written: str) -> None:
    assert number(value, digits) == written


def test_an_interval_keeps_the_unit_of_its_value() -> None:
    from inrush.stats.quantity import show_interval

    assert (
        show_interval(Interval(0.0021, 0.0009, 0.0050, 0.95, 5), "r.latency_p99_s") == "2.10 ms [0.900, 5.00]"
    )


@pytest.mark.parametrize("asked", [{"along": "engine"}, {"along": "batch_rows", "per": ["table"]}])
def test_no_engine_is_called_faster_where_rows_survive_different_things(asked: dict[str, Any]) -> None:
    """SQLite takes a third of the time and promises less: each engine's figure is told, and no ranking."""
    kind = "comparison" if asked["along"] == "engine" else "best"
    doc = {"answer": {"kind": kind, "of": "writers.makespan_s", **asked}}
    truth = {("duckdb", 1000): 3.0, ("sqlite", 1000): 1.0}
    record = synthetic.unequal(truth)
    analysis, found = answered(replace(record, study={**record.study, **doc}))
    (remark,) = found.remarks
    assert remark.startswith("No engine is held against another") and "process crash" in remark
    assert [dict(part.group)["engine"] for part in found.parts] == ["duckdb", "sqlite"]
    assert not any(t.ratio or t.word == WORSE for part in found.parts for t in part.tries)
    assert effects(analysis, found.figure) == []
    _, allowed = answered(replace(record, study={**record.study, **doc, "unequal_durability": True}))
    assert len(allowed.parts) == 1 and not allowed.remarks


def factored(points: dict[tuple[int, int], float], doc: dict[str, Any]) -> StudyRecord:
    """(batch_rows, writers) -> makespan, in five blocks."""
    runs = [
        synthetic.run("duckdb", {"batch_rows": b, "writers": w}, block, order, makespan_s=s * (1 + 0.001 * block), writers=w)
        for block in range(1, 6) for order, ((b, w), s) in enumerate(points.items())
    ]  # fmt: skip
    return StudyRecord({**synthetic.STUDY, "answer": doc}, runs)


GRID = {(200, 1): 3.0, (200, 4): 2.0, (1000, 1): 1.5, (1000, 4): 1.0}


def test_a_factor_that_competed_is_named_in_the_answer() -> None:
    doc = {"kind": "best", "of": "writers.makespan_s", "along": "batch_rows", "per": ["engine"]}
    _, found = answered(factored(GRID, doc))
    best = found.parts[0].tries[0]
    assert dict(best.point) == {"engine": "duckdb", "batch_rows": 1000, "writers": 4}
    assert found.parts[0].note == "the largest value tried"
    near = factored({**GRID, (1000, 1): 1.0005, (200, 4): 1.0004}, doc)
    noisy = [
        replace(m, figures={k: v * (1 + 0.01 * (i * i % 7)) for k, v in m.figures.items()})
        for i, m in enumerate(analyse(near).runs)
    ]
    found = answer(analysis_of(near, noisy))
    assert found is not None
    alike = [dict(t.point) for t in found.parts[0].tries if t.word == ALIKE]
    assert sorted((p["batch_rows"], p["writers"]) for p in alike) == [(200, 4), (1000, 1)]


def test_a_comparison_names_what_each_was_best_with() -> None:
    doc = {"kind": "comparison", "of": "writers.makespan_s", "along": "batch_rows", "per": ["engine"]}
    _, found = answered(factored(GRID, doc))
    best, other = found.parts[0].tries
    assert (best.value, dict(best.point)["writers"]) == (1000, 4)
    assert (other.value, dict(other.point)["writers"]) == (200, 4)
    assert other.ratio is not None and other.ratio.value == pytest.approx(2.0)


def test_a_comparison_of_shares_takes_those_that_are_0() -> None:
    runs = [
        synthetic.figured(engine, {}, block, 0, {"ports.in_time_share": share})
        for block in (1, 2, 3)
        for engine, share in (("sqlite", 0.0), ("duckdb", 0.5))
    ]
    doc = {"answer": {"kind": "comparison", "of": "ports.in_time_share", "along": "engine"}}
    found = answer(analysis_of(StudyRecord({**synthetic.STUDY, **doc}, [m.run for m in runs]), runs))
    assert words(found) == {"duckdb": "best", "sqlite": WORSE}


def rates(readers: dict[int, list[float]], figure: str, kind: str) -> Answer:
    runs = [
        synthetic.figured("duckdb", {"readers": n}, 1 + k, 0, {figure: v}) for n, of in readers.items() for k, v in enumerate(of)
    ]  # fmt: skip
    doc = {"answer": {"kind": kind, "of": figure, "along": "readers"}}
    found = answer(analysis_of(StudyRecord({**synthetic.STUDY, **doc}, [m.run for m in runs]), runs))
    assert found is not None
    return found


def test_a_run_in_which_nothing_succeeded_is_not_left_out_of_its_rate() -> None:
    """Four readers had no answer in two of five runs: what the others say is not their rate."""
    measured = {1: [100.0, 101, 99, 100, 102], 4: [300.0, 0.0, 290, 0.0, 310]}
    best = rates(measured, "readers.ops_per_s", "best")
    assert best.parts[0].best == (1,)
    curve = rates(measured, "readers.ops_per_s", "curve")
    assert list(tried(curve, 4).runs.values()) == measured[4], "the zeros are in it"
    compared = rates(measured, "readers.ops_per_s", "comparison")
    assert list(tried(compared, 4).runs.values()) == measured[4]
    assert rates({1: [0.0, 0.0, 5.0], 4: [1.0, 1.0, 1.0]}, "readers.file_bytes_per_s", "levels_off").parts


def test_no_interval_of_a_share_goes_beyond_all() -> None:
    shares = {1: 0.999, 2: 0.9, 3: 0.97, 4: 0.99}
    beyond = interval_of(shares)
    assert beyond is not None and beyond.high > 1
    found = rates({1: list(shares.values()), 4: [0.5, 0.4, 0.45, 0.5]}, "ports.stored_share", "best")
    part = found.parts[0]
    assert part.interval is not None and part.interval.high == 1.0
    assert shown_runs(shares, "ports.stored_share", "").endswith(", 100]")
    (row,) = curve_rows({(("readers", 4),): shares}, "readers", "ports.stored_share", "clickhouse", 1.0)
    assert row["high"] == 1.0


def test_what_keeps_up_does_so_in_every_run_and_how_many_there_were_is_said() -> None:
    found = rates(
        {1: [1.0, 1.0, 1.0], 4: [1.0, 0.99, 1.0], 16: [0.0, 0.5, 0.2]}, "ports.in_time_share", "keeps_up"
    )
    assert [(t.value, t.word, t.count, t.counted) for t in found.parts[0].tries] == [
        (1, UP, 3, 3),
        (4, BEHIND, 1, 3),
        (16, BEHIND, 3, 3),
    ]
    assert found.parts[0].best == (1,)


def test_what_is_sustained_held_in_every_run_and_below_all_that_did_not() -> None:
    held = {1: [1.0, 1.0, 1.0], 4: [1.0, 0.99, 1.0], 16: [1.0, 1.0, 1.0]}
    found = rates(held, "ports.in_time_share", "sustained")
    assert [(t.value, t.word, t.count, t.counted) for t in found.parts[0].tries] == [
        (1, HOLDS, 3, 3),
        (4, FAILS, 2, 3),
        (16, HOLDS, 3, 3),
    ]
    assert found.parts[0].best == (1,)


def test_a_comparison_has_a_row_for_each_value_the_best_first() -> None:
    spread = [0.99, 1.0, 1.01]
    found = rates({n: [n * v for v in spread] for n in (1, 2, 3, 4, 5, 6)}, "readers.ops_per_s", "comparison")
    assert [t.value for t in found.parts[0].tries] == [6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("kind", ["curve", "scaling"])
def test_a_curve_never_jumps_between_values_of_another_factor(kind: str) -> None:
    doc = {"kind": kind, "of": "writers.makespan_s", "along": "batch_rows", "per": ["engine"]}
    _, found = answered(factored(GRID, doc))
    detail = {p.group[-1]: p.tries for p in found.parts}
    assert set(detail) == {("writers", 1), ("writers", 4)}
    assert all(("writers", n) in t.point for (_, n), tries in detail.items() for t in tries)


@pytest.mark.parametrize(
    ("late", "caught_up", "word", "because", "count"),
    [
        ([0, 0], [1, 1], UP, "", 2),
        ([1, 0], [1, 1], LATE, "late in 1 of 2,400 samples, the slowest 1.22 s", 1),
        ([1, 2], [1, 1], LATE, "late in 3 of 4,800 samples, the slowest 1.22 s", 2),
        ([1, 2], [1, 0], BEHIND, "", 1),
    ],
)
def test_a_late_sample_that_was_made_up_for_is_not_falling_behind(
    late: list[int], caught_up: list[int], word: str, because: str, count: int
) -> None:
    runs = [
        synthetic.figured("mysql", {"readers": n}, 1 + k, 0, {
            "ports.in_time_share": 1 - late[k] / 2400, "ports.samples": 2400.0, "ports.caught_up": float(caught_up[k]),
            "ports.sample_s": 1.22 if late[k] else 0.5,
        })
        for n in (4,) for k in (0, 1)
    ]  # fmt: skip
    for along, value in (("readers", 4), ("engine", "mysql")):
        doc = {"answer": {"kind": "keeps_up", "of": "ports.in_time_share", "along": along}}
        found = answer(analysis_of(StudyRecord({**synthetic.STUDY, **doc}, [m.run for m in runs]), runs))
        at = tried(found, value)
        assert (at.word, at.because, at.count) == (word, because, count)
        assert found is not None and found.parts[0].best == ((value,) if not any(late) else ())


@pytest.mark.parametrize(
    ("makespans", "best", "note"),
    [
        ({200: 3.0, 1000: 2.0, 5000: 1.0}, 5000, "the largest value tried"),
        ({200: 1.0, 1000: 2.0, 5000: 3.0}, 200, "the smallest value tried"),
        ({1: 1.0, 1000: 2.0, 5000: 3.0}, 1, ""),
        ({200: 3.0, 1000: 1.0, 5000: 2.0}, 1000, ""),
        (
            {200: 3.0, 1000: 2.0, 50_000: 1.0},
            50_000,
            "the largest value tried, all rows of a session in one call",
        ),
        ({1000: 2.0}, 1000, ""),
    ],
)
def test_a_best_value_at_the_edge_of_those_tried_is_said_to_be_there(
    makespans: dict[int, float], best: int, note: str
) -> None:
    runs = [
        synthetic.run("duckdb", {"batch_rows": b}, block, 0, makespan_s=s * (1 + block / 1000), rows=50_000, batch_rows=b)
        for block in (1, 2, 3)
        for b, s in makespans.items()
    ]  # fmt: skip
    # A disk that takes single rows as fast makes the figure invalid: it is decided by the figures alone.
    found = decided(analyse(StudyRecord(synthetic.STUDY, runs)))
    assert found is not None
    assert (found.parts[0].best[0], found.parts[0].note) == (best, note)


def test_a_value_below_one_that_a_stop_rule_left_out_is_not_the_largest_tried() -> None:
    runs = [
        synthetic.run("duckdb", {"batch_rows": b}, block, 0, makespan_s=s * (1 + block / 1000))
        for block in (1, 2, 3)
        for b, s in {200: 3.0, 1000: 1.0}.items()
    ]
    left_out = Absent({"engine": "duckdb", "batch_rows": 5000}, "stopped", "latency")
    found = answer(analyse(StudyRecord(synthetic.STUDY, runs, [left_out])))
    assert found is not None and (found.parts[0].best, found.parts[0].note) == ((1000,), "")


def test_the_slowest_sample_is_not_said_where_it_is_invalid() -> None:
    figures = {
        "ports.in_time_share": 0.9, "ports.samples": 10.0, "ports.caught_up": 1.0, "ports.sample_s": 1.22,
    }  # fmt: skip
    late = synthetic.figured("mysql", {"readers": 4}, 1, 0, figures)
    assert late_words([late], "ports.in_time_share") == "late in 1 of 10 samples, the slowest 1.22 s"
    unclear = replace(late, verdicts=[invalid("client on time", "late", figures=["ports.sample_s"])])
    said = late_words([late, unclear], "ports.in_time_share")
    assert said == "late in 2 of 20 samples, the slowest is INVALID"
