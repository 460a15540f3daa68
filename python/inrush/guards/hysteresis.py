"""Does a load have another throughput on the way down than on the way up? Pure.

Blocks of a study with `repeats.order = "up_and_down"` go up and down in turn. Blocks 1 and 2 are a pair, then 3 and 4:
what drifts slowly is the same in both halves of a pair.
"""

from __future__ import annotations

from dataclasses import dataclass

from inrush.analysis.points import Analysis, Point, headline, say
from inrush.analysis.verdicts import Verdict, noted, passed
from inrush.border.labels import UP_AND_DOWN, goes_up
from inrush.guards.guard import About, StudyGuard
from inrush.stats import stats
from inrush.text import counted, number, signed_percent

NAME = "no hysteresis"
#: A difference by direction that is smaller is not worth a word, however sure.
MATERIAL = 0.05
LEVEL = 0.95


@dataclass(frozen=True)
class ByDirection:
    """A figure at one point on the way down over that on the way up."""

    point: Point
    up: tuple[float, ...]
    down: tuple[float, ...]
    #: Of down over up, at a level that holds for all points together.
    ratio: stats.Interval

    @property
    def differs(self) -> bool:
        return not self.ratio.low <= 1 <= self.ratio.high and abs(self.ratio.value - 1) >= MATERIAL


def no_hysteresis(analysis: Analysis) -> Verdict | None:
    figure = headline(analysis)
    if figure is None or not is_up_and_down(analysis):
        return None
    found = by_direction(analysis, figure)
    if not found:
        return noted(
            NAME, "No point has two pairs of a block up and a block down: raise `repeats.count` to 4"
        )
    moved = [d for d in found if d.differs]
    if moved:
        each = "; ".join(
            f"{say(d.point)}: {signed_percent(d.ratio.value - 1)} on the way down ({number(d.ratio.low)} to "
            f"{number(d.ratio.high)} times what it was on the way up)"
            for d in moved
        )
        return noted(
            NAME,
            f"{figure} depends on the direction of the sweep: {each}. What a load leaves behind (caches, bloat, merges) is "
            "measured with the next one: read each direction by itself",
        )
    return passed(
        NAME,
        f"{figure} is the same up and down at {counted(len(found), 'point')}, within {signed_percent(MATERIAL)}",
    )


def is_up_and_down(analysis: Analysis) -> bool:
    return (analysis.study.get("repeats") or {}).get("order") == UP_AND_DOWN


def by_direction(analysis: Analysis, figure: str) -> list[ByDirection]:
    """Points with two pairs or more, in their order."""
    pairs = {
        point: [
            (value, of[block + 1])
            for block, value in sorted(of.items())
            if goes_up(block) and block + 1 in of and min(value, of[block + 1]) > 0
        ]
        for point, of in analysis.values(figure).items()
    }
    held = {point: of for point, of in pairs.items() if len(of) >= 2}
    level = 1 - (1 - LEVEL) / max(1, len(held))
    return [
        ByDirection(
            point,
            tuple(up for up, _ in of),
            tuple(down for _, down in of),
            stats.paired_ratio([down for _, down in of], [up for up, _ in of], level),
        )
        for point, of in held.items()
    ]


GUARDS = (StudyGuard(About.COURSE, NAME, no_hysteresis, "The study does not sweep up and down"),)
