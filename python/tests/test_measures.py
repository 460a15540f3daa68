"""Figures of a run, from tables whose truth is known."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from inrush.results.histogram import of_values
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.stats.role_series import role_series
from inrush.stats.run_figures import figures_of_run, step_figure
from inrush.stats.watched import spent
from inrush.study.step_kinds import Read
from tests import synthetic
from tests.synthetic import SECOND


def test_a_repeated_volume_gives_the_mean_makespan_and_the_rate_of_all_of_it() -> None:
    found = figures_of_run(synthetic.run(makespan_s=[1.0, 3.0], rows=50_000))
    assert found["writers.makespan_s"] == pytest.approx(2.0)
    assert found["writers.rows_per_s"] == pytest.approx(100_000 / 4)
    assert found["writers.repetitions"] == 2


def with_parts(*spans: tuple[int, int]) -> RunRecord:
    """A run whose writers are split over tables, each with its own start and end."""
    run = synthetic.run()
    totals = run.rows("repetitions")[0]
    repetitions = [
        {**totals, "role": f"writers/t{i}", "start_ns": a, "end_ns": b} for i, (a, b) in enumerate(spans)
    ]
    values = [10**6, 5 * 10**6]
    hists = [
        {"segment": 2, "role": f"writers/t{i}", "op": "insert", "kind": "latency", **synthetic.hist([v])}
        for i, v in enumerate(values[: len(spans)])
    ]
    tables = {
        "repetitions": synthetic.table("repetitions", repetitions),
        "hist": synthetic.table("hist", hists),
    }
    return replace(run, tables={**run.tables, **tables}, _rows={})


def test_a_role_split_over_tables_spans_its_parts_and_merges_their_histograms() -> None:
    found = figures_of_run(with_parts((SECOND, 3 * SECOND), (2 * SECOND, 5 * SECOND)))
    assert found["writers/t0.makespan_s"] == 2 and found["writers/t1.makespan_s"] == 3
    assert found["writers.makespan_s"] == 4
    assert found["writers.rows"] == 100_000
    assert found["writers.latency_p99_s"] == of_values([10**6, 5 * 10**6]).quantile_ns(0.99) / 1e9
    assert found["writers.latency_s"] == 0.005


def test_members_of_a_page_are_not_counted_beside_it() -> None:
    run = synthetic.run(reader_ns=[10 * 10**6] * 100)
    member = {
        "segment": 2,
        "role": "readers",
        "op": "pc_top",
        "kind": "latency",
        **synthetic.hist([10**6] * 100),
    }
    hists = [*run.tables["hist"].to_pylist(), member]
    both = replace(run, tables={**run.tables, "hist": synthetic.table("hist", hists)}, _rows={})
    assert figures_of_run(both)["readers.latency_n"] == 100
    assert figures_of_run(both)["readers.latency_p50_s"] == figures_of_run(run)["readers.latency_p50_s"]


def test_members_that_stand_as_roles_of_their_own_are_not_counted_beside_their_page() -> None:
    """As the core writes them: `readers/pc_top` beside `readers`, whose only operation is the page."""
    run = synthetic.run(reader_ns=[10 * 10**6] * 100)
    page = next(s for s in run.rows("repetitions") if s["role"] == "readers")
    member = {"segment": 2, "role": "readers/pc_top", "op": "pc_top"}
    tables = {
        "repetitions": [*run.rows("repetitions"), {**page, **member}],
        "hist": [*run.rows("hist"), {**member, "kind": "latency", **synthetic.hist([10**6] * 100)}],
        "intervals": [*run.rows("intervals"), {**page, "op": "page", "t_ns": page["start_ns"], "dt_ns": 10**9, "errors": 0},
                      {**member, "t_ns": page["start_ns"], "dt_ns": 10**9, "ops": 100, "errors": 3}],
    }  # fmt: skip
    held = {name: synthetic.table(name, rows) for name, rows in tables.items()}
    both = replace(run, tables={**run.tables, **held}, _rows={})
    found, alone = figures_of_run(both), figures_of_run(run)
    assert {k: v for k, v in found.items() if k.startswith("readers.")} == {
        k: v for k, v in alone.items() if k.startswith("readers.")
    }
    assert found["readers/pc_top.latency_n"] == found["readers/pc_top.ops"] == 100
    assert found["readers/pc_top.latency_p99_s"] == float("inf"), "three of its calls failed"
    assert role_series(both)["readers"].ops.sum() == 100


def test_cpu_per_role_is_that_of_the_measured_segments() -> None:
    found = figures_of_run(synthetic.run("postgresql", client_cores=0.5, makespan_s=2.0, rows=50_000))
    assert found["client.busy_cores"] == pytest.approx(0.5)
    assert found["server.busy_cores"] == pytest.approx(0.8)
    assert found["server.cpu_us_per_row"] == pytest.approx(0.8 * 2 / 50_000 * 1e6)
    calls = found["writers.ops"]
    assert found["server.cpu_us_per_op"] == pytest.approx(0.8 * 2 / calls * 1e6)
    assert found["client.cpu_us_per_op"] == pytest.approx(0.5 * 2 / calls * 1e6)


def test_in_a_step_the_process_of_the_client_has_a_name_of_its_own_beside_the_threads_of_the_role() -> None:
    said = {
        of: step_figure("look", of)
        for of in ("look.client_cpu_us_per_op", "client.cpu_us_per_op", "server.cpu_us_per_op")
    }
    assert list(said.values()) == [
        "look.client_cpu_us_per_op",
        "look.client_process_cpu_us_per_op",
        "look.server_cpu_us_per_op",
    ]
    assert set(said.values()) - {"look.client_process_cpu_us_per_op"} <= {
        f"look.{figure}" for figure in Read.figures
    }


def test_unsent_calls_lower_the_achieved_share() -> None:
    assert figures_of_run(synthetic.run(totals={"unsent": 50}))["writers.achieved_share"] == 0.5


def test_what_was_due_and_never_sent_is_slower_than_every_percentile_that_it_reaches() -> None:
    """A server that stood still at the end of a role kept 5 of 55 calls from being sent: the others were fast."""
    run = synthetic.run(schedule="constant", latency_ns=[10**6] * 50, lag_ns=[0] * 50, totals={"unsent": 5})
    found = figures_of_run(run)
    for kind in ("latency", "on_time"):
        assert found[f"writers.{kind}_p90_s"] == pytest.approx(1e-3, rel=0.01)
        assert found[f"writers.{kind}_p99_s"] == found[f"writers.{kind}_s"] == float("inf")
    assert np.isfinite(found["writers.service_p99_s"]), "it had no service"
    assert (found["writers.ops"], found["writers.failed_share"]) == (50, 0)
    # A closed role has no due times: what is left of its volume was not late.
    closed = figures_of_run(synthetic.run(latency_ns=[10**6] * 50, totals={"unsent": 5}))
    assert np.isfinite(closed["writers.latency_s"])


def test_a_row_that_was_never_seen_is_slower_than_every_row_that_was() -> None:
    """A reader saw 15 rows after 40 ms each and 15 not at all: half of all rows have no percentile above the median."""
    run = synthetic.run("postgresql")
    looking = {"name": "page", "kind": "query", "holds": [{"kind": "freshness", "table": 0, "series": 3}]}
    readers = synthetic.role_plan("readers", "page", "constant")
    plan = {
        **run.plan,
        "operations": [*run.plan["operations"], looking],
        "segments": [*run.plan["segments"][:-1], {**run.plan["segments"][-1], "roles": [readers]}],
    }
    where = {"segment": 2, "repetition": 0, "role": "readers"}
    seen = {**where, "op": "page", "kind": "freshness", "t_ns": 10**9, **synthetic.hist([40_000_000] * 15)}

    def found(unseen: int) -> dict[str, float]:
        totals = {**where, "start_ns": 10**9, "end_ns": 2 * 10**9, "ops": 30, "ok": 30, "sessions": 1}
        tables = {
            "hist": synthetic.table("hist", [seen]),
            "repetitions": synthetic.table("repetitions", [{**totals, "unseen": unseen}]),
        }
        return figures_of_run(replace(run, plan=plan, tables={**run.tables, **tables}, _rows={}))

    half, whole = found(15), found(0)
    assert half["readers.freshness_p50_s"] == pytest.approx(0.040, rel=0.01)
    assert half["readers.freshness_p90_s"] == half["readers.freshness_p999_s"] == float("inf")
    assert (half["readers.freshness_n"], half["readers.unseen"]) == (15, 15)
    assert whole["readers.freshness_p999_s"] == pytest.approx(0.040, rel=0.01) and not whole["readers.unseen"]


def test_a_run_without_tables_has_no_figures_rather_than_zeros() -> None:
    assert figures_of_run(RunRecord("r", {"target": {"engine": "null"}}, {}, {})) == {}


def test_a_series_sums_to_the_work_done_whatever_the_intervals() -> None:
    run = synthetic.run(makespan_s=[2.0, 1.0], rows=50_000, interval_s=0.3, rate=lambda t_s: 1 + t_s)
    series = role_series(run)["writers"]
    assert series.rows.sum() == 100_000
    assert np.all(np.diff(series.t_s) > 0)
    assert set(series.repetition.tolist()) == {0, 1}


def test_what_the_store_reads_becomes_a_record() -> None:
    run = synthetic.run("sqlite", {"batch_rows": 5}, 2, 3)

    stopped = [{"labels": {"factors": {"engine": "sqlite", "batch_rows": 9}}, "reason": "90 s"}]
    sealed = SimpleNamespace(
        id=run.run_id, plan=run.plan, env=run.env, doc=run.summary, tables=run.tables, first_rejects={}
    )
    results = SimpleNamespace(study={"title": "t", "stopped": stopped}, runs=[sealed])
    record = study_record(results)
    assert record.runs[0].point == {"engine": "sqlite", "batch_rows": 5}
    assert (record.runs[0].block, record.runs[0].order) == (2, 3)
    assert (
        record.absent[0].point == {"engine": "sqlite", "batch_rows": 9} and record.absent[0].why == "stopped"
    )


def test_a_paced_role_that_left_calls_out_has_the_rate_of_the_time_that_they_were_due_in() -> None:
    """100 calls a second: 50 are sent within half a second, and 150 more were due in the two seconds of the schedule."""
    run = synthetic.run("postgresql", schedule="constant", makespan_s=0.5, totals={"unsent": 150})
    assert figures_of_run(run)["writers.ops_per_s"] == pytest.approx(25.0)


def test_what_grew_between_two_looks_is_of_no_window_that_lies_between_them() -> None:
    looks = (np.array([0.0, 200.0, 400.0, 600.0]), np.array([0.0, 0.0, 90.0, 90.0]))
    assert spent(looks, [(190, 410)]) == pytest.approx(90.0 * 220 / 200), "at the rate of what was looked at"
    assert spent(looks, [(0, 600)]) == 90.0
    for between in ((250, 350), (210, 260), (150, 350), (390, 450)):
        assert spent(looks, [between]) is None, between
    assert spent(looks, [(0, 600), (250, 350)]) is None
    # Looked at when it began and when it ended.
    short = (np.array([0.0, 249.0, 351.0, 400.0]), np.array([0.0, 10.0, 80.0, 90.0]))
    assert spent(short, [(250, 350)]) == pytest.approx(70.0, rel=0.05)
    # Where no look lies near its begin or its end, the next look says what a neighbour did: here 9 cores of 9.5 s.
    assert spent((np.array([0.0, 50.0, 1000.0]), np.array([0.0, 50.0, 8600.0])), [(0, 100)]) is None
    assert spent((np.array([-900.0, 50.0, 100.0]), np.array([0.0, 8550.0, 8600.0])), [(0, 100)]) is None
    near = (np.array([-900.0, 5.0, 95.0, 1000.0]), np.array([0.0, 8145.0, 8235.0, 16380.0]))
    assert spent(near, [(0, 100)]) == pytest.approx(100.0), "nothing of its neighbours"
    assert spent((np.array([-9.0, 109.0]), np.array([0.0, 118.0])), [(0, 100)]) == pytest.approx(100.0)
    assert spent((np.array([5.0]), np.array([1.0])), [(0, 100)]) is None
    # Both looks lie behind it.
    late = (np.array([0.0, 349.0, 351.0, 400.0]), np.array([0.0, 80.0, 80.0, 90.0]))
    assert spent(late, [(250, 350)]) is None


def extracting(operations: Sequence[str], busy_s: Sequence[float]) -> RunRecord:
    """A role with these operations, of which `take` extracts: 8,000 rows in 4 s, by a session for each of busy_s."""
    found = synthetic.run("postgresql", makespan_s=4.0, rows=8_000, writers=len(busy_s), resources=False)
    plan = copy.deepcopy(dict(found.plan))
    plan["operations"] = [{"name": "take", "kind": "extract"}, {"name": "ask", "kind": "query"}]
    (role,) = [r for r in plan["segments"][1]["roles"] if r["name"] == "writers"]
    role["operations"] = [{"operation": name} for name in operations]
    rows = [
        {"segment": 2, "repetition": 0, "role": "writers", "session": k, "busy_ns": int(s * 1e9)}
        for k, s in enumerate(busy_s)
    ]
    tables = {**found.tables, "sessions": synthetic.table("sessions", rows)}
    return replace(found, plan=plan, tables=tables, _rows={})


def test_the_rate_of_extracts_is_over_the_seconds_that_a_session_waited_for_them() -> None:
    """Two sessions side by side: 2 s of calls each are 2 s, not 4."""

    def rate(*busy_s: float) -> float:
        return figures_of_run(extracting(["take"], busy_s))["writers.rows_per_s"]

    assert [rate(2), rate(2, 2), rate(1, 3), rate(1)] == pytest.approx([4_000, 4_000, 4_000, 8_000])
    assert figures_of_run(extracting(["take"], [2, 2]))["writers.bytes_per_s"] == pytest.approx(400_000)


def test_a_role_that_also_asks_has_the_rate_of_its_makespan() -> None:
    for operations in (["take", "ask"], ["ask"]):
        assert figures_of_run(extracting(operations, [1.0]))["writers.rows_per_s"] == pytest.approx(2_000)
