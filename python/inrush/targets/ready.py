"""Before the first run: is every target there, and may a study work on it?

Asked of each server at a URL: does it speak the engine's protocol, does the user get in, which version is it, may the
user make a table, and how much room is left where the server reports it. Files and folders of this machine are checked.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from inrush.border.pipeline import AnyPlan
from inrush.border.statement import text_of
from inrush.engines import server
from inrush.engines.base.sql import file_of
from inrush.engines.base.twin import NoDatabase, Twin
from inrush.engines.servers import life
from inrush.errors import Problem
from inrush.machine import host
from inrush.plan.cost import Cost, cost, input_room_said
from inrush.plan.planned import StudyPlan
from inrush.stats.quantity import show
from inrush.targets.ask import NOT_ALLOWED
from inrush.targets.deployment import Deployment, lifecycle_of
from inrush.targets.deployments import NamedTargets, named_deployments, settings_on
from inrush.targets.spoken import foreign_protocols

#: What follows a version in the words of a server: its compiler, its machine.
BUILT = re.compile(r" on |, compiled|\(")


def libraries(plan: StudyPlan) -> set[str]:
    """Extras that bring the libraries of a study's engines, and of those that answer its queries a second time."""
    ledgers = (run.labels.get("oracle") for run in plan.all_runs)
    engines = {str(run.plan["target"]["engine"]) for run in plan.all_runs} | {
        b["engine"] for b in ledgers if b
    }
    return {server(engine).extra for engine in engines}


def machine_problems(
    plan: StudyPlan, found: NamedTargets, data: Path, inputs: Path | None = None
) -> Iterator[Problem]:
    """Files and folders of this machine that the study cannot use, and servers that it has no room for.

    data: folder for the files of started servers, and of embedded engines without a file of the user's, where no storages are
    named. inputs: folder for the input files that the study makes; None: they lie with the data.
    """
    for deployment in named_deployments(found).values():
        file = database_file(deployment)
        if file is not None and (why := unusable(file)):
            yield Problem.sentence(f"{deployment.target.url}: {why}")
    twins = found.servers()
    for place in (tuple(found.storages.values()) or (data,)) if local(found) else ():
        yield from [*folder_problems(place)] or fit_problems(plan, twins, place)
    yield from no_room(found)
    if inputs is not None:
        yield from input_folder_problems(plan, found, inputs)


def server_problems(plan: StudyPlan, found: NamedTargets, note: Callable[[str], None]) -> Iterator[Problem]:
    """Servers at URLs that do not answer, or where the study may not work, and files that are no database. note: gets a line
    about each other server."""
    there = named_deployments(found).values()
    for deployment in there:
        yield from content_problems(deployment)
    servers = [of for of in there if of.server.protocol is not None]
    foreign = foreign_protocols([(of.server, of.target.url) for of in servers])
    for deployment, why in zip(servers, foreign, strict=True):
        if why is not None:
            yield Problem.sentence(why)
        else:
            yield from asked(deployment, plan, note)


def local(found: NamedTargets) -> frozenset[str]:
    """Engines whose files lie on this machine, in folders of inrush's choice or the user's."""
    return frozenset(e for e, twin in found.servers().items() if e in found.start or twin.embedded)


def short_of_rooms(forecast: Cost, found: NamedTargets, data: Path, inputs: Path | None) -> list[str]:
    """What to say of each disk of this machine that has less room than the study needs; asks no server. data, inputs: as
    `machine_problems` has them."""
    places = (tuple(found.storages.values()) or (data,)) if local(found) else ()
    short = [line for place in places for line in short_of_room(forecast, place)]
    return [*short, *(short_of_input_room(forecast, inputs) if inputs is not None else ())]


def no_room(found: NamedTargets) -> Iterator[Problem]:
    """Servers that a study has started one after the other, and for one of which this machine has no room."""
    for engine, servers in found.configurations.items():
        for storage in found.storages or ("",):
            for asked in servers:
                settings = {**settings_on(found, engine, storage), **asked}
                if why := lifecycle_of(server(engine)).cannot_start(settings):
                    said = ",".join(f"{name}={value}" for name, value in asked.items())
                    yield Problem.sentence(f"--start {engine},{said}: {why}")


# Servers.


def asked(deployment: Deployment, plan: StudyPlan, note: Callable[[str], None]) -> Iterator[Problem]:
    """Why a study cannot make tables on a server. note: gets what the server says of itself, where it can."""
    from inrush import _core

    url, twin = deployment.target.url, deployment.server
    try:
        of = version(deployment)
    except _core.CoreFailure as failure:
        yield Problem.sentence(about(deployment, failure.args[1]))
        return
    if problem := twin.too_old(of):
        yield Problem.sentence(f"{url}: {problem}; name a newer server, or start one by --start")
        return
    if problem := twin.unready(deployment.target, plan.methods(twin.name)):
        yield Problem.sentence(f"{url}: {problem}")
        return
    line = f"{url}: reachable, version {of}"
    if plan.namespaces(twin.name):
        if problem := right_missing(deployment):
            yield Problem.sentence(problem)
            return
        line += ", tables can be made"
    if (free := free_bytes(deployment)) is not None:
        peak = cost(plan).peak_bytes
        short = f"; the study holds up to {show(peak, 'bytes')} at once" if free < peak else ""
        line += f", {show(free, 'bytes')} free{short}"
    note(line)


