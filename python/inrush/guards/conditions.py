"""Were all runs of an engine, on one storage, made under the same conditions? A study may be made in several goes. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from inrush.analysis.points import Analysis, Measured, Point, say
from inrush.analysis.run_facts import is_instrument, promised
from inrush.analysis.verdicts import Verdict, invalid, passed
from inrush.guards.guard import About, StudyGuard
from inrush.stats.record import RunRecord

NAME = "same conditions throughout"
#: Fact of the machine -> how it is named.
PLACE = {"data_filesystem": "filesystem of its data", "data_device": "device of its data"}
UNKNOWN = "not known"
SHIPPED = "as shipped"
#: Points that the sentence names one by one.
POINTS_NAMED = 3


def same_conditions(analysis: Analysis) -> Verdict | None:
    """Data's disk, server's version and settings that were asked for: one of each for an engine on a storage; durability
    for a point."""
    engines: dict[str, list[Measured]] = {}
    for m in analysis.runs:
        if not m.hidden and not is_instrument(m.run.engine):
            engines.setdefault(m.run.place, []).append(m)
    repeated = {engine: runs for engine, runs in engines.items() if len(runs) > 1}
    if not repeated:
        return None
    points_by_value: dict[str, list[Point]] = {}
    for engine, runs in repeated.items():
        for sentence, points in differing(engine, runs):
            points_by_value.setdefault(sentence, []).extend(points)
    if not points_by_value:
        return passed(NAME, "All runs of an engine share disk, durability, version and settings")
    points = list(dict.fromkeys(p for each in points_by_value.values() for p in each))
    named = "; ".join(say(p) for p in points[:POINTS_NAMED])
    more = f" and {len(points) - POINTS_NAMED} more" if len(points) > POINTS_NAMED else ""
    return invalid(
        NAME,
        f"{'; '.join(points_by_value)}. Invalid: every figure at {named}{more}. Run the study anew in one place",
        points=points,
    )


def differing(engine: str, runs: Sequence[Measured]) -> list[tuple[str, list[Point]]]:
    """What is not the same over an engine's runs, as a clause, and the points that it touches."""
    found = [
        (f"{engine}: the {what} is {each}", points_of(runs))
        for what, of in facts(runs).items()
        if (each := values(runs, of))
    ]
    for group in alike_by_plan(runs):
        if each := values(group, lambda run: promised(run, UNKNOWN)):
            found.append((f"{engine}: acknowledged rows survive {each}", points_of(group)))
    return found


def facts(runs: Sequence[Measured]) -> dict[str, Callable[[RunRecord], str]]:
    """What is one for the whole of an engine."""
    readers = {name: of_machine(key) for key, name in PLACE.items()}
    readers["version"] = lambda run: next(
        (str(row["value"]) for row in run.rows("settings") if row["name"] == "version"), UNKNOWN
    )
    for name in sorted({name for m in runs for name in asked(m.run)}):
        readers[f"{name} asked"] = asked_for(name)
    return readers


def of_machine(key: str) -> Callable[[RunRecord], str]:
    return lambda run: str(run.env.get(key) or UNKNOWN)


def asked_for(name: str) -> Callable[[RunRecord], str]:
    return lambda run: str(asked(run).get(name, SHIPPED))


def asked(run: RunRecord) -> Mapping[str, object]:
    return run.summary.get("settings_asked") or {}


def alike_by_plan(runs: Sequence[Measured]) -> list[list[Measured]]:
    """Runs that ask their engine for the same, by the options of their sessions."""
    groups: dict[str, list[Measured]] = {}
    for m in runs:
        options = m.run.plan.get("target", {}).get("options", {})
        groups.setdefault(json.dumps(options, sort_keys=True, default=str), []).append(m)
    return list(groups.values())


def values(runs: Sequence[Measured], of: Callable[[RunRecord], str]) -> str:
    """`ext4 and tmpfs`; empty where there is one."""
    found = list(dict.fromkeys(of(m.run) for m in runs))
    return " and ".join(found) if len(found) > 1 else ""


def points_of(runs: Sequence[Measured]) -> list[Point]:
    return list(dict.fromkeys(m.point for m in runs))


GUARDS = (StudyGuard(About.ENGINES, NAME, same_conditions, "No engine has two runs"),)
