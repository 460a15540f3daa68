"""INVALID stays with the engine, point and figure that it belongs to; failures are no throughput and no latency that is
missing; what is decided is decided twice."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from inrush.analysis.answer import Part, answer
from inrush.analysis.deciding import crossed
from inrush.analysis.overview import cell, overview
from inrush.analysis.points import Analysis
from inrush.analysis.sentence import sentence
from inrush.analysis.verdicts import Outcome
from inrush.commands import running
from inrush.guards.analyse import analyse
from inrush.guards.decisions import same_decision
from inrush.guards.guard import study_guards
from inrush.guards.run import guard_study
from inrush.report.answer_table import answer_lines
from inrush.report.asked import asked_cells
from inrush.report.comparison import compare_lines
from inrush.report.drawn import failed_said
from inrush.report.export import FAILED_NS, bmf, encode_v2, place_of, with_failed, with_failed_alone
from inrush.report.figures import figures
from inrush.report.overview import text_table, time_cell
from inrush.report.page import banner, page, places
from inrush.report.point_lines import point_lines
from inrush.report.points import points_table, summed
from inrush.report.report import closing_lines, verdict_line
from inrush.report.summary import crossed_lines, summary, summary_lines
from inrush.results.histogram import merge, of_values
from inrush.results.store import StudyFolder
from inrush.results.store.files import write_json
from inrush.stats.extremes import why_without
from inrush.stats.figure_names import grouped_figures, said_figures
from inrush.stats.record import RunRecord, StudyRecord
from inrush.stats.run_figures import figures_of_run
from tests import synthetic
from tests.synthetic import SECOND
from tests.test_agreement import answered

MS = 1_000_000
P99 = "writers.latency_p99_s"


def paced_study(
    lags_ms: dict[str, float],
    latency_ms: dict[str, float],
    blocks: int = 5,
    factors: dict[str, Any] | None = None,
    **study: Any,
) -> StudyRecord:
    """Engines whose paced calls take `latency_ms`, of which the client's lateness is `lags_ms`."""
    runs = [
        synthetic.run(
            engine, dict(factors or {}), block, place, schedule="constant", doc=None, env=None, rows=100_000,
            latency_ns=[round(latency_ms[engine] * MS * (1 + block / 1000))] * 100, lag_ns=[round(lags_ms[engine] * MS)] * 100,
        )
        for block in range(1, blocks + 1)
        for place, engine in enumerate(lags_ms)
    ]  # fmt: skip
    doc = {"answer": {"kind": "comparison", "of": P99, "along": "engine"}, "accept": {}}
    return StudyRecord({**synthetic.STUDY, **doc, **study}, runs)


def guards(analysis: Analysis) -> dict[str, Any]:
    return {v.guard: v for v in guard_study(analysis)}


# --- invalid belongs to figures


def test_an_engine_with_a_late_client_leaves_the_answers_of_the_others_valid() -> None:
    record = paced_study(
        {"clickhouse": 2, "postgresql": 0.01, "mysql": 0.01}, {"clickhouse": 6, "postgresql": 4, "mysql": 5},
        answer={"kind": "curve", "of": P99, "along": "batch_rows", "per": ["engine"]},
    )  # fmt: skip
    runs = [replace(r, summary={**r.summary, "labels": {**r.labels, "factors": {"batch_rows": b}}}) for r, b in
            ((r, 10) for r in record.runs)]  # fmt: skip
    analysis = analyse(replace(record, runs=runs))
    found = answer(analysis)
    assert found is not None
    by_engine = {dict(part.group)["engine"]: part for part in found.parts if part.group}
    assert by_engine["clickhouse"].invalid.startswith(
        "latency p99 of writers at clickhouse, batch_rows 10: client on time"
    )
    assert not by_engine["postgresql"].invalid and not by_engine["mysql"].invalid
    assert not analysis.valid, "a part of what was asked is invalid"
    assert "Client on time (latency p99 of writers; clickhouse, batch_rows 10)" in banner(analysis)
    assert analysis.broken("writers.rows_per_s", analysis.points[0]) == []


