"""A load over hosts: the load server on the first, clients on those behind it, each with the files that it loads, and
what watches the shards' servers on their own hosts.

This process creates, proves and drops; it says what is to be done there, and hears what the ends say. Nothing of it is on the
way of a row.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from inrush.agent.clocks import SAME, shift
from inrush.agent.place import Client, Place, leave_document
from inrush.agent.process import death_cause
from inrush.agent.shared_run import OnEvent, Words
from inrush.border.events import Event
from inrush.border.pipeline import AnyPlan, loads_of
from inrush.border.plan import WatchPlan
from inrush.border.words import Does, Word
from inrush.errors import CoreError
from inrush.load.pipeline import inputs, journal, run, shard_servers, shares, ways
from inrush.load.pipeline.ends import Said
from inrush.load.pipeline.environment import Note
from inrush.load.pipeline.hosts_watched import device_marks, watched
from inrush.load.pipeline.part_plans import part_plan
from inrush.load.pipeline.shares import SERVER
from inrush.load.remote import is_loopback
from inrush.machine import host

Doc = dict[str, Any]

#: What each process does.
PART: Does = "part"
#: How long one wait for an event lasts, s.
LOOK_S = 0.1
#: A load server that is gone takes the connections of its clients with it, which may be said first: so long its own word is
#: waited for. A lost worker is known within less.
CAUSE_S = 2.0


def work(
    plan: AnyPlan,
    parts: Path,
    words: Words,
    on_event: OnEvent,
    place: Place,
) -> int:
    """0: done, and the tables are in `parts`; 1: failed, and an event says how."""

    over: list[OverHosts] = []

    def environment(role: str, folder: Path) -> OverHosts:
        over.append(OverHosts(plan, role, parts, folder, place))
        return over[0]

    try:
        return run.made(plan, parts, words, on_event, environment)
    finally:
        with contextlib.ExitStack() as ending:
            ending.callback(place.end)
            for one in over:
                ending.callback(one.close)


class OverHosts:
    """The environment of such a load, and its ends at work."""

    over_hosts = True
    #: Those of this host: the files are on others.
    paths: Sequence[Path] = ()

    def __init__(self, plan: AnyPlan, role: str, parts: Path, folder: Path, place: Place) -> None:
        self.plan, self.parts, self.folder, self.place = plan, parts, folder, place
        self.of = loads_of(plan)[role]
        self.how = self.of["pipelines"]
        #: Processes of clients; that of the load server is before them.
        self.clients = range(SERVER + 1, SERVER + 1 + shares.clients_at(self.how))
        self.seen = self.of.get("seen", ())
        self.watchers = shard_servers.watchers_behind(self.clients.stop, self.seen)
        self.every = (SERVER, *self.clients, *self.watchers)
        #: Process -> what it says of the servers on its host.
        self.servers: dict[int, Sequence[Doc]] = {}
        self.token = secrets.token_hex(16)
        self.read, self.held_by = inputs.Inputs((), 0, 0), ""
        self.zero_ns = 0
        self.heard: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self.processes: dict[int, Client] = {}
        self.running: set[int] = set()
        #: What was said while an answer was waited for.
        self.pending: list[Said] = []
        #: Processes whose ends have all finished.
        self.done: set[int] = set()
        self.finished: dict[int, set[str]] = {}
        self.listening: Doc = {}
        #: CLOCK_MONOTONIC of each host at the time zero of its watch.
        self.zeros_ns: dict[int, int] = {}
        #: Ended before its clients had done: what its parts say of that is no failure.
        self.cut = False
        #: By client: what its way carries; what its senders waited for.
        self.carries: dict[int, float] = {}
        self.together = 0.0
        self.ways: dict[int, Doc | None] = {}
        self.late_ns: dict[int, int] = {}

    # --- the environment

    def watch(self) -> WatchPlan:
        """Of what it has files of, the shards that run here."""
        watch = self.plan["watch"]
        folders = {
            role: path for role, path in watch.get("folders", {}).items() if role == shard_servers.SHARDS
        }
        return {**watch, "folders": folders}

    def make(self, note: Note) -> None:
        for process in self.every:
            self.start(process)
        there = dict.fromkeys(self.clients, 0)
        for process in self.clients:
            self.send(process, "make")
        missing = set(self.clients)
        while missing:
            process, event = self.next()
            if event["event"] == "making":
                there[process] = event["there"]
                note(sum(there.values()), self.of["inputs"]["files"])
            elif event["event"] == "has_inputs":
                missing.discard(process)
        remote = self.beyond()
        for process in remote:
            self.carries[process] = self.measured((process,))
        if remote:
            self.together = self.measured(remote) if len(remote) > 1 else self.carries[remote[0]]

    def beyond(self) -> list[int]:
        """Clients with a way to the load server. Within a host there is none that could be full: its cores would be."""
        if is_loopback(self.place.address(SERVER)):
            return []
        server = self.place.host(SERVER).key
        return [process for process in self.clients if self.place.host(process).key != server]

    def measured(self, senders: Sequence[int]) -> float:
        """Bytes a second that come from these clients' hosts to that of the load server, as fast as it goes; 0: not known."""
        token, host = secrets.token_hex(16), self.place.address(SERVER)
        self.send(SERVER, "measure", host=host, token=token, senders=len(senders) * ways.CONNECTIONS)
        port = self.until(SERVER, "measuring")["port"]
        for process in senders:
            self.send(process, "fill", host=host, port=port, token=token)
        return float(self.until(SERVER, "measured")["bytes_per_s"])

    def begin(self, left: Sequence[int]) -> Mapping[str, Sequence[int]]:
        """None of them is of this host."""
        self.send(SERVER, "open", host=self.place.address(SERVER), token=self.token)
        self.listening = self.until(SERVER, "listening")
        self.held_by = self.listening["held_by"]
        self.zeros_ns[SERVER] = self.listening["zero_ns"]
        for process in self.watchers:
            self.send(process, "ready")
        for process, said in self.answers(self.watchers, "watching").items():
            self.zeros_ns[process] = said["zero_ns"]
        for process in self.clients:
            self.send(process, "ready")
        for process, said in self.answers(self.clients, "ready").items():
            self.zeros_ns[process] = said["zero_ns"]
            held = self.read
            self.read = inputs.Inputs(
                (), held.bytes + said["bytes"], held.cached_bytes + said["cached_bytes"]
            )
        return {}

    def end(self) -> None:
        """All in order: the tables of what was watched are here, and the clocks are known. Clients first: a load server that
        ends takes their connections with it."""
        self.cut = self.working()
        for some in (self.clients, (SERVER,), self.watchers):
            for process in some:
                self.send(process, "end")
            while self.running.intersection(some):
                process, event = self.taken(None)
                if event["event"] == "way":
                    self.ways[process] = event["found"]
        if not self.cut:
            self.place.finish(self.plan["record"]["interval_ns"])

    def due_ns(self) -> int:
        return time.monotonic_ns() + self.place.start_after_ns

    def watched(self, here: pa.Table) -> pa.Table:
        to_ns = {
            process: shift(self.place.clock(process), zero_ns, SAME, self.zero_ns)
            for process, zero_ns in self.zeros_ns.items()
        }
        marks = device_marks(self.place.document().get("workers", ()), host.boot())
        each = {process: (self.part(process), by) for process, by in to_ns.items()}
        found = {of["role"]: bool(of["pids"]) for servers in self.servers.values() for of in servers}
        return watched(here, each, marks, len(self.clients), shard_servers.whole_of(self.plan, found))

    def on_one_clock(self, path: Path) -> Path:
        clocks = {process: self.place.clock(process) for process in self.every}
        return journal.on_one_clock(path, clocks, path.with_name("on-one-clock"))

    def close(self) -> None:
        """Nothing of it is left, whatever happened."""
        try:
            self.kill()
        finally:
            self.write_document()

    def kill(self) -> None:
        """Each of them, whatever happens to another; they have ended then."""
        with contextlib.ExitStack() as ending:
            for client in self.processes.values():
                ending.callback(client.close)
            for client in self.processes.values():
                ending.callback(client.kill)

    def write_document(self) -> None:
        """Which worker did what, and its way: into run.json."""
        workers = self.place.document().get("workers", ())
        found = {
            **self.place.document(),
            "workers": [
                {"does": self.what(n), **dict(worker), **self.servers_at(n)} for n, worker in enumerate(workers)
            ],
            "load_server": {
                "address": self.listening.get("address", ""), "tls": bool(self.listening.get("fingerprint")),
            },
            "clients": len(self.clients),
            "ways": [
                {"client": process, "bytes_per_s": carries, **(self.ways.get(process) or {})}
                for process, carries in self.carries.items()
            ],
            "ways_bytes_per_s": self.together,
            "late_ns": [self.late_ns.get(process) for process in self.clients],
        }  # fmt: skip
        leave_document(self.parts, {"hosts": found})

    def servers_at(self, process: int) -> Doc:
        """What is said of a worker that servers of shards are beside."""
        return {"servers": found} if (found := self.servers.get(process)) else {}

    def what(self, process: int) -> str:
        """In words."""
        mine = [n for of in shard_servers.seen_by(process, self.seen) for n in of["shards"]]
        return shares.what(process, shard_servers.shards_said(mine) if process in self.watchers else "")

    # --- the ends at work

    def go(self, at_ns: int, zero_ns: int) -> None:
        self.zero_ns = zero_ns
        said = {key: self.listening[key] for key in ("address", "fingerprint")}
        for process in self.clients:
            self.send(process, "go", at_ns=self.place.clock(process).there(at_ns), token=self.token, **said)

    def working(self) -> bool:
        return not self.done.issuperset(self.clients)

    def said(self, timeout_s: float) -> Iterator[Said]:
        while self.pending:
            yield self.pending.pop(0)
        until = time.monotonic() + timeout_s
        while True:
            try:
                process, event = self.taken(max(0.0, until - time.monotonic()))
            except queue.Empty:
                return
            self.keep(process, event)
            yield from self.pending
            self.pending.clear()

    def finish(self) -> None:
        self.send(SERVER, "stop")
        while SERVER not in self.done:
            self.keep(*self.next())

    # --- words and events

    def part(self, process: int) -> Path:
        return self.folder / f"part-{process}"

    def start(self, process: int) -> None:
        folder = self.part(process)
        folder.mkdir(parents=True)

        def hear(event: Event) -> None:
            self.heard.put((process, event))

        self.processes[process] = self.place.start(
            process, part_plan(self.plan, self.of, process), folder, hear
        )
        self.running.add(process)

    def send(self, process: int, do: str, **more: Any) -> None:
        self.processes[process].send(cast("Word", {"do": do, **more}))

    def until(self, process: int, event: str) -> Doc:
        """The next event of that name of a process."""
        return self.answers((process,), event)[process]

    def answers(self, processes: Collection[int], event: str) -> dict[int, Doc]:
        """The next event of that name of each; what is said besides is kept."""
        found: dict[int, Doc] = {}
        while len(found) < len(processes):
            process, said = self.next()
            if said["event"] == event and process in processes:
                found[process] = said
            else:
                self.keep(process, said)
        return found

    def keep(self, process: int, event: Doc) -> None:
        match event["event"]:
            case "said":
                of = event["of"]
                role = "load_server" if process == SERVER else "client"
                if of["event"] == "finished":
                    ended = self.finished.setdefault(process, set())
                    ended.add(event["key"])
                    if len(ended) == self.ends_of(process):
                        self.done.add(process)
                self.pending.append(Said(role, f"{process}/{event['key']}", of, process))
            case "servers":
                self.servers[process] = event["found"]
                self.pending += [self.unseen(process, of) for of in event["found"] if not of["pids"]]
            case "way":
                self.ways[process] = event["found"]
            case "began":
                self.late_ns[process] = event["late_ns"]

    def unseen(self, process: int, of: Doc) -> Said:
        """A note, as an end says one."""
        name = self.place.host(process).name
        text = (
            f"the server at {shard_servers.said_address(of['host'], of['port'])}{f' on {name}' if name else ''} is not watched: "
            f"{of['why']}; what its host does is"
        )
        return Said("shards", str(process), {"event": "note", "text": text}, process)

    def ends_of(self, process: int) -> int:
        if process == SERVER or self.how["client"] != "own":
            return 1
        return len(shares.pipelines_of(process - self.clients[0], self.how))

    def next(self) -> tuple[int, Doc]:
        return self.taken(None)

    def taken(self, timeout_s: float | None) -> tuple[int, Doc]:
        """The next event. Raises queue.Empty, and CoreError of a process that failed or is gone."""
        process, event = self.heard.get(timeout=timeout_s)
        if why := self.failure(process, event):
            # A worker that is lost is a cause by itself. What its process says may have another one.
            raise self.named(process, why) if event.get("kind") == "fleet" else self.cause(process, why)
        return process, event

    def failure(self, process: int, event: Doc) -> str:
        """What an event says of a process that failed or is gone; empty of any other, and once the load was cut."""
        if event["event"] == "failed":
            return "" if self.cut else str(event["message"])
        if event["event"] != "ended":
            return ""
        code = self.processes[process].close()
        self.running.discard(process)
        return death_cause(code) if code and not self.cut else ""

    def cause(self, process: int, message: str) -> CoreError:
        """Of the process that failed first, if that is known: clients lose a load server that is gone."""
        until = time.monotonic() + CAUSE_S
        while process in self.clients and (left_s := until - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                who, event = self.heard.get(timeout=left_s)
                if (why := self.failure(who, event)) and who == SERVER:
                    process, message = who, why
        return self.named(process, message)

    def named(self, process: int, message: str) -> CoreError:
        where = self.place.name(process)
        return CoreError(f"{self.what(process)}{f' ({where})' if where else ''}: {message}")
