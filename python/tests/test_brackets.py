"""Brackets against the truth: a queue whose client is late, and the same queue with a client that was on time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from inrush.analysis.verdicts import Outcome, Verdict
from inrush.guards.lateness import client_on_time, overloaded
from inrush.results.histogram import of_values, rank
from inrush.run.stop_rules import StopRules
from inrush.stats.brackets import (
    WIDEST,
    Bracket,
    Lateness,
    at_least,
    brackets,
    farther,
    quantile_of,
    slowed,
    sorted_quantile,
)
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from inrush.stats.starved import Starved
from tests import synthetic
from tests.synthetic import SECOND
from tests.test_plan import planned

MS = 1_000_000
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class Queue:
    """One session at a Poisson rate: what a late client measures, what the core records, and what was true on time."""

    def __init__(self, seed: int, late_ns: int, share: float, calls: int = 2_000, load: float = 0.5) -> None:
        rng = np.random.default_rng(seed)
        service = rng.lognormal(np.log(2 * MS), 0.4, calls).astype(int)
        due = np.cumsum(rng.exponential(service.mean() / load, calls)).astype(int)
        lag = np.where(rng.random(calls) < share, rng.exponential(late_ns or 1, calls), 0).astype(int)
        self.latency, self.lag, self.on_time = list[int](), lag.tolist(), list[int]()
        self.service = service.tolist()
        free = free_on_time = 0
        for d, s, late in zip(due.tolist(), service.tolist(), self.lag, strict=True):
            free = max(d, free) + late + s
            free_on_time = max(d, free_on_time) + s
            self.latency.append(free - d)
            self.on_time.append(free_on_time - d)

    def run(self) -> RunRecord:
        made = synthetic.run(
            "postgresql", schedule="constant", latency_ns=self.latency, service_ns=self.service, lag_ns=self.lag, rows=len(self.latency),
            batch_rows=1,
        )  # fmt: skip
        rows = [r for r in made.rows("hist") if r["kind"] != "on_time"]
        rows.append({**rows[0], "kind": "on_time", **synthetic.hist(self.on_time)})
        return replace(made, tables={**made.tables, "hist": synthetic.table("hist", rows)}, _rows={})

    def true_s(self, q: float) -> float:
        values = sorted(self.on_time)
        return values[rank(q, len(values)) - 1] / 1e9


def verdict(run: RunRecord) -> Verdict:
    return client_on_time(run, figures_of_run(run))


def test_the_bracket_holds_the_true_percentile_in_nearly_every_run() -> None:
    held = []
    for seed in range(40):
        queue = Queue(seed, late_ns=MS, share=0.3)
        run = queue.run()
        found = brackets(run, figures_of_run(run), ["writers"])
        for name, q in QUANTILES.items():
            bracket = found[f"writers.latency_{name}_s"]
            # A bucket is 0.8 % wide and shows its upper end.
            held.append(bracket.on_time <= queue.true_s(q) * 1.01 and queue.true_s(q) <= bracket.measured)
    assert np.mean(held) >= 0.95


@pytest.mark.parametrize(
    ("late_ms", "outcome"), [(1, Outcome.PASS), (4, Outcome.NOTE), (9, Outcome.NOTE), (11, Outcome.INVALID)]
)
def test_a_figure_turns_invalid_where_its_ends_differ_by_five_percent(late_ms: int, outcome: Outcome) -> None:
    run = synthetic.run(
        "postgresql",
        schedule="constant",
        latency_ns=[200 * MS + late_ms * MS] * 50,
        lag_ns=[late_ms * MS] * 50,
    )
    assert verdict(run).outcome is outcome
    assert verdict(run).breaks("writers.latency_p50_s") is (outcome is Outcome.INVALID)


def test_milliseconds_of_lag_leave_slow_figures_valid_and_are_in_the_sentence() -> None:
    run = synthetic.run(
        "postgresql", schedule="constant", latency_ns=[207 * MS] * 100, lag_ns=[1_340_000] * 100, rows=100_000
    )
    assert verdict(run).outcome is Outcome.PASS and "and with a client on time" in verdict(run).sentence


def test_only_the_percentiles_that_lateness_reached_are_invalid() -> None:
    lags = [0] * 97 + [5 * MS] * 3
    run = synthetic.run(
        "postgresql",
        schedule="constant",
        latency_ns=[10 * MS + lag for lag in lags],
        lag_ns=lags,
        rows=100_000,
    )
    found = verdict(run)
    assert found.outcome is Outcome.INVALID
    assert found.breaks("writers.latency_p99_s") and found.breaks("writers.latency_s")
    assert not found.breaks("writers.latency_p50_s") and not found.breaks("writers.rows_per_s")
    assert "latency p99 to worst" in found.sentence and "worst latency of writers" in found.sentence


def test_arrivals_sent_later_than_the_gap_between_them_are_in_the_sentence() -> None:
    lags = [0] * 40 + [30 * MS] * 10  # 100 calls a second: 10 ms from one to the next
    run = synthetic.run("postgresql", schedule="constant", latency_ns=[90 * MS] * 50, lag_ns=lags)
    assert "Sent later than the mean gap between arrivals: 20.0 % of writers" in verdict(run).sentence


def test_a_bound_is_never_above_the_difference_whatever_the_two_have_to_do_with_each_other() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        x = rng.lognormal(3, 1, 500)
        late = np.minimum(x, rng.exponential(rng.uniform(0.1, 20), 500) * (rng.random(500) < rng.random()))
        if rng.random() < 0.5:
            late = np.minimum(x, np.sort(late)[np.argsort(np.argsort(x))])
        for q in QUANTILES.values():
            true = np.sort(x - late)[rank(q, 500) - 1]
            lateness = Lateness(sorted_quantile(np.sort(late)))
            assert at_least(sorted_quantile(np.sort(x)), [lateness], q) <= true + 1e-9


def test_few_late_calls_among_many_may_be_all_that_saw_something() -> None:
    """100 calls for each new row, and the one that sees it is late: 1 % of the calls, and all of what was seen."""
    seen, late = np.full(100, 0.020), np.sort(np.r_[np.zeros(9_900), np.full(100, 0.015)])
    x = sorted_quantile(seen)
    assert at_least(x, [Lateness(sorted_quantile(late), times=100)], 0.5) <= 0.005 + 1e-9
    assert at_least(x, [Lateness(sorted_quantile(late))], 0.5) == 0.020, "as if each call saw a row"


# Freshness.


def fresh_run(lag_where_seen_ms: float, stored: int = 100, late_ms: float = 0.0) -> RunRecord:
    """A reader that sees one new row in each of 100 intervals, 20 ms after it was due, with 100 calls in each."""
    rows = [
        {"segment": 2, "role": "writers", "sample": k, "due_ns": SECOND + k * SECOND, "collected_ns": SECOND + k * SECOND, "rows": 5,
         "sent_ns": SECOND + k * SECOND + round(late_ms * MS) if k < stored else 0, "done_ns": SECOND + k * SECOND + 10 * MS if k < stored else 0,
         "sent_on_time_ns": SECOND + k * SECOND, "done_on_time_ns": SECOND + k * SECOND + round((10 - late_ms) * MS)}
        for k in range(100)
    ]  # fmt: skip
    made = synthetic.run("postgresql", makespan_s=101.0, schedule="constant", resources=False)
    where = {"segment": 2, "repetition": 0, "role": "readers", "op": "page"}
    hists = [
        {**where, "t_ns": SECOND + k * SECOND, "dt_ns": SECOND, "kind": kind, **synthetic.hist(values)}
        for k in range(100)
        for kind, values in (("lag", [1000] * 99 + [round(lag_where_seen_ms * MS)]), ("freshness", [20 * MS]))
    ]
    sampled = {
        **synthetic.role_plan("writers"),
        "schedule": {"kind": "samples", "every_ns": SECOND, "parts": 1},
    }
    roles = [sampled, synthetic.role_plan("readers", "page", "constant")]
    segments = [*made.plan["segments"][:-1], {**made.plan["segments"][-1], "roles": roles}]
    samples = synthetic.table("samples", rows)
    tables = {"samples": samples, "hist": synthetic.table("hist", hists)}
    return replace(made, plan={**made.plan, "segments": segments}, tables={**made.tables, **tables}, _rows={})


@pytest.mark.parametrize(("late_ms", "invalid"), [(0.5, False), (15.0, True)])
def test_freshness_is_held_against_the_calls_that_saw_a_row(late_ms: float, invalid: bool) -> None:
    """One call in a hundred is late, and it is the one that sees the new row."""
    found = verdict(fresh_run(late_ms))
    assert found.breaks("readers.freshness_p50_s") is invalid, found


def test_a_sample_that_was_never_stored_hides_no_lateness_of_the_others() -> None:
    assert verdict(fresh_run(0.001, late_ms=5.0)).breaks("readers.freshness_p50_s")
    assert verdict(fresh_run(0.001, late_ms=5.0, stored=99)).breaks("readers.freshness_p50_s")


# Stalls of the whole process.


def stalled(latency: Sequence[int], stood_s: float, measured_s: float, **how: Any) -> RunRecord:
    said = {"stall_total_s": stood_s, "stalls": max(1.0, round(stood_s / 0.2))}
    stalls = [
        {"role": "client", "t_ns": 2 * SECOND, "metric": metric, "device": "", "value": value}
        for metric, value in said.items()
    ]
    return synthetic.run(
        "postgresql", makespan_s=measured_s, latency_ns=latency, rows=len(latency), batch_rows=1, more={"resources": stalls}, **how
    )  # fmt: skip


def freeze(
    seed: int, stood_ns: int, calls: int = 4_000, load: float = 0.5
) -> tuple[list[int], list[int], float, list[int]]:
    """A paced session whose client stands still once in the middle of a call: measured, true, seconds, service."""
    rng = np.random.default_rng(seed)
    service = rng.lognormal(np.log(2 * MS), 0.4, calls).astype(int)
    due = np.cumsum(rng.exponential(service.mean() / load, calls)).astype(int)
    at = int(rng.integers(calls // 4, 3 * calls // 4))
    latency, on_time, seen = [], [], []
    free = free_on_time = 0
    for k, (d, s) in enumerate(zip(due.tolist(), service.tolist(), strict=True)):
        took = s + (stood_ns if k == at else 0)
        free, free_on_time = max(d, free) + took, max(d, free_on_time) + s
        latency.append(free - d)
        on_time.append(free_on_time - d)
        seen.append(took)
    return latency, on_time, float(due[-1]) / 1e9, seen


def test_the_bracket_of_a_stalled_client_holds_the_true_percentile_in_nearly_every_run() -> None:
    held = []
    for seed in range(40):
        latency, on_time, measured_s, service = freeze(seed, stood_ns=SECOND)
        busy = {"segment": 2, "repetition": 0, "role": "writers", "ops": len(latency), "rows": len(latency)}
        run = stalled(latency, 1.0, measured_s, schedule="constant", service_ns=service)
        sessions = synthetic.table("sessions", [{**busy, "busy_ns": sum(service)}])
        run = replace(run, tables={**run.tables, "sessions": sessions}, _rows={})
        found = brackets(run, figures_of_run(run), ["writers"])
        for name, q in QUANTILES.items():
            bracket, true = (
                found[f"writers.latency_{name}_s"],
                sorted(on_time)[rank(q, len(on_time)) - 1] / 1e9,
            )
            held.append(bracket.on_time <= true * 1.01 and true <= bracket.measured)
    assert np.mean(held) >= 0.95


@pytest.mark.parametrize(("stood_s", "broken"), [(0.45, False), (0.5, True)])
def test_rates_of_a_closed_role_turn_invalid_where_a_stall_is_five_percent_of_the_time(
    stood_s: float, broken: bool
) -> None:
    found = verdict(stalled([MS] * 5_000, stood_s, 10.0))
    assert found.breaks("writers.rows_per_s") is broken and found.breaks("writers.makespan_s") is broken
    assert "stood still" in found.sentence or not broken


def test_a_stall_delays_one_call_a_session_of_a_closed_role_and_leaves_its_median() -> None:
    latency = [MS] * 4_990 + [int(0.4 * SECOND)] * 10
    found = verdict(stalled(latency, 0.4, 10.0))
    assert not found.breaks("writers.latency_p50_s") and not found.breaks("writers.latency_p99_s")


def test_without_its_stall_a_closed_role_had_taken_less_time_and_been_faster() -> None:
    run = stalled([MS] * 5_000, 1.0, 10.0)
    found = brackets(run, figures_of_run(run), [])
    makespan, rate = found["writers.makespan_s"], found["writers.rows_per_s"]
    assert (makespan.measured, makespan.on_time) == pytest.approx((10.0, 9.0))
    assert (rate.measured, rate.on_time) == pytest.approx((500.0, 5_000 / 9))


@pytest.mark.parametrize(("sessions", "broken"), [(1, False), (8, True)])
def test_a_stall_delays_a_call_of_each_session(sessions: int, broken: bool) -> None:
    """Two calls in a hundred are slow: without one for each of eight sessions p99 is fast, without one it is not."""
    found = verdict(stalled([MS] * 784 + [int(0.4 * SECOND)] * 16, 0.2, 10.0, writers=sessions))
    assert found.breaks("writers.latency_p99_s") is broken


@pytest.mark.parametrize("kind", ["latency", "service"])
def test_a_stall_is_in_the_service_time_as_well_as_in_the_latency(kind: str) -> None:
    run = stalled([MS] * 784 + [int(0.4 * SECOND)] * 16, 0.2, 10.0, writers=8)
    assert verdict(run).breaks(f"writers.{kind}_p99_s")


def test_a_stall_is_in_the_freshness_of_what_a_reader_saw() -> None:
    run = fresh_run(0.001)
    slow = [
        {**row, **synthetic.hist([SECOND])}
        if row["kind"] == "freshness" and row["t_ns"] > 98 * SECOND
        else row
        for row in run.rows("hist")
    ]
    stall = {"role": "client", "t_ns": 50 * SECOND, "metric": "stall_total_s", "device": "", "value": 5.0}
    resources = synthetic.table("resources", [*run.rows("resources"), stall])
    slowly = replace(run, tables={**run.tables, "hist": synthetic.table("hist", slow)}, _rows={})
    stood = replace(slowly, tables={**slowly.tables, "resources": resources}, _rows={})
    assert not verdict(slowly).breaks("readers.freshness_p99_s")
    assert verdict(stood).breaks("readers.freshness_p99_s")


def test_without_its_stall_every_rate_of_a_closed_role_had_been_higher() -> None:
    rates = ("rows_per_s", "bytes_per_s", "ops_per_s", "attempts_per_s", "keys_per_s")
    figures = {f"readers.{rate}": 90.0 for rate in rates} | {"readers.makespan_s": 10.0}
    found = slowed("readers", figures, Starved(stood=0.1))
    assert {name: b.on_time for name, b in found.items()} == pytest.approx(
        {f"readers.{rate}": 100.0 for rate in rates} | {"readers.makespan_s": 9.0}
    )


@pytest.mark.parametrize(("attempted_share", "invalid"), [(0.97, True), (1.0, False)])
def test_the_rate_of_an_overloaded_role_is_invalid_where_its_client_was_late(
    attempted_share: float, invalid: bool
) -> None:
    """Half of the calls were late by the client, and not all that were due were sent: the rate is the client's."""
    run = synthetic.run(
        "postgresql", schedule="constant", latency_ns=[12 * MS] * 50, service_ns=[2 * MS] * 50, lag_ns=[10 * MS] * 50
    )  # fmt: skip
    found = client_on_time(run, {**figures_of_run(run), "writers.attempted_share": attempted_share})
    assert found.breaks("writers.latency_p50_s") and found.breaks("writers.rows_per_s") is invalid


