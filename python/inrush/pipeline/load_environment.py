"""Where the processes of a pipeline's run are: what the run needs of that, and all of them on this machine."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from inrush.border.pipeline import PipelinePlan
from inrush.engines import server
from inrush.pipeline import inputs
from inrush.pipeline.ends import LoadProcesses, Said
from inrush.pipeline.shard_servers import SHARDS, servers_of
from inrush.pipeline.watching import Watching, watching
from inrush.targets.server_processes import found_at

#: How many of how many files are there.
Note = Callable[[int, int], None]


class LoadAtWork(Protocol):
    """Client and load server, ready to begin."""

    def go(self, at_ns: int) -> None:
        """The load begins; at_ns: of CLOCK_MONOTONIC here, when its files are due."""

    def working(self) -> bool:
        """Until every client has finished."""

    def said(self, timeout_s: float) -> Iterator[Said]:
        """What was said since; waits for the first. Raises what an end failed with."""

    def finish(self) -> None:
        """The load server's orderly end, its last counts with it."""


class LoadEnvironment(Protocol):
    #: What was recorded of a load that failed is kept.
    keeps: bool
    #: Of the files, when the clock starts.
    read: inputs.Inputs
    #: By what the load servers are held to their cores; empty: by nothing.
    held_by: str

    @property
    def zero_ns(self) -> int:
        """CLOCK_MONOTONIC here at the run's time zero."""

    def make(self, note: Note) -> None:
        """Input files, and whatever else is there before the first table."""

    def at_work(self) -> AbstractContextManager[LoadAtWork]:
        """Both ends, watched from before their begin to behind their end."""

    def due_ns(self) -> int:
        """When files are due if the word to go is given now."""

    def watched(self) -> pa.Table:
        """What was watched of roles and hosts, on the run's clock."""

    def on_one_clock(self, journal: Path) -> Path:
        """A journal whose times are those of CLOCK_MONOTONIC here."""


class OneHost:
    """All of them are children of this process."""

    keeps = False

    def __init__(self, plan: PipelinePlan, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        self.read, self.held_by = inputs.Inputs((), 0, 0), ""
        self.watch: Watching | None = None

    @property
    def zero_ns(self) -> int:
        assert self.watch is not None, "it begins with the watch"
        return self.watch.zero_ns

    def make(self, note: Note) -> None:
        plan = self.plan
        paths = inputs.made(plan["inputs"], plan["seed"], plan["epoch_ns"], note)
        self.read = inputs.Inputs(tuple(paths), 0, 0)

    @contextlib.contextmanager
    def at_work(self) -> Iterator[LoadAtWork]:
        plan = self.plan
        with LoadProcesses(plan, self.read.paths, self.folder) as ends:
            ends.ready()
            self.read = inputs.cooled(self.read.paths, plan["inputs"]["cold"])
            shards, folders = shards_here(plan)
            watched = {
                **plan,
                "watch": {**plan["watch"], "folders": {**folders, **plan["watch"].get("folders", {})}},
            }
            processes = {**plan["watch"]["processes"], **shards, **ends.processes()}
            with watching(watched, processes, self.folder / "watch") as self.watch:
                yield ends
            self.held_by = ends.held_by

    def due_ns(self) -> int:
        return time.monotonic_ns()

    def watched(self) -> pa.Table:
        assert self.watch is not None, "it was at work"
        found: Any = self.watch.tables["resources"]
        return found

    def on_one_clock(self, journal: Path) -> Path:
        return journal


def shards_here(plan: PipelinePlan) -> tuple[dict[str, list[int]], dict[str, str]]:
    """By role: processes of the shards' servers, and the folder of their data. Of servers that inrush started its plan has both.

    All or nothing: a part of them would be taken for the whole. Several have no folder of their own.
    """
    servers = servers_of(plan)
    found = [found_at(server(of["engine"]), of["host"], of["port"]) for of in servers]
    seen = [of for of in found if of is not None and of.pids]
    if not seen or len(seen) < len(found):
        return {}, {}
    folders = {SHARDS: seen[0].folder} if len(seen) == 1 and seen[0].folder else {}
    return {SHARDS: sorted({pid for of in seen for pid in of.pids})}, folders
