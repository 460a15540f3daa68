"""Waiting at a rate, and scores: values worked by hand."""

from __future__ import annotations

import math

import pytest

from inrush.model.queues import erlang_c
from inrush.model.score import board, interval_score, score


def test_erlang_c_is_the_values_of_the_tables() -> None:
    assert erlang_c(1, 0.5) == pytest.approx(0.5)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert erlang_c(10, 8.0) == pytest.approx(0.409, abs=5e-4)


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