def test_the_rate_of_an_overloaded_role_stands_where_few_of_its_calls_were_late() -> None:
    figures = {"writers.attempted_share": 0.9, "writers.rows_per_s": 10.0}
    late = Bracket(1e-3, 2e-3)
    assert overloaded(figures, {"writers.latency_p99_s": late}, ["writers"]) == []
    assert overloaded(figures, {"writers.latency_p50_s": late}, ["writers"]) == [
        "writers.rows_per_s", "writers.attempted_share"
    ]  # fmt: skip


def test_samples_that_were_due_during_a_stall_and_in_its_backlog_may_be_its() -> None:
    """A hundred of a thousand were slow. The stall made forty late at most by itself, and eighty were due in it."""
    stood = slow_samples(sample_run(20, 0.001, every_ms=100, count=1_000), 900, 90, 100.0, 8.0)
    assert verdict(stood).breaks("writers.sample_p99_s")


def slow_samples(run: RunRecord, first: int, took_ms: int, measured_s: float, stood_s: float) -> RunRecord:
    """Its samples from `first` on took longer, in so many measured seconds of which the client stood still for some."""
    rows = run.tables["samples"].to_pylist()
    for row in rows[first:]:
        row |= {"done_ns": row["due_ns"] + took_ms * MS, "done_on_time_ns": row["due_ns"] + took_ms * MS}
    (totals,) = run.rows("repetitions")
    ends = round(measured_s * SECOND)
    stood = {"role": "client", "t_ns": 50 * SECOND, "device": ""}
    stall = {**stood, "metric": "stall_total_s", "value": stood_s}
    stalls = {**stood, "metric": "stalls", "value": stood_s / 0.2}
    tables = {
        "samples": synthetic.table("samples", rows),
        "repetitions": synthetic.table("repetitions", [{**totals, "end_ns": SECOND + ends}]),
        "segments": synthetic.table(
            "segments", [{**r, "end_ns": SECOND + ends} if r["phase"] else r for r in run.rows("segments")]
        ),
        "resources": synthetic.table("resources", [*run.rows("resources"), stall, stalls]),
    }
    return replace(run, tables={**run.tables, **tables}, _rows={})