def test_an_invalid_figure_that_nothing_asks_of_leaves_the_result_valid_and_is_named() -> None:
    record = paced_study({"postgresql": 2}, {"postgresql": 6}, answer={"kind": "comparison", "of": "writers.rows_per_s", "along": "engine"})  # fmt: skip
    analysis = analyse(record)
    assert analysis.valid and analysis.outcome is Outcome.NOTE
    line = verdict_line(analysis)
    assert line.startswith(
        "valid: 5 measured runs, all figures behind the answer and the limits are valid; also INVALID (not used in the answer): latency p50"
    )
    detail = summary(analysis)
    assert detail["valid"] and detail["points"][0]["figures"][P99]["invalid"] == ["client on time"]
    assert detail["points"][0]["figures"]["writers.rows_per_s"]["invalid"] == []
    (verdict, *_) = [v for v in detail["verdicts"] if v["guard"] == "client on time"]
    assert P99 in verdict["figures"] and "writers.rows_per_s" not in verdict["figures"]


def test_the_same_figure_asked_for_or_accepted_makes_the_result_invalid() -> None:
    late, slow = {"postgresql": 2.0}, {"postgresql": 6.0}
    rate = {"kind": "comparison", "of": "writers.rows_per_s", "along": "engine"}
    assert not analyse(paced_study(late, slow)).valid
    assert not analyse(paced_study(late, slow, answer=rate, accept={P99: 1.0})).valid
    assert analyse(paced_study(late, slow, answer=rate)).valid


def test_a_pilot_whose_client_was_late_leaves_the_result_valid() -> None:
    record = paced_study({"postgresql": 0.01}, {"postgresql": 6})
    pilot = synthetic.run(
        "postgresql",
        {},
        0,
        0,
        schedule="constant",
        latency_ns=[6 * MS] * 100,
        lag_ns=[3 * MS] * 100,
        rows=100_000,
    )
    analysis = analyse(replace(record, runs=[pilot, *record.runs]))
    assert analysis.valid and "INVALID" not in verdict_line(analysis)


def test_charts_carry_the_mark_only_where_their_figure_is_invalid() -> None:
    asked = {"kind": "curve", "of": P99, "along": "batch_rows", "per": ["engine"]}
    record = paced_study(
        {"clickhouse": 2, "postgresql": 0.01},
        {"clickhouse": 6, "postgresql": 4},
        factors={"batch_rows": 10},
        answer=asked,
    )
    analysis = analyse(record)
    drawn = {f.name: f for f in figures(analysis, answer(analysis))}
    latency = drawn["latency-writers"]
    assert not latency.title.startswith("INVALID") and "INVALID here: clickhouse" in latency.caption
    assert "clickhouse (INVALID)" in json.dumps(latency.spec) and "postgresql (INVALID)" not in json.dumps(
        latency.spec
    )
    late = analyse(paced_study({"clickhouse": 2}, {"clickhouse": 6}))
    alone = {f.name: f for f in figures(late, answer(late))}
    assert alone["latency-writers"].title.startswith("INVALID")


def test_a_rate_near_the_null_floor_is_invalid_at_its_point_alone() -> None:
    record = synthetic.study({("null", 1): 1.0, ("sqlite", 1): 1.1, ("null", 2): 0.1, ("sqlite", 2): 1.1})
    analysis = analyse(record)
    where = {dict(p)["batch_rows"]: p for p in analysis.points if dict(p)["engine"] == "sqlite"}
    assert analysis.broken("writers.rows_per_s", where[1]) and not analysis.broken(
        "writers.rows_per_s", where[2]
    )
    assert places(analysis, analysis.broken("writers.rows_per_s", where[1])) == ["sqlite, batch_rows 1"]


def test_figures_are_named_by_role_and_kind() -> None:
    names = ["w.latency_p50_s", "w.latency_p99_s", "w.rows_per_s", "w.latency_s", "r/a.in_time_share"]
    assert said_figures(names) == "latency p50, p99, rows per s, worst latency of w; in time share of r/a"


def test_a_long_list_of_figures_is_grouped_by_role_and_names_no_quantile_that_is_not_in_it() -> None:
    every = [
        f"{role}.latency_{q}s" for role in ("w", "w/a", "w/b") for q in ("p50_", "p90_", "p99_", "p999_", "")
    ]
    assert grouped_figures(every) == "latency p50 to worst of w and its tables"
    assert grouped_figures(every[:5]) == "latency p50 to worst of w"
    # What is invalid of a table alone is not said of its role, whose figure an answer may rest on.
    some_tables = [
        "w.latency_p50_s",
        "w/a.sample_p90_s",
        "w.queue_p99_s",
        "w/b.queue_p99_s",
        "w/a.sample_p50_s",
    ]
    assert grouped_figures(some_tables) == (
        "latency p50 of w; sample p50, p90 of tables of w; queue p99 of w and its tables"
    )
    some = [
        "r.sample_p50_s",
        "r.sample_p99_s",
        "r.sample_s",
        "r.in_time_share",
        "f.latency_p50_s",
        "f.latency_p90_s",
    ]
    assert grouped_figures(some) == "sample p50, p99, worst, in time share of r; latency p50, p90 of f"


