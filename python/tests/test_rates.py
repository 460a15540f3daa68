"""Rates over time of made-up runs whose true rate is known: no step of any chart lies above it by more than rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from inrush.report.live.charts import specs
from inrush.report.live.clock import StudyClock
from inrush.report.over_time import panels
from inrush.stats.rates import no_faster, role_rates, steps
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from tests import synthetic
from tests.synthetic import SECOND

BATCH_ROWS = 5_000
CALLS_PER_S = 4.0
ROWS_PER_S = BATCH_ROWS * CALLS_PER_S
#: One more call in a step than the rate has room for: what counting whole calls cannot avoid.
ONE_CALL = BATCH_ROWS
LATENCY_NS = 10_000_000


def made_up(
    calls: int,
    first_due_s: float = 0.0,
    kind: str = "constant",
    interval_s: float = 1.0,
    repetitions: int = 1,
    resources: Sequence[dict[str, Any]] = (),
) -> RunRecord:
    """Calls at CALLS_PER_S from `first_due_s` after each repetition's origin; intervals as the core writes them."""
    base = synthetic.run(schedule=kind, resources=False)
    totals, intervals = [], []
    origin_ns = SECOND
    for repetition in range(repetitions):
        due_ns = [origin_ns + round((first_due_s + k / CALLS_PER_S) * SECOND) for k in range(calls)]
        done_ns = [d + LATENCY_NS for d in due_ns]
        where = {"segment": 2, "repetition": repetition, "role": "writers"}
        totals.append({**where, "start_ns": due_ns[0], "end_ns": done_ns[-1], "rows": calls * BATCH_ROWS,
                      "bytes": calls, "ops": calls, "ok": calls, "sessions": 1})  # fmt: skip
        width_ns = round(interval_s * SECOND)
        for i in range((done_ns[-1] - origin_ns - 1) // width_ns + 1):
            from_ns, to_ns = origin_ns + i * width_ns, min(origin_ns + (i + 1) * width_ns, done_ns[-1])
            n = sum(from_ns < d <= to_ns for d in done_ns)
            intervals.append({**where, "op": "insert", "t_ns": from_ns, "dt_ns": to_ns - from_ns,
                              "rows": n * BATCH_ROWS, "bytes": n, "ops": n})  # fmt: skip
        origin_ns = done_ns[-1] + SECOND
    segments = [{**s, "end_ns": done_ns[-1]} if s["phase"] == "measure" else s for s in base.rows("segments")]
    found = {
        "repetitions": totals,
        "intervals": intervals,
        "segments": segments,
        "resources": list(resources),
    }
    tables = {**base.tables, **{name: synthetic.table(name, rows) for name, rows in found.items()}}
    segments_planned = [
        {**s, "roles": [{**r, "schedule": schedule(kind)} for r in s.get("roles", ())]}
        for s in base.plan["segments"]
    ]
    plan = {**base.plan, "segments": segments_planned, "record": {"interval_ns": round(interval_s * SECOND)}}
    return replace(base, plan=plan, tables=tables, _rows={})


def schedule(kind: str) -> dict[str, Any]:
    if kind == "closed":
        return {"kind": kind, "think_ns": 0}
    if kind == "samples":
        return {"kind": kind, "every_ns": round(2 * SECOND / CALLS_PER_S), "parts": 2}
    return {"kind": kind, "rate_per_s": CALLS_PER_S}


def drawn(run: RunRecord, title: str) -> list[float]:
    (panel,) = (p for p in panels(run) if p.title == title)
    return [row["y"] for row in panel.rows]


@pytest.mark.parametrize("kind", ["closed", "constant"])
@pytest.mark.parametrize("first_due_s", [0.0, 0.3, 0.77])
@pytest.mark.parametrize("calls", [1, 2, 3, 9, 10, 11, 27, 28, 29, 30])
def test_no_step_of_the_throughput_lies_above_the_truth(kind: str, first_due_s: float, calls: int) -> None:
    found = drawn(made_up(calls, first_due_s, kind), "rows/s")
    if kind == "closed" and calls < 9:
        return  # of a closed run of two seconds, the whole is the only step, and it is exact
    assert max(found) <= ROWS_PER_S * 1.001


@pytest.mark.parametrize("calls", [28, 29, 30, 31])
def test_a_rate_that_does_not_change_is_a_straight_line_until_its_end(calls: int) -> None:
    found = drawn(made_up(calls), "rows/s")
    assert found[-1] == 0 and len(found) >= 8
    assert found[:-1] == pytest.approx([ROWS_PER_S] * (len(found) - 1))


def test_a_role_does_not_pause_in_what_is_cut_at_the_end_of_its_work() -> None:
    """31 calls are the work of 7.75 s: the rate holds until then, and falls to nothing there and not at 7 s."""
    (panel,) = (p for p in panels(made_up(31)) if p.title == "rows/s")
    assert [(row["t"], row["y"] > 0) for row in panel.rows[-2:]] == [(6.0, True), (7.75, False)]
    (panel,) = (p for p in panels(made_up(9, repetitions=2)) if p.title == "rows/s")
    assert [row["t"] for row in panel.rows if not row["y"]] == pytest.approx([2.25, 5.26], abs=0.02)


def test_short_repetitions_are_one_step_each_of_their_whole_time() -> None:
    rated = role_rates(made_up(3, repetitions=5))["writers"]
    assert len(rated.t_s) == 5
    assert rated.rows / rated.dt_s == pytest.approx([ROWS_PER_S] * 5)


def test_a_step_that_a_role_did_not_fill_is_cut_at_both_ends() -> None:
    rated = role_rates(made_up(40, first_due_s=0.5, kind="closed"))["writers"]
    assert rated.t_s.tolist() == pytest.approx([2.0 + k for k in range(len(rated.t_s))])
    assert rated.rows.tolist() == [4 * BATCH_ROWS] * len(rated.t_s)


@pytest.mark.parametrize("kind", ["constant", "samples"])
@pytest.mark.parametrize("calls", [2, 4, 10, 40])
def test_a_paced_role_is_no_faster_than_its_schedule(kind: str, calls: int) -> None:
    """Ten calls, four a second, are sent in 2.25 s and are the work of 2.5 s."""
    figures = figures_of_run(made_up(calls, kind=kind))
    assert figures["writers.rows_per_s"] == pytest.approx(ROWS_PER_S)
    assert figures["writers.ops_per_s"] == pytest.approx(CALLS_PER_S)
    first_to_last_s = (calls - 1) / CALLS_PER_S if kind == "constant" else figures["writers.makespan_s"]
    assert figures["writers.makespan_s"] == pytest.approx(first_to_last_s, abs=0.02)


def test_a_paced_role_that_cannot_keep_up_has_the_rate_of_what_it_stored() -> None:
    run = made_up(10)
    (totals,) = run.rows("repetitions")
    late = {**totals, "end_ns": totals["start_ns"] + 10 * SECOND}
    run = replace(run, tables={**run.tables, "repetitions": synthetic.table("repetitions", [late])}, _rows={})
    assert figures_of_run(run)["writers.ops_per_s"] == pytest.approx(1.0)


def sampled(busy_cores: float, seconds: float, seed: int, tick_s: float = 0.01) -> list[dict[str, Any]]:
    """CPU counted in ticks, looked at 10 times a second with jitter, and once more beside a look: as the core does."""
    rng = np.random.default_rng(seed)
    t_s = np.arange(0.0, seconds + 2, 0.1) + rng.uniform(0, 0.03, round(seconds * 10) + 20)
    t_s = np.sort(np.append(t_s, t_s[15::20] + 5e-4))
    return [
        {"role": "server", "t_ns": round(t * SECOND), "metric": "cpu_s", "value": np.floor(busy_cores * t / tick_s) * tick_s}
        for t in t_s
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_busy_cores_stay_at_the_truth_whatever_the_looks_lie_beside(seed: int) -> None:
    run = made_up(40, resources=sampled(0.8, 11.0, seed))
    found = drawn(run, "busy cores")
    assert len(found) >= 8
    assert found == pytest.approx([0.8] * len(found), abs=0.02)


def test_failed_calls_over_time_are_on_the_page_and_live() -> None:
    titles = {p.title: p.rows for p in panels(synthetic.run("postgresql", failed=5, interval_s=0.1))}
    rows = titles["failed calls/s"]
    assert sum(row["y"] for row in rows) * 0.1 == pytest.approx(5) and {row["series"] for row in rows} == {
        "writers"
    }
    assert "failed calls/s" not in {p.title for p in panels(synthetic.run("postgresql", interval_s=0.1))}
    assert "failed" in [chart["name"] for chart in specs()["over_time"]]


def test_what_a_process_spent_before_it_was_found_is_not_spent_at_once() -> None:
    """A server's process, busy for 1 s before the watch looks for children, was no ten cores for a tenth of a second."""
    t_s = np.arange(0.0, 12.0, 0.1)
    rows = [
        {"role": "server", "t_ns": round(t * SECOND), "metric": "cpu_s", "value": float(t) if t >= 1.95 else 0.0}
        for t in t_s
    ]  # fmt: skip
    run = made_up(40, resources=rows)
    run = replace(run, env={**run.env, "cpu_logical": 2})
    assert max(drawn(run, "busy cores")) <= 2.0
    t, used = t_s, np.where(t_s >= 1.95, t_s, 0.0)
    bounded = no_faster(t, used, 2.0)
    assert np.all(np.diff(bounded) / np.diff(t) <= 2.0 + 1e-9) and bounded[-1] == used[-1]


def test_steps_are_whole_or_the_one_that_there_is() -> None:
    t, total = np.array([0.0, 10.0]), np.array([0.0, 100.0])
    at, dt, grown = steps(t, total, 0.5, 4.4, 1.0)
    assert at.tolist() == [0.5, 1.5, 2.5] and dt.tolist() == [1.0] * 3 and grown == pytest.approx([10.0] * 3)
    at, dt, grown = steps(t, total, 0.5, 1.0, 1.0)
    assert (at.tolist(), dt.tolist(), grown.tolist()) == ([0.5], [0.5], pytest.approx([5.0]))
    assert len(steps(t, total, 3.0, 3.0, 1.0)[0]) == 0


@pytest.mark.parametrize("late_ms", [0, 3, 11, 20])
@pytest.mark.parametrize("seed", range(5))
def test_the_terminal_never_shows_more_than_was_sent(late_ms: int, seed: int) -> None:
    run = made_up(80)
    study = StudyClock()
    study.begun(1, 1, "mysql", 1, ("writers",), run.plan)
    rng = np.random.default_rng(seed)
    for k in range(1, 40):
        at_s = 0.5 * k + late_ms / 1e3 + rng.uniform(0, 0.004)
        ops = sum(i / CALLS_PER_S + 0.01 <= at_s for i in range(80))
        role = {"rows": ops * BATCH_ROWS, "ops": ops, "rows_per_s": ops * BATCH_ROWS / at_s, "ops_per_s": ops / at_s,
                "p99_ms": None, "errors": 0, "backlog": 0}  # fmt: skip
        study.event({"event": "progress", "t_ns": int(at_s * 1e9), "segment": 3, "repetition": 0, "label": "measure",
                     "roles": {"writers": role}})  # fmt: skip
        assert study.rates()["writers"][0] <= ROWS_PER_S * (1 + 1e-9)


def test_a_backlog_that_is_worked_off_is_shown_as_fast_as_it_goes() -> None:
    study = StudyClock()
    study.begun(1, 1, "mysql", 1, ("writers",), made_up(80).plan)
    for k, (ops, backlog) in enumerate([(0, 40), (20, 24), (40, 8)]):
        role = {"rows": ops * BATCH_ROWS, "ops": ops, "rows_per_s": 0.0, "ops_per_s": 0.0, "p99_ms": None, "errors": 0,
                "backlog": backlog}  # fmt: skip
        study.event({"event": "progress", "t_ns": (10 + k) * SECOND, "segment": 3, "repetition": 0, "label": "measure",
                     "roles": {"writers": role}})  # fmt: skip
    assert study.rates()["writers"][0] == 20 * BATCH_ROWS
