"""Did the engines of a study do the same work, with rows that survive the same? Pure."""

from __future__ import annotations

from inrush.analysis.comparability import (
    ALLOWED,
    EQUAL_DURABILITY,
    compares_engines,
    unequal_durability,
    unequal_mix,
    without_engine,
)
from inrush.analysis.points import Analysis, Point
from inrush.analysis.run_facts import is_instrument, survives
from inrush.analysis.verdicts import Verdict, invalid, noted, passed
from inrush.guards.guard import About, StudyGuard


def equal_durability(analysis: Analysis) -> Verdict | None:
    by_engine = {m.run.engine: survives(m.run) for m in analysis.runs if not is_instrument(m.run.engine)}
    known = {e: s for e, s in by_engine.items() if s}
    if len(by_engine) < 2:
        return None
    if len(known) < len(by_engine):
        unknown = ", ".join(sorted(set(by_engine) - set(known)))
        return noted(EQUAL_DURABILITY, f"What an acknowledged row survives is not known of {unknown}")
    differences = unequal_durability(analysis)
    if differences is None:
        return alike_where_equal(analysis)
    found = f"Rows survive different things ({differences}): these engines do not do the same work"
    if analysis.study.get(ALLOWED):
        return noted(EQUAL_DURABILITY, f"{found}, and the study compares them all the same ({ALLOWED})")
    if compares_engines(analysis):
        return invalid(
            EQUAL_DURABILITY,
            f"{found}. Each engine's own figures stand, no comparison does: set `options` so that rows survive the "
            f"same, or ask for it with `-P {ALLOWED}=true`",
            figures=(),
        )
    return noted(EQUAL_DURABILITY, f"{found}. Each engine's figures stand alone; they are not compared")


def alike_where_equal(analysis: Analysis) -> Verdict:
    """No two engines differ at points that are equal otherwise; are there such points, and what do rows survive at them?"""
    name = EQUAL_DURABILITY
    at: dict[str, set[str]] = {}
    engines: dict[Point, set[str]] = {}
    for m in analysis.runs:
        if (found := survives(m.run)) and not is_instrument(m.run.engine):
            at.setdefault(found.replace("_", " ").lower(), set()).add(m.run.engine)
            engines.setdefault(without_engine(m.point), set()).add(m.run.engine)
    if len(at) == 1:
        return passed(name, f"Acknowledged rows survive the same on all engines: {next(iter(at))}")
    if all(len(of) > 1 for of in engines.values()):
        return passed(
            name, f"Acknowledged rows survive the same on all engines at each point: {', '.join(sorted(at))}"
        )
    each = "; ".join(f"{word}: {', '.join(sorted(of))}" for word, of in sorted(at.items()))
    return noted(
        name,
        f"Rows survive different things at points that no other engine has ({each}): hold only points against each other "
        "at which rows survive the same",
    )


def equal_work(analysis: Analysis) -> Verdict | None:
    """An engine that cannot do one of a mix's operations does the others; its figures are then of a lighter mix."""
    name = "equal work"
    if lighter := unequal_mix(analysis):
        return noted(
            name, f"{lighter}: its figures are of a lighter mix; hold single operations against each other"
        )
    return passed(name, "Every engine did all operations of its mix") if compares_engines(analysis) else None


GUARDS = (
    StudyGuard(About.ENGINES, EQUAL_DURABILITY, equal_durability, "Fewer than two engines"),
    StudyGuard(About.ENGINES, "equal work", equal_work, "No engine is held against another"),
)