# --- failures


def failing(
    engine: str = "postgresql", failed: int = 2, ok: int = 98, block: int = 1, **how: Any
) -> RunRecord:
    return synthetic.run(
        engine, {"batch_rows": 1}, block, rows=ok, batch_rows=1, latency_ns=[MS] * ok, failed=failed, **how
    )


def test_a_percentile_has_failed_where_more_calls_failed_than_it_leaves_above() -> None:
    for failed, finite, infinite in (
        (0, ["p50", "p99", "p999"], []),
        (1, ["p50", "p99"], ["p999"]),
        (2, ["p50", "p90"], ["p99"]),
    ):
        found = figures_of_run(failing(failed=failed, ok=100 - failed))
        assert all(found[f"writers.latency_{q}_s"] < 1 for q in finite), failed
        assert all(found[f"writers.latency_{q}_s"] == float("inf") for q in infinite), failed
        assert all(found[f"writers.service_{q}_s"] == float("inf") for q in infinite), failed
    assert figures_of_run(failing())["writers.latency_s"] == float("inf")


def test_rates_count_what_succeeded_and_attempts_stand_apart() -> None:
    found = figures_of_run(failing(failed=20, ok=80, makespan_s=2.0, totals={"unsent": 10}))
    assert (found["writers.ops_per_s"], found["writers.attempts_per_s"]) == (40.0, 50.0)
    assert found["writers.achieved_share"] == pytest.approx(80 / 110)
    assert found["writers.attempted_share"] == pytest.approx(100 / 110)
    assert found["writers.failed_share"] == 0.2


def test_a_role_whose_calls_all_failed_has_failed_in_every_percentile() -> None:
    run = failing(failed=50, ok=0)
    assert figures_of_run(run)["writers.latency_p50_s"] == float("inf")
    assert figures_of_run(run)["writers.ops_per_s"] == 0


def test_a_failed_call_is_slower_than_every_other_with_a_client_on_time_too() -> None:
    paced = failing(schedule="constant", lag_ns=[1000] * 98)
    found = figures_of_run(paced)
    assert found["writers.on_time_p99_s"] == found["writers.latency_p99_s"] == float("inf")
    assert found["writers.on_time_p50_s"] < 1


def test_merged_histograms_keep_their_failed_calls() -> None:
    merged = merge([of_values([1, 2, 3]).with_failed(1), of_values([]).with_failed(2), of_values([4])])
    assert (merged.n, merged.failed, merged.calls) == (4, 3, 7)
    assert merged.quantile_ns(0.5) == 4 and merged.quantile_ns(0.6) == float("inf")


def failed_analysis(accept: dict[str, float] | None = None) -> Analysis:
    runs = [failing(block=b) for b in range(1, 6)] + [
        failing("mysql", failed=0, ok=100, block=b) for b in range(1, 6)
    ]
    doc = {"answer": {"kind": "comparison", "of": P99, "along": "engine"}, "accept": accept or {}}
    return analyse(StudyRecord({**synthetic.STUDY, **doc}, runs))


def answer_line(analysis: Analysis) -> str:
    asked = {"kind": "curve", "of": P99, "along": "batch_rows", "per": ["engine"]}
    other = analyse(replace(analysis.record, study={**synthetic.STUDY, "answer": asked}))
    found = answer(other)
    assert found is not None
    assert "PostgreSQL has no p99 of writers: 2 of 100 calls failed; MySQL has a latency of" in sentence(
        other, found
    )
    return "\n".join(answer_lines(other, found))


def test_a_failed_percentile_is_called_failed_wherever_it_is_shown() -> None:
    analysis = failed_analysis(accept={P99: 10.0})
    assert "failed in 5 of 5 runs" in answer_line(analysis)
    assert crossed(analysis) == [
        "writers has no latency p99: 2 of 100 calls failed at postgresql, batch_rows 1; accepted is at most 10 (crossed in 5 of 10 runs)"
    ]
    detail = json.dumps(summary(analysis), allow_nan=False)
    assert '"failed": 5' in detail
    exported = bmf(analysis)
    assert "latency-p99" not in exported["writers: postgresql, batch_rows 1"]
    assert exported["writers: postgresql, batch_rows 1"]["failed-calls"]["value"] == pytest.approx(0.02)
    assert "latency-p99" in exported["writers: mysql, batch_rows 1"]
    lines = "\n".join(compare_lines(analysis, failed_analysis()))
    assert "failed in 5 of 5 runs" in lines and "failed: no ratio" in lines


