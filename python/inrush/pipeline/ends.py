"""The processes of a pipeline run, and what each has to say: load servers and clients, of one file or of all.

A thread for each client, so that N pipelines start their next process without waiting for one another.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inrush.agent.process import Process, death_message
from inrush.border.load import ClientFile, ClientPlan, LoadPlan, ServerPlan
from inrush.border.pipeline import LoadEnds
from inrush.border.plan import ColumnPlan, TablePlan
from inrush.errors import CoreError, InrushError, from_core
from inrush.load.own_ends import through_own_ends
from inrush.load.spool import seen
from inrush.pipeline.cpu_quota import limited
from inrush.pipeline.inputs import source_of
from inrush.plan.ends import link_plan

Doc = dict[str, Any]

#: How often a thread that waits for a word looks whether all is over, s.
LOOK_S = 0.1
#: A load server that was killed is noticed within this time.
CAUSE_S = 1.0


@dataclass(frozen=True)
class Said:
    """An event of an end; `key` separates one process's counts from another's."""

    role: str
    key: str
    event: Doc
    #: Process whose clock its times are of; None: this one's.
    host: int | None = None


class LoadProcesses:
    """Started before the clock; `go` begins the load, `said` gives its events until every client has finished."""

    def __init__(
        self, plan: LoadEnds, paths: Sequence[Path], folder: Path, left: Sequence[int] | None = None
    ) -> None:
        """left: numbers of the files that are to be loaded; None: all."""
        self._plan, self._paths, self._folder = plan, [str(p) for p in paths], folder
        self._stamps = [seen(p).document() for p in paths]
        self._left = range(len(paths)) if left is None else left
        self._token = secrets.token_hex(16)
        self._reported: queue.SimpleQueue[Said | InrushError] = queue.SimpleQueue()
        self._over = threading.Event()
        (folder / "rejects").mkdir(parents=True, exist_ok=True)
        how = plan["pipelines"]
        self.per_file = bool(how["process_per_file"])
        count = int(how["count"])
        alone = self.per_file or how["client"] == "own"
        self.clients = [self._process(f"client-{k}") for k in range(count if alone else 1)]
        self.servers = [self._process(f"server-{k}") for k in range(count if self.per_file else 1)]
        #: LoadProcesses after the processes that it holds.
        self._cpu_quota = contextlib.ExitStack()
        self._cores = float(how["load_server_cores"])
        #: By what the load servers are held to their cores; empty: by nothing.
        self.held_by = ""
        self._threads: list[threading.Thread] = []
        #: Hears the one load server out while clients work: its counts in time, and why it ended if it does.
        self._listener: threading.Thread | None = None
        self._server_failed: InrushError | None = None

    def __enter__(self) -> LoadProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for process in self._all():
            process.kill()
        for thread in (*self._threads, *([self._listener] if self._listener else [])):
            thread.join()
        for process in self._all():
            process.close()
        self._cpu_quota.close()

    def processes(self) -> dict[str, list[int]]:
        return {"load_client": [p.pid for p in self.clients], "load_server": [p.pid for p in self.servers]}

    def ready(self) -> None:
        """The one load server is connected to its shards; those of single files begin with them."""
        if not self.per_file:
            self.servers[0].send({"do": "load", "plan": self._server_plan()})
            self._address = self.wait(self.servers[0], "load_server", "server-0", "listening")["address"]
        if self._cores:
            self.held_by = self._cpu_quota.enter_context(limited([s.pid for s in self.servers], self._cores))

    def go(self, at_ns: int = 0) -> None:
        """At once. at_ns: now, where someone asks for it."""
        if not self.per_file:
            self._listener = threading.Thread(target=self._guarded, args=(self._hear_server, 0), daemon=True)
            self._listener.start()
        for k in range(len(self.clients)):
            work = self._file_after_file if self.per_file else self._all_files
            thread = threading.Thread(target=self._guarded, args=(work, k), name=f"client {k}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def working(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def said(self, timeout_s: float) -> Iterator[Said]:
        """What was said since; waits for the first. Raises what an end failed with."""
        with contextlib.suppress(queue.Empty):
            while True:
                found = self._reported.get(timeout=timeout_s)
                if isinstance(found, InrushError):
                    raise self._cause() or found
                yield found
                timeout_s = 0.0

    def finish(self) -> None:
        """The load server's orderly end, its last counts with it."""
        if self._listener is not None:
            self.servers[0].send({"do": "stop"})
            self._listener.join()

    # --- a client's thread

    def _cause(self) -> InrushError | None:
        """A load server that ends takes the connections of its clients with it; they may say so first."""
        if self._listener is not None:
            self._listener.join(CAUSE_S)
        return self._server_failed

    def _guarded(self, work: Callable[[int], None], k: int) -> None:
        try:
            work(k)
        except InrushError as e:
            self._reported.put(e)

    def _hear_server(self, k: int) -> None:
        try:
            self.wait(self.servers[k], "load_server", f"server-{k}", "finished")
        except InrushError as e:
            self._server_failed = e
            raise

    def _all_files(self, k: int) -> None:
        mine = files_of(k, len(self.clients), self._left)
        self.clients[k].send({"do": "load", "plan": self._client_plan(self._address, mine)})
        self.wait(self.clients[k], "client", f"client-{k}", "finished")

    def _file_after_file(self, k: int) -> None:
        for n in files_of(k, len(self.clients), self._left):
            # Its processes are part of what a file costs here: it began when they were asked for.
            of_file = {"start_ns": time.monotonic_ns(), "reader": k}
            server = HostedEnd(self, self.servers[k], "load_server", f"{k}.{n}")
            client = HostedEnd(self, self.clients[k], "client", f"{k}.{n}", of_file)

            def client_plan(listening: Doc, n: int = n) -> ClientPlan:
                return self._client_plan(listening["address"], [n])

            through_own_ends(server, client, self._server_plan(), client_plan)
            client.until("left")
            server.until("left")

    def wait(
        self, end: Process[Doc], role: str, key: str, what: str, of_file: Mapping[str, int] | None = None
    ) -> Doc:
        """The event `what`; all that is said before goes to the listener. Raises what the end failed with."""
        while not self._over.is_set():
            event = end.event(LOOK_S)
            if event is None:
                continue
            if event["event"] in ("begins", "file"):
                event = {**event, **(of_file or {})}
                if not of_file and len(self.clients) > 1:
                    event["reader"] = int(key.partition("-")[2])
            if event["event"] == "failed":
                raise from_core(event["kind"], event["message"])
            if event["event"] == "ended":
                raise CoreError(f"load {role}: {death_message(end.close(), end.log)}")
            self._reported.put(Said(role, key, event))
            if event["event"] == what:
                return event
        raise CoreError("the run is over")

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

    def _process(self, name: str) -> Process[Doc]:
        return Process({"does": "ends" if self.per_file else "end"}, self._folder / f"{name}.log")

    def _all(self) -> list[Process[Doc]]:
        return [*self.clients, *self.servers]


@dataclass(frozen=True)
class HostedEnd:
    """An end of one file, in a process that a host starts: the CPU of all its files is in the host's account."""

    of: LoadProcesses
    host: Process[Doc]
    role: str
    key: str
    of_file: Mapping[str, int] | None = None

    def begin(self, plan: LoadPlan) -> None:
        self.host.send({"do": "load", "plan": plan})

    def until(self, event: str) -> Doc:
        return self.of.wait(self.host, self.role, self.key, event, self.of_file)

    def ask_to_end(self) -> None:
        self.host.send({"do": "stop"})


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
