"""What every other factor costs or gains, on the headline figure: paired by block, averaged over the rest. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inrush.analysis.comparability import refused
from inrush.analysis.points import Analysis, Point
from inrush.stats import stats


@dataclass(frozen=True)
class Effect:
    """The figure at `value` over the figure at `base`, everything else equal."""

    factor: str
    base: Any
    value: Any
    #: Combinations of the other factors that have both.
    points: int
    ratio: stats.Interval


def effects(analysis: Analysis, figure: str) -> list[Effect]:
    """Every varied factor, each value against its first; one ratio per block, so that blocks make the interval.

    Left out where fewer than two blocks measured both values, or nothing else is equal; so are points at which the figure is
    invalid, and engines with rows that survive different things.
    """
    values = {p: of for p, of in analysis.values(figure).items() if not analysis.broken(figure, p)}
    unfair = refused(analysis) is not None
    found = []
    for factor, levels in analysis.factors.items():
        if len(levels) < 2 or (factor == "engine" and unfair):
            continue
        for value in levels[1:]:
            per_block = block_ratios(values, factor, levels[0], value)
            logs = [float(np.mean(list(of.values()))) for of in per_block.values()]
            if len(logs) > 1:
                points = max(len(of) for of in per_block.values())
                found.append(Effect(factor, levels[0], value, points, stats.log_t(np.exp(logs))))
    return found


def block_ratios(
    values: Mapping[Point, Mapping[int, float]], factor: str, base: Any, value: Any
) -> dict[int, dict[Point, float]]:
    """Block -> rest of the point -> log ratio, only of rests that every block measured: else blocks differ in mix."""
    at = {
        level: {rest(p, factor): of for p, of in values.items() if dict(p).get(factor) == level}
        for level in (base, value)
    }
    logs: dict[Point, dict[int, float]] = {}
    for point in at[base].keys() & at[value].keys():
        a, b = at[base][point], at[value][point]
        logs[point] = {
            k: float(np.log(b[k] / a[k]))
            for k in a.keys() & b.keys()
            if a[k] > 0 and b[k] > 0 and np.isfinite([a[k], b[k]]).all()
        }
    blocks = set().union(*(of.keys() for of in logs.values())) if logs else set()
    whole = {point: of for point, of in logs.items() if of.keys() == blocks}
    return {block: {point: of[block] for point, of in whole.items()} for block in sorted(blocks) if whole}


def rest(point: Point, factor: str) -> Point:
    return tuple((k, v) for k, v in point if k != factor)