@pytest.mark.parametrize(("runs", "bounds"), [(1, False), (2, False), (3, True)])
def test_fewer_than_three_runs_have_no_bounds_in_what_is_exported(runs: int, bounds: bool) -> None:
    made = [synthetic.run("postgresql", makespan_s=2.0 + 0.1 * b, block=b) for b in range(1, runs + 1)]
    analysis = analyse(StudyRecord(synthetic.STUDY, made))
    (point,) = summary(analysis)["points"]
    assert ("low" in point["figures"]["writers.makespan_s"]) == bounds
    assert len(point["figures"]["writers.makespan_s"]["values"]) == runs
    (seen,) = analysis.summaries("writers.makespan_s")
    below = summed(seen)[1]
    assert below.startswith("[") == bounds and (below == "one run") == (runs == 1), "the report's"
    (measures,) = bmf(analysis).values()
    assert ("lower_value" in measures["makespan"]) == ("upper_value" in measures["makespan"]) == bounds
    assert measures["makespan"]["value"] == pytest.approx(2.0e9, rel=0.2)


def test_an_engine_whose_percentile_failed_is_never_the_best() -> None:
    found = answer(failed_analysis())
    assert found is not None and found.parts[0].best == ("mysql",)
    asked = {"kind": "best", "of": P99, "along": "engine"}
    best = answer(analyse(replace(failed_analysis().record, study={**synthetic.STUDY, "answer": asked})))
    assert best is not None and best.parts[0].best == ("mysql",)


def test_charts_of_a_failed_percentile_name_its_points_and_hold_only_numbers() -> None:
    asked = {"kind": "curve", "of": P99, "along": "batch_rows", "per": ["engine"]}
    apart = analyse(replace(failed_analysis().record, study={**synthetic.STUDY, "answer": asked}))
    together = failed_analysis()
    captions = [
        " ".join(f.caption for f in figures(analysis, answer(analysis))) for analysis in (apart, together)
    ]
    assert "2.00 % of postgresql" in captions[0]
    assert "Not drawn, without a value in a run: postgresql (failed)" in captions[1]
    for analysis in (apart, together):
        for chart in figures(analysis, answer(analysis)):
            json.dumps(chart.spec, allow_nan=False)


def test_the_interval_log_holds_failed_calls_above_every_other(tmp_path: Path) -> None:
    from hdrh.histogram import HdrHistogram

    run = failing(failed=3, ok=97)
    (row,) = [r for r in run.rows("hist") if r["kind"] == "latency"]
    decoded = HdrHistogram.decode(
        encode_v2(*(with_failed(row, 3)[k] for k in ("grouping_power", "bucket", "count")))
    )
    assert decoded.get_total_count() == 100
    assert decoded.get_value_at_percentile(97) < 2 * MS
    assert decoded.get_value_at_percentile(98) == pytest.approx(FAILED_NS, rel=0.01)
    (alone,) = with_failed_alone([], {place_of(row): 3})
    assert with_failed(alone, 3)["n"] == 3


# --- decisions


def test_a_limit_that_only_the_clients_lateness_crosses_is_no_decision() -> None:
    late, slow = {"postgresql": 0.2}, {"postgresql": 6.0}
    assert (
        guards(analyse(paced_study(late, slow, accept={P99: 7e-3})))["decisions hold on time"].outcome
        is Outcome.PASS
    )
    analysis = analyse(paced_study(late, slow, accept={P99: 5.9e-3}))
    found = guards(analysis)["decisions hold on time"]
    assert found.outcome is Outcome.INVALID and "decides whether the limit is crossed" in found.sentence
    assert not analysis.valid


