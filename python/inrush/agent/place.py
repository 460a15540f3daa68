"""Where the client processes of a run live: what a run needs of that, and no more.

A process may be a child of ours, or one of a worker on another host. A run starts it, speaks with it, and ends it in the
same words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from inrush.agent.clocks import SAME, Clock
from inrush.agent.process import Process
from inrush.border.events import Event
from inrush.border.plan import WatchPlan
from inrush.border.words import Does, Word

Hear = Callable[[Event], None]
#: What a run leaves of its processes beside its tables.
DOCUMENT = "processes.json"
#: Of one process of a run, whatever its program reads; what is watched by process id stands in it as `watch`.
Part = Mapping[str, Any]


@dataclass(frozen=True)
class Host:
    """The machine that a process is on, as far as a watch of it goes: its processors and its network."""

    #: Equal of processes that would see the same of it.
    key: str = ""
    name: str = ""


class Client(Protocol):
    """A client process. Its events are heard one after the other, on a thread of its own; the last of all is `ended`."""

    #: Where its log lies, on the host that it was on; None: it goes where ours does.
    log: Path | None

    def send(self, word: Word) -> None:
        """To a process that is gone it means nothing."""

    def kill(self) -> None:
        """Ends it now; nothing when it has ended."""

    def close(self) -> int:
        """Waits for its end; its tables are in its folder then. The exit code, negative for a signal."""


class Place(Protocol):
    #: Between the word to start and the start, ns: what the word takes to the last process, and more.
    start_after_ns: int

    def start(self, process: int, plan: Part, folder: Path, hear: Hear) -> Client:
        """folder: of this machine, which its tables come to."""

    def address(self, process: int) -> str:
        """By what others reach the host of a process: a name, or an address."""

    def clock(self, process: int) -> Clock:
        """As it is known now."""

    def name(self, process: int) -> str:
        """Behind the number of a process in a message; empty where the number says all."""

    def host(self, process: int) -> Host:
        """The one that it is on: the first process on each watches it."""

    def finish(self, interval_ns: int) -> None:
        """All have ended in order: the last look at their clocks. Raises CoreError where times of them cannot be compared.

        interval_ns: that of the tables."""

    def document(self) -> Mapping[str, Any]:
        """What run.json says of it beside the number of processes and their starts."""

    def end(self) -> None:
        """Nothing of this run is left there."""


def leave_document(parts: Path, document: Mapping[str, Any]) -> None:
    (parts / DOCUMENT).write_text(json.dumps(document), encoding="utf-8")


def processes_document(parts: Path) -> dict[str, Any]:
    """What run.json says of the processes; nothing of a run by one."""
    path = parts / DOCUMENT
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def watchers(place: Place, processes: int) -> dict[int, str]:
    """The first process on each host -> the name of the host."""
    first: dict[str, int] = {}
    for process in range(processes):
        first.setdefault(place.host(process).key, process)
    return {process: place.host(process).name for process in first.values()}


def watch_of(plan: Part, machine: bool) -> WatchPlan:
    """Of a process without servers and their files beside it."""
    found: WatchPlan = {"every_ns": plan["watch"]["every_ns"], "processes": {}, "data_dir": ""}
    return {**found, "machine": True} if machine else found


class Here:
    """Children of this process."""

    #: A worker looks for words every 0.1 s, and the machine is busy.
    start_after_ns = 300_000_000

    def __init__(self, parts: Path, does: Does = "drive") -> None:
        """does: each process."""
        self.parts, self.does = parts, does

    def address(self, process: int) -> str:
        return "127.0.0.1"

    def start(self, process: int, plan: Part, folder: Path, hear: Hear) -> Client:
        return Process({"does": self.does, "plan": plan, "parts": str(folder)}, None, hear=hear)

    def clock(self, process: int) -> Clock:
        return SAME

    def name(self, process: int) -> str:
        return ""

    def host(self, process: int) -> Host:
        return Host()

    def finish(self, interval_ns: int) -> None:
        """One clock."""

    def document(self) -> Mapping[str, Any]:
        return {}

    def end(self) -> None:
        """Each has ended."""
