"""A run by several processes: what is started, when it goes on, and how it ends.

Each process is a worker as that of any run, with its share of the plan. The first one creates, loads, proves and drops;
the others drive their sessions with it. Nothing of this process is on the clock: it waits for words of theirs.
"""

from __future__ import annotations

import queue
import shutil
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, cast

from inrush.agent import joined
from inrush.agent.barriers import Barriers, Opened, SharedStart, Starts, late_starts
from inrush.agent.drive import POLL_S
from inrush.agent.parent import Parent
from inrush.agent.place import Client, Here, Place, leave_document, watch_of, watchers
from inrush.agent.process import death_cause
from inrush.agent.progress import Together
from inrush.border.events import Event, FilesMade
from inrush.border.plan import RunPlan
from inrush.border.words import Document, Word
from inrush.errors import CoreError

OnEvent = Callable[[Mapping[str, Any]], None]
#: Words that came from the parent since.
Words = Callable[[], list[Word]]


def work(document: Document, parent: Parent) -> int:
    """On this machine."""
    parts = Path(document["parts"])
    return shared(cast("RunPlan", document["plan"]), parts, parent.words, parent.say, Here(parts))


def shared(plan: RunPlan, parts: Path, words: Words, on_event: OnEvent, place: Place) -> int:
    """0: done, and the tables are in `parts`; 1: failed, and an event says how."""
    run = SharedRun(plan, parts, words, on_event, place)
    try:
        run.start()
        return run.follow()
    finally:
        run.end()


def plan_of(plan: RunPlan, process: int, watchers: Collection[int] = ()) -> RunPlan:
    """What one process does of it. The first one watches the server, those of `watchers` and itself the machine, each itself."""
    share = plan.get("share")
    assert share is not None, "a run of this kind is shared"
    mine: RunPlan = {**plan, "share": {"index": process, "of": share["of"]}}
    if process:
        mine["watch"] = watch_of(plan, process in watchers)
    return mine


