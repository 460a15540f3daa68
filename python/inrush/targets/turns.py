"""Servers of one engine that differ in what a study has them started with: one of them runs at a time.

Several at once would share the machine's memory, and each would be measured beside the others. Each has a folder of its
own, so that its data stay while another one runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from inrush.engines.base.instance import Target
from inrush.engines.base.twin import Twin
from inrush.engines.servers import private
from inrush.targets.deployment import Deployment

#: Between the engine and its settings in the name of a folder, whose length bounds the path of a socket.
WITH = "-with-"
MOST_CHARS = 20

Start = Callable[[Twin, Path, Mapping[str, str]], Deployment]
#: What is asked of a server before runs on it, and undone behind them.
Admit = Callable[[Deployment], contextlib.AbstractContextManager[None]]


class Turns:
    """The servers of one engine on one storage. start and stop: of one of them. admit: enters it for runs."""

    def __init__(self, start: Start, stop: Callable[[Deployment], None], admit: Admit) -> None:
        self._start, self._stop, self._admit = start, stop, admit
        self._settings: dict[Path, Mapping[str, str]] = {}
        self._running: Deployment | None = None
        self._admitted = contextlib.ExitStack()

    def add(self, twin: Twin, place: Path, settings: Mapping[str, str]) -> Deployment:
        """A server that will be started when a run of it comes. settings: all of them, also the command line's."""
        private.folder(place)  # its disk is probed before it runs
        self._settings[place] = settings
        return Deployment(twin, Target(twin.name, ""), turns=self, place=place)

    def give(self, deployment: Deployment) -> None:
        """Ends the server that runs, and starts this one. Raises as a start and `admit` do."""
        if self._running is deployment:
            return
        self.end()
        assert deployment.place is not None, "it was added"
        begun = self._start(deployment.server, deployment.place, self._settings[deployment.place])
        deployment.target = replace(begun.target, storage=deployment.target.storage)
        deployment.shards = begun.shards
        self._running = deployment
        self._admitted.enter_context(self._admit(deployment))

    def end(self) -> None:
        """Ends the server that runs, if one does."""
        running, self._running = self._running, None
        if running is None:
            return
        try:
            self._admitted.close()
        finally:
            self._stop(running)
            running.target = replace(running.target, url="", instance=None)
            running.shards = ()


def folder_with(data: Path, engine: str, settings: Mapping[str, str]) -> Path:
    """The folder of a server with these settings: `ndb-with-nodes-4-1f0c2a`. Pure."""
    said = ",".join(f"{name}={value}" for name, value in sorted(settings.items()))
    readable = re.sub(r"[^A-Za-z0-9._]+", "-", said)[:MOST_CHARS].strip("-")
    return data / f"{engine}{WITH}{readable}-{hashlib.sha256(said.encode()).hexdigest()[:6]}"


def folders_with(data: Path, engine: str) -> list[Path]:
    """Those of an engine that were ever made here."""
    return sorted(f for f in data.glob(f"{engine}{WITH}*") if f.is_dir() and "-shard-" not in f.name)
