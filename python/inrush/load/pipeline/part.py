"""What a pipeline's run has on a host: an end of the load with its files, and what watches it and the shards' servers there.

What an end says is said on with the time at which it was heard, by this host's CLOCK_MONOTONIC. The tables of what was watched
are left in the folder of its tables.
"""

from __future__ import annotations

import contextlib
import queue
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from inrush.agent.parent import Parent
from inrush.agent.process import Process, death_cause, left
from inrush.border.load import ClientPlan, ServerPlan
from inrush.border.pipeline import ShardServer
from inrush.border.words import Document, Word
from inrush.engines import server
from inrush.errors import CoreError, InrushError
from inrush.load.pipeline import inputs, ways
from inrush.load.pipeline.cpu_quota import limited
from inrush.load.pipeline.ends import table_of_files
from inrush.load.pipeline.watching import Watching
from inrush.load.remote import is_loopback
from inrush.load.serve import Serving, certificate_files, fingerprint
from inrush.load.spool import seen
from inrush.plan.ends import link_plan
from inrush.targets.server_processes import FoundServer, found_server

Doc = dict[str, Any]

#: How often words are looked for, s.
LOOK_S = 0.05


class Part:
    """What all have in common: words in, events out, ends in processes of their own, the watch."""

    def __init__(self, plan: Doc, parts: Path, parent: Parent) -> None:
        self.plan, self.parts, self.parent = plan, parts, parent
        #: Beside the folder of the tables, which are carried to another host.
        self.folder = parts.with_name(f"{parts.name}-files")
        #: Words; what the ends said: (key, event).
        self.queue: queue.SimpleQueue[Word | tuple[str, Doc]] = queue.SimpleQueue()
        self.ends: dict[str, Process[Doc]] = {}
        self.watch: Watching | None = None
        self.held = contextlib.ExitStack()

    def say(self, event: str, **more: Any) -> None:
        self.parent.say({"event": event, **more})

    def run(self) -> int:
        """Until a word says `end`. 0: in order; 1: failed, and an event says how."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            while True:
                said = self.queue.get()
                if isinstance(said, tuple):
                    self.heard(*said)
                elif said["do"] == "end":
                    break
                else:
                    getattr(self, f"do_{said['do']}")(said)
            self.unwatch()
        except (InrushError, OSError) as e:
            # A write that fails knows no path: tables are what is written here.
            place = f"{self.parts}: " if isinstance(e, OSError) and e.filename is None else ""
            self.say("failed", kind="load", message=f"{place}{e}")
            return 1
        finally:
            for end in self.ends.values():
                end.kill()
                end.close()
            self.held.close()
            shutil.rmtree(self.folder, ignore_errors=True)
        self.say("finished", ended_by="work")
        return 0

    def start(self, key: str) -> None:
        def hear(event: Doc) -> None:
            self.queue.put((key, {**event, "t_ns": time.monotonic_ns()}))

        self.ends[key] = Process({"does": "end"}, self.folder / f"{key}.log", hear=hear)

    def heard(self, key: str, event: Doc) -> None:
        """Raises CoreError of an end that ended without a word."""
        if event["event"] == "failed":
            self.say("failed", kind=event["kind"], message=event["message"])
        elif event["event"] == "ended":
            code, log = self.ends[key].close(), self.ends[key].log
            assert log is not None, "each has one"
            # It may hold rows, and what is said here goes to another host.
            raise CoreError(f"its process {death_cause(code)}; its log there: {left(log)}")
        else:
            self.say("said", key=key, of=event)

    def begin_watch(self, role: str = "") -> int:
        """Of its ends, which have that role, and of servers of shards here; this host's CLOCK_MONOTONIC at their time zero."""
        plan, servers = self.plan, cast("Sequence[ShardServer]", self.plan.get("servers", ()))
        found = [found_server(server(of["engine"]), of["host"], of["port"], "the worker") for of in servers]
        if found:
            self.say("servers", found=[*map(of_server, servers, found)])
        processes = {role: [end.pid for end in self.ends.values()]} if role else {}
        folders = plan["watch"].setdefault("folders", {})
        for of, seen_as in zip(servers, found, strict=True):
            processes[of["role"]] = [*seen_as.pids]
            if seen_as.folder:
                folders[of["role"]] = seen_as.folder
        self.watch = Watching(plan, processes, self.parts)
        self.watch.until_paused()
        return self.watch.zero_ns

    def unwatch(self) -> None:
        if self.watch is not None:
            self.watch.end()


