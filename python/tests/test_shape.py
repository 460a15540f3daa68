"""Trials of the tests for steps and spread: how often they cry wolf, and how often they see one."""

from __future__ import annotations

import numpy as np
import pytest

from inrush.stats.shape import spreads, steps

VOLUMES = (5_000, 10_000, 25_000, 50_000, 75_000, 100_000)
TRIALS = 1_000


def noisy(rng: np.random.Generator, mean_s: float, runs: int, spread: float) -> list[float]:
    return [float(v) for v in mean_s * np.exp(rng.normal(0, spread, runs))]


@pytest.mark.parametrize("spread", [0.02, 0.1])
def test_a_straight_line_is_called_stepped_in_less_than_5_percent(spread: float) -> None:
    rng = np.random.default_rng(1)
    found = [steps({v: noisy(rng, 0.01 + v * 1e-6, 5, spread) for v in VOLUMES}) for _ in range(TRIALS)]
    assert np.mean([f is not None and f.p < 0.05 for f in found]) < 0.075
    assert np.mean([f is not None and f.word == "stepped" for f in found]) < 0.05


def test_steps_are_seen_in_9_of_10_and_a_bend_is_no_step() -> None:
    rng = np.random.default_rng(2)
    stair = {5_000: 0.05, 10_000: 0.05, 25_000: 0.05, 50_000: 0.1, 75_000: 0.1, 100_000: 0.2}
    seen = [steps({v: noisy(rng, stair[v], 5, 0.05) for v in VOLUMES}) for _ in range(TRIALS // 4)]
    assert np.mean([f is not None and f.word == "stepped" for f in seen]) > 0.9
    bent = [steps({v: noisy(rng, 1e-9 * v**1.5, 5, 0.05) for v in VOLUMES}) for _ in range(TRIALS // 4)]
    assert np.mean([f is not None and f.word == "bent" for f in bent]) > 0.7


def test_too_few_volumes_or_runs_say_nothing() -> None:
    assert steps({v: [1.0, 1.1] for v in VOLUMES[:3]}) is None
    assert steps({v: [float(v)] for v in VOLUMES}) is None


@pytest.mark.parametrize("runs", [5, 6])
def test_equal_spreads_are_told_apart_in_about_5_percent(runs: int) -> None:
    rng = np.random.default_rng(3)
    found = [
        spreads({engine: [noisy(rng, m, runs, 0.05) for m in (1, 2, 4, 8)] for engine in "abc"})
        for _ in range(TRIALS)
    ]
    assert np.mean([f is not None and f.differ for f in found]) < 0.09


def test_three_times_the_spread_is_seen_in_9_of_10_and_named_first() -> None:
    rng = np.random.default_rng(4)
    of = {"steady": 0.02, "varying": 0.06}
    found = [
        spreads({engine: [noisy(rng, m, 5, s) for m in (1, 2, 4, 8)] for engine, s in of.items()})
        for _ in range(TRIALS // 4)
    ]
    seen = [f for f in found if f is not None and f.differ]
    assert len(seen) > 0.9 * TRIALS // 4
    assert all(next(iter(f.sd)) == "varying" for f in seen)


def test_one_engine_alone_is_not_compared() -> None:
    assert spreads({"a": [[1.0, 1.1]]}) is None
