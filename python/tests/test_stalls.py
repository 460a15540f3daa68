"""How long a process stood still, of the beats that came late."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, takewhile

import numpy as np
import pytest

from inrush.stats.stalls import ENOUGH, NOTED_S, PERIOD_S, Stalls, stalls_of

#: As they begin: every so many seconds, or by chance as often.
Begins = Callable[[np.random.Generator, float, float], list[float]]


def evenly(rng: np.random.Generator, cycle_s: float, measured_s: float) -> list[float]:
    at = float(rng.uniform(0, cycle_s))
    return list(takewhile(lambda t: t < measured_s, (at + k * cycle_s for k in count())))


def by_chance(rng: np.random.Generator, cycle_s: float, measured_s: float) -> list[float]:
    return sorted(rng.uniform(0, measured_s, rng.poisson(measured_s / cycle_s)).tolist())


def heard(begins: list[float], stall_s: float, measured_s: float) -> tuple[float, Stalls]:
    """How long a process stood still that did so at each of these times for so long, and what its heartbeat tells."""
    stood_s, late, late_s, due, end = 0.0, 0, 0.0, PERIOD_S, 0.0
    for begin in begins:
        begin, end = max(begin, end), max(begin, end) + stall_s
        stood_s += stall_s
        due += PERIOD_S * max(0, np.ceil((begin - due) / PERIOD_S))
        if due <= end:
            if end - due >= NOTED_S:
                late, late_s = late + 1, late_s + end - due
            due += PERIOD_S * (np.floor((end - due) / PERIOD_S) + 1)
    return stood_s, stalls_of(late, late_s)


CASES = [
    (stall_s, cycle_s, begins)
    for stall_s in (0.003, 0.005, 0.01, 0.019, 0.022, 0.05, 0.14, 0.5)
    for cycle_s in (0.02, 0.1, 0.281, 2.5)
    for begins in (evenly, by_chance)
    if stall_s < cycle_s
]


@pytest.mark.parametrize(("stall_s", "cycle_s", "begins"), CASES)
def test_what_a_process_stood_still_is_told_whatever_its_stalls_last_and_how_often_they_come(
    stall_s: float, cycle_s: float, begins: Begins
) -> None:
    rng = np.random.default_rng(7)
    # So long that 150 beats are late on average.
    measured_s = 150 * cycle_s / min(1.0, (stall_s - NOTED_S) / PERIOD_S)
    for _ in range(8):
        times = begins(rng, cycle_s, measured_s)
        stood_s, found = heard(times, stall_s, measured_s)
        assert found.total_s == pytest.approx(stood_s, rel=0.25)
        assert begins is by_chance or found.times == pytest.approx(len(times), rel=0.25)


@pytest.mark.parametrize(("stall_s", "cycle_s", "begins"), [(0.0012, 0.02, by_chance), *CASES])
def test_runs_of_seconds_are_not_told_to_have_stood_still_for_longer_than_they_did(
    stall_s: float, cycle_s: float, begins: Begins
) -> None:
    """Of few late beats each run knows what is certain, and of more all runs together are right."""
    rng, told_s, all_s = np.random.default_rng(7), 0.0, 0.0
    for _ in range(20):
        stood_s, found = heard(begins(rng, cycle_s, 3.0), stall_s, 3.0)
        assert found.times >= ENOUGH or found.total_s <= stood_s
        told_s, all_s = told_s + found.total_s, all_s + stood_s
    assert told_s < 1.1 * all_s


def test_of_few_late_beats_nothing_is_concluded() -> None:
    assert stalls_of(ENOUGH - 1, 0.0105) == Stalls(ENOUGH - 1, 0.0105)
    assert stalls_of(1, 5.0) == Stalls(1, 5.0)
    # Eight of 10.5 ms on average are stalls of 20: 8 of them were met, of which each began before its beat was due.
    assert stalls_of(8, 8 * 0.0105).total_s == pytest.approx(8 * 0.020, rel=0.05)
    # Eight of 1.5 ms: what is shorter than 3 ms is counted as 3.
    assert stalls_of(8, 8 * 0.0016) == stalls_of(8, 8 * 0.002)
    # A hundred that were hardly late: of what was not noted nothing is known.
    assert stalls_of(100, 100 * 0.0012) == Stalls(100, 100 * 0.0012)
