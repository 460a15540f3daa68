"""`tails` against scipy's own distributions, which it is a short way to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from inrush.stats import stats, tails

FREEDOM = st.floats(1, 300)


@given(st.floats(0.5, 0.9995), FREEDOM)
def test_t_quantiles_are_those_of_scipy(p: float, df: float) -> None:
    assert tails.t_quantile(p, df) == pytest.approx(scipy_stats.t.ppf(p, df), rel=1e-9, abs=1e-12)


@given(st.floats(-30, 30), FREEDOM, FREEDOM)
def test_probabilities_above_are_those_of_scipy(x: float, df1: float, df2: float) -> None:
    assert tails.t_above(x, df1) == pytest.approx(scipy_stats.t.sf(x, df1), rel=1e-6, abs=1e-300)
    assert tails.f_above(abs(x), df1, df2) == pytest.approx(scipy_stats.f.sf(abs(x), df1, df2), rel=1e-6)


@given(st.integers(1, 200), st.floats(0.01, 0.99))
def test_binomial_probabilities_are_those_of_scipy(n: int, q: float) -> None:
    hits = np.arange(n + 1)
    assert tails.binomial_at_most(hits, n, q) == pytest.approx(scipy_stats.binom.cdf(hits, n, q), abs=1e-12)


@given(st.integers(1, 500), st.floats(0, 1), st.sampled_from([0.9, 0.95, 0.99]))
def test_an_interval_of_a_share_is_that_of_scipy_and_stays_a_share(n: int, part: float, level: float) -> None:
    hits = round(part * n)
    found = stats.wilson(hits, n, level)
    expected = scipy_stats.binomtest(hits, n).proportion_ci(level, method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= found.low <= hits / n <= found.high <= 1
