"""Demand that grows with a table, latency at a rate, and scores: limits, laws, values worked by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.model.forecast import Refused
from inrush.model.laws import Resource
from inrush.model.open_load import erlang_c, open_latency, residence_s
from inrush.model.score import board, interval_score, score
from inrush.model.storage import BTree, Extraction, Lsm, fit_extraction, fit_unit_cost, out_of_memory_refuted

TREE = BTree(row_bytes=100, cpu_s=1e-5, cache_bytes=1e9, read_s=1e-4, write_s=1e-4)


def test_a_b_tree_is_flat_while_it_fits_and_only_falls_when_it_does_not() -> None:
    inside = TREE.rate_per_s(np.array([0.2, 0.9]) * TREE.knee_rows)
    beyond = TREE.rate_per_s(np.linspace(1.01, 40, 200) * TREE.knee_rows)
    assert inside.min() > 3 * beyond[-1]
    assert (np.diff(beyond) < 0).all()
    assert TREE.knee_rows == pytest.approx(1e9 * math.log(2) / 100)


def test_beyond_the_knee_misses_follow_one_minus_its_share() -> None:
    assert TREE.misses(2 * TREE.knee_rows) == pytest.approx(0.5)
    assert TREE.misses(10 * TREE.knee_rows) == pytest.approx(0.9)
    assert TREE.misses(0.5 * TREE.knee_rows) == 0


@given(st.floats(1, 1e5))
def test_sorted_batches_never_read_more_than_single_rows(batch: float) -> None:
    rows = 20 * TREE.knee_rows
    assert replace(TREE, batch_rows=batch).reads_per_row(rows) <= TREE.reads_per_row(rows) * (1 + 1e-9)


def test_keys_in_order_touch_few_leaves_and_load_in_proportion() -> None:
    ordered = replace(TREE, sequential=True, batch_rows=10_000)
    assert ordered.reads_per_row(50 * TREE.knee_rows) < 0.02
    small, large = (TREE.load_s(x * TREE.knee_rows) for x in (0.25, 0.5))
    assert large == pytest.approx(2 * small, rel=0.15)
    assert TREE.load_s(20 * TREE.knee_rows) > 20 * 2 * small


def test_a_rate_that_recovers_while_the_table_grows_refutes_memory_as_the_cause() -> None:
    falls = TREE.rate_per_s(np.linspace(0.1, 10, 40) * TREE.knee_rows)
    assert not out_of_memory_refuted(falls).refuted
    u = np.concatenate([np.linspace(4000, 400, 20), np.linspace(400, 3700, 20)])
    assert out_of_memory_refuted(u).refuted
    assert not out_of_memory_refuted(np.full(40, 7.0)).refuted


def test_an_lsm_tree_sustains_less_than_it_takes_in_a_burst() -> None:
    tree = Lsm(row_bytes=100, cpu_s=1e-7, write_bytes_per_s=1e9, memtable_bytes=64e6)
    assert tree.levels(6.4e6) == 1 and tree.levels(6.4e9) == 4
    few, many = tree.write_amplification(6.4e9)
    assert (few, many) == (2 + 4 * 5, 2 + 4 * 10)
    low, high = tree.sustained_per_s(6.4e9)
    assert low == pytest.approx(1e7 / 42) and high == pytest.approx(1e7 / 22)
    assert replace(tree, leveled=False).sustained_per_s(6.4e9)[0] == pytest.approx(1e7 / 6)
    assert replace(tree, cpu_s=1e-3).sustained_per_s(6.4e9) == (1000, 1000)


def test_a_small_extraction_cold_and_warm_says_what_a_large_one_costs() -> None:
    found = fit_extraction(1e6, 118, 2.0, 60, 8192, wanted_per_page=2.0, cache_bytes=24e9)
    assert found.at(1e6, cold=True) == pytest.approx(118)
    assert found.at(1e6, cold=False) == pytest.approx(2.0)
    assert found.at(1e7, cold=True) == pytest.approx(1180)
    # Ten million rows on five million pages are 41 GB: what is warm there is read again.
    assert found.at(1e7, cold=False) == pytest.approx(1180)
    assert isinstance(found, Extraction)


def test_files_that_grow_are_told_from_a_table_that_grows() -> None:
    size = np.array([1.2e6, 4e6, 10e6, 3e6])
    rate = 1 / (3e-7 + 2e-14 * size)
    found = fit_unit_cost(size, rate)
    assert (found.per_byte_s, found.per_file_byte_s) == pytest.approx((3e-7, 2e-14), rel=1e-6)
    assert found.files_per_s(4e6) == pytest.approx(rate[1] / 4e6)


# Latency at a rate.


def test_erlang_c_is_the_values_of_the_tables() -> None:
    assert erlang_c(1, 0.5) == pytest.approx(0.5)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert erlang_c(10, 8.0) == pytest.approx(0.409, abs=5e-4)


@given(st.floats(0.01, 0.79), st.floats(1e-4, 10))
def test_one_server_waits_as_long_as_its_formula_says(share: float, demand_s: float) -> None:
    assert residence_s(share / demand_s, Resource("r", demand_s)) == pytest.approx(demand_s / (1 - share))
    assert residence_s(share / demand_s, Resource("r", demand_s), cs2=0.0) < demand_s / (1 - share)


@given(st.floats(0.05, 0.75))
def test_p99_of_one_server_is_that_of_an_exponential_and_grows_with_the_rate(share: float) -> None:
    only = [Resource("disk", 0.01)]
    found = open_latency(share / 0.01, only)
    assert found.p99_s == pytest.approx(0.01 / (1 - share) * math.log(100))
    assert open_latency(share / 0.01 * 1.05, only).p99_s > found.p99_s


def test_near_saturation_nothing_is_promised() -> None:
    only = [Resource("disk", 0.01), Resource("cores", 0.05, 8)]
    with pytest.raises(Refused, match="busy"):
        open_latency(90, only)


# Scores.


def test_an_interval_that_holds_costs_its_width_and_one_that_misses_twenty_times_the_miss() -> None:
    e = math.e
    assert interval_score(e, 1, e**2, 0.9) == pytest.approx(2)
    assert interval_score(e**3, 1, e**2, 0.9) == pytest.approx(2 + 20)


def test_a_score_says_error_hit_and_what_simpler_claims_got_wrong() -> None:
    found = score(100, 90, 80, 120, 0.9, {"linear": 200, "usl": 90, "hard bound": 100}, "disk", "disk")
    assert found.log_error == pytest.approx(math.log(100 / 90)) and found.error == pytest.approx(0.1)
    assert found.inside and found.bottleneck_hit
    assert found.skill["linear"] == pytest.approx(1 - math.log(100 / 90) / math.log(2))
    assert found.skill["usl"] == 0 and found.skill["hard bound"] == -math.inf
    assert score(100, 90, 80, 95, 0.9, {}, None, "disk").bottleneck_hit is None


def test_a_board_counts_every_score_once() -> None:
    scores = [
        score(100, 100 - i, 95, 120, 0.9, {"linear": 150}, "a", "a" if i % 2 else "b") for i in range(1, 11)
    ]
    found = board(scores)
    assert found is not None and found.n == 10
    assert found.median_error == pytest.approx(0.055) and found.p90_error == pytest.approx(0.09)
    assert found.coverage.value == 1.0 and found.bottlenecks is not None and found.bottlenecks.value == 0.5
    assert board([]) is None
