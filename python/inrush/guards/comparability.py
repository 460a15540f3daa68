"""May engines be held against each other? Only where acknowledged rows survive the same, or the study asks for it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inrush.guards.verdicts import is_instrument, survives
from inrush.stats.points import Analysis, Point

#: Key of a study that compares engines although their rows survive different things.
ALLOWED = "unequal_durability"


def refused(analysis: Analysis) -> str | None:
    """Why engines are not compared, as words for a sentence; None where they may be."""
    return None if analysis.study.get(ALLOWED) else unequal_durability(analysis)


def unequal_durability(analysis: Analysis) -> str | None:
    """What rows survive on each engine, where that differs at a point that is equal otherwise.

    A factor of one engine (`synchronous`, say) may vary: what it costs is then the question.
    """
    at: dict[Point, dict[str, str]] = {}
    for m in analysis.runs:
        found = survives(m.run)
        if found and not is_instrument(m.run.engine):
            at.setdefault(without_engine(m.point), {})[m.run.engine] = found.replace("_", " ").lower()
    for engines in at.values():
        if len(set(engines.values())) > 1:
            return "; ".join(f"{engine}: {word}" for engine, word in sorted(engines.items()))
    return None


def compares_engines(analysis: Analysis) -> bool:
    """Whether the answer holds engines against each other, rather than each against itself."""
    asked: Mapping[str, Any] = analysis.study.get("answer") or {}
    per = tuple(asked.get("per") or ())
    along = asked.get("along") or default_along(analysis)
    several = len({m.run.engine for m in analysis.runs if not is_instrument(m.run.engine)}) > 1
    return several and (along in (None, "engine") or bool(per and "engine" not in per))


def default_along(analysis: Analysis) -> str | None:
    """The varied factor with most values; numbers before names."""
    varied = {k: v for k, v in analysis.factors.items() if len(v) > 1}
    numeric = {k: v for k, v in varied.items() if all(isinstance(x, int | float) for x in v)}
    return max(numeric or varied, key=lambda k: len(varied[k]), default=None)


def without_engine(point: Point) -> Point:
    return tuple((k, v) for k, v in point if k != "engine")
