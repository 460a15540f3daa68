"""Before the first run: is every target there, and may a study work on it? All problems at once, and no results yet.

Asked of each server at a URL: does it speak the engine's protocol, does the user get in, which version is it, may the
user make a table, and how much room is left where the server reports it. Files and folders of this machine are checked.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from inrush.border.pipeline import AnyPlan
from inrush.border.statement import text_of
from inrush.engines import life, server
from inrush.engines.sql import file_of
from inrush.engines.twin import NoDatabase, Twin
from inrush.errors import UsageError
from inrush.machine import host
from inrush.plan.cost import Cost, cost, input_room_said
from inrush.plan.planned import StudyPlan
from inrush.stats.quantity import show
from inrush.targets.deployment import Deployment, lifecycle_of
from inrush.targets.deployments import NamedTargets, deployment_at, settings_on
from inrush.targets.spoken import foreign_protocols

#: Words of servers about a right that is missing.
NOT_ALLOWED = re.compile(r"denied|privilege|read-?only|authori|forbidden|not allowed", re.IGNORECASE)
#: What follows a version in the words of a server: its compiler, its machine.
BUILT = re.compile(r" on |, compiled|\(")


class NotReady(Exception):
    """One line: which target, what stands in the way, what to do."""


def libraries(plan: StudyPlan) -> set[str]:
    """Extras that bring the libraries of a study's engines, and of those that answer its queries a second time."""
    ledgers = (run.labels.get("oracle") for run in plan.all_runs)
    engines = {str(run.plan["target"]["engine"]) for run in plan.all_runs} | {
        b["engine"] for b in ledgers if b
    }
    return {server(engine).extra for engine in engines}


def refuse_unready(plan: StudyPlan, found: NamedTargets, data: Path, inputs: Path | None = None) -> list[str]:
    """A line about each server that is ready, and one where room is short.

    data: folder for the files of started servers, and of embedded engines without a file of the user's, where no storages are
    named. inputs: folder for the input files that the study makes; None: they lie with the data.
    Raises UsageError with a line for everything that stands in the way.
    """
    twins = found.servers()
    named = {engine: deployment_at(engine, url) for engine, url in found.urls.items()}
    servers = [deployment for deployment, _ in named.values() if deployment.server.protocol is not None]
    files = [
        (deployment, file)
        for deployment, _ in named.values()
        if (file := database_file(deployment)) is not None
    ]
    places = tuple(found.storages.values()) or (data,)
    is_local = local(found)
    problems: list[str] = []
    ready: list[str] = []
    for deployment, file in files:
        with noted(problems):
            check_file(deployment, file)
    for place in places if is_local else ():
        with noted(problems):
            check_folder(place)
            check_fit(plan, twins, place)
    problems += no_room(found)
    if inputs is not None:
        with noted(problems):
            check_inputs(plan, found, inputs)
    foreign = foreign_protocols([(of.server, of.target.url) for of in servers])
    for deployment, why in zip(servers, foreign, strict=True):
        with noted(problems):
            if why is not None:
                raise NotReady(why)
            ready.append(asked(deployment, plan))
    if problems:
        warnings = [warning for _, warning in named.values() if warning]
        raise UsageError("\n".join([*warnings, *problems]))
    return [*ready, *short_of_rooms(cost(plan), found, data, inputs)]


def local(found: NamedTargets) -> frozenset[str]:
    """Engines whose files lie on this machine, in folders of inrush's choice or the user's."""
    return frozenset(e for e, twin in found.servers().items() if e in found.start or twin.embedded)


def short_of_rooms(forecast: Cost, found: NamedTargets, data: Path, inputs: Path | None) -> list[str]:
    """What to say of each disk of this machine that has less room than the study needs; asks no server. data, inputs: as
    `refuse_unready` has them."""
    places = (tuple(found.storages.values()) or (data,)) if local(found) else ()
    short = [line for place in places for line in short_of_room(forecast, place)]
    return [*short, *(short_of_input_room(forecast, inputs) if inputs is not None else ())]


