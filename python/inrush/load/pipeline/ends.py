"""The processes of a pipeline run, and what each has to say: load servers and clients, of one file or of all."""

from __future__ import annotations

import contextlib
import queue
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inrush.agent.process import Process, death_cause
from inrush.border.load import ClientFile, ClientPlan, ServerPlan
from inrush.border.pipeline import LoadEnds
from inrush.border.plan import ColumnPlan, TablePlan
from inrush.errors import CoreError, InrushError
from inrush.load.pipeline.cpu_quota import limited
from inrush.load.pipeline.inputs import source_of
from inrush.load.process import failure
from inrush.load.spool import seen
from inrush.plan.ends import link_plan

Doc = dict[str, Any]
#: Role of a process, and its number among those of its role.
Name = tuple[str, int]
CLIENT, SERVER = "client", "load_server"
#: A load server that is gone takes the connections of its clients with it, which may be said first: so long its own word is
#: waited for, s.
CAUSE_S = 1.0


@dataclass(frozen=True)
class Said:
    """An event of an end; `key` separates one process's counts from another's."""

    role: str
    key: str
    event: Doc
    #: Process whose clock its times are of; None: this one's.
    host: int | None = None


@dataclass
class InHand:
    """The file of one pipeline, where each has ends of its own."""

    file: int
    #: Its processes are part of what a file costs here: it began when they were asked for.
    start_ns: int
    finished: set[str]
    left: int = 0