def test_samples_that_a_stall_reached_are_invalid() -> None:
    run = sample_run(200, 0.001)
    rows = run.tables["samples"].to_pylist()
    for row in rows[90:]:
        row |= {"done_ns": row["due_ns"] + 900 * MS, "done_on_time_ns": row["due_ns"] + 900 * MS}
    (totals,) = run.rows("repetitions")
    tables = {
        "samples": synthetic.table("samples", rows),
        "repetitions": synthetic.table("repetitions", [{**totals, "end_ns": SECOND + 100 * SECOND}]),
        "segments": synthetic.table(
            "segments", [{**r, "end_ns": 101 * SECOND} if r["phase"] else r for r in run.rows("segments")]
        ),
    }
    whole = replace(run, tables={**run.tables, **tables}, _rows={})
    stall = {"role": "client", "t_ns": 50 * SECOND, "metric": "stall_total_s", "device": "", "value": 8.0}
    resources = synthetic.table("resources", [*run.rows("resources"), stall])
    stood = replace(whole, tables={**whole.tables, "resources": resources}, _rows={})
    assert not verdict(whole).breaks("writers.sample_p90_s") and not verdict(whole).breaks(
        "writers.sample_p99_s"
    )
    assert verdict(stood).breaks("writers.sample_p99_s"), (
        "ten of a hundred were slow, and as many may have been the stall's"
    )