def no_room(found: NamedTargets) -> Iterator[str]:
    """Servers that a study has started one after the other, and for one of which this machine has no room."""
    for engine, servers in found.configurations.items():
        for storage in found.storages or ("",):
            for asked in servers:
                settings = {**settings_on(found, engine, storage), **asked}
                if why := lifecycle_of(server(engine)).cannot_start(settings):
                    said = ",".join(f"{name}={value}" for name, value in asked.items())
                    yield f"--start {engine},{said}: {why}"


@contextlib.contextmanager
def noted(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except NotReady as problem:
        problems.append(str(problem))


# Servers.


def asked(deployment: Deployment, plan: StudyPlan) -> str:
    """What a server says of itself, and that a study may make tables there. Raises NotReady."""
    of = version(deployment)
    if problem := deployment.server.too_old(of):
        raise NotReady(f"{deployment.target.url}: {problem}; name a newer server, or start one by --start")
    line = f"{deployment.target.url}: reachable, version {of}"
    if problem := deployment.server.unready(deployment.target, plan.methods(deployment.server.name)):
        raise NotReady(f"{deployment.target.url}: {problem}")
    if plan.namespaces(deployment.server.name):
        check_rights(deployment)
        line += ", tables can be made"
    free = free_bytes(deployment)
    if free is None:
        return line
    peak = cost(plan).peak_bytes
    short = f"; the study holds up to {show(peak, 'bytes')} at once" if free < peak else ""
    return f"{line}, {show(free, 'bytes')} free{short}"


def version(deployment: Deployment) -> str:
    """As the server reports it; `unknown` where it refuses the query. Raises NotReady where the log-in fails."""
    from inrush import _core

    try:
        rows = deployment.ask(deployment.server.probes(()).version)
    except _core.CoreFailure as failure:
        kind, message = failure.args
        if kind == "statement":
            return "unknown"
        raise NotReady(about(deployment, message)) from None
    return BUILT.split(str(rows[0][1]))[0].strip() if rows else "unknown"


def check_rights(deployment: Deployment) -> None:
    """Makes a marked home with a table, as a run does, and drops it. Raises NotReady."""
    from inrush import _core

    home, twin = f"inrush_check_{uuid.uuid4().hex[:12]}", deployment.server
    try:
        for statement in twin.lock(home, "check"):
            deployment.ask(statement)
    except _core.CoreFailure as failure:
        problem = about(deployment, failure.args[1])
        remedy = twin.grant if NOT_ALLOWED.search(problem) else "see the server's log"
        raise NotReady(f"{problem}; a study makes tables of its own there: {remedy}") from None
    finally:
        for drop in twin.drop_namespace(home):
            with contextlib.suppress(_core.CoreFailure):
                deployment.ask(drop)


def free_bytes(deployment: Deployment) -> float | None:
    """None where the server does not report it."""
    from inrush import _core

    if deployment.server.free_bytes:
        with contextlib.suppress(_core.CoreFailure, ValueError, IndexError):
            return float(deployment.ask(deployment.server.free_bytes)[0][0])
    return None


def about(deployment: Deployment, message: Any) -> str:
    """The core's words as one line that begins with the target; the statement that failed is left out."""
    line = " ".join(str(message).partition("\n  in: ")[0].split()).replace("statement failed: ", "")
    return line if "://" in line.partition(" ")[0] else f"{deployment.target.url}: {line}"


# Files and folders of this machine.


def database_file(deployment: Deployment) -> Path | None:
    """The file of the user's that an embedded engine opens."""
    name = file_of(deployment.target.url) if deployment.server.embedded else ""
    return Path(name) if name else None


def check_file(deployment: Deployment, file: Path) -> None:
    """Raises NotReady where the engine could not open or make it."""
    if file.is_dir():
        raise NotReady(f"{deployment.target.url}: {file} is a folder; name a file")
    if not file.parent.is_dir():
        raise NotReady(
            f"{deployment.target.url}: there is no folder {file.parent}; make it, or name another file"
        )
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise NotReady(f"{deployment.target.url}: cannot be written; give rights, or name another file")
    if file.is_file() and file.stat().st_size:
        try:
            deployment.server.ask_file(file, text_of(deployment.server.foreign_objects(())))
        except NoDatabase as problem:
            raise NotReady(f"{deployment.target.url}: {problem}; name another file") from None


def check_folder(folder: Path) -> None:
    """Raises NotReady where it is not there and could not be made."""
    there = host.existing(folder)
    if not there.is_dir():
        raise NotReady(
            f"{there}: is a file, and the folder for data should be there; name another one with --data"
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise NotReady(f"{there}: cannot be written; give rights, or name another folder with --data")


def made_said(found: NamedTargets, named: Iterable[str]) -> list[str]:
    """What to say of folders that `--data` names and that a study makes: with a name mistyped, or a disk that is not mounted,
    the data lies on another disk."""
    there = {folder: host.existing(Path(folder)) for folder in (named if local(found) else ())}
    return [
        f"{folder}: there is no such folder; it is made in {above}"
        for folder, above in there.items()
        if above != Path(folder).absolute()
    ]


def check_fit(plan: StudyPlan, twins: Mapping[str, Twin], folder: Path) -> None:
    """Raises NotReady where the files of an engine in our process cannot be as the study wants them, at any point."""
    asked = {
        (str(target["engine"]), tuple(sorted(target.get("options", {}).items())))
        for target in (of.plan["target"] for of in plan.planned.values())
    }
    needed = cost(plan).file_bytes
    for engine, options in sorted(asked):
        if engine in twins and (why := twins[engine].unfit(host.existing(folder), dict(options), needed)):
            raise NotReady(f"{folder}: {why}")


def short_of_room(forecast: Cost, data: Path) -> list[str]:
    """What to say where the disk has less room than the study needs at once."""
    free, peak = host.read_or_none(host.free_bytes, data), max(forecast.peak_bytes, forecast.file_bytes)
    if not isinstance(free, int) or free >= peak:
        return []
    return [f"{data}: {show(free, 'bytes')} free; the study holds up to {show(peak, 'bytes')} there at once"]


def check_inputs(plan: StudyPlan, found: NamedTargets, folder: Path) -> None:
    """Raises NotReady for a folder for input files that is not there, or that we or a server of ours cannot use.

    It is not made: below a disk that is not mounted the files would lie on another one.
    """
    if not folder.is_dir():
        said = "is a file" if folder.exists() else "there is no such folder"
        raise NotReady(f"{folder}: {said}; make the folder for input files, or name another one with --input")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise NotReady(f"{folder}: cannot be written; give rights, or name another folder with --input")
    own = [run.plan for run in plan.runs if run.plan["target"]["engine"] in found.start]
    readers = {str(of["target"]["engine"]) for of in own if read_by_server(of)}
    if readers and (closed := life.closed_above(folder / "files", life.servant())) is not None:
        raise NotReady(
            f"{folder}: as root, servers run as {life.SERVANT}, which cannot enter {closed}, and {', '.join(sorted(readers))} "
            "reads input files by itself (server_file); choose another folder with --input, or run inrush as an ordinary user"
        )


def read_by_server(plan: AnyPlan) -> bool:
    """Whether its server reads input files by itself."""
    segments = [segment for segment in plan["segments"] if segment["kind"] == "inputs"]
    return any(of["way"] == "server" for segment in segments for of in segment["inputs"])


def short_of_input_room(forecast: Cost, folder: Path) -> list[str]:
    free, needed = host.read_or_none(host.free_bytes, folder), forecast.input_bytes
    if not isinstance(free, int) or free >= needed:
        return []
    return [input_room_said(str(folder), free, needed)]