def test_a_comparison_that_lateness_turns_round_is_no_decision() -> None:
    near = paced_study({"clickhouse": 0.0, "postgresql": 0.19}, {"clickhouse": 4.0, "postgresql": 4.1})
    found = guards(analyse(near))["decisions hold on time"]
    assert (
        found.outcome is Outcome.INVALID
        and "with a client on time: engine postgresql is best" in found.sentence
    )
    far = paced_study({"clickhouse": 0.0, "postgresql": 0.19}, {"clickhouse": 4.0, "postgresql": 8.0})
    assert guards(analyse(far))["decisions hold on time"].outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("kind", "measured", "on_time", "same"),
    [
        ("best", ("a",), ("a", "b"), True),
        ("best", ("a", "b"), ("b", "a"), True),
        ("best", ("a",), ("b", "a"), False),  # what is best on time was shown to be worse
        ("best", ("a", "b"), ("b",), False),
        ("comparison", ("a", "b"), ("b", "a"), True),
        ("comparison", ("a",), ("a", "b"), False),
        ("keeps_up", (1,), (1, 4), False),
        ("keeps_up", (1, 4), (1, 4), True),
        ("sustained", (1,), (4,), False),
    ],
)
def test_a_decision_is_the_same_where_both_ends_say_so(
    kind: str, measured: tuple[Any, ...], on_time: tuple[Any, ...], same: bool
) -> None:
    a, b = (Part((), (), best=best) for best in (measured, on_time))
    assert same_decision(kind, a, b) is same
    assert not same_decision(kind, a, None)


def three_engines(on_time_ms: float) -> StudyRecord:
    """MySQL is the fastest as measured, DuckDB a hundredth behind it; PostgreSQL was late, and is `on_time_ms` without."""
    lags = {"mysql": 0.0, "duckdb": 0.0, "postgresql": 5.0 - on_time_ms}
    return paced_study(lags, {"mysql": 4.0, "duckdb": 4.0, "postgresql": 5.0})


def test_a_third_that_lateness_kept_from_being_the_best_is_no_decision_though_two_are_alike() -> None:
    found = guards(analyse(three_engines(3.5)))["decisions hold on time"]
    assert (
        found.outcome is Outcome.INVALID
        and "with a client on time: engine postgresql is best" in found.sentence
    )
    assert guards(analyse(three_engines(4.9)))["decisions hold on time"].outcome is Outcome.PASS


def test_a_difference_that_only_lateness_made_is_no_comparison() -> None:
    found = guards(analyse(paced_study({"mysql": 0.0, "duckdb": 0.19}, {"mysql": 4.0, "duckdb": 4.19})))
    assert found["decisions hold on time"].outcome is Outcome.INVALID


def test_a_trend_beside_the_answer_decides_nothing() -> None:
    """Five runs whose calls take longer and longer: the sentence of that belongs to no group, as the comparison does."""
    far = paced_study({"clickhouse": 0.0, "postgresql": 0.19}, {"clickhouse": 4.0, "postgresql": 8.0})

    def growing(run: RunRecord) -> RunRecord:
        (service,) = (r for r in run.rows("hist") if r["kind"] == "service")
        rows = [r for r in run.rows("hist") if r["kind"] != "service"]
        rows += [
            {
                **service,
                "t_ns": SECOND + k * SECOND // 4,
                "dt_ns": SECOND // 4,
                **synthetic.hist([int(MS * 1.5**k)] * 12),
            }
            for k in range(8)
        ]
        return replace(run, tables={**run.tables, "hist": synthetic.table("hist", rows)}, _rows={})

    analysis = analyse(replace(far, runs=[growing(r) for r in far.runs]))
    found = answer(analysis)
    assert found is not None and any("Service time of writers rises" in remark for remark in found.remarks)
    assert guards(analysis)["decisions hold on time"].outcome is Outcome.PASS


def test_two_studies_whose_order_lateness_turns_round_are_not_compared() -> None:
    a = analyse(paced_study({"postgresql": 0.0}, {"postgresql": 4.0}))
    b = analyse(paced_study({"postgresql": 0.19}, {"postgresql": 4.1}))
    assert "INVALID: more, and with clients on time less" in "\n".join(compare_lines(a, b))


def test_a_limit_on_a_figure_that_no_run_has_was_not_checked() -> None:
    analysis = analyse(
        paced_study({"postgresql": 0.0}, {"postgresql": 4.0}, accept={"readers.latency_p99_s": 1.0})
    )
    found = guards(analysis)["limits were measured"]
    assert found.outcome is Outcome.NOT_CHECKED and "readers.latency_p99_s" in found.sentence


# --- answers


def test_answers_of_operations_that_promise_nothing_were_not_checked() -> None:
    run = synthetic.run("postgresql", reader_ns=[MS] * 50)
    silent = [{**o, "holds": []} for o in run.plan["operations"]]

    def verdict(plan: dict[str, Any]) -> Any:
        (m,) = analyse(StudyRecord(synthetic.STUDY, [replace(run, plan=plan)])).runs
        return next(v for v in m.verdicts if v.guard == "answers right")

    assert verdict(dict(run.plan)).outcome is Outcome.PASS
    found = verdict({**run.plan, "operations": silent})
    assert found.outcome is Outcome.NOT_CHECKED and "promises anything" in found.sentence


