"""Effects of factors that were put in come out, with intervals that hold them."""

from __future__ import annotations

import numpy as np
import pytest

from inrush.analysis.effects import effects
from inrush.analysis.points import Analysis
from inrush.guards.analyse import analysis_of
from inrush.stats.record import StudyRecord
from tests import synthetic


def crossed(
    seed: int, reader_cost: float, blocks: int = 5, missing: tuple[int, str] | None = None
) -> Analysis:
    """Two engines, two batch sizes, with and without a reader that costs a known factor."""
    rng = np.random.default_rng(seed)
    runs = []
    for block in range(1, blocks + 1):
        for order, (engine, batch, readers) in enumerate(
            (e, b, r) for e in ("duckdb", "sqlite") for b in (100, 1000) for r in (0, 1)
        ):
            if (block, engine) == missing:
                continue
            truth = (
                {"duckdb": 1.0, "sqlite": 3.0}[engine]
                * {100: 2.0, 1000: 1.0}[batch]
                * (reader_cost if readers else 1.0)
            )
            factors = {"batch_rows": batch, "readers": readers}
            figures = {synthetic.MAKESPAN: truth * float(np.exp(rng.normal(0, 0.03)))}
            runs.append(synthetic.figured(engine, factors, block, order, figures))
    return analysis_of(StudyRecord(synthetic.STUDY, [m.run for m in runs]), runs)


def test_the_cost_of_one_reader_is_told_with_its_interval() -> None:
    found = {(e.factor, e.value): e for e in effects(crossed(1, 1.05), "writers.makespan_s")}
    assert found[("readers", 1)].ratio.holds(1.05) and found[("readers", 1)].points == 4
    assert found[("batch_rows", 1000)].ratio.value == pytest.approx(0.5, rel=0.05)
    assert found[("engine", "sqlite")].ratio.value == pytest.approx(3.0, rel=0.05)


def test_intervals_of_effects_hold_them_in_92_to_98_percent() -> None:
    held = []
    for seed in range(100):
        held += [
            e.ratio.holds(1.05)
            for e in effects(crossed(seed, 1.05), "writers.makespan_s")
            if e.factor == "readers"
        ]
        held += [
            e.ratio.holds(3.0)
            for e in effects(crossed(seed + 500, 1.0, 3), "writers.makespan_s")
            if e.factor == "engine"
        ]
    assert 0.92 <= np.mean(held) <= 0.985


def test_a_point_that_a_block_lacks_is_left_out_of_every_block() -> None:
    whole = effects(crossed(1, 1.05, missing=(2, "sqlite")), "writers.makespan_s")
    readers = next(e for e in whole if e.factor == "readers")
    assert readers.points == 2 and readers.ratio.n == 5


def test_one_block_has_no_effects() -> None:
    assert effects(crossed(1, 1.05, blocks=1), "writers.makespan_s") == []
