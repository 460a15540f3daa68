"""Servers of inrush's own beyond one study: `inrush engines fetch|start|stop|status`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from inrush.engines import ENGINES, server
from inrush.engines.base import Instance, Release, Server, Stop
from inrush.errors import UsageError
from inrush.text import columns

Note = Callable[[str], None]


@dataclass(frozen=True)
class Told:
    """An answer as rows for programs and lines for people."""

    rows: list[dict[str, Any]]

    @property
    def lines(self) -> list[str]:
        if not self.rows:
            return []
        return columns([[str(v) for v in row.values()] for row in self.rows], list(self.rows[0]))


def listed(names: Sequence[str], data: Path, note: Note) -> Told:
    """Every engine: its ways in, and what it takes to run on it."""
    return Told(
        [
            {"engine": name, "methods": ", ".join(twin.methods), "runs": how_it_runs(twin)}
            for name in names or ENGINES
            for twin in [server(name)]
        ]
    )


def how_it_runs(twin: Server) -> str:
    if twin.embedded:
        return "inside inrush"
    return f"at a URL ({twin.schemes[0]}://…)" + (f" or --start {twin.name}" if starts(twin) else "")


def starts(twin: Server) -> bool:
    return type(twin).start is not Server.start


def fetch(names: Sequence[str], data: Path, note: Note) -> Told:
    """Makes the programs of servers available; says which release it is."""
    rows = []
    for twin in servers(names):
        release = twin.fetch()
        rows.append(
            {
                "engine": twin.name,
                "version": release.version,
                "path": str(release.path),
                "source": release.source,
            }
        )
    return Told(rows)


def start(names: Sequence[str], data: Path, note: Note) -> Told:
    """Starts servers that go on when the command has ended; `stop` ends them."""
    rows = []
    for twin in servers(names):
        if (running := read(twin, data)) is not None and alive(running):
            raise UsageError(
                f"{twin.name}: runs already at {running.url}; `inrush engines stop {twin.name}` ends it"
            )
        twin.fetch()
        # Not where `run --start` has its own: that one ends what it finds there.
        kept = data / f"{twin.name}-kept"
        note(f"starting {twin.name} in {kept}")
        instance = twin.start(kept, {})
        write(twin, data, instance)
        rows.append(row(instance, "running"))
    return Told(rows)


def stop(names: Sequence[str], data: Path, note: Note) -> Told:
    rows = []
    for twin in servers(names or [name for name in ENGINES if record(server(name), data).is_file()]):
        instance = read(twin, data)
        if instance is None:
            raise UsageError(
                f"{twin.name}: none was started in {data}; `inrush engines status` lists what runs"
            )
        if alive(instance):
            twin.stop(instance, Stop.CLEAN)
        record(twin, data).unlink()
        rows.append(row(instance, "stopped"))
    return Told(rows)


def status(names: Sequence[str], data: Path, note: Note) -> Told:
    """What was started in this folder and whether it still runs."""
    rows = []
    for name in names or ENGINES:
        instance = read(server(name), data)
        if instance is not None:
            rows.append(row(instance, "running" if alive(instance) else "gone"))
    if not rows:
        note(f"no server of inrush's own was started in {data}")
    return Told(rows)


ACTIONS: dict[str, Callable[[Sequence[str], Path, Note], Told]] = {
    "list": listed,
    "fetch": fetch,
    "start": start,
    "stop": stop,
    "status": status,
}


def servers(names: Sequence[str]) -> list[Server]:
    """Twins by name. Raises UsageError for one that inrush cannot start."""
    if not names:
        raise UsageError(
            f"say which engine; inrush can start {', '.join(n for n in ENGINES if starts(server(n)))}"
        )
    twins = [server(name) for name in names]
    for twin in twins:
        if not starts(twin):
            raise UsageError(
                f"{twin.name}: {'it runs inside inrush' if twin.embedded else 'inrush cannot start it'}; name it in `inrush run`"
            )
    return twins


def row(instance: Instance, state: str) -> dict[str, Any]:
    return {
        "engine": instance.engine,
        "state": state,
        "url": instance.url,
        "pid": instance.pid,
        "data": str(instance.data),
    }


def record(twin: Server, data: Path) -> Path:
    return data / f"{twin.name}.instance.json"


def write(twin: Server, data: Path, instance: Instance) -> None:
    data.mkdir(parents=True, exist_ok=True)
    record(twin, data).write_text(json.dumps(asdict(instance), indent=1, default=str) + "\n")


def read(twin: Server, data: Path) -> Instance | None:
    path = record(twin, data)
    if not path.is_file():
        return None
    doc = json.loads(path.read_text())
    release = Release(**{**doc["release"], "path": Path(doc["release"]["path"])})
    return Instance(**{**doc, "data": Path(doc["data"]), "log": Path(doc["log"]), "release": release})


def alive(instance: Instance) -> bool:
    return Path(f"/proc/{instance.pid}").exists()
