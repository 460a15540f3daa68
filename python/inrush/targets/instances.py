"""Servers of inrush's own beyond one study: `inrush engines fetch|start|stop|status`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from inrush.engines import ENGINES, server
from inrush.engines.base import versions
from inrush.engines.base.instance import Instance, Release, Stop
from inrush.engines.base.twin import Twin
from inrush.engines.servers import origin, private
from inrush.engines.servers.own_server import VERSION
from inrush.errors import InrushError, UsageError
from inrush.targets import register, shards
from inrush.targets.deployment import lifecycle_of
from inrush.targets.deployments import started_words as words
from inrush.targets.leftovers import held, leftovers
from inrush.text import columns

Note = Callable[[str], None]
#: In place of names: every server that inrush can start; `all,profile=default` too.
ALL = "all"
#: Column of a command that opens a client.
COMMAND = "command"


@dataclass(frozen=True)
class Listing:
    """An answer as rows for programs and lines for people."""

    rows: list[dict[str, Any]]

    @property
    def lines(self) -> list[str]:
        """A table, and below it the commands, which are longer than a line of one."""
        if not self.rows:
            return []
        names = [name for name in self.rows[0] if name != COMMAND]
        table = columns([[shown(row[name]) for name in names] for row in self.rows], names)
        return table + [f"{row['engine']}: {row[COMMAND]}" for row in self.rows if row.get(COMMAND)]


def shown(value: Any) -> str:
    """A cell for people."""
    words = {None: "-", True: "yes", False: "no"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def listed(names: Sequence[str], data: Path, note: Note) -> Listing:
    """Every engine: its insert methods, and what it takes to run on it."""
    return Listing(
        [
            {
                "engine": name,
                "version": version_here(twin),
                "methods": ", ".join(twin.methods),
                "runs": how_it_runs(twin),
            }
            for name in names or ENGINES
            for twin in [server(name)]
        ]
    )


def version_here(twin: Twin) -> str | None:
    """The version of the programs that `--start` takes here, and the year that it is of; None: there are none."""
    release = None
    if twin.lifecycle is not None:
        with contextlib.suppress(InrushError):
            release = twin.lifecycle.fetched()
    return versions.shown(release.version, twin.year_of(release.version)) if release else None


def how_it_runs(twin: Twin) -> str:
    if twin.embedded:
        return "inside inrush"
    return f"at a URL ({twin.schemes[0]}://…)" + (
        f" or --start {twin.name}" if twin.lifecycle is not None else ""
    )


def fetch(names: Sequence[str], data: Path, note: Note) -> Listing:
    """Makes the programs of servers available; says which release it is."""
    rows = []
    for twin, settings in reachable(chosen(names), names, note):
        lifecycle = lifecycle_of(twin)
        lifecycle.note = note
        release = lifecycle.fetch(settings.get(VERSION))
        rows.append(
            {
                "engine": twin.name,
                "version": release.version,
                "path": str(release.path),
                "source": release.source,
            }
        )
    return Listing(rows)


def start(names: Sequence[str], data: Path, note: Note) -> Listing:
    """Starts servers that go on when the command has ended; `stop` ends them. Settings as for `run --start`."""
    rows = []
    for twin, settings in reachable(chosen(names), names, note):
        count, own = shards.split(twin, settings)
        if running := [i for i in parts(twin, data) if alive(i)]:
            raise UsageError(
                f"{twin.name}: runs already at {running[0].url}; `inrush engines stop {twin.name}` ends it"
            )
        kept = kept_folder(twin, data)
        shards.check_made(kept, count)
        forget(twin, data)
        register.remember(data)
        lifecycle_of(twin).note = note
        if count:
            begun = shards.start(twin, kept, own, count, note)
        else:
            note(f"starting {twin.name} in {kept}")
            begun = [lifecycle_of(twin).start(kept, own)]
        for instance in begun:
            write(twin, data, instance)
        rows += [r for i in begun for r in rows_of(twin, i, True, shards.role(i, kept, count > 0))]
    return Listing(rows)


def stop(names: Sequence[str], data: Path, note: Note) -> Listing:
    """Ends what was started in this folder, and what a killed inrush left there; without names or by `all`, all of it."""
    rows = []
    named = names and list(names) != ["all"]
    twins = [twin for twin, _ in chosen(names)] if named else [t for t in startable() if found(t, data)]
    for twin in twins:
        instances = found(twin, data)
        if not instances:
            raise UsageError(
                f"{twin.name}: none was started in {data}; `inrush engines status` lists what runs"
            )
        for instance in instances:
            lifecycle_of(twin).stop(instance, Stop.CLEAN)
            rows += rows_of(twin, instance, False, role_of(twin, data, instance))
        forget(twin, data)
    if not any(found(twin, data) for twin in startable()):
        register.forget(data)
    return Listing(rows)


def stop_everywhere(names: Sequence[str], folders: Sequence[Path], note: Note) -> Listing:
    """As `stop`, of all folders in which servers were started. Raises UsageError for a name that runs in several."""
    named = names and list(names) != [ALL]
    twins = [twin for twin, _ in chosen(names)] if named else startable()
    named_targets = {twin.name: [folder for folder in folders if found(twin, folder)] for twin in twins}
    for name, at in named_targets.items():
        if named and len(at) > 1:
            each = ", ".join(map(str, at))
            raise UsageError(f"{name}: was started in {each}; name one of them with --data, or stop all: all")
    rows = []
    for name, at in named_targets.items():
        for folder in at or (folders[:1] if named else ()):
            rows += stop([name], folder, note).rows
    return Listing(rows)


def status(names: Sequence[str], data: Path, note: Note) -> Listing:
    """Every server that inrush can start: whether its programs are here, and what of it runs in this folder."""
    rows = []
    for twin in [twin for twin, _ in chosen(names)] if names else startable():
        instances = [i for i in found(twin, data) if alive(i)]
        for left in leftovers(twin, data):
            which = f"process {left.pid}" if len(left.pids) == 1 else f"processes {left.pids}"
            note(
                f"{twin.name}: {which} at {left.url} was left by an inrush that was killed; "
                f"`inrush engines stop {twin.name}` ends it"
            )
        entries = [r for i in instances for r in rows_of(twin, i, True, role_of(twin, data, i))]
        # Of several that stand as one, a part that is missing is listed too, with the reason.
        for instance in instances:
            for name in (n for n in instance.processes if n not in origin.running(instance.data)):
                note(shards.ended(instance, name, instance.log_of(name)))
        for part in parts(twin, data):
            if entries and (part_role := role_of(twin, data, part)) and not alive(part):
                note(shards.ended(part, part_role, part.log))
                entries.append(row(twin, part, False, part_role))
        for of_study in held(twin, data):
            note(
                f"{twin.name}: a study runs on the server at {of_study.url}, and ends it "
                f"(`inrush run --start`, process {origin.read(of_study.data).get('by')})"
            )
            entries += rows_of(twin, of_study, True, OF_STUDY)
        rows += entries or [row(twin, None, False)]
    return Listing(rows)


def status_everywhere(names: Sequence[str], folders: Sequence[Path], note: Note) -> Listing:
    """As `status`, of all folders in which servers were started."""
    every = [row for folder in folders for row in status(names, folder, note).rows]
    engines = dict.fromkeys(row["engine"] for row in every)
    rows = []
    for engine in engines:
        mine = [row for row in every if row["engine"] == engine]
        rows += [row for row in mine if row["data"] is not None] or mine[:1]
    return Listing(rows)


def everywhere(usual: Path) -> list[Path]:
    """The usual folder, and those that are known of earlier starts."""
    found = {folder.resolve(): folder for folder in (usual.absolute(), *register.folders())}
    return list(found.values())


#: Role of a server that a study has started and will end.
OF_STUDY = "of a study"

#: Actions that without `--data` look wherever a server was started.
EVERYWHERE: dict[str, Callable[[Sequence[str], Sequence[Path], Note], Listing]] = {
    "stop": stop_everywhere,
    "status": status_everywhere,
}
ACTIONS: dict[str, Callable[[Sequence[str], Path, Note], Listing]] = {
    "list": listed,
    "fetch": fetch,
    "start": start,
    "stop": stop,
    "status": status,
}


def startable() -> list[Twin]:
    """Twins of the servers that inrush can start."""
    return [twin for name in ENGINES if (twin := server(name)).lifecycle is not None]


def chosen(names: Sequence[str]) -> list[tuple[Twin, Mapping[str, str]]]:
    """Twins and settings by words like `mysql,profile=default`; `all` is every one. Raises UsageError."""
    own = {twin.name: twin for twin in startable()}
    if not names:
        raise UsageError(f"say which engine; inrush can start {', '.join(own)}, or all of them: all")
    asked = words(names, "")
    if list(asked) == [ALL]:
        return [(twin, asked[ALL]) for twin in own.values()]
    for name in asked:
        if name not in own:
            where = "it runs inside inrush" if server(name).embedded else "inrush cannot start it"
            raise UsageError(f"{name}: {where}; name it in `inrush run`")
    return [(own[name], settings) for name, settings in asked.items()]


def reachable(
    named: Sequence[tuple[Twin, Mapping[str, str]]], names: Sequence[str], note: Note
) -> list[tuple[Twin, Mapping[str, str]]]:
    """Of `all` without those that are not fetched in passing, which are noted."""
    if names[0].split(",")[0] != ALL:
        return list(named)
    kept = []
    for twin, settings in named:
        if reason := lifecycle_of(twin).not_in_all():
            note(f"{twin.name}: left out of all: {reason}")
        else:
            kept.append((twin, settings))
    return kept


def found(twin: Twin, data: Path) -> list[Instance]:
    """What was started in this folder, running or not, and what a killed `run --start` left."""
    return [*parts(twin, data), *leftovers(twin, data)]


def parts(twin: Twin, data: Path) -> list[Instance]:
    """What `start` started here, running or not: one server, or a coordinator and its shards in their order."""
    kept = kept_folder(twin, data)
    folders = (kept, *shards.folders(kept))
    return [i for folder in folders if (i := read(record(twin, data, folder))) is not None]


def kept_folder(twin: Twin, data: Path) -> Path:
    """Not where `run --start` has its own: that one ends what it finds there."""
    return data.absolute() / f"{twin.name}-kept"


def role_of(twin: Twin, data: Path, instance: Instance) -> str | None:
    return shards.role(instance, kept_folder(twin, data), len(parts(twin, data)) > 1)


def rows_of(twin: Twin, instance: Instance, running: bool, role: str | None) -> list[dict[str, Any]]:
    """A line for each of its processes, with its address. running: unless a process has ended by itself."""
    if not instance.processes:
        return [row(twin, instance, running, role)]
    alive_now = origin.running(instance.data) if running else {}
    lifecycle = lifecycle_of(twin)

    def of(name: str) -> dict[str, Any]:
        runs = name in alive_now
        return {
            **row(twin, instance, runs, name),
            "url": lifecycle.process_url(instance, name) if runs else None,
            "pid": alive_now.get(name),
            COMMAND: (lifecycle.client(instance, name) or None) if runs else None,
        }

    return [of(name) for name in instance.processes]


def row(twin: Twin, instance: Instance | None, running: bool, role: str | None = None) -> dict[str, Any]:
    """One line of an answer. Values that do not exist are None."""
    here = lifecycle_of(twin).fetched()
    of = instance.release if instance else here
    version = (of.version or None) if of else None
    return {
        "engine": twin.name,
        "role": role,
        "version": version,
        "fetched": here is not None or instance is not None,
        "running": running,
        "url": instance.url if instance and running else None,
        "pid": instance.pid if instance and running else None,
        "data": str(instance.data) if instance else None,
        COMMAND: (lifecycle_of(twin).client(instance) or None) if instance and running else None,
    }


def record(twin: Twin, data: Path, folder: Path) -> Path:
    """Beside the folder of an instance: what was started in it."""
    kept = kept_folder(twin, data).name
    return data / f"{twin.name}{folder.name.removeprefix(kept)}.instance.json"


def write(twin: Twin, data: Path, instance: Instance) -> None:
    data.mkdir(parents=True, exist_ok=True)
    path = record(twin, data, instance.data)
    private.write(path, json.dumps(asdict(instance), indent=1, default=str) + "\n")


def forget(twin: Twin, data: Path) -> None:
    for part in parts(twin, data):
        record(twin, data, part.data).unlink(missing_ok=True)


def read(path: Path) -> Instance | None:
    """None where there is none of this user's: its author chose which process `stop` ends."""
    if (text := private.text_of(path)) is None:
        return None
    doc = json.loads(text)
    release = Release(**{**doc["release"], "path": Path(doc["release"]["path"])})
    return Instance(**{**doc, "data": Path(doc["data"]), "log": Path(doc["log"]), "release": release})


def alive(instance: Instance) -> bool:
    """Whether it is this very server, and not another process that has its id by now; of several processes, one of them."""
    return bool(set(origin.running(instance.data).values()) & set(instance.pids))
