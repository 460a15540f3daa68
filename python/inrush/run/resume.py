"""A study goes on as it was begun: what its call said is said again, and what would mix two conditions is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from inrush.engines import server
from inrush.errors import UsageError
from inrush.results.store import Results, StudyFolder
from inrush.run.prepare import StudyCall, call_of
from inrush.targets.deployments import started_words


@dataclass(frozen=True)
class Given:
    """What the command line says beside --resume."""

    data: Path | None = None
    storages: Mapping[str, str] = field(default_factory=dict)
    scale: str | None = None
    overrides: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    seed: int | None = None
    unequal_durability: bool = False
    realtime: bool = False
    limits: tuple[str, ...] = ()
    input: str | None = None
    fleet: str | None = None


def resumed(folder: StudyFolder, given: Given) -> StudyCall:
    """The call that began a study, with the folder of its data. Raises UsageError for what would differ from it."""
    call = call_of(folder)
    for option, said, kept in (
        ("--scale", given.scale, call.scale),
        ("-P", given.overrides, call.overrides),
        ("--start", given.start, call.start),
        ("--seed", given.seed, call.seed),
        ("--unequal-durability", given.unequal_durability, call.unequal_durability),
        ("--realtime", given.realtime, call.realtime),
        ("--data", given.storages, call.storages),
        ("--limit", given.limits, call.limits),
        ("--input", given.input, call.input),
        ("--fleet", given.fleet, call.fleet),
    ):
        if said not in (None, (), False, {}) and said != kept:
            raise UsageError(
                f"{option}: {folder.path.name} was begun otherwise, and its runs must be alike; resume it without, or run "
                f"the study anew ({call.command()})"
            )
    if call.storages and given.data is not None:
        raise UsageError(
            f"--data {given.data}: {folder.path.name} has storages, {', '.join(call.storages)}; resume it without --data"
        )
    lies = None if call.storages else lies_in(folder, call)
    if given.data is None:
        return replace(call, data=None if lies is None else str(lies))
    if lies is not None and lies.resolve() != given.data.resolve() and sealed_here(folder, call):
        raise UsageError(
            f"--data {given.data}: the sealed runs lie in {lies}, and one study has one disk; resume it without --data, or run "
            f"it anew with this one"
        )
    return replace(call, data=str(given.data.absolute()))


def lies_in(folder: StudyFolder, call: StudyCall) -> Path | None:
    """Where a study's data lies: as its call says, else as its sealed runs say; None where neither does."""
    if call.data is not None:
        return Path(call.data)
    begun = started_words(call.start)
    found = (
        run.env.get("data_dir") for run in Results(folder.path).runs if run.labels.get("engine") in begun
    )
    return next((Path(place).parent for place in found if place), None)


def sealed_here(folder: StudyFolder, call: StudyCall) -> bool:
    """Whether a run is sealed that had its files where `--data` says: not of a server at an address of the user's."""
    begun = started_words(call.start)
    engines = {str(run.labels.get("engine")) for run in Results(folder.path).runs}
    return any(engine in begun or server(engine).embedded for engine in engines)
