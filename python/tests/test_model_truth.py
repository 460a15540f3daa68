"""The predictor against pipelines whose truth is known: simulated event by event, claimed from 1, 2 and 4 of them."""

from __future__ import annotations

import numpy as np
import pytest

from inrush.model.capacity import Measured, forecast_load
from inrush.model.pipeline import Part
from inrush.model.score import Score, board, score
from tests.simulated_pipelines import Truth, random_truth, simulate


def claims_of(truth: Truth, rng: np.random.Generator, targets: tuple[int, ...]) -> list[Score]:
    """Scores of every target of one pipeline."""
    runs = []
    for n in (1, 2, 4):
        for _ in range(3):
            small = simulate(truth, n, rng)
            runs.append(Measured(n, small.per_s, small.busy))
    parts = [Part("disk"), Part("cores", truth.cores), Part("shards", parts=truth.shards)]
    capacity = {"disk": 1.0, "cores": float(truth.cores), "shards": float(truth.shards)}
    found = []
    for n in targets:
        large = simulate(truth, n, rng, units=2500)
        made = forecast_load(runs, parts, n)
        shares = {name: busy / capacity[name] for name, busy in large.busy.items()}
        fullest = max(shares, key=lambda name: shares[name])
        seen = fullest if shares[fullest] > 0.85 else None
        found.append(
            score(
                large.per_s, made.median, made.lo, made.hi, made.level, made.baselines, made.bottleneck, seen
            )
        )
    return found


@pytest.mark.ci
def test_four_times_the_largest_load_is_claimed_within_five_percent_and_its_bottleneck_named() -> None:
    rng = np.random.default_rng(7)
    scores = [s for _ in range(8) for s in claims_of(random_truth(rng), rng, (8, 16))]
    found = board(scores)
    assert found is not None and found.n == 16
    assert found.median_error <= 0.05 and found.p90_error <= 0.15
    assert found.coverage.value >= 0.8
    assert found.bottlenecks is not None and found.bottlenecks.value >= 0.9
    assert all(found.skill[name][0] > 0 for name in ("linear", "hard bound", "usl"))


def test_the_simulation_that_judges_keeps_the_laws_itself() -> None:
    rng = np.random.default_rng(3)
    truth = Truth(0.1, 1.0, 8, 0.4, 4, window=2, cv=0.5, contention=0.0)
    one, many = simulate(truth, 1, rng, 600), simulate(truth, 16, rng, 1500)
    assert one.per_s == pytest.approx(one.busy["disk"] / 0.1, rel=0.1)
    assert many.per_s <= min(1 / 0.1, 8 / 1.0) * 1.05
    assert many.busy["cores"] <= 8 * 1.02 and many.busy["disk"] <= 1.02
