"""A run with steps of which client and load server do some: the core's run, and what is done in its pauses.

The core runs the plan with a pause in place of each such load: it has let go of its engine then, and goes on watching.
In a pause before it the ends are started and join what is watched; in one behind it they end, and the ledger is asked.
What they left is added to the core's tables when its run has ended, and so is what workers before this one have left of a
run that was killed in its load.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inrush.agent.drive import obey, said
from inrush.agent.parent import Parent
from inrush.agent.shared_run import OnEvent, Words
from inrush.border.pipeline import LoadingPlan, roles_of
from inrush.border.words import Document
from inrush.errors import InrushError, TargetError
from inrush.pipeline import joined, tables
from inrush.pipeline.core_plan import core_plan
from inrush.pipeline.journal import Journal
from inrush.pipeline.step_load import JOURNAL, StepLoading
from inrush.plan.loads import LOAD, READY, STORED

if TYPE_CHECKING:
    from collections.abc import Callable

    from inrush import _core

Doc = dict[str, Any]


def work(document: Document, parent: Parent) -> int:
    """0: done, and the tables are in their folder; 1: failed, and an event says how."""
    from inrush import _core

    plan = cast("LoadingPlan", document["plan"])
    run = _core.start(json.dumps(core_plan(plan)), document["parts"])
    stepped = StepRun(plan, Path(document["parts"]), run, parent.words, parent.say)
    try:
        return stepped.follow()
    finally:
        stepped.close()


class StepRun:
    def __init__(
        self,
        plan: LoadingPlan,
        parts: Path,
        run: _core.Run,
        words: Words,
        on_event: OnEvent,
    ) -> None:
        self.plan, self.parts, self.run, self.words, self.on_event = plan, parts, run, words, on_event
        #: CLOCK_MONOTONIC at the run's time zero, to a millisecond: the least that an event's time says.
        self.zero_ns = time.monotonic_ns()
        self.folder = parts / "work"
        self.load: StepLoading | None = None
        self.loaded: list[StepLoading] = []
        self.failed = False

    def follow(self) -> int:
        """Events out, commands in, and loads in their pauses, until the core has ended."""
        last: list[Doc] = []
        for texts in said(self.run):
            for text in texts:
                event = json.loads(text)
                match event["event"]:
                    case "paused" if event["action"].partition(":")[0] in ACTS:
                        self.act(event["action"])
                    case "finished":
                        last.append(event)
                    case kind:
                        if kind == "segment":
                            self.zero_ns = min(self.zero_ns, time.monotonic_ns() - event["t_ns"])
                            self.mark_change(event["index"])
                        self.failed = self.failed or kind == "failed"
                        self.on_event(event)
            for word in self.words() if not self.run.done() else ():
                obey(self.run, word)
        if self.failed:
            return 1
        self.write()
        for event in last:
            self.on_event(event)
        return 0

    def mark_change(self, index: int) -> None:
        """Once a later step changes what the resumable load has stored, its run cannot go on behind that load."""
        segment = self.plan["segments"][index]
        resumable = [load.step for load in self.loaded if "mark" in load.of]
        if not resumable:
            return
        changing = {o["name"] for o in self.plan.get("operations", ()) if o["kind"] == "execute"}
        writes = any(
            role["work"]["kind"] == "rows" or any(o["operation"] in changing for o in role["operations"])
            for role in roles_of(segment)
        )
        if segment["kind"] in ("statement", "load") or writes or segment["label"] in ("emptied", "drop"):
            journal = Journal(self.parts / JOURNAL.format(resumable[0]))
            journal.say("changed", t_ns=time.monotonic_ns(), by=segment["label"])
            journal.close()

    def act(self, action: str) -> None:
        """One pause. A load that fails ends the run."""
        from inrush import _core

        name, _, step = action.partition(":")
        try:
            self.run.resume(ACTS[name](self, step))
        except _core.CoreFailure as e:
            self.fail(*e.args)
        except InrushError as e:
            self.fail("target" if isinstance(e, TargetError) else "load", f"step {step}: {e}")

    def fail(self, kind: str, message: str) -> None:
        self.failed = True
        if self.load is not None:
            self.load.failed(message)
        self.on_event({"event": "failed", "kind": kind, "message": message})
        self.close()
        self.run.stop()

    def close(self) -> None:
        if self.load is not None:
            self.load.close()
        self.load = None
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- pauses

    def ready(self, step: str) -> dict[str, Sequence[int]]:
        self.load = StepLoading(self.plan, step, self.folder / step, self.parts, self.on_event)
        return self.load.ready()

    def load_files(self, step: str) -> dict[str, Sequence[int]]:
        assert self.load is not None, "the pause before it has made it"
        if self.load.follow(self.words, self.zero_ns) == "stop":
            self.run.stop()
        return {}

    def stored(self, step: str) -> dict[str, Sequence[int]]:
        assert self.load is not None, "the pause before it has made it"
        self.load.end()
        self.loaded.append(self.load)
        self.close()
        return {}

    def write(self) -> None:
        """Those that were here before, and each load, behind what the core has left."""
        for load in self.loaded:
            load.on_the_runs_clock()
            if len(load.stretches) > 1:
                found = joined.document(load.stretches, load.index, load.step)
                (self.parts / "stretches.json").write_text(json.dumps(found))
                joined.write(self.parts, load.earlier, load.stretches, load.index)
        for load in self.loaded:
            for name, rows in load.tables(self.parts).items():
                tables.append(self.parts, name, rows)
        tables.loaded_segments(self.parts, {load.index: load.segment_row() for load in self.loaded})


#: Name in a plan's `pause` (`name:step`) -> what is done.
ACTS: Mapping[str, Callable[[StepRun, str], dict[str, Sequence[int]]]] = {
    READY: StepRun.ready,
    LOAD: StepRun.load_files,
    STORED: StepRun.stored,
}