#: Guard of a study -> a study in which it has another verdict than pass. One that states what the code cannot do has none.
FAILING: dict[str, tuple[Callable[[], StudyRecord], Outcome]] = {
    "answer measured": (
        lambda: synthetic.study(
            {("duckdb", 1): 1.0}, doc={"answer": {"kind": "curve", "of": "cold.rows_per_s", "along": "sessions"}}
        ),
        Outcome.INVALID,
    ),
    "interleaved repeats": (lambda: synthetic.study({("duckdb", 1): 1.0}, blocks=2), Outcome.NOTE),
    "no carry-over": (
        lambda: synthetic.study(
            {("duckdb", b): 1.0 for b in (1, 2, 3, 4, 5)}, blocks=8, spread=0.02,
            carry=lambda before: 1.3 if before == ("duckdb", 5) else 1.0,
        ),
        Outcome.NOTE,
    ),
    "equal durability": (
        lambda: synthetic.unequal(
            {("duckdb", 1): 1.0, ("sqlite", 1): 3.0},
            doc={"answer": {"kind": "comparison", "of": "writers.makespan_s", "along": "engine"}},
        ),
        Outcome.INVALID,
    ),
    "equal work": (lambda: lighter_mix(), Outcome.NOTE),
    "engines agree": (
        lambda: StudyRecord(synthetic.STUDY, [answered("duckdb", [["1"]]), answered("sqlite", [["2"]])]),
        Outcome.NOTE,
    ),
    "client is not the bottleneck": (
        lambda: synthetic.study({("null", 1): 1.0, ("sqlite", 1): 1.1}),
        Outcome.INVALID,
    ),
    "one run at a time": (
        lambda: StudyRecord(
            synthetic.STUDY,
            [synthetic.run("postgresql", {}, 1, i, doc={"begun_unix_ns": 1 + i, "ended_unix_ns": SECOND}) for i in (0, 1)],
        ),
        Outcome.INVALID,
    ),
    "decisions hold on time": (
        lambda: paced_study({"postgresql": 0.2}, {"postgresql": 6.0}, accept={P99: 5.9e-3}),
        Outcome.INVALID,
    ),
    "limits were measured": (
        lambda: paced_study({"postgresql": 0.0}, {"postgresql": 4.0}, accept={"readers.latency_p99_s": 1.0}),
        Outcome.NOT_CHECKED,
    ),
}  # fmt: skip
#: Failed in test_deciding and test_resume.
ELSEWHERE = {
    "rates are the engine's",
    "stop rules stand",
    "same conditions throughout",
    "no hysteresis",
    "waves agree",
}


def lighter_mix() -> StudyRecord:
    record = synthetic.study({("duckdb", 1): 1.0, ("sqlite", 1): 1.0})
    runs = [
        replace(r, summary={**r.summary, "labels": {**r.labels, "left_out": {"q1": "it cannot"}}}) if r.engine == "sqlite" else r
        for r in record.runs
    ]  # fmt: skip
    return replace(record, runs=runs)


@pytest.mark.parametrize("guard", FAILING)
def test_every_guard_of_a_study_has_a_study_that_does_not_pass_it(guard: str) -> None:
    made, outcome = FAILING[guard]
    assert guards(analyse(made()))[guard].outcome is outcome


def test_no_guard_of_a_study_is_without_a_study_that_does_not_pass_it() -> None:
    analysis = analyse(synthetic.study({("duckdb", 1): 1.0}))
    names = [v.guard for v in guard_study(analysis)]
    assert sorted(names) == sorted({*FAILING, *ELSEWHERE}) and {g.name for g in study_guards()} <= set(names)


