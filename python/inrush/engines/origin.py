"""The record beside an instance's data: what was started there, and by which process."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from inrush.engines import life
from inrush.errors import TargetError

FILE = "instance.json"


def write(data: Path, pid: int, port: int) -> None:
    doc = {
        "pid": pid,
        "began": life.started_at(pid),
        "port": port,
        "by": os.getpid(),
        "by_began": life.started_at(os.getpid()),
    }
    (data / FILE).write_text(json.dumps(doc) + "\n")


def remove(data: Path) -> None:
    """The port stays on record: the next start takes it again, so that addresses hold over a restart."""
    path = data / FILE
    if doc := read(data):
        path.write_text(json.dumps({"port": doc.get("port")}) + "\n")


def read(data: Path) -> dict[str, int]:
    """What was started here; empty when nothing was, or the record is damaged."""
    try:
        doc = json.loads((data / FILE).read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return doc if isinstance(doc, dict) else {}


def last_port(data: Path) -> int:
    """The port of the last instance here, or a free one."""
    port = read(data).get("port")
    return port if port and life.is_free(port) else life.free_port()


def end_leftover(data: Path, folder: Path, how: signal.Signals, limit_s: float) -> None:
    """Ends the server that a dead inrush left in `data`. Raises TargetError when its inrush still lives.

    folder: where the server's processes work.
    """
    doc = read(data)
    pid, began = doc.get("pid"), doc.get("began")
    if pid and began and life.started_at(pid) == began:
        by = doc.get("by", 0)
        if by != os.getpid() and by and life.started_at(by) == doc.get("by_began"):
            raise TargetError(
                f"{data}: a server of another inrush (process {by}) runs there; wait for it or choose another --data"
            )
        life.end(pid, how, folder, limit_s)
    elif alien := life.working_in(folder):
        raise TargetError(
            f"{data}: process {min(alien)} works there and was not started by inrush; end it or choose another --data"
        )
