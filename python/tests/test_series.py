"""Warm-up, effective size and waves on series whose truth is known."""

from __future__ import annotations

from itertools import combinations

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
#: Runs of a point in the tests of what several runs agree on.
RUNS = 3


def noises(rng: np.random.Generator, count: int, n: int, phi: float, sd: float) -> np.ndarray:
    """So many series as `ar1`, as rows."""
    x = rng.standard_normal((n + 200, count))
    for i in range(1, n + 200):
        x[i] = phi * x[i - 1] + np.sqrt(1 - phi**2) * x[i]
    return sd * x[200:].T


def judged_noise(count: int, n: int) -> list[list[series.Wave]]:
    """By memory: AR(1) series without a wave, so loud that no alarm is kept from being one by its size."""
    found = []
    for i, phi in enumerate(MEMORIES):
        rows = 1 + noises(np.random.default_rng(100 + i), count // len(MEMORIES), n, phi, 0.2)
        found.append([w for w in map(series.wave, rows) if w is not None])
    return found


def alarms(judged: list[series.Wave]) -> float:
    return float(np.mean([w.found for w in judged]))


def agreed(runs: list[series.Wave]) -> bool:
    """Two of three have one period, as `analysis/waves.py` claims it."""
    likely = [w for w in runs if w.likely]
    return any(
        max(a.period / b.period, b.period / a.period) <= 1 + series.SAME_PERIOD
        for a, b in combinations(likely, 2)
    )


def agreed_alarms(judged: list[series.Wave]) -> float:
    return float(np.mean([agreed(judged[i : i + RUNS]) for i in range(0, len(judged) - RUNS + 1, RUNS)]))


def power(count: int, phi: float, sd: float = 0.04) -> tuple[float, float]:
    """Shares of points with a sine of 5 % of the mean, periods from 4 to 36, in runs of 300 values, that are called a wave of
    its period: by the first run alone, and by two of three."""
    t, rng, alone, together = np.arange(300), np.random.default_rng(7), 0, 0
    for _ in range(count):
        period = 4 * 9 ** rng.uniform()
        rows = 1 + noises(rng, RUNS, 300, phi, sd)
        rows += 0.05 * np.sin(2 * np.pi * (t / period + rng.uniform(size=(RUNS, 1))))
        runs = [w for w in map(series.wave, rows) if w is not None]
        right = [w for w in runs if abs(w.period / period - 1) <= series.SAME_PERIOD]
        alone += runs[0].found and runs[0] in right
        together += agreed(right)
    return alone / count, together / count


@pytest.mark.slow
def test_red_noise_is_not_called_a_wave() -> None:
    for judged in judged_noise(1_200, 300):
        assert alarms(judged) <= 0.01 + 2.6 * np.sqrt(0.01 * 0.99 / len(judged))


@pytest.mark.slow
def test_at_most_one_of_a_hundred_of_ten_thousand_series_of_noise_is_called_a_wave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """0.5 % are, at most 0.8 % of any memory; points of three runs each agree on a period ten times less often."""
    judged = judged_noise(10_002, 300)
    for of in judged:
        assert len(of) == 1_667
        assert alarms(of) <= 0.01
    everything = [w for of in judged for w in of]
    assert alarms(everything) <= 0.0075
    assert agreed_alarms(everything) <= 0.0015
    assert alarms([w for of in judged_noise(2_000, 128) for w in of]) <= 0.01
    monkeypatch.setattr(series, "WAVE_P", series.AGREED_P)
    assert alarms(everything) > 0.01, "a test of one run that is as lax as that of several fails"


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_a_wave_of_five_percent_is_found_and_its_period_with_it(phi: float) -> None:
    alone, together = power(60, phi)
    assert alone >= 0.95 and together >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("sd", [0.04, 0.05])
def test_a_wave_of_five_percent_is_claimed_of_95_of_100_points_of_three_runs(sd: float) -> None:
    for phi in MEMORIES:
        alone, together = power(150, phi, sd)
        assert together >= 0.95, phi
        assert alone >= (0.95 if sd < 0.05 else 0.88), phi


@pytest.mark.parametrize("period", [4.4, 4.5, 5.5, 6.5, 7.5])
def test_a_period_between_two_whole_numbers_of_values_is_not_taken_for_its_double(period: float) -> None:
    """Twice 4.5 values are 9: there an autocorrelation of whole values is higher than after 4 or 5."""
    rng = np.random.default_rng(11)
    rows = 1 + noises(rng, 10, 300, 0.3, 0.04) + 0.05 * np.sin(2 * np.pi * np.arange(300) / period)
    for w in map(series.wave, rows):
        assert w is not None and w.period == pytest.approx(period, rel=0.05)


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("amplitude", "p", "likely", "found"),
    [
        (0.02, 0.0005, True, True),
        (0.02, 0.01, True, False),
        (0.02, 0.5, False, False),
        (0.001, 0.0005, False, False),
    ],
)
def test_a_wave_is_as_large_as_it_is_sure(amplitude: float, p: float, likely: bool, found: bool) -> None:
    one = series.Wave(20.0, amplitude * series.WAVE_AMPLITUDE / 0.01, p)
    assert (one.likely, one.found) == (likely, found)


def test_short_and_constant_series_have_no_wave_verdict() -> None:
    assert series.wave([1.0] * 100) is None
    assert series.wave([1.0] * 300) is None


def test_a_wave_in_a_long_series_is_found_in_its_averages() -> None:
    t = np.arange(20_000)
    x = 1000 + np.random.default_rng(1).normal(0, 30, 20_000) + 60 * np.sin(2 * np.pi * t / 500)
    found = series.wave(x, surrogates=250)
    assert found is not None and found.found and found.period == pytest.approx(500, rel=0.02)