class SharedRun:
    def __init__(
        self,
        plan: RunPlan,
        parts: Path,
        words: Words,
        on_event: OnEvent,
        place: Place,
    ) -> None:
        share = plan.get("share")
        assert share is not None, "a run of this kind is shared"
        self.plan, self.parts, self.words, self.on_event = plan, parts, words, on_event
        self.of, self.place = share["of"], place
        self.said: queue.SimpleQueue[tuple[int, Event]] = queue.SimpleQueue()
        self.processes: list[Client] = []
        self.running: set[int] = set()
        self.barriers, self.starts = Barriers(self.of), Starts(self.of)
        self.watchers = watchers(place, self.of)
        self.progress = Together(self.watchers)
        #: Processes that have said how they ended; what the first one said.
        self.finished: dict[int, Event] = {}
        #: Processes that have made the files of a load: all go on when the last one has its own.
        self.made: dict[int, FilesMade] = {}
        self.failed = False

    def folder(self, process: int) -> Path:
        """Of its tables; those of the first one are where those of all will be."""
        return self.parts if process == 0 else self.parts / f"process-{process + 1}"

    def start(self) -> None:
        for process in range(self.of):
            folder = self.folder(process)
            folder.mkdir(parents=True, exist_ok=True)

            def hear(event: Event, process: int = process) -> None:
                self.said.put((process, event))

            self.processes.append(
                self.place.start(process, plan_of(self.plan, process, self.watchers), folder, hear)
            )
            self.running.add(process)

    def follow(self) -> int:
        """Events out and words in, until all processes have ended."""
        while self.running:
            try:
                process, event = self.said.get(timeout=POLL_S)
            except queue.Empty:
                pass
            else:
                self.hear(process, event)
            for word in self.words():
                self.pass_on(word)
        if not self.failed:
            self.say_rest()
            try:
                self.place.finish(self.plan["record"]["interval_ns"])
            except CoreError as e:
                self.fail("clock", str(e))
        self.write()
        if self.failed:
            return 1
        self.on_event(self.finished[0])
        return 0

    def hear(self, process: int, event: Event) -> None:
        match event["event"]:
            case "barrier":
                if release := self.barriers.came(process, event):
                    self.go_on(release)
            case "made":
                self.made[process] = event
                for each in self.processes if len(self.made) == self.of else ():
                    each.send({"do": "go"})
            case "began":
                self.starts.began(process, event)
            case "progress":
                for progress in self.progress.heard(process, event):
                    self.on_event(progress)
            case "failed":
                self.fail(event["kind"], f"{self.name(process)}: {event['message']}")
            case "finished":
                self.finished[process] = event
            case "ended":
                self.running.discard(process)
                client = self.processes[process]
                code = client.close()
                if process not in self.finished:
                    log = f"; its log there: {client.log}" if client.log else ""
                    self.fail("crash", f"{self.name(process)} {death_cause(code)}{log}")
            case "segment" | "paused":
                if process == 0:
                    self.say_rest()
                    self.on_event(event)
            case _:
                self.on_event(event)

    def say_rest(self) -> None:
        """What other processes have done since the first one spoke last, of the part of the run that is over."""
        for progress in self.progress.rest():
            self.on_event(progress)

    def pass_on(self, word: Word) -> None:
        """`resume` is for the pauses of the first process, `stop` for all."""
        for process in self.running if word["do"] == "stop" else {0} & self.running:
            self.processes[process].send(word)

    def go_on(self, release: Opened) -> None:
        """Each process hears the instant of its own clock, and what the others have written."""
        at_ns = release.at_ns(time.monotonic_ns(), self.place.start_after_ns)
        sent = {process: self.place.clock(process).there(at_ns) for process in self.running}
        self.starts.given(SharedStart(at_ns, sent))
        for process, there_ns in sent.items():
            self.processes[process].send({"do": "go", "at_ns": there_ns, "others": release.others(process)})

    def fail(self, kind: str, message: str) -> None:
        """The first failure is that of the run; what the others do is of no use any more."""
        if self.failed:
            return
        self.failed = True
        self.say_rest()
        self.on_event({"event": "failed", "kind": kind, "message": message})
        for each in self.processes:
            each.kill()

    def name(self, process: int) -> str:
        where = self.place.name(process)
        return f"client process {process + 1} of {self.of}{f' ({where})' if where else ''}"

    def write(self) -> None:
        """The tables of all as those of one, and when they began."""
        folders = [self.folder(process) for process in range(self.of)]
        clocks = [self.place.clock(process) for process in range(self.of)]
        apart_ns = joined.write(
            self.parts, folders, self.barriers.shifts(clocks), [*self.watchers], cut=self.failed
        )
        interval_ns = self.plan["record"]["interval_ns"]
        if 2 * apart_ns > interval_ns:
            self.fail(
                "clock",
                f"the clocks of client processes drift apart: their intervals are {apart_ns / 1e6:.1f} ms apart at the end, and "
                f"an interval of the tables is {interval_ns / 1e6:.0f} ms: take shorter runs, or a longer record.interval_s",
            )
        starts = self.starts.documents(clocks)
        document = {"count": self.of, "starts": starts, **self.place.document(), **self.files()}
        leave_document(self.parts, {"clients": document})
        for text in late_starts(starts, [segment["label"] for segment in self.plan["segments"]]):
            self.on_event({"event": "note", "text": text})

    def files(self) -> Mapping[str, Any]:
        """Of a run whose processes have made files: the workers with what each has made."""
        if not self.made:
            return {}
        workers = enumerate(self.place.document()["workers"])
        made = {
            process: {key: said[key] for key in ("files", "bytes", "took_s")}
            for process, said in self.made.items()
        }
        return {"workers": [{**of, **({"files": made[n]} if n in made else {})} for n, of in workers]}

    def end(self) -> None:
        """Nothing is left over, whatever happened."""
        for each in self.processes:
            each.kill()
            each.close()
        for process in range(1, self.of):
            shutil.rmtree(self.folder(process), ignore_errors=True)
        self.place.end()
