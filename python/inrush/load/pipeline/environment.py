"""Where the processes of a load are: what the load needs of that, and all of them on this machine."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from inrush.border.pipeline import AnyPlan, StepEnds, loads_of, shards_of
from inrush.border.plan import WatchPlan
from inrush.engines import server
from inrush.errors import TargetError
from inrush.load.pipeline import inputs
from inrush.load.pipeline.ends import LoadProcesses, Said
from inrush.load.pipeline.shard_servers import SHARDS, servers_of
from inrush.targets.server_processes import found_at

#: How many of how many files are there.
Note = Callable[[int, int], None]


class LoadEnvironment(Protocol):
    #: Its processes are on other hosts: what was recorded of a load that failed is kept.
    over_hosts: bool
    #: Of the files, when the clock starts.
    read: inputs.Inputs
    #: By what the load servers are held to their cores; empty: by nothing.
    held_by: str

    @property
    def paths(self) -> Sequence[Path]:
        """Input files of this host, in the order of their numbers."""

    def watch(self) -> WatchPlan:
        """What this host watches from the begin of the run on."""

    def make(self, note: Note) -> None:
        """Input files, and whatever else is there before the first table."""

    def begin(self, left: Sequence[int]) -> Mapping[str, Sequence[int]]:
        """Both ends, ready to load these files; processes that this host is to watch, by role."""

    def due_ns(self) -> int:
        """When files are due if the word to go is given now, by CLOCK_MONOTONIC here."""

    def go(self, at_ns: int, zero_ns: int) -> None:
        """The load begins; of CLOCK_MONOTONIC here: when its files are due, and the run's time zero."""

    def working(self) -> bool:
        """Until every client has finished."""

    def said(self, timeout_s: float) -> Iterable[Said]:
        """What was said since; waits for the first. Raises what an end failed with."""

    def finish(self) -> None:
        """The load server's orderly end, its last counts with it."""

    def end(self) -> None:
        """Nothing of the load goes on, and what was watched is here. Raises what an end failed with."""

    def kill(self) -> None:
        """The same of a load that failed."""

    def watched(self, here: pa.Table) -> pa.Table:
        """What was watched of roles and hosts, on the run's clock. here: by this host."""

    def on_one_clock(self, journal: Path) -> Path:
        """A journal whose times are those of CLOCK_MONOTONIC here."""


class OneHost:
    """All of them are children of this process."""

    over_hosts = False

    def __init__(self, plan: AnyPlan, role: str, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        self.of = loads_of(plan)[role]
        self.paths: list[Path] = []
        self.read, self.held_by = inputs.Inputs((), 0, 0), ""
        #: None where no file is left to load.
        self._ends: LoadProcesses | None = None
        self._open = contextlib.ExitStack()

    def watch(self) -> WatchPlan:
        # The device below a folder is known only once it is there.
        Path(self.of["inputs"]["folder"]).mkdir(parents=True, exist_ok=True)
        shards, folders = shards_here(self.plan)
        watch = self.plan["watch"]
        if not shards:
            return watch
        processes = {**watch["processes"], **shards}
        return {**watch, "processes": processes, "folders": {**folders, **watch.get("folders", {})}}

    def make(self, note: Note) -> None:
        of, plan = self.of["inputs"], self.plan
        made = (
            dumped(plan, self.of) if "dump" in of else inputs.made(of, plan["seed"], plan["epoch_ns"], note)
        )
        self.paths = made

    def begin(self, left: Sequence[int]) -> Mapping[str, Sequence[int]]:
        """Files that are to come from the disk are forgotten by the kernel last."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if left:
            self._ends = self._open.enter_context(LoadProcesses(self.of, self.paths, self.folder, left))
            self._ends.ready()
            self.held_by = self._ends.held_by
        held = inputs.cooled([self.paths[n] for n in left], self.of["inputs"]["cold"])
        self.read = replace(held, bytes=sum(path.stat().st_size for path in self.paths))
        roles = self._ends.processes() if self._ends is not None else {}
        return {role: pids for role, pids in roles.items() if pids}

    def due_ns(self) -> int:
        return time.monotonic_ns()

    def go(self, at_ns: int, zero_ns: int) -> None:
        if self._ends is not None:
            self._ends.go()

    def working(self) -> bool:
        return self._ends is not None and self._ends.working()

    def said(self, timeout_s: float) -> Iterable[Said]:
        return self._ends.said(timeout_s) if self._ends is not None else ()

    def finish(self) -> None:
        if self._ends is not None:
            self._ends.finish()

    def end(self) -> None:
        self._open.close()

    def kill(self) -> None:
        self._open.close()

    def watched(self, here: pa.Table) -> pa.Table:
        return here

    def on_one_clock(self, journal: Path) -> Path:
        return journal


def dumped(plan: AnyPlan, of: StepEnds) -> list[Path]:
    """In the order of their numbers."""
    name, count = of["inputs"]["dump"], of["inputs"]["files"]
    (dump,) = (op["dump"] for op in plan["operations"] if op["name"] == name and "dump" in op)
    found = sorted(Path(dump["folder"]).glob(f"{dump['name']}-*.csv"))
    if len(found) != count:
        raise TargetError(
            f"{dump['folder']}: {len(found)} files of {dump['name']}, and the dump has {count}; was it cut by its limit?"
        )
    return found


def shards_here(plan: AnyPlan) -> tuple[dict[str, list[int]], dict[str, str]]:
    """By role: processes of the shards' servers, and the folder of their data. Of servers that inrush started its plan has both.

    All or nothing: a part of them would be taken for the whole. Several have no folder of their own.
    """
    servers = servers_of(plan) if shards_of(plan) else []
    found = [found_at(server(of["engine"]), of["host"], of["port"]) for of in servers]
    seen = [of for of in found if of is not None and of.pids]
    if not seen or len(seen) < len(found):
        return {}, {}
    folders = {SHARDS: seen[0].folder} if len(seen) == 1 and seen[0].folder else {}
    return {SHARDS: sorted({pid for of in seen for pid in of.pids})}, folders
