"""The record beside an instance's data: what was started there, and by which process."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inrush.engines.servers import life, ports, private
from inrush.errors import TargetError

FILE = "instance.json"


def write(
    data: Path, pid: int, port: int, processes: Mapping[str, int] | None = None, version: str = ""
) -> None:
    """processes: of a server of several, all that have begun, by name; version: of its programs."""
    doc: dict[str, Any] = {
        "pid": pid,
        "began": life.started_at(pid),
        "port": port,
        "version": version,
        "by": os.getpid(),
        "by_began": life.started_at(os.getpid()),
    }
    if processes:
        doc["processes"] = {name: [each, life.started_at(each)] for name, each in processes.items()}
    private.write(data / FILE, json.dumps(doc) + "\n")


def remove(data: Path) -> None:
    """The port stays on record: the next start takes it again, so that addresses hold over a restart.

    On a disk that is full nothing stays: a record of a server that has ended would be one of a server that runs.
    """
    path = data / FILE
    if doc := read(data):
        try:
            private.write(path, json.dumps({"port": doc.get("port")}) + "\n")
        except OSError:
            private.remove(path)


def read(data: Path) -> dict[str, Any]:
    """What was started here; empty when nothing was, or the record is damaged or another user's."""
    try:
        doc = json.loads(private.text_of(data / FILE) or "{}")
    except ValueError:
        return {}
    return doc if isinstance(doc, dict) else {}


def running(data: Path) -> dict[str, int]:
    """Those of the processes on record that still run: these very ones, and not others that have their ids by now."""
    doc = read(data)
    each = doc.get("processes") or {"": [doc.get("pid"), doc.get("began")]}
    return {
        name: pid for name, (pid, began) in each.items() if pid and began and life.started_at(pid) == began
    }


def is_left(data: Path) -> bool:
    """Whether the inrush that started them has gone."""
    doc = read(data)
    return life.started_at(doc.get("by", 0)) != doc.get("by_began")


def last_port(data: Path) -> int:
    """The port of the last instance here, or a free one."""
    port = read(data).get("port")
    return port if port and ports.is_free(port) else ports.free_port()


def end_leftover(
    data: Path,
    folder: Path,
    how: signal.Signals,
    limit_s: float,
    before: Callable[[int], object] = lambda port: None,
) -> None:
    """Ends the server that a dead inrush left in `data`. Raises TargetError when its inrush still lives.

    folder: where the server's processes work. before: called with its port before they are signalled.
    """
    if left := list(running(data).values()):
        by = read(data).get("by", 0)
        if by != os.getpid() and by and not is_left(data):
            raise TargetError(
                f"{data}: a server of another inrush (process {by}) runs there; wait for it or choose another --data"
            )
        before(read(data).get("port", 0))
        life.end(left[0], how, folder, limit_s, left[1:])
    elif alien := life.working_in(folder):
        raise TargetError(
            f"{data}: process {min(alien)} works there and was not started by inrush; end it or choose another --data"
        )