class LoadProcesses:
    """Started before the clock; `go` begins the load, `said` gives its events until every client has finished."""

    def __init__(self, plan: LoadEnds, paths: Sequence[Path], folder: Path, left: Sequence[int]) -> None:
        """left: numbers of the files that are to be loaded."""
        self._plan, self._paths, self._folder = plan, [str(p) for p in paths], folder
        self._stamps = [seen(p).document() for p in paths]
        self._token = secrets.token_hex(16)
        self._heard: queue.SimpleQueue[tuple[Name, Doc]] = queue.SimpleQueue()
        #: What was said while an answer was waited for.
        self._pending: list[Said] = []
        (folder / "rejects").mkdir(parents=True, exist_ok=True)
        how = plan["pipelines"]
        self.per_file = bool(how["process_per_file"])
        count = int(how["count"])
        self._processes: dict[Name, Process[Doc]] = {}
        clients = [
            self._start(CLIENT, k) for k in range(count if self.per_file or how["client"] == "own" else 1)
        ]
        servers = [self._start(SERVER, k) for k in range(count if self.per_file else 1)]
        self._files = [files_of(k, len(clients), left) for k in range(len(clients))]
        #: Those that have no more to do.
        self._done: set[Name] = set()
        #: By pipeline, where each file has ends of its own.
        self._next = [iter(mine) for mine in self._files]
        self._in_hand: dict[int, InHand] = {}
        self._cpu_quota = contextlib.ExitStack()
        self._cores = float(how["load_server_cores"])
        #: By what the load servers are held to their cores; empty: by nothing.
        self.held_by = ""
        self._pids = {"load_client": [p.pid for p in clients], "load_server": [p.pid for p in servers]}

    def __enter__(self) -> LoadProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.close()
        self._cpu_quota.close()

    def processes(self) -> dict[str, list[int]]:
        return self._pids

    def ready(self) -> None:
        """The one load server is connected to its shards; those of single files begin with them."""
        if not self.per_file:
            self._processes[SERVER, 0].send({"do": "load", "plan": self._server_plan()})
            self._address = self._until("listening")["address"]
        if self._cores:
            self.held_by = self._cpu_quota.enter_context(limited(self._pids["load_server"], self._cores))

    def go(self, at_ns: int = 0) -> None:
        """At once. at_ns: now, where someone asks for it."""
        for k, files in enumerate(self._files):
            if self.per_file:
                self._next_file(k)
            else:
                plan = self._client_plan(self._address, files)
                self._processes[CLIENT, k].send({"do": "load", "plan": plan})

    def working(self) -> bool:
        return any((CLIENT, k) not in self._done for k in range(len(self._files)))

    def said(self, timeout_s: float) -> Iterator[Said]:
        """What was said since; waits for the first. Raises what an end failed with."""
        while self._pending:
            yield self._pending.pop(0)
        with contextlib.suppress(queue.Empty):
            while True:
                if (said := self._take(*self._heard.get(timeout=timeout_s))) is not None:
                    yield said
                timeout_s = 0.0

    def finish(self) -> None:
        """The load server's orderly end, its last counts with it."""
        if not self.per_file:
            self._processes[SERVER, 0].send({"do": "stop"})
            self._until("finished")

    # --- what they say

    def _until(self, event: str) -> Doc:
        """That event of the one load server; what is said besides is kept."""
        while True:
            if (said := self._take(*self._heard.get())) is not None:
                self._pending.append(said)
                if said.role == SERVER and said.event["event"] == event:
                    return said.event

    def _take(self, name: Name, event: Doc) -> Said | None:
        """What is told of it; None of a process that has ended in order."""
        if (failed := self._failure(name, event)) is not None:
            raise self._cause(name, failed)
        if event["event"] == "ended":
            return None
        role, k = name
        of_file = event["event"] in ("begins", "file")
        if of_file and len(self._files) > 1:
            event["reader"] = k
        if (in_hand := self._in_hand.get(k)) is not None:
            if of_file:
                event["start_ns"], event["reader"] = in_hand.start_ns, k
            self._go_on(role, k, in_hand, event)
            return Said(role, f"{k}.{in_hand.file}", event)
        if event["event"] == "finished":
            self._done.add(name)
        return Said(role, f"{role}-{k}", event)

    def _failure(self, name: Name, event: Doc) -> InrushError | None:
        """What an event says of an end that failed or is gone."""
        role, k = name
        in_hand = self._in_hand.get(k)
        match event["event"]:
            case "failed" | "ended" if name not in self._done:
                process = self._processes[name]
                return failure(event, role, process, process.log)
            case "left" if in_hand is not None and role not in in_hand.finished:
                return CoreError(
                    f"load {role} of file {in_hand.file}: the process {death_cause(event['code'])}"
                )
        return None

    def _cause(self, name: Name, failed: InrushError) -> InrushError:
        """Of the one load server, if it has failed too."""
        until = time.monotonic() + CAUSE_S
        while not self.per_file and name[0] == CLIENT and (left_s := until - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                other, event = self._heard.get(timeout=left_s)
                if other[0] == SERVER and (cause := self._failure(other, event)) is not None:
                    return cause
        return failed

    # --- one file after the other, each through ends of its own

    def _next_file(self, k: int) -> None:
        file = next(self._next[k], None)
        if file is None:
            self._in_hand.pop(k, None)
            self._done |= {(CLIENT, k), (SERVER, k)}
            return
        self._in_hand[k] = InHand(file, time.monotonic_ns(), set())
        self._processes[SERVER, k].send({"do": "load", "plan": self._server_plan()})

    def _go_on(self, role: str, k: int, in_hand: InHand, event: Doc) -> None:
        """The client begins when its server listens, which ends when the client has; the next file begins when both have gone."""
        match event["event"], role:
            case "listening", _:
                plan = self._client_plan(event["address"], [in_hand.file])
                self._processes[CLIENT, k].send({"do": "load", "plan": plan})
            case "finished", _:
                in_hand.finished.add(role)
                if role == CLIENT:
                    self._processes[SERVER, k].send({"do": "stop"})
            case "left", _:
                in_hand.left += 1
                if in_hand.left == len((CLIENT, SERVER)):
                    self._next_file(k)

    # --- documents and processes

    def _server_plan(self) -> ServerPlan:
        return {**self._plan["load_server"], "token": self._token}

    def _client_plan(self, address: str, files: Sequence[int]) -> ClientPlan:
        return {
            **self._plan["client"],
            "link": link_plan(address, self._token),
            "tables": [table_of_files(self._plan["inputs"]["table"])],
            "files": [self._file(n) for n in files],
        }

    def _file(self, n: int) -> ClientFile:
        return {
            "number": n,
            "path": self._paths[n],
            "reject_path": str(self._folder / "rejects" / f"{n:06}.csv"),
            "stamp": self._stamps[n],
        }

    def _start(self, role: str, k: int) -> Process[Doc]:
        def hear(event: Doc) -> None:
            self._heard.put(((role, k), event))

        log = self._folder / f"{'client' if role == CLIENT else 'server'}-{k}.log"
        process = Process({"does": "ends" if self.per_file else "end"}, log, hear=hear)
        self._processes[role, k] = process
        return process


def table_of_files(table: TablePlan) -> TablePlan:
    """As a client reads it: its rows come from files."""
    return {**table, "columns": [without_generator(c) for c in table["columns"]], "source": source_of()}


def without_generator(column: ColumnPlan) -> ColumnPlan:
    """As of a table with rows that come from files."""
    plan: ColumnPlan = {**column}
    plan.pop("gen", None)
    return plan


def files_of(k: int, clients: int, files: Sequence[int]) -> Sequence[int]:
    """Files of client k; what one client reads at once it shares out itself."""
    return files[k::clients]
