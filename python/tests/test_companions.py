"""Series beside the throughput of a wave: how much each grew in each step, and which of them name a cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from inrush.stats.causes import Companion, companions
from inrush.stats.coherence import coherence
from inrush.stats.record import RunRecord
from tests import synthetic
from tests.test_waves import DIPS, SECOND, N, checkpoints, noise, only_wave, run_of

TENTH = SECOND // 10
#: Of the intervals of `run_of`, s.
EDGES = 1 + np.arange(N + 1) / 10
#: What grows by a number that tells the steps apart.
GROWS = 100 + np.arange(N) % 7


def found(run: RunRecord, kind: str, period_s: float = 2.0) -> list[Companion]:
    return [c for c in companions(run, "writers", EDGES, period_s) if c.kind == kind]


def counted(every: int = 1, segment: int = 2, name: str = "waits") -> Sequence[Mapping[str, Any]]:
    """Looks at a counter, one each so many tenths of a second."""
    total = np.concatenate([[0], np.cumsum(GROWS)])
    return [
        {"segment": segment, "t_ns": SECOND + i * TENTH, "name": name, "value": str(total[i])}
        for i in range(0, N + 1, every)
    ]


def test_counters_are_what_they_grew_by_in_each_step() -> None:
    elsewhere = counted(segment=1, name="before")
    words = [{"segment": 2, "t_ns": SECOND, "name": "state", "value": "on"}]
    (counter,) = found(
        run_of(1000 + noise(1), more={"counters": [*counted(), *elsewhere, *words]}), "counter"
    )
    assert counter.name == "waits" and counter.values == pytest.approx(GROWS)


@pytest.mark.parametrize(("every", "there"), [(10, True), (11, False)])
def test_a_counter_is_looked_at_twice_a_period_or_left_out(every: int, there: bool) -> None:
    run = run_of(1000 + noise(1), more={"counters": counted(every)})
    assert bool(found(run, "counter")) == there


def lags(role: str = "writers", kind: str = "lag", segment: int = 2) -> Sequence[Mapping[str, Any]]:
    """Delays of the instrument, in ns, at the ends of the steps."""
    return [
        {"segment": segment, "role": role, "op": "insert", "kind": kind, "t_ns": SECOND + i * TENTH,
         "dt_ns": TENTH, **synthetic.hist([int(GROWS[i])])}
        for i in range(N)
    ]  # fmt: skip


def test_lateness_is_the_delay_of_the_roles_own_calls_in_each_step() -> None:
    others = [*lags("readers"), *lags(kind="service"), *lags(segment=1)]
    # Parts of a role are in their whole.
    run = run_of(
        1000 + noise(1), paced=True, more={"hist": [*lags("writers/a"), *lags("writers/b"), *others]}
    )
    (late,) = found(run, "lateness of the client")
    # Of the first step there is no look before its end.
    assert late.values[1:] == pytest.approx(2 * GROWS[1:])
    assert not found(run_of(1000 + noise(1)), "lateness of the client")


def test_calls_per_send_are_those_of_the_step_and_their_mean_where_none_was_sent() -> None:
    sends = [
        {
            "segment": 2,
            "role": role,
            "t_ns": SECOND + i * TENTH,
            "dt_ns": TENTH,
            "ops": ops * sent,
            "sends": sent,
        }
        for i in range(N)
        for role, ops in (("writers/a", 1 + i % 4), ("writers/b", 1 + i % 4), ("readers", 99))
        for sent in [0 if i == 50 else 10]
    ]
    (together,) = found(run_of(1000 + noise(1), more={"sends": sends}), "calls per send")
    assert together.name == "calls per send of writers"
    calls = 1.0 + np.arange(N) % 4
    calls[50] = np.delete(calls, 50).mean()
    assert together.values[1:] == pytest.approx(calls[1:], rel=1e-6)


def test_other_roles_are_beside_it_and_not_the_role_itself() -> None:
    (calls,) = found(run_of(1000 + noise(1), more=checkpoints()), "calls")
    assert calls.name == "calls of checkpoints"
    assert calls.values[1:] == pytest.approx((np.arange(N) % 20 == 2)[1:].astype(float))


def test_levels_are_taken_in_the_middle_of_a_step_and_what_is_no_cause_is_left_out() -> None:
    run = run_of(
        1000 + noise(1),
        resources={
            ("host", "dirty_bytes", ""): np.ones(N),
            ("server", "cpu_s", "walwriter"): GROWS,
            ("server", "rss_bytes", ""): GROWS,
        },
    )
    of = {c.name: c for c in companions(run, "writers", EDGES, 2.0) if c.kind != "calls"}
    assert set(of) == {"bytes that wait to be written", "CPU of server, thread walwriter"}
    assert of["bytes that wait to be written"].values == pytest.approx(np.arange(N) + 0.5)
    assert of["CPU of server, thread walwriter"].values == pytest.approx(GROWS)


def test_a_coherence_is_free_of_units_and_none_where_nothing_moves() -> None:
    x, y = 1000 - 400 * DIPS + noise(1), 10 + DIPS + noise(2, sd=0.1)
    seen = coherence(x, y, N / 20)
    assert seen is not None and seen.share > 0.9 and seen.opposed
    for unit in (1e-12, 1e12):
        other = coherence(x, unit * y, N / 20)
        assert other is not None and other.share == pytest.approx(seen.share)
    for still in (np.full(N, 7.0), np.zeros(N)):
        assert coherence(x, still, N / 20) is None and coherence(still, x, N / 20) is None
    assert coherence(x[:40], y[:40], 2) is not None, "ten values in each of four stretches"
    assert coherence(x[:12], y[:12], 2) is None


def test_a_counter_that_ticks_with_the_dips_is_their_cause_whichever_way_it_swings() -> None:
    for ticks in (DIPS, 1 - DIPS):
        total = np.concatenate([[0], np.cumsum(10 + 90 * ticks)])
        looks = [
            {"segment": 2, "t_ns": SECOND + i * TENTH, "name": "checkpoints", "value": str(v)}
            for i, v in enumerate(total)
        ]
        (cause,) = only_wave(run_of(1000 - 400 * DIPS + noise(1), more={"counters": looks})).causes
        assert (cause.kind, cause.name) == ("counter", "checkpoints")
