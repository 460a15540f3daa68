"""Laws of curves against published fits, known truths and their limits; the rule that chooses between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from inrush.errors import UsageError
from inrush.model.curve import curve, forecast, forecast_within
from inrush.model.forecast import Refused
from inrush.model.intervals import (
    Scored,
    Spread,
    conformal_half_width,
    spread,
    width,
)
from inrush.model.scaling import BatchCost, Usl, fit_batch, fit_usl
from inrush.model.work import fit_ernest, fit_proportion

USLS = st.builds(Usl, st.floats(1e-3, 1e6), st.floats(0, 0.5), st.just(0.0) | st.floats(1e-9, 0.01))


@given(USLS)
def test_a_law_is_found_again_from_its_own_values(law: Usl) -> None:
    assume(law.alpha >= law.beta)
    n = [1, 2, 4, 8, 16, 32]
    found = fit_usl(n, law.at(n))
    assert found.at([3, 64]) == pytest.approx(law.at([3, 64]), rel=1e-5)


@given(USLS)
def test_no_worker_is_worth_more_than_the_first_and_none_beyond_the_peak(law: Usl) -> None:
    n = np.arange(1, 200)
    assert (law.at(n) <= n * law.one_per_s * (1 + 1e-9)).all()
    assert (law.at(n) <= law.limit_per_s * (1 + 1e-9)).all()
    if np.isfinite(law.peak_n) and law.peak_n > 1:
        assert law.at(law.peak_n * 1.5) < law.at(law.peak_n)


@given(st.floats(1e-6, 1.0), st.floats(1e-8, 1e-3))
def test_the_best_batch_has_95_percent_of_what_any_batch_reaches(
    per_batch_s: float, per_row_s: float
) -> None:
    cost = BatchCost(per_batch_s, per_row_s)
    assert float(cost.at(cost.best_rows)) == pytest.approx(0.95 * cost.limit_per_s)
    b = np.array([1, 10, 100, 1000, 10_000, 100_000]) * max(1.0, per_batch_s / per_row_s / 1000)
    assert fit_batch(b, cost.at(b)).at([7, 7e6]) == pytest.approx(cost.at([7, 7e6]), rel=1e-3)


def test_a_rate_in_proportion_to_the_batch_has_no_best_batch_in_sight() -> None:
    assert fit_batch([100, 200, 400], [1000, 2000, 4000]).best_rows == float("inf")


@given(st.floats(0.01, 100), st.floats(1e-6, 10))
def test_a_fixed_cost_and_one_for_each_row_are_told_apart(fixed_s: float, per_unit_s: float) -> None:
    x = np.array([1.0, 10, 100, 1000])
    found = fit_proportion(x, fixed_s + per_unit_s * x)
    assert found.at(2000) == pytest.approx(fixed_s + per_unit_s * 2000, rel=1e-6)


def test_ernests_form_is_found_from_small_clusters() -> None:
    m = np.array([1.0, 2, 4, 8, 16])
    t = 2 + 40 / m + 0.5 * np.log(m) + 0.1 * m
    assert fit_ernest(m, t).at(64) == pytest.approx(2 + 40 / 64 + 0.5 * np.log(64) + 6.4, rel=1e-6)


# The rule.


def test_a_bend_that_was_not_seen_is_not_claimed() -> None:
    n = [1, 2, 4]
    found = forecast(curve(n, Usl(100, 0.05, 1e-4).at(n)), 16)
    assert found.model == "contention" and found.saturation is None
    assert any("unknowable from throughput alone" in w for w in found.why)


def test_a_peak_that_was_passed_needs_coherency() -> None:
    law = Usl(100, 0.02, 2e-3)
    n = [1, 2, 4, 8, 16, 32, 48]
    found = forecast(curve(n, law.at(n)), 96)
    assert found.model == "coherency"
    assert found.median == pytest.approx(float(law.at(96)), rel=1e-3)
    assert found.saturation == pytest.approx(law.peak_n, rel=1e-3)


def test_a_rate_that_falls_throughout_loses_a_fixed_time_to_each() -> None:
    readers = [0, 1, 2, 4]
    found = forecast(curve(readers, [1000 / (1 + 0.1 * r) for r in readers]), 16)
    assert found.model == "interference"
    assert found.median == pytest.approx(1000 / 2.6)


def test_times_that_grow_and_times_that_fall_have_laws_of_their_own() -> None:
    grown = forecast(curve([1e3, 1e4, 1e5], [1.1, 2, 11]), 1e6, kind="time")
    assert (grown.model, grown.median) == ("proportion", pytest.approx(101))
    fallen = forecast(curve([1, 2, 4, 8], [101, 51, 26, 13.5]), 32, kind="time")
    assert (fallen.model, fallen.median) == ("ernest", pytest.approx(1 + 100 / 32, rel=1e-6))


def test_latency_is_that_of_a_queue_up_to_four_fifths_of_what_fills_it() -> None:
    rates = np.array([100.0, 300, 500])
    of = curve(rates, 1 / (200 - 0.2 * rates))
    found = forecast(of, 700, kind="latency")
    assert (found.model, found.saturation) == ("queue", pytest.approx(1000))
    assert found.median == pytest.approx(1 / 60)
    assert forecast_within(of, 1 / 60).median == pytest.approx(700)
    with pytest.raises(Refused, match="when nothing waits"):
        forecast_within(of, 1e-6)
    with pytest.raises(Refused, match="does not grow"):
        forecast_within(curve([100, 200], [0.01, 0.01]), 1.0)
    with pytest.raises(Refused, match="fills the queue"):
        forecast(of, 900, kind="latency")


def within(x: list[float], y: list[float], limit_s: float) -> tuple[float, float, float, bool]:
    found = forecast_within(curve(x, y), limit_s)
    return round(found.median, 1), round(found.lo, 1), round(found.hi, 1), found.is_lower_bound


def test_beyond_four_fifths_the_highest_rate_is_at_least_that_or_what_was_measured() -> None:
    rates = [100.0, 200, 300, 400]
    law = [1 / (100 - 0.2 * r) for r in rates]
    low = within(rates, law, 0.1)
    assert low[0] == 400 and 380 < low[1] < 400 and low[2:] == (float("inf"), True)
    assert within(rates, law, 0.05)[3] is False, "the range ends there, and holds it"
    more, late = [*rates, 450.0], [*law, 0.1]
    assert within(more, late, 0.1)[::2] == within(more, late, 1e6)[::2] == (450, float("inf"))
    assert within(more, late, 0.075)[::2] == (400, 450), "450/s was measured to be too much"
    found = forecast_within(curve(more, late), 0.2)
    assert found.is_lower_bound and found.document()["hi"] is None
    assert found.why[0] == (
        "at least: latency is predicted up to 80 % of the rate that fills the queue (500/s), 400/s; 450/s was measured within "
        "the limit"
    )


@given(
    st.lists(st.floats(-0.1, 0.1), min_size=5, max_size=5),
    st.floats(0.011, 0.5),
)
def test_no_interval_excludes_a_rate_that_was_measured_within_the_limit(
    noise: list[float], limit_s: float
) -> None:
    rates = np.array([100.0, 200, 300, 400, 450])
    latency = np.exp(noise) / (100 - 0.2 * rates)
    try:
        found = forecast_within(curve(rates, latency), limit_s)
    except Refused:
        return
    for rate, measured in zip(rates, latency, strict=True):
        assert found.hi >= rate * (1 - 1e-9) if measured <= limit_s else found.lo <= rate
    assert found.lo <= found.median <= found.hi


def test_a_queue_that_misses_a_point_inside_is_told_and_does_not_contradict_it() -> None:
    of = curve([100, 200, 400, 450], [0.010, 0.0125, 0.025, 0.05])
    for limit_s in (0.05, 0.1, 10.0):
        found = forecast_within(of, limit_s)
        assert (found.median, found.is_lower_bound) == (450, True)
    inside = forecast_within(of, 0.025)
    assert inside.median == pytest.approx(400) and not inside.is_lower_bound
    for made in (inside, forecast(of, 350, kind="latency")):
        assert any("misses what was measured at 400 by 20 %" in why for why in made.why)
    assert not any("misses" in why for why in forecast_within(curve([100, 300], [0.0125, 0.025]), 0.02).why)
    # The law's idle call takes 7.8 ms, and the law itself would say 74/s.
    assert forecast_within(curve([100, 200, 400, 450], [0.007, 0.0125, 0.025, 0.05]), 0.0071).median >= 100


@pytest.mark.parametrize("limit_s", [0.0, -1.0, float("inf"), float("nan")])
def test_a_limit_that_is_no_latency_is_refused(limit_s: float) -> None:
    with pytest.raises(Refused, match="write seconds"):
        forecast_within(curve([100, 200], [0.01, 0.02]), limit_s)


def test_what_no_law_describes_is_refused() -> None:
    with pytest.raises(Refused, match="no law here describes"):
        forecast(curve([1, 2, 4, 8], [100, 20, 400, 50]), 16)
    with pytest.raises(Refused, match="times the largest"):
        forecast(curve([1, 2], [100, 190]), 1000)
    with pytest.raises(Refused, match="positive"):
        forecast(curve([1, 2], [100, 190]), -4)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [([1], [1.0], "two"), ([1, 2], [1.0, 0.0], "positive"), ([1, 2], [1.0, float("nan")], "numbers")],
)
def test_curves_without_meaning_are_refused_with_a_remedy(
    x: list[float], y: list[float], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        curve(x, y)


@given(
    st.floats(1, 1e6),
    st.floats(0, 0.3),
    st.lists(st.floats(-0.03, 0.03), min_size=9, max_size=9),
    st.floats(1e-3, 1e3),
)
def test_a_forecast_lies_in_its_interval_and_is_free_of_scale(
    one: float, alpha: float, noise: list[float], scale: float
) -> None:
    n = np.repeat([1, 2, 4], 3)
    y = Usl(one, alpha, 0).at(n) * np.exp(noise)
    found, scaled = forecast(curve(n, y), 8), forecast(curve(n, y * scale), 8)
    assert found.lo <= found.median <= found.hi
    assert scaled.median == pytest.approx(found.median * scale, rel=1e-6)
    assert scaled.hi == pytest.approx(found.hi * scale, rel=1e-3)
    again = forecast(curve(n, y), 8)
    assert (again.lo, again.hi) == (found.lo, found.hi)


# Intervals.


def test_nine_scored_predictions_are_needed_for_ninety_percent_and_nineteen_for_ninety_five() -> None:
    def archive(n: int) -> list[Scored]:
        return [Scored(4.0, 0.01 * (i + 1)) for i in range(n)]

    assert conformal_half_width(archive(8), 4.0, 0.90) is None
    assert conformal_half_width(archive(9), 4.0, 0.90) == pytest.approx(0.09)
    assert conformal_half_width(archive(18), 4.0, 0.95) is None
    assert conformal_half_width(archive(19), 4.0, 0.95) == pytest.approx(0.19)
    assert conformal_half_width(archive(50), 2.0, 0.90) is None  # another reach


def test_learnt_widths_hold_what_they_promise_and_own_widths_say_that_they_are_not_calibrated() -> None:
    rng = np.random.default_rng(5)
    errors = np.abs(rng.laplace(0, 0.05, (400, 31)))
    held = np.mean([
        e[-1] <= (conformal_half_width([Scored(2.0, x) for x in e[:-1]], 2.0, 0.9) or 0.0) for e in errors
    ])  # fmt: skip
    assert 0.87 <= held <= 0.97
    run = Spread(0.03, 10)
    assert width(0.02, run, 3, [Scored(2.0, 0.1)] * 9, 2.0).calibrated
    unsure = width(0.02, run, 3, [], 2.0)
    assert not unsure.calibrated and unsure.half > 2 * 0.02


@given(st.floats(0, 10), st.integers(0, 50))
def test_noise_is_never_nothing_and_never_more_than_was_seen_and_is_usual(squares: float, df: int) -> None:
    found = spread(squares, df)
    assert 0 < found.sd <= max(0.03, (squares / max(1, df)) ** 0.5) * 1.0001 or df == 0
    assert found.df == 4 + df
