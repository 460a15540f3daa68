"""Trials of the tests for steps and spread: how often they cry wolf, and how often they see one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

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


def test_the_chance_of_a_straight_line_is_that_of_a_lack_of_fit() -> None:
    rng = np.random.default_rng(5)
    times = {
        v: noisy(rng, 0.01 + v * 1e-6, runs, 0.05)
        for v, runs in zip(VOLUMES, (2, 3, 4, 5, 2, 3), strict=True)
    }
    x = np.concatenate([np.full(len(of), v) for v, of in times.items()])
    y = np.concatenate(list(times.values()))
    mean = np.concatenate([np.full(len(of), np.mean(of)) for of in times.values()])
    fitted = np.polyval(np.polyfit(x, y, 1, w=1 / mean), x)
    lack, pure = (((a - b) / mean) ** 2 for a, b in ((mean, fitted), (y, mean)))
    free = (len(VOLUMES) - 2, len(y) - len(VOLUMES))
    p = scipy.stats.f.sf(lack.sum() / free[0] / (pure.sum() / free[1]), *free)
    found = steps(times)
    assert found is not None and found.p == pytest.approx(p, rel=1e-6)
    per_volume = np.diff([np.mean(of) for of in times.values()]) / np.diff(VOLUMES)
    slope = np.polyfit(x, y, 1, w=1 / mean)[0]
    assert found.growth == pytest.approx(per_volume / slope, rel=1e-6)


def test_the_chance_of_equal_spreads_is_that_of_brown_and_forsythe() -> None:
    rng = np.random.default_rng(6)
    of = {engine: np.exp(rng.normal(k, 0.05 * (k + 1), 6 + 2 * k)) for k, engine in enumerate("abc")}
    found = spreads({engine: [values.tolist()] for engine, values in of.items()})
    assert found is not None
    logs = {engine: np.log(values) for engine, values in of.items()}
    assert found.p == pytest.approx(scipy.stats.levene(*logs.values(), center="median").pvalue)
    assert found.sd == pytest.approx({engine: log.std(ddof=1) for engine, log in logs.items()})
    assert list(found.sd) == sorted(logs, key=lambda engine: -logs[engine].std())


def test_one_engine_alone_is_not_compared() -> None:
    assert spreads({"a": [[1.0, 1.1]]}) is None
