"""Golden values, laws, and coverage of what `stats` promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.stats import stats
from inrush.stats.stats import Placed, TooFewValues

POSITIVE = st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=12)


@given(POSITIVE, st.floats(1e-3, 1e3))
def test_an_interval_of_a_geometric_mean_is_free_of_scale(values: list[float], scale: float) -> None:
    one, scaled = stats.log_t(values), stats.log_t(np.array(values) * scale)
    assert scaled.value == pytest.approx(one.value * scale, rel=1e-9)
    assert (scaled.low, scaled.high) == pytest.approx((one.low * scale, one.high * scale), rel=1e-6)


@given(POSITIVE)
def test_a_ratio_turned_round_has_the_inverse_interval(values: list[float]) -> None:
    other = list(reversed(values))
    for ratio in (stats.paired_ratio, stats.welch_ratio):
        there, back = ratio(values, other), ratio(other, values)
        assert there.low * back.high == pytest.approx(1, rel=1e-6)


def test_log_t_of_five_runs_has_the_value_worked_by_hand() -> None:
    # ln 1 … ln 16: mean 2 ln 2, sd ln 2 * sqrt(2.5); t(0.975, 4) = 2.776445
    half = np.log(2) * np.sqrt(2.5) * 2.7764451 / np.sqrt(5)
    found = stats.log_t([1, 2, 4, 8, 16])
    assert found.value == pytest.approx(4)
    assert (found.low, found.high) == pytest.approx((4 * np.exp(-half), 4 * np.exp(half)), rel=1e-6)


def test_one_run_has_no_interval_and_zero_has_no_logarithm() -> None:
    with pytest.raises(TooFewValues):
        stats.log_t([1.0])
    with pytest.raises(ValueError, match="positive"):
        stats.log_t([1.0, 0.0])


@pytest.mark.parametrize("n", [3, 5, 10, 20])
def test_log_t_and_welch_hold_95_percent_where_some_runs_are_slow(n: int) -> None:
    # cv 5 %, one run in twenty 20 % slow, true ratio 1.10: the trial that chose these intervals.
    rng = np.random.default_rng(n)

    def sample() -> np.ndarray:
        slow = np.where(rng.random((2000, n)) < 0.05, 1.2, 1.0)
        return np.exp(rng.normal(0, 0.05, (2000, n))) * slow

    bias = np.exp(0.05 * np.log(1.2))
    held = np.mean([stats.log_t(x).holds(bias) for x in sample()])
    ratio = np.mean(
        [stats.welch_ratio(a * 1.1, b).holds(1.1) for a, b in zip(sample(), sample(), strict=True)]
    )
    assert held > 0.90 and 0.93 < ratio < 0.985


def test_paired_ratios_forget_what_a_block_has_in_common() -> None:
    rng = np.random.default_rng(1)
    block = np.exp(rng.normal(0, 0.5, 8))
    a, b = 1.1 * block * np.exp(rng.normal(0, 0.01, 8)), block * np.exp(rng.normal(0, 0.01, 8))
    paired, welch = stats.paired_ratio(a, b), stats.welch_ratio(a, b)
    assert paired.low > 1.05 and welch.low < 1 < welch.high


def test_a_high_quantile_has_no_upper_bound_when_n_is_small() -> None:
    assert stats.quantile_interval(range(20), 0.99).high == np.inf
    assert stats.quantile_interval(range(1000), 0.9).high < 999


def test_quantile_intervals_hold_at_least_95_percent() -> None:
    rng = np.random.default_rng(3)
    held = np.mean(
        [stats.quantile_interval(rng.exponential(size=60), 0.9).holds(np.log(10)) for _ in range(2000)]
    )
    assert held >= 0.95


def test_the_best_is_in_its_set_and_a_clearly_worse_point_is_not() -> None:
    noise = np.random.default_rng(5).normal(0, 0.02, (4, 6))
    values = {
        name: {b: mean * float(np.exp(noise[i, b])) for b in range(6)}
        for i, (name, mean) in enumerate({"a": 1.0, "b": 1.005, "c": 1.5, "d": 3.0}.items())
    }
    found = {c.key: c for c in stats.best_set(values)}
    assert found["a"].in_set and found["b"].in_set
    assert not found["c"].in_set and not found["d"].in_set
    turned = {c.key: c.in_set for c in stats.best_set(values, lower_is_better=False)}
    assert turned == {"d": True, "a": False, "b": False, "c": False}


def test_the_truly_best_point_is_in_the_set_in_95_percent_of_studies() -> None:
    rng = np.random.default_rng(6)
    inside = []
    for _ in range(600):
        y = np.exp(rng.normal(0, 0.05, (8, 5)) + np.linspace(0, 0.02, 8)[:, None])
        found = stats.best_set({str(i): dict(enumerate(y[i])) for i in range(8)})
        inside.append(next(c.in_set for c in found if c.key == "0"))
    assert np.mean(inside) >= 0.95


def test_holm_adjusts_as_in_the_textbook() -> None:
    assert stats.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert stats.holm([]) == []


def study(rng: np.random.Generator, carry: float, drift: float = 0.0, blocks: int = 8) -> list[Placed]:
    """Shuffled blocks of six points; the run after point `f` takes `carry` times as long."""
    runs = []
    for block in range(blocks):
        before = ""
        for order, point in enumerate(rng.permutation(list("abcdef"))):
            value = (1 + "abcdef".index(point)) * np.exp(rng.normal(0, 0.03) + drift * order)
            runs.append(Placed(point, block, order, value * (carry if before == "f" else 1.0)))
            before = point
    return runs


def test_injected_carry_over_is_flagged_and_named() -> None:
    for seed in range(20):
        effect = stats.order_effect(study(np.random.default_rng(seed), carry=1.15))
        assert effect is not None and effect.p_before < 0.01 and effect.after == "f" and effect.largest > 1.05


def test_injected_drift_inside_a_block_is_flagged() -> None:
    effect = stats.order_effect(study(np.random.default_rng(1), carry=1.0, drift=0.03))
    assert effect is not None and effect.p_place < 0.01


def test_no_carry_over_is_flagged_at_the_nominal_rate() -> None:
    effects = [stats.order_effect(study(np.random.default_rng(s), carry=1.0)) for s in range(400)]
    alarms = np.mean([e is not None and e.found(0.05) for e in effects])
    assert 0.02 <= alarms <= 0.08


def test_too_few_runs_have_no_order_effect_rather_than_none_found() -> None:
    assert stats.order_effect([Placed("a", 1, 0, 1.0), Placed("b", 1, 1, 2.0)]) is None


def test_outliers_are_flagged_by_the_sliding_rule() -> None:
    x = np.random.default_rng(7).normal(100, 1, 500)
    x[[50, 300]] = 130
    assert np.flatnonzero(stats.outliers(x)).tolist() == [50, 300]


def test_an_outlier_is_one_among_its_neighbours_on_a_long_way_up_too() -> None:
    x = np.arange(1_000.0)
    x[[3, 500, 996]] += 100
    assert np.flatnonzero(stats.outliers(x, window=20)).tolist() == [3, 500, 996]


def test_wilson_agrees_with_the_textbook() -> None:
    found = stats.wilson(9, 10)
    assert (found.low, found.high) == pytest.approx((0.5958, 0.9821), abs=1e-3)