def short_stalls(beats: int, late_s: float, **how: Any) -> RunRecord:
    """A client that was late for some of the beats of 10 s, by so much at each."""
    said = {"stalls": beats, "stall_longest_s": late_s, "stall_total_s": beats * late_s}
    rows = [
        {"role": "client", "t_ns": 2 * SECOND, "metric": metric, "device": "", "value": float(value)}
        for metric, value in said.items()
    ]
    return synthetic.run("postgresql", makespan_s=10.0, batch_rows=1, more={"resources": rows}, **how)


def on_time_s(run: RunRecord, figure: str, paced: Sequence[str] = ()) -> float:
    return brackets(run, figures_of_run(run), paced)[figure].on_time


def test_a_call_was_not_made_later_by_more_than_the_stalls_that_it_has_room_for() -> None:
    """One call in 500 took 44 ms, beside others of 10: three stalls of 3 ms in all have made it 3 ms later, not 34."""
    calls = [10 * MS] * 499 + [44 * MS]
    run = short_stalls(3, 1e-3, latency_ns=calls, rows=500)
    assert on_time_s(run, "writers.latency_p999_s") == pytest.approx(41e-3, rel=0.01)
    longer = short_stalls(3, 34e-3, latency_ns=calls, rows=500)
    assert on_time_s(longer, "writers.latency_p999_s") == pytest.approx(10e-3, rel=0.01)


