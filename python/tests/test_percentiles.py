"""Percentiles over all runs of a point."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from inrush.analysis.percentiles import has_too_few, merged_s, sample_quantile_s

POINT = (("engine", "x"),)


def samples(count: int) -> Any:
    """Sample k took k seconds."""
    return SimpleNamespace(sample_times={(POINT, "w"): np.arange(1.0, count + 1)}, latencies={})


@pytest.mark.parametrize(
    ("q", "seconds"), [(0.0, 1), (0.005, 1), (0.01, 1), (0.5, 50), (0.9, 90), (0.99, 99)]
)
def test_a_percentile_of_samples_is_the_value_of_its_rank(q: float, seconds: float) -> None:
    assert sample_quantile_s(samples(100), POINT, "w", q) == seconds


@pytest.mark.parametrize(
    ("figure", "count", "seconds"),
    [("p50", 3, 2), ("p90", 20, 18), ("p99", 101, 100), ("p999", 2_000, 1_998)],
)
def test_a_figure_names_its_percentile(figure: str, count: int, seconds: float) -> None:
    assert merged_s(samples(count), POINT, f"w.sample_{figure}_s") == seconds


@pytest.mark.parametrize(("figure", "least"), [("p50", 2), ("p90", 10), ("p99", 100), ("p999", 1_000)])
def test_a_percentile_needs_a_sample_beyond_it(figure: str, least: int) -> None:
    name = f"w.sample_{figure}_s"
    few, enough = samples(least - 1), samples(least)
    assert merged_s(few, POINT, name) is None and has_too_few(few, POINT, name)
    assert merged_s(enough, POINT, name) is not None and not has_too_few(enough, POINT, name)


def test_a_role_without_samples_and_a_figure_that_is_no_percentile_have_none() -> None:
    assert merged_s(samples(9), POINT, "r.sample_p50_s") is None
    assert not has_too_few(samples(9), POINT, "r.sample_p50_s")
    assert merged_s(samples(9), POINT, "w.rows_per_s") is None
    assert not has_too_few(samples(9), POINT, "w.rows_per_s")
