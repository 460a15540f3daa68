"""May engines be held against each other? Only where acknowledged rows survive the same, or the study asks for it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inrush.analysis.run_facts import is_instrument, survives

# `inrush plan` refuses by these rules too, where no package of the statistics is installed.
if TYPE_CHECKING:
    from inrush.analysis.points import Analysis, Point

#: The guard that says of which engines an acknowledged row survives different things.
EQUAL_DURABILITY = "equal durability"
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
            at.setdefault(without_engine(m.point), {})[m.run.engine] = found
    return durability_difference(at.values())


def durability_difference(points: Iterable[Mapping[str, str]]) -> str | None:
    """Engine -> what its rows survive, of the first point where that differs; None where it is the same everywhere."""
    engines = first_unequal(points)
    if engines is None:
        return None
    words = sorted((engine, word.replace("_", " ").lower()) for engine, word in engines.items())
    return "; ".join(f"{engine}: {word}" for engine, word in words)


def first_unequal(points: Iterable[Mapping[str, str]]) -> Mapping[str, str] | None:
    return next((engines for engines in points if len(set(engines.values())) > 1), None)


def left_out(analysis: Analysis) -> dict[Point, Mapping[str, str]]:
    """Point -> operations that its mix went without, and why: the engine cannot do them."""
    return {m.point: found for m in analysis.runs if (found := m.run.labels.get("left_out"))}


def unequal_mix(analysis: Analysis) -> str | None:
    """Which engines did less than others at a point that is equal otherwise; None where all did the same."""
    without = left_out(analysis)
    others = {without_engine(m.point) for m in analysis.runs if m.point not in without}
    lighter = {
        str(dict(point)["engine"]): sorted(operations)
        for point, operations in without.items()
        if without_engine(point) in others and not is_instrument(str(dict(point)["engine"]))
    }
    return "; ".join(f"{engine} without {', '.join(ops)}" for engine, ops in sorted(lighter.items())) or None


def compares_engines(analysis: Analysis) -> bool:
    """Whether the answer holds engines against each other, rather than each against itself."""
    asked: Mapping[str, Any] = analysis.study.get("answer") or {}
    engines = {m.run.engine for m in analysis.runs if not is_instrument(m.run.engine)}
    return holds_engines_together(
        len(engines), asked.get("along"), tuple(asked.get("per") or ()), analysis.factors
    )


def holds_engines_together(
    engines: int, along: str | None, per: Sequence[str], factors: Mapping[str, Sequence[Any]]
) -> bool:
    """An answer along the engines, along nothing else, or with several engines in one of its parts."""
    along = along or default_along(factors)
    return engines > 1 and (along in (None, "engine") or bool(per and "engine" not in per))


def default_along(factors: Mapping[str, Sequence[Any]]) -> str | None:
    """The varied factor with most values; numbers before names."""
    varied = {k: v for k, v in factors.items() if len(v) > 1}
    numeric = {k: v for k, v in varied.items() if all(isinstance(x, int | float) for x in v)}
    return max(numeric or varied, key=lambda k: len(varied[k]), default=None)


def without_engine(point: Point) -> Point:
    return tuple((k, v) for k, v in point if k != "engine")
