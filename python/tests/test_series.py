"""Warm-up, effective size and waves on series whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from inrush.stats import series


def ar1(rng: np.random.Generator, n: int, phi: float, sd: float = 1.0) -> np.ndarray:
    """Stationary AR(1) of marginal standard deviation sd."""
    x = rng.standard_normal(n + 200)
    for i in range(1, n + 200):
        x[i] = phi * x[i - 1] + np.sqrt(1 - phi**2) * x[i]
    return sd * x[200:]


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("tau", [10, 30])
def test_mser_removes_the_bias_of_an_exponential_warm_up(phi: float, tau: int) -> None:
    rng = np.random.default_rng(1)
    t = np.arange(600)
    bias, valid = [], []
    for _ in range(60):
        x = 100 - 40 * np.exp(-t / tau) + ar1(rng, 600, phi, 3)
        cut = series.mser5(x)
        bias.append(x[cut.intervals :].mean() / 100 - 1)
        valid.append(cut.valid)
    assert abs(np.mean(bias)) <= 0.002
    assert np.mean(valid) >= 0.95


def test_mser_cuts_next_to_nothing_from_a_series_without_warm_up() -> None:
    rng = np.random.default_rng(2)
    cuts = [series.mser5(100 + rng.normal(0, 3, 600)).intervals for _ in range(50)]
    assert np.median(cuts) <= 30


def test_mser_says_when_the_run_is_too_short() -> None:
    assert not series.mser5(np.linspace(1, 100, 100)).valid
    assert not series.mser5([1.0] * 20).valid


def test_classes_of_warm_up_are_told_apart() -> None:
    rng, t = np.random.default_rng(4), np.arange(300)
    noise = rng.normal(0, 1, 300)
    assert series.warm_up(100 + noise).kind == "flat"
    assert series.warm_up(100 - 50 * np.exp(-t / 10) + noise).kind == "warm-up"
    assert series.warm_up(100 + 50 * np.exp(-t / 10) + noise).kind == "slowdown"
    assert series.warm_up(100 + 0.3 * t + noise).kind == "no steady state"


def test_the_slope_test_keeps_its_level_under_autocorrelation() -> None:
    rng = np.random.default_rng(5)
    alarms = np.mean([series.newey_west_slope(ar1(rng, 300, 0.3))[1] < 0.05 for _ in range(400)])
    assert alarms < 0.12
    assert series.newey_west_slope(np.arange(50) + rng.normal(0, 1, 50))[0] == pytest.approx(1, abs=0.05)


MEMORIES = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9)


def alarms(count: int, n: int) -> float:
    """Share of AR(1) series without a wave that are called one; so loud that no alarm is kept from being one by its size."""
    found = 0
    for i, phi in enumerate(MEMORIES):
        rng = np.random.default_rng(100 + i)
        for seed in range(count // len(MEMORIES)):
            w = series.wave(1 + ar1(rng, n, phi, 0.2), seed=seed)
            found += w is not None and w.found
    return found / (count // len(MEMORIES) * len(MEMORIES))


def power(count: int, phi: float, sd: float = 0.04) -> float:
    """Share of series of 300 with a sine of 5 % of the mean that are called a wave of its period, periods from 4 to 36."""
    t, rng, found = np.arange(300), np.random.default_rng(7), 0
    for seed in range(count):
        period = 4 * 9 ** rng.uniform()
        sine = 0.05 * np.sin(2 * np.pi * (t / period + rng.uniform()))
        w = series.wave(1 + ar1(rng, 300, phi, sd) + sine, seed=seed)
        found += w is not None and w.found and abs(w.period / period - 1) <= 0.2
    return found / count


def test_red_noise_is_not_called_a_wave() -> None:
    assert alarms(240, 300) <= 0.01 + 2.6 * np.sqrt(0.01 * 0.99 / 240)


@pytest.mark.slow
def test_at_most_one_of_a_hundred_of_ten_thousand_series_of_noise_is_called_a_wave() -> None:
    assert alarms(10_000, 300) <= 0.01
    assert alarms(2_000, 128) <= 0.01 + 2.6 * np.sqrt(0.01 * 0.99 / 2_000)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_a_wave_of_five_percent_is_found_and_its_period_with_it(phi: float) -> None:
    assert power(20, phi) >= 0.9


def test_a_wave_between_two_frequencies_of_its_series_is_found_as_well() -> None:
    """300 values hold 14.5 periods: a spectrum of what 300 values distinguish has 40 % of its power."""
    t, rng, found = np.arange(300), np.random.default_rng(3), 0
    for seed in range(20):
        x = 1 + ar1(rng, 300, 0.7, 0.045) + 0.05 * np.sin(2 * np.pi * t * 14.5 / 300)
        w = series.wave(x, seed=seed)
        found += w is not None and w.found
    assert found >= 18


def test_short_dips_have_the_period_after_which_they_come_back() -> None:
    """Their overtones stand out of red noise more than their period does."""
    x = 1 + ar1(np.random.default_rng(1), 600, 0.8, 0.1)
    x[np.arange(600) % 50 < 4] *= 0.2
    found = series.wave(x)
    assert found is not None and found.found and found.period == pytest.approx(50, rel=0.1)


def test_short_and_constant_series_have_no_wave_verdict() -> None:
    assert series.wave([1.0] * 100) is None
    assert series.wave([1.0] * 300) is None


def test_a_wave_in_a_long_series_is_found_in_its_averages() -> None:
    t = np.arange(20_000)
    x = 1000 + np.random.default_rng(1).normal(0, 30, 20_000) + 60 * np.sin(2 * np.pi * t / 500)
    found = series.wave(x, surrogates=250)
    assert found is not None and found.found and found.period == pytest.approx(500, rel=0.02)
