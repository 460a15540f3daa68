"""Merge equals whole, and quantiles follow the one rule."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inrush.results import histogram
from inrush.results.histogram import Histogram, bucket_of, bucket_upper, merge, of_table, of_values

#: Timings of a busy machine say nothing about a property.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

VALUES = st.lists(st.integers(0, 2**42 - 1), min_size=1, max_size=60)


@given(st.integers(0, 2**62), st.integers(1, 10))
def test_a_value_lies_in_its_bucket_and_above_the_one_before(value: int, power: int) -> None:
    bucket = bucket_of(value, power)
    assert value <= bucket_upper(bucket, power)
    assert bucket == 0 or value > bucket_upper(bucket - 1, power)


@given(st.integers(2**8, 2**42))
def test_a_bucket_of_grouping_power_7_is_at_most_0_79_percent_wide(value: int) -> None:
    assert bucket_upper(bucket_of(value, 7), 7) - value < value / 2**7


def test_buckets_agree_with_worked_examples() -> None:
    # g = 7: one bucket each below 256, then 128 a power of two; 42 bits need (42 - 7 + 1) * 128.
    assert [bucket_of(v, 7) for v in (0, 255, 256, 257, 258, 511, 512)] == [0, 255, 256, 256, 257, 383, 384]
    assert bucket_of(2**42 - 1, 7) == (42 - 7 + 1) * 128 - 1


def fields(h: Histogram) -> tuple[object, ...]:
    return (h.grouping_power, h.bucket.tolist(), h.count.tolist(), h.min_ns, h.max_ns, h.sum_ns, h.n)


@given(st.lists(VALUES, min_size=1, max_size=6))
def test_merge_of_parts_equals_the_whole_field_by_field(parts: list[list[int]]) -> None:
    whole = of_values([v for part in parts for v in part])
    assert fields(merge([of_values(part) for part in parts])) == fields(whole)


@given(st.lists(VALUES, min_size=1, max_size=6))
def test_merge_of_table_rows_equals_the_whole_field_by_field(parts: list[list[int]]) -> None:
    found = of_table(hist_table(parts), ("role",))
    assert fields(found[("writers",)]) == fields(of_values([v for part in parts for v in part]))


def hist_table(parts: list[list[int]]) -> pa.Table:
    found = [of_values(part) for part in parts]
    return pa.table(
        {
            "role": ["writers"] * len(found),
            "grouping_power": pa.array([7] * len(found), pa.uint8()),
            "bucket": pa.array([h.bucket.tolist() for h in found], pa.list_(pa.uint32())),
            "count": pa.array([h.count.tolist() for h in found], pa.list_(pa.uint64())),
            "n": pa.array([h.n for h in found], pa.uint64()),
            "min_ns": pa.array([h.min_ns for h in found], pa.uint64()),
            "max_ns": pa.array([h.max_ns for h in found], pa.uint64()),
            "sum_ns": pa.array([h.sum_ns for h in found], pa.uint64()),
        }
    )


@given(VALUES, st.sampled_from([0.0, 0.07, 0.5, 0.9, 0.99, 0.999, 1.0]))
def test_a_quantile_is_the_upper_end_of_the_bucket_of_the_ranked_value(values: list[int], q: float) -> None:
    from decimal import Decimal

    rank = max(1, math.ceil(Decimal(str(q)) * len(values)))
    exact = sorted(values)[rank - 1]
    assert of_values(values).quantile_ns(q) == bucket_upper(bucket_of(exact, 7), 7)


def test_seven_percent_of_a_hundred_values_is_the_seventh() -> None:
    assert of_values(range(1, 101)).quantile_ns(0.07) == 7  # 0.07 * 100 is 7.000000000000001 in floats


def test_histograms_of_different_resolution_are_not_merged() -> None:
    with pytest.raises(ValueError, match="cannot be merged"):
        merge([of_values([1], 7), of_values([1], 10)])


def test_the_percentile_of_two_nodes_is_not_the_mean_of_their_percentiles() -> None:
    slow, fast = of_values([10**9] * 2), of_values([10**6] * 98)
    together = merge([slow, fast]).quantile_ns(0.99)
    assert together >= 10**9
    assert together != np.mean([slow.quantile_ns(0.99), fast.quantile_ns(0.99)])


def test_no_function_averages_percentiles() -> None:
    takes_several = [n for n in dir(histogram) if "average" in n or "mean" in n]
    assert takes_several == [] and not hasattr(Histogram, "__add__")