def test_unsent_refused_and_failed_are_three_words() -> None:
    """Of each kind 5 calls of 55: the percentile has no value, and the word says why."""

    def without(outcome: str = "timeout", **more: Any) -> str:
        made = [
            synthetic.run(
                "postgresql", {}, b, latency_ns=[MS] * 50, schedule="constant", lag_ns=[0] * 50, **more
            )
            for b in (1, 2)
        ]
        asked = {"kind": "comparison", "of": P99, "along": "engine"}
        failures = [{**f, "outcome": outcome} for f in made[0].rows("failures")]
        tables = {"failures": synthetic.table("failures", failures)}
        runs = [replace(run, tables={**run.tables, **tables}, _rows={}) for run in made]
        analysis = analyse(StudyRecord({**synthetic.STUDY, "answer": asked, "accept": {P99: 1.0}}, runs))
        found = answer(analysis)
        assert found is not None and not any(
            "nan" in line or " inf" in line for line in closing_lines(analysis)
        )
        return "\n".join(
            [
                *crossed(analysis),
                sentence(analysis, found),
                *text_table(analysis, overview(analysis, found)),
                *answer_lines(analysis, found),
                *(figure.caption for figure in figures(analysis, found)),
                failed_said(analysis, P99, analysis.values(P99)),
            ]
        )

    unsent = without(totals={"unsent": 5})
    assert (
        "no latency p99: 5 of 55 calls were not sent at" in unsent
        and "no p99 of writers: 5 of 55 calls were not sent" in unsent
    )
    assert "unsent in 2 of 2 runs" in unsent and "in a run: postgresql (unsent)" in unsent
    assert "failed" not in unsent and "refused" not in unsent and "without a value in 2" not in unsent
    failed = without(failed=5)
    assert (
        "no latency p99: 5 of 55 calls failed at" in failed
        and "5 of 55 calls failed" in failed
        and "sent" not in failed
    )
    refused = without("refused", failed=5)
    assert (
        "no latency p99: 5 of 55 calls were refused at" in refused
        and "5 of 55 calls were refused" in refused
        and "failed" not in refused
    ), refused


def test_a_page_of_refused_calls_is_one_refused_call_and_its_timeouts_are_failures() -> None:
    """Of 10 pages 5 were refused and 3 timed out; each of their three queries was, too."""
    where = {"segment": 2, "repetition": 0}
    roles = [("readers", "page"), *((f"readers/{q}", q) for q in ("a", "b", "c"))]
    more = {
        "failures": [
            {**where, "role": role, "op": op, "outcome": outcome, "count": n}
            for role, op in roles
            for outcome, n in (("refused", 5), ("timeout", 3))
        ],
        "repetitions": [
            {**where, "role": role, "ops": 10, "ok": 2, "errors": 8, "start_ns": SECOND, "end_ns": 3 * SECOND, "sessions": 1}
            for role, _ in roles
        ],
    }  # fmt: skip
    figures = figures_of_run(synthetic.run("postgresql", more=more))
    assert figures["readers.refused"] == figures["readers/a.refused"] == 5
    p99 = "readers.latency_p99_s"
    said = why_without(p99, [{**figures, p99: float("inf")}])
    assert said == "3 of 10 calls failed and 5 of 10 calls were refused"


def test_a_percentile_that_is_the_largest_of_few_calls_says_so() -> None:
    asked = {"kind": "comparison", "of": P99, "along": "engine"}

    def study(calls: int) -> Analysis:
        runs = [
            synthetic.run("postgresql", {}, b, latency_ns=[MS * b] * calls, rows=1000 * calls)
            for b in (1, 2, 3)
        ]
        return analyse(StudyRecord({**synthetic.STUDY, "answer": asked, "accept": {P99: 1e-9}}, runs))

    few, many = study(41), study(200)
    for analysis, word in ((few, "max of 41"), (many, "")):
        found = answer(analysis)
        lines = [sentence(analysis, found), *point_lines(analysis, found, P99), *crossed(analysis)]
        assert sum("max of" in line for line in lines) == (3 if word else 0), lines
        assert word in points_table(analysis, found) and all(word in line for line in (lines[0], lines[-1]))


@pytest.mark.parametrize("kind", ["freshness", "first_row", "service", "latency"])
@pytest.mark.parametrize(("calls", "word"), [(30, " (max of 30)"), (200, "")])
def test_the_largest_of_few_is_called_so_wherever_a_runs_own_percentile_stands(
    kind: str, calls: int, word: str
) -> None:
    """What the question asks for, and the table of engines; of latencies these show all calls of all runs."""
    figure = f"readers.{kind}_p99_s"
    asked = {
        "kind": "comparison",
        "of": "writers.rows_per_s",
        "along": "engine",
        "asked": [figure, "readers.*_p99_s"],
    }
    runs = []
    for block in (1, 2, 3):
        made = synthetic.run("postgresql", {}, block, reader_ns=[MS * block] * calls)
        hists = made.rows("hist")
        hists += [{**hists[-1], "kind": kind}] * (kind != "latency")
        tables = {**made.tables, "hist": synthetic.table("hist", hists)}
        runs.append(replace(made, tables=tables, _rows={}))
    analysis = analyse(StudyRecord({**synthetic.STUDY, "answer": asked, "accept": {}}, runs))
    found = answer(analysis)
    assert found is not None
    _, (row, every), _ = asked_cells(analysis)
    merged = kind == "latency"
    alone = "– (too few calls)" if merged and word else "3.01 ms" if merged else f"1.82 ms{word}"
    assert row[1] == alone and ("max of 30" in every[1]) is bool(word), (row, every)
    (point,) = analysis.points
    shown = cell(analysis, found, point, figure)
    assert shown is not None and time_cell(shown) == f"3.0 ms{word}", shown


