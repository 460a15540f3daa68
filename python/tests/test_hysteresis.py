"""Sweeps up and down: the order of their blocks, and what a load is on the way down over the way up."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from inrush.analysis.points import Analysis, headline
from inrush.analysis.verdicts import Outcome
from inrush.guards.analyse import analyse
from inrush.guards.hysteresis import NAME, by_direction, no_hysteresis
from inrush.plan.plan import block_order, points_of
from inrush.study.reading import load_study
from tests import synthetic

LOADS = (100, 1000, 10_000)


def test_blocks_go_up_and_down_in_turn_and_the_pilot_up() -> None:
    study = load_study("telemetry-batch", "xs", ["repeats.order=up_and_down"])
    points = points_of(study)
    up = [p.id for p in points]
    orders = [[p.id for p in block_order(study, points, block, 1)] for block in range(5)]
    assert orders == [up, up, up[::-1], up, up[::-1]]


def swept(lag: float, blocks: int = 6, order: str = "up_and_down") -> Analysis:
    """The largest load takes `lag` times as long on the way down; every run has a noise of a percent."""
    rng = np.random.default_rng(2)
    record = synthetic.study(
        {("sqlite", load): 2.0 for load in LOADS}, blocks=blocks, spread=0.01, shuffled=False
    )
    runs = [
        synthetic.run("sqlite", dict(m.point, engine="sqlite") | {"batch_rows": m.point["batch_rows"]}, m.block, m.order,
                      makespan_s=2.0 * float(np.exp(rng.normal(0, 0.01))) * (lag if m.block % 2 == 0 and m.point["batch_rows"] == 10_000 else 1.0))
        for m in record.runs
    ]  # fmt: skip
    return analyse(
        replace(record, study={**record.study, "repeats": {"order": order, "count": blocks}}, runs=runs)
    )


def test_a_load_that_is_slower_on_the_way_down_is_named_with_its_interval() -> None:
    analysis = swept(1.3)
    figure = headline(analysis)
    assert figure is not None
    of = {dict(d.point)["batch_rows"]: d for d in by_direction(analysis, figure)}
    assert [load for load, d in of.items() if d.differs] == [10_000]
    truth = 1.3 if figure.endswith("makespan_s") else 1 / 1.3
    assert of[10_000].ratio.low < truth < of[10_000].ratio.high
    verdict = no_hysteresis(analysis)
    assert verdict is not None and verdict.guard == NAME and verdict.outcome is Outcome.NOTE
    assert "on the way down" in verdict.sentence and "10" in verdict.sentence


def test_a_pair_without_a_value_is_none() -> None:
    up_and_down = {1: 2.0, 2: 2.1, 3: 1.9, 4: 2.0, 5: 2.2, 6: 2.1}
    for block in up_and_down:
        analysis: Any = SimpleNamespace(values=lambda _, k=block: {(): {**up_and_down, k: 0.0}})
        (found,) = by_direction(analysis, "writers.makespan_s")
        left = [k for k in (1, 3, 5) if block not in (k, k + 1)]
        assert (found.up, found.down) == tuple(
            tuple(up_and_down[k + down] for k in left) for down in (False, True)
        )


def test_equal_directions_pass_and_other_orders_and_one_pair_are_not_judged() -> None:
    same = no_hysteresis(swept(1.0))
    assert same is not None and same.outcome is Outcome.PASS
    assert no_hysteresis(swept(1.3, order="shuffled_after_pilot")) is None
    few = no_hysteresis(swept(1.3, blocks=2))
    assert few is not None and few.outcome is Outcome.NOTE and "two pairs" in few.sentence
