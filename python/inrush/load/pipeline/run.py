"""A run with loads by client and load server: the core's run, and what is done in its pauses.

The core runs the plan with a pause in place of each load: it has let go of its engine then, and goes on watching. In a pause
before it the ends are started and join what is watched; in one behind it they end, and the ledger is asked. Of a load over
shards, whose addresses the core does not have, all other segments are pauses too. What the loads left is added to the core's
tables when its run has ended, and so is what workers before this one have left of a run that was killed in its load.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from inrush.agent.drive import obey, said
from inrush.agent.parent import Parent
from inrush.agent.shared_run import OnEvent, Words
from inrush.border.pipeline import AnyPlan, loads_of, phase_of, roles_of, shards_of, step_of
from inrush.border.words import Document
from inrush.errors import InrushError, TargetError
from inrush.load.pipeline import joined, tables
from inrush.load.pipeline.core_plan import CREATE, DROP, PROVE, core_plan
from inrush.load.pipeline.environment import LoadEnvironment, OneHost
from inrush.load.pipeline.journal import Journal
from inrush.load.pipeline.loading import JOURNAL, RunLoad
from inrush.load.pipeline.over_shards import RunLoadOverShards
from inrush.plan.pipeline import LOAD, READY, STORED

Doc = dict[str, Any]
#: Processes that are watched from now on, by role.
Watched = Mapping[str, Sequence[int]]


def work(document: Document, parent: Parent) -> int:
    """On this host."""
    plan = cast("AnyPlan", document["plan"])
    return made(
        plan,
        Path(document["parts"]),
        parent.words,
        parent.say,
        lambda role, folder: OneHost(plan, role, folder),
    )


def made(
    plan: AnyPlan,
    parts: Path,
    words: Words,
    on_event: OnEvent,
    environment: Callable[[str, Path], LoadEnvironment],
) -> int:
    """0: done, and the tables are in `parts`; 1: failed, and an event says how. environment: by role, and a folder for it."""
    run = RunWithLoads(plan, parts, words, on_event, environment)
    try:
        return run.follow()
    finally:
        run.close()


class RunWithLoads:
    def __init__(
        self,
        plan: AnyPlan,
        parts: Path,
        words: Words,
        on_event: OnEvent,
        environment: Callable[[str, Path], LoadEnvironment],
    ) -> None:
        from inrush import _core

        self.plan, self.parts, self.words, self.on_event = plan, parts, words, on_event
        self.environment, self.folder = environment, parts / "work"
        self.load: RunLoad | None = None
        self.loaded: list[RunLoad] = []
        self.failed = False
        over = {role: environment(role, self.folder / role) for role in loads_of(plan) if shards_of(plan)}
        watch = next((of.watch() for of in over.values()), plan["watch"])
        self.run = _core.start(json.dumps(core_plan(plan, watch)), str(parts))
        #: CLOCK_MONOTONIC at the run's time zero, to a millisecond: the least that an event's time says.
        self.zero_ns = time.monotonic_ns()
        for role, of in over.items():
            self.load = RunLoadOverShards(plan, role, parts, on_event, of)

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
                            # What is a pause to the core is what the plan has there.
                            of = self.plan["segments"][event["index"]]
                            event |= {"kind": of["kind"], "phase": phase_of(of) or ""}
                        self.failed = self.failed or kind == "failed"
                        self.on_event(event)
            for word in self.words() if not self.run.done() else ():
                obey(self.run, word)
        if self.failed:
            if self.load is not None and self.load.keeps():
                self.write([self.load])
            return 1
        self.write(self.loaded)
        self.close()
        for event in last:
            self.on_event(event)
        return 0

    def mark_change(self, index: int) -> None:
        """Once a later step changes what the resumable load has stored, its run cannot go on behind that load."""
        segment = self.plan["segments"][index]
        resumable = [load.role for load in self.loaded if "mark" in load.of]
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

        name, _, role = action.partition(":")
        try:
            self.run.resume(ACTS[name](self, role))
        except _core.CoreFailure as e:
            self.fail(*e.args)
        except InrushError as e:
            step = step_of(self.load.segment) if self.load is not None else ""
            self.fail(
                "target" if isinstance(e, TargetError) else "load", f"step {step}: {e}" if step else str(e)
            )

    def fail(self, kind: str, message: str) -> None:
        self.failed = True
        if self.load is not None:
            self.load.failed(message)
        self.on_event({"event": "failed", "kind": kind, "message": message})
        if self.load is not None:
            self.load.close()
        self.run.stop()

    def close(self) -> None:
        with contextlib.ExitStack() as ending:
            ending.callback(shutil.rmtree, self.folder, ignore_errors=True)
            if isinstance(self.load, RunLoadOverShards):
                # However it ended, also by a stop between two pauses.
                ending.callback(self.load.drop)
            if self.load is not None:
                ending.callback(self.load.close)

    # --- pauses

    def over_shards(self) -> RunLoadOverShards:
        assert isinstance(self.load, RunLoadOverShards), "the plan has shards"
        return self.load

    def create(self, _: str) -> Watched:
        self.over_shards().create()
        return {}

    def ready(self, role: str) -> Watched:
        if not shards_of(self.plan):
            environment = self.environment(role, self.folder / role)
            self.load = RunLoad(self.plan, role, self.parts, self.on_event, environment)
        assert self.load is not None, "the run has begun with it"
        return self.load.ready()

    def load_files(self, _: str) -> Watched:
        assert self.load is not None, "the pause before it has made it"
        if self.load.follow(self.words, self.zero_ns) == "stop":
            self.run.stop()
        return {}

    def stored(self, _: str) -> Watched:
        assert self.load is not None, "the pause before it has made it"
        self.load.end()
        self.loaded.append(self.load)
        self.load.close()
        return {}

    def prove(self, _: str) -> Watched:
        self.over_shards().prove(self.folder)
        return {}

    def drop(self, _: str) -> Watched:
        self.over_shards().drop()
        return {}

    def write(self, loads: Sequence[RunLoad]) -> None:
        """Those that were here before, and each load, behind what the core has left."""
        for load in loads:
            load.on_the_runs_clock()
            if len(load.stretches) > 1:
                found = joined.document(load.stretches, load.index, load.role)
                (self.parts / "stretches.json").write_text(json.dumps(found))
                joined.write(self.parts, load.earlier, load.stretches, load.index)
        for load in loads:
            for name, rows in load.tables(self.parts).items():
                tables.append(self.parts, name, rows)
        segments = self.plan["segments"]
        tables.loaded_segments(self.parts, segments, {load.index: load.segment_row() for load in loads})


#: Name in a plan's `pause` (`name:role`) -> what is done.
ACTS: Mapping[str, Callable[[RunWithLoads, str], Watched]] = {
    CREATE: RunWithLoads.create,
    READY: RunWithLoads.ready,
    LOAD: RunWithLoads.load_files,
    STORED: RunWithLoads.stored,
    PROVE: RunWithLoads.prove,
    DROP: RunWithLoads.drop,
}