def test_a_crossed_limit_is_the_first_line_whatever_else_is_invalid() -> None:
    late, slow = {"postgresql": 2.0}, {"postgresql": 6.0}
    rate = {"kind": "comparison", "of": "writers.rows_per_s", "along": "engine"}
    limits = {P99: 1e-6, "writers.makespan_s": 1e-6}
    analysis = analyse(paced_study(late, slow, answer=rate, accept=limits))
    assert not analysis.valid and len(crossed(analysis)) == 2
    doubted = [line for line in crossed(analysis) if "INVALID" in line]
    assert doubted == [line for line in crossed(analysis) if line.startswith(P99)], "the other figure stands"
    first, second, *_ = closing_lines(analysis)
    assert first == f"limit crossed: {crossed(analysis)[0]}" and second.startswith("limit crossed: ")
    results = SimpleNamespace(study={**analysis.study, "id": "s"}, runs=analysis.runs)
    assert summary_lines(results, analysis)[0] == first
    text = page(analysis, answer(analysis), [], {}, "")
    assert text.index("limit crossed") < text.index("<h1>") < text.index("INVALID.")


@pytest.mark.parametrize(("limit", "code"), [(1e-6, 99), (10.0, 0)])
def test_crossed_limits_and_the_answer_are_bold_and_said_once(
    monkeypatch: pytest.MonkeyPatch, limit: float, code: int
) -> None:
    limits = {"writers.makespan_s": limit, "writers.errors": 0}
    analysis = analyse(synthetic.study({("duckdb", 1): 1.0}, doc={"accept": limits}))
    lines: list[tuple[str, bool]] = []
    monkeypatch.setattr(running, "show", lambda some, bold=False: lines.extend((line, bold) for line in some))
    monkeypatch.setattr(running, "report", lambda *_: (None, analysis))
    with pytest.raises(typer.Exit) if code else contextlib.nullcontext() as left:
        running.finish(None, SimpleNamespace(failed={}, path=""), None, False)  # type: ignore[arg-type]
    assert left is None or left.value.exit_code == code
    said = sentence(analysis, answer(analysis))
    assert [line for line, bold in lines if bold] == [*crossed_lines(analysis), said]
    assert sum("accepted is at most" in line for line, _ in lines) == (1 if code else 0)


def test_an_invalid_limit_of_one_role_leaves_the_answer_of_another_as_it_is() -> None:
    rate = {"kind": "comparison", "of": "writers.rows_per_s", "along": "engine"}
    analysis = analyse(paced_study({"postgresql": 2.0}, {"postgresql": 6.0}, answer=rate, accept={P99: 1.0}))
    found = answer(analysis)
    assert not analysis.valid and analysis.answer_outcome is not Outcome.INVALID
    assert "(latency p99 of writers)" in verdict_line(analysis) and "latency p99 of writers" in banner(
        analysis
    )
    seen = overview(analysis, found)
    assert seen is not None and not seen.rows[0].undecided
    # Sentence, table and badge agree: the rate stands, and what does not is named.
    assert "INVALID" not in sentence(analysis, found)
    row = next(line for line in text_table(analysis, seen) if line.startswith("postgresql"))
    assert row.endswith("valid*"), row
    assert '<div class="answer">' in page(analysis, found, [], {}, "")


def test_a_study_whose_process_is_gone_is_killed_and_says_how_it_goes_on(tmp_path: Path) -> None:
    analysis = analyse(paced_study({"postgresql": 2.0}, {"postgresql": 6.0}))
    study = {**analysis.study, "id": "s", "status": "running"}
    write_json(tmp_path / "study.json", study)
    results = SimpleNamespace(study=study, runs=analysis.runs, path=tmp_path)
    on = "it was killed: `inrush run --resume s` continues it"
    gone = summary_lines(results, analysis)
    assert any(line.startswith("s · killed · ") for line in gone) and on in gone
    with StudyFolder(tmp_path).locked():
        runs = summary_lines(results, analysis)
    assert any(line.startswith("s · running · ") for line in runs) and on not in runs