class ServerPart(Part):
    #: By what it is held to its cores, and the fingerprint of its certificate; empty: by nothing, and without TLS.
    held_by = ""
    mark = ""
    stopped = False

    def do_measure(self, word: Word) -> None:
        """What clients send now, as fast as it goes."""
        sink = ways.Sink(word["host"], word["token"])
        self.say("measuring", port=sink.port)
        self.say("measured", bytes_per_s=sink.bytes_per_s(word["senders"]))

    def do_open(self, word: Word) -> None:
        """Connected to the shards, and listening."""
        host = word["host"]
        plan: ServerPlan = self.plan["load_server"]
        document: ServerPlan = {
            **plan,
            "token": word["token"],
            "listen": f"{bracketed(host)}:0",
        }
        if not is_loopback(host):
            files = certificate_files(Serving(document["listen"], self_signed=True), host, self.folder)
            assert files is not None, "one was asked for"
            document["tls"] = {"certificate": str(files[0]), "key": str(files[1])}
            self.mark = fingerprint(files[0])
        self.start("server-0")
        end = self.ends["server-0"]
        if cores := float(self.plan["cores"]):
            self.held_by = self.held.enter_context(limited([end.pid], cores))
        end.send({"do": "load", "plan": document})

    def heard(self, key: str, event: Doc) -> None:
        if event["event"] == "listening":
            zero_ns = self.begin_watch("load_server")
            self.say(
                "listening",
                address=event["address"],
                fingerprint=self.mark,
                zero_ns=zero_ns,
                held_by=self.held_by,
            )
        elif event["event"] == "ended" and self.stopped:
            return
        else:
            super().heard(key, event)

    def do_stop(self, word: Word) -> None:
        self.stopped = True
        self.ends["server-0"].send({"do": "stop"})


class ClientPart(Part):
    paths: Sequence[Path] = ()
    way: ways.WayWatch | None = None

    def __init__(self, plan: Doc, parts: Path, parent: Parent) -> None:
        super().__init__(plan, parts, parent)
        self.finished: set[str] = set()

    def do_make(self, word: Word) -> None:
        plan, numbers = self.plan, set(self.plan["files"])
        held = {**plan["inputs"], "folder": str(self.folder)}

        def note(there: int, of: int) -> None:
            self.say("making", there=there, of=of)

        self.paths = inputs.made(held, plan["seed"], plan["epoch_ns"], note, numbers)  # type: ignore[arg-type]
        self.say("has_inputs")

    def do_fill(self, word: Word) -> None:
        ways.fill(word["host"], word["port"], word["token"])
        self.say("filled")

    def do_ready(self, word: Word) -> None:
        """Everything but the connections, which are part of the load."""
        found = inputs.cooled(self.paths, self.plan["inputs"]["cold"])
        for k in range(self.plan["processes"]):
            self.start(f"client-{k}")
        self.plan["watch"].setdefault("folders", {})["load_client"] = str(self.folder)
        zero_ns = self.begin_watch("load_client")
        self.say("ready", zero_ns=zero_ns, bytes=found.bytes, cached_bytes=found.cached_bytes)

    def do_go(self, word: Word) -> None:
        """The load server's address and the instant are in it."""
        address = word["address"]
        host, _, port = address.rpartition(":")
        link = link_plan(address, word["token"], {"fingerprint": f} if (f := word["fingerprint"]) else None)
        self.way = ways.WayWatch(host.strip("[]"), int(port))
        files, client = self.documents(), cast("ClientPlan", self.plan["client"])
        plans: dict[str, ClientPlan] = {
            key: {**client, "link": link, "tables": [table_of_files(self.plan["inputs"]["table"])],
                  "files": files[k :: len(self.ends)]}
            for k, key in enumerate(self.ends)
        }  # fmt: skip
        time.sleep(max(0, word["at_ns"] - time.monotonic_ns()) / 1e9)
        begun_ns = time.monotonic_ns()
        for key, plan in plans.items():
            self.ends[key].send({"do": "load", "plan": plan})
        self.say("began", late_ns=begun_ns - word["at_ns"])

    def documents(self) -> list[Any]:
        (self.folder / "rejects").mkdir()
        return [
            {"number": n, "path": str(path), "reject_path": str(self.folder / "rejects" / f"{n:06}.csv"),
             "stamp": seen(path).document()}
            for n, path in zip(self.plan["files"], self.paths, strict=True)
        ]  # fmt: skip

    def heard(self, key: str, event: Doc) -> None:
        if event["event"] == "ended" and key in self.finished:
            return
        if event["event"] in ("begins", "file"):
            # Its reader, as pipelines are numbered over all hosts.
            own = self.plan["pipelines"]
            mine = event["reader"] if len(self.ends) == 1 else int(key.partition("-")[2])
            event = {**event, "reader": own[mine]}
        if event["event"] == "finished":
            self.finished.add(key)
            if len(self.finished) == len(self.ends) and self.way is not None:
                found = self.way.end()
                self.say("way", found=None if found is None else vars(found))
        super().heard(key, event)


class WatcherPart(Part):
    """Of a host with servers of shards, and no end of the load."""

    def do_ready(self, word: Word) -> None:
        self.say("watching", zero_ns=self.begin_watch())


def of_server(of: ShardServer, found: FoundServer) -> Doc:
    """What run.json says of a shard's server."""
    where = {"role": of["role"], "host": of["host"], "port": of["port"], "shards": [*of["shards"]]}
    return {**where, **found.document()}


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


#: Role in its plan -> what it is.
PARTS: Mapping[str, type[Part]] = {"server": ServerPart, "client": ClientPart, "watcher": WatcherPart}


def work(document: Document, parent: Parent) -> int:
    plan = cast("Doc", document["plan"])
    part = PARTS[plan["role"]](plan, Path(document["parts"]), parent)
    code: list[int] = []
    doing = threading.Thread(target=lambda: code.append(part.run()), name="part")
    doing.start()
    while doing.is_alive():
        for word in parent.words():
            part.queue.put(word)
        doing.join(LOOK_S)
    return code[0] if code else 1