def version(deployment: Deployment) -> str:
    """As the server reports it; `unknown` where it refuses the query. Raises CoreFailure where the log-in fails."""
    from inrush import _core

    try:
        rows = deployment.ask(deployment.server.probes(()).version)
    except _core.CoreFailure as failure:
        if failure.args[0] == "statement":
            return "unknown"
        raise
    return BUILT.split(str(rows[0][1]))[0].strip() if rows else "unknown"


def right_missing(deployment: Deployment) -> str:
    """Makes a marked home with a table, as a run does, and drops it: what the server says against it, empty where nothing."""
    from inrush import _core

    home, twin = f"inrush_check_{uuid.uuid4().hex[:12]}", deployment.server
    try:
        for statement in twin.lock(home, "check"):
            deployment.ask(statement)
    except _core.CoreFailure as failure:
        problem = about(deployment, failure.args[1])
        remedy = twin.grant if NOT_ALLOWED.search(problem) else "see the server's log"
        return f"{problem}; a study makes tables of its own there: {remedy}"
    finally:
        for drop in twin.drop_namespace(home):
            with contextlib.suppress(_core.CoreFailure):
                deployment.ask(drop)
    return ""


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


def unusable(file: Path) -> str:
    """Why an engine could not open the file or make it; empty where it could."""
    if file.is_dir():
        return f"{file} is a folder; name a file"
    if not file.parent.is_dir():
        return f"there is no folder {file.parent}; make it, or name another file"
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        return "cannot be written; give rights, or name another file"
    return ""


def content_problems(deployment: Deployment) -> Iterator[Problem]:
    file = database_file(deployment)
    if file is not None and file.is_file() and file.stat().st_size:
        try:
            deployment.server.ask_file(file, text_of(deployment.server.foreign_objects(())))
        except NoDatabase as problem:
            yield Problem.sentence(f"{deployment.target.url}: {problem}; name another file")


def folder_problems(folder: Path) -> Iterator[Problem]:
    """Why it is not there and could not be made."""
    there = host.existing(folder)
    if not there.is_dir():
        yield Problem.sentence(
            f"{there}: is a file, and the folder for data should be there; name another one with --data"
        )
    elif not os.access(there, os.W_OK | os.X_OK):
        yield Problem.sentence(f"{there}: cannot be written; give rights, or name another folder with --data")


def made_said(found: NamedTargets, named: Iterable[str]) -> list[str]:
    """What to say of folders that `--data` names and that a study makes: with a name mistyped, or a disk that is not mounted,
    the data lies on another disk."""
    there = {folder: host.existing(Path(folder)) for folder in (named if local(found) else ())}
    return [
        f"{folder}: there is no such folder; it is made in {above}"
        for folder, above in there.items()
        if above != Path(folder).absolute()
    ]


def fit_problems(plan: StudyPlan, twins: Mapping[str, Twin], folder: Path) -> Iterator[Problem]:
    """Why the files of an engine in our process cannot be as the study wants them, at any point."""
    asked = {
        (str(target["engine"]), tuple(sorted(target.get("options", {}).items())))
        for target in (of.plan["target"] for of in plan.planned.values())
    }
    needed = cost(plan).file_bytes
    for engine, options in sorted(asked):
        if engine in twins and (why := twins[engine].unfit(host.existing(folder), dict(options), needed)):
            yield Problem.sentence(f"{folder}: {why}")


def short_of_room(forecast: Cost, data: Path) -> list[str]:
    """What to say where the disk has less room than the study needs at once."""
    free, peak = host.read_or_none(host.free_bytes, data), max(forecast.peak_bytes, forecast.file_bytes)
    if not isinstance(free, int) or free >= peak:
        return []
    return [f"{data}: {show(free, 'bytes')} free; the study holds up to {show(peak, 'bytes')} there at once"]


def input_folder_problems(plan: StudyPlan, found: NamedTargets, folder: Path) -> Iterator[Problem]:
    """Why we or a server of ours cannot use a folder for input files.

    It is not made: below a disk that is not mounted the files would lie on another one.
    """
    if not folder.is_dir():
        said = "is a file" if folder.exists() else "there is no such folder"
        yield Problem.sentence(
            f"{folder}: {said}; make the folder for input files, or name another one with --input"
        )
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Problem.sentence(
            f"{folder}: cannot be written; give rights, or name another folder with --input"
        )
        return
    own = [run.plan for run in plan.runs if run.plan["target"]["engine"] in found.start]
    readers = {str(of["target"]["engine"]) for of in own if read_by_server(of)}
    if readers and (closed := life.closed_above(folder / "files", life.servant())) is not None:
        yield Problem.sentence(
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