def test_a_hundred_late_beats_of_many_sessions_leave_percentiles_where_they_are() -> None:
    """Each of 120 delayed 64 calls of 10,000 by 1 ms: two calls in five at most were delayed more than once."""
    latency = [62 * MS + n // 1_000 * MS // 10 for n in range(10_000)]
    run = short_stalls(120, 1e-3, latency_ns=latency, rows=10_000, writers=64)
    found = verdict(run)
    assert not found.breaks("writers.latency_p50_s") and not found.breaks("writers.latency_p99_s"), found
    assert on_time_s(run, "writers.latency_p50_s") == pytest.approx(61.1e-3, rel=0.01)
    spread = [(60 + n // 100) * MS for n in range(10_000)]
    wide = short_stalls(120, 1e-3, latency_ns=spread, rows=10_000, writers=64)
    # 159 ms has room for ten of them.
    assert on_time_s(wide, "writers.latency_p99_s") == pytest.approx(148e-3, rel=0.02)


def test_what_has_no_end_is_made_by_no_stall_of_a_millisecond() -> None:
    calls, failed = [64 * MS] * 9_800, 200
    short = short_stalls(120, 1e-3, latency_ns=calls, rows=9_800, writers=64, failed=failed)
    assert on_time_s(short, "writers.latency_p99_s") == float("inf")
    long = short_stalls(120, 0.03, latency_ns=calls, rows=9_800, writers=64, failed=failed)
    assert on_time_s(long, "writers.latency_p99_s") < 0.07


def test_the_bracket_of_many_short_stalls_holds_the_true_percentile_in_nearly_every_run() -> None:
    """A paced session that stands still for 1.5 ms at one beat in ten."""
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        service = rng.lognormal(np.log(2 * MS), 0.4, 4_000).astype(int)
        due = np.cumsum(rng.exponential(service.mean() / 0.7, 4_000)).astype(int)
        beats = np.arange(0, due[-1] + SECOND, 20 * MS)
        stalls = beats[rng.random(len(beats)) < 0.1] + rng.integers(0, 18 * MS)
        latency, on_time, seen = [], [], []
        free = free_on_time = 0
        for d, s in zip(due.tolist(), service.tolist(), strict=True):
            begin = max(d, free)
            took, before = s, -1
            while took != before:
                before, took = (
                    took,
                    s
                    + 1_500_000 * int(np.searchsorted(stalls, begin + took) - np.searchsorted(stalls, begin)),
                )
            free, free_on_time = begin + took, max(d, free_on_time) + s
            latency.append(free - d)
            on_time.append(free_on_time - d)
            seen.append(took)
        run = short_stalls(
            len(stalls), 1.5e-3, latency_ns=latency, service_ns=seen, rows=4_000, schedule="constant"
        )
        busy = {"segment": 2, "repetition": 0, "role": "writers", "busy_ns": round(0.7 * 10 * SECOND)}
        run = replace(run, tables={**run.tables, "sessions": synthetic.table("sessions", [busy])}, _rows={})
        found = brackets(run, figures_of_run(run), ["writers"])
        for name, q in QUANTILES.items():
            bracket, true = (
                found[f"writers.latency_{name}_s"],
                sorted(on_time)[rank(q, len(on_time)) - 1] / 1e9,
            )
            held.append(bracket.on_time <= true * 1.01 and true <= bracket.measured)
    assert np.mean(held) >= 0.95


@pytest.mark.parametrize(("late_ms", "decides"), [(500.0, False), (0.5, True)])
def test_a_sample_that_was_later_than_a_stall_is_long_was_late_without_it(
    late_ms: float, decides: bool
) -> None:
    """One of thirty was late, and one beat by 1.2 ms."""
    run = sample_run(200, 0.001, count=30)
    rows = run.tables["samples"].to_pylist()
    late = rows[7]["due_ns"] + SECOND + round(late_ms * MS)
    rows[7] |= {"done_ns": late, "done_on_time_ns": late}
    said = {"stalls": 1.0, "stall_longest_s": 1.2e-3, "stall_total_s": 1.2e-3}
    stalls = [
        {"role": "client", "t_ns": 2 * SECOND, "metric": metric, "value": value}
        for metric, value in said.items()
    ]
    tables = {
        "samples": synthetic.table("samples", rows),
        "resources": synthetic.table("resources", [*run.rows("resources"), *stalls]),
    }
    stood = replace(run, tables={**run.tables, **tables}, _rows={})
    assert verdict(stood).breaks("writers.in_time_share") is decides


# Samples.


def sample_run(took_ms: int, late_ms: float, every_ms: int = 1_000, count: int = 100) -> RunRecord:
    rows = []
    for k in range(count):
        due = SECOND + k * every_ms * MS
        done = due + took_ms * MS
        rows.append({"segment": 2, "role": "writers", "sample": k, "due_ns": due, "collected_ns": due, "rows": 5,
                     "sent_ns": due + round(late_ms * MS), "done_ns": done, "sent_on_time_ns": due,
                     "done_on_time_ns": done - round(late_ms * MS)})  # fmt: skip
    made = synthetic.run("postgresql", schedule="constant", lag_ns=[round(late_ms * MS)] * 50,
                         latency_ns=[took_ms * MS] * 50)  # fmt: skip
    role = {
        **synthetic.role_plan("writers"),
        "schedule": {"kind": "samples", "every_ns": every_ms * MS, "parts": 1},
    }
    segments = [*made.plan["segments"][:-1], {**made.plan["segments"][-1], "roles": [role]}]
    return replace(made, plan={**made.plan, "segments": segments},
                   tables={**made.tables, "samples": synthetic.table("samples", rows)}, _rows={})  # fmt: skip


def test_samples_of_207_ms_stay_valid_with_a_lag_of_1_34_ms() -> None:
    found = verdict(sample_run(207, 1.34))
    assert found.outcome in (Outcome.PASS, Outcome.NOTE), found


@pytest.mark.parametrize(("took_ms", "late_ms"), [(210, 11.0), (1_001, 2.0)])
def test_samples_are_invalid_beyond_five_percent_and_where_lateness_decides_who_keeps_up(
    took_ms: int, late_ms: float
) -> None:
    found = verdict(sample_run(took_ms, late_ms))
    assert found.outcome is Outcome.INVALID
    assert found.breaks("writers.in_time_share") is (took_ms > 1_000)
    assert found.breaks("writers.sample_p99_s") is (took_ms < 1_000)


def test_one_sample_in_a_hundred_that_lateness_decides_is_no_keeping_up() -> None:
    """99 % in time as measured and all of them on time: 1 % apart, and the two ends decide differently."""
    run = sample_run(500, 2.0)
    rows = run.tables["samples"].to_pylist()
    rows[7] |= {"done_ns": rows[7]["due_ns"] + 1_001 * MS, "done_on_time_ns": rows[7]["due_ns"] + 999 * MS}
    late = replace(run, tables={**run.tables, "samples": synthetic.table("samples", rows)}, _rows={})
    figures = figures_of_run(late)
    assert (figures["writers.in_time_share"], figures["writers.in_time_on_time_share"]) == (0.99, 1.0)
    assert verdict(late).outcome is Outcome.INVALID and verdict(late).breaks("writers.in_time_share")


def test_a_stretch_of_a_sample_is_held_against_the_whole_sample() -> None:
    """1.34 ms is all of the queue's time, and 0.6 % of the sample's."""
    run = sample_run(207, 1.34)
    found = brackets(run, figures_of_run(run), ["writers"])["writers.queue_p50_s"]
    assert found.on_time == 0 and found.measured == pytest.approx(1.34e-3) and found.ratio < 1.01 < WIDEST


def test_an_insert_is_held_against_the_whole_sample_too() -> None:
    """The client was 1 ms late within an insert of 7 ms: a seventh of the insert, and 0.5 % of the sample of 207 ms."""
    run = sample_run(207, 0.001)
    rows = run.tables["samples"].to_pylist()
    for row in rows:
        sent = row["due_ns"] + 200 * MS
        row |= {"sent_ns": sent, "sent_on_time_ns": sent, "done_on_time_ns": row["done_ns"] - MS}
    late = replace(run, tables={**run.tables, "samples": synthetic.table("samples", rows)}, _rows={})
    found = brackets(late, figures_of_run(late), ["writers"])["writers.insert_p50_s"]
    assert (found.measured, found.on_time) == pytest.approx((7e-3, 6e-3)) and found.ratio < 1.01 < WIDEST


def test_an_end_of_0_is_as_far_from_any_other_as_can_be() -> None:
    assert Bracket(0.0, 1e-3).ratio == float("inf") and Bracket(0.0, 0.0).ratio == 1.0
    assert Bracket(1e-3, 0.0, whole=0.0).ratio == float("inf")
    run = synthetic.run("postgresql", schedule="constant", latency_ns=[2 * MS] * 50, lag_ns=[2 * MS] * 50)
    assert verdict(run).breaks("writers.latency_p50_s")


def test_of_two_brackets_of_a_figure_the_one_farther_apart_counts() -> None:
    near, far = Bracket(1.0, 1.01), Bracket(0.9, 1.01)
    assert farther(near, far) is farther(far, near) is far


def test_a_histogram_reads_as_its_sorted_values() -> None:
    values = [1, 5, 9, 200]
    assert quantile_of(of_values(values))(0.75) == sorted_quantile(np.array(sorted(values)) / 1e9)(0.75)


@pytest.mark.parametrize(("late_ms", "stops"), [(0, True), (20, True), (100, False)])
def test_a_limit_that_only_lateness_crossed_stops_no_sweep(late_ms: int, stops: bool) -> None:
    plan = planned(stop=[{"along": "batch_rows", "above": {"writers.latency_p50_s": 0.15}}])
    late = synthetic.run(
        "duckdb",
        schedule="constant",
        makespan_s=12.0,
        latency_ns=[200 * MS] * 50,
        lag_ns=[late_ms * MS] * 50,
        block=0,
    )
    pilot: Any = SimpleNamespace(
        id="b00", labels={"point": "duckdb batch_rows=200"}, doc={"block": 0, "status": "done"},
        plan=late.plan, env=late.env, tables=late.tables,
    )  # fmt: skip
    reason = StopRules(plan)(SimpleNamespace(point="duckdb batch_rows=500"), [pilot])
    assert (reason is not None) is stops, reason
