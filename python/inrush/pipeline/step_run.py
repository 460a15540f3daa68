"""A run with steps of which client and load server do some: the core's run, and what is done in its pauses.

The core runs the plan with a pause in place of each such load: it has let go of its engine then, and goes on watching.
In a pause before it the ends are started and join what is watched; in one behind it they end, and the ledger is asked.
What they left is added to the core's tables when its run has ended.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.border.pipeline import LoadingPlan, StepLoad
from inrush.errors import InrushError, TargetError
from inrush.pipeline import inputs, proofs, tables
from inrush.pipeline.ends import LoadProcesses
from inrush.pipeline.heard import Heard, OnEvent
from inrush.plan.loads import LOAD, READY, STORED
from inrush.targets.ask import ask
from inrush.worker.worker import POLL_S, obey

if TYPE_CHECKING:
    from collections.abc import Callable

    from inrush import _core

Doc = dict[str, Any]

#: How long a wait for the ends lasts before commands and limits are looked at, s: a step ends when it has passed.
TICK_S, PROGRESS_EVERY_S = 0.005, 0.5


def work(plan: LoadingPlan, parts: Path, words: Callable[[], list[str]], on_event: OnEvent) -> int:
    """0: done, and the tables are in `parts`; 1: failed, and an event says how."""
    from inrush import _core

    try:
        run = _core.start(json.dumps(core_plan(plan)), str(parts))
    except _core.CoreFailure as failure:
        kind, message = failure.args
        on_event({"event": "failed", "kind": kind, "message": message})
        return 1
    stepped = StepRun(plan, parts, run, words, on_event)
    try:
        return stepped.follow()
    finally:
        stepped.close()


def core_plan(plan: LoadingPlan) -> Doc:
    """What the core reads of it, segment by segment: loads are pauses."""
    kept = {key: value for key, value in plan.items() if key not in ("kind", "loads")}
    return {**kept, "segments": [paused(s) if s["kind"] == "load" else s for s in plan["segments"]]}


def paused(of: StepLoad) -> Doc:
    return {"kind": "pause", "label": of["label"], "step": of["step"], "action": f"{LOAD}:{of['step']}"}


class StepRun:
    def __init__(
        self,
        plan: LoadingPlan,
        parts: Path,
        run: _core.Run,
        words: Callable[[], list[str]],
        on_event: OnEvent,
    ) -> None:
        self.plan, self.parts, self.run, self.words, self.on_event = plan, parts, run, words, on_event
        #: CLOCK_MONOTONIC at the run's time zero, to a millisecond: the least that an event's time says.
        self.zero_ns = time.monotonic_ns()
        self.folder = parts / "work"
        self.load: StepLoading | None = None
        self.failed = False
        #: Table -> rows that are added; segment -> what it was.
        self.rows: dict[str, list[Doc]] = {}
        self.segments: dict[int, Doc] = {}

    def follow(self) -> int:
        """Events out, commands in, and loads in their pauses, until the core has ended."""
        last: list[Doc] = []
        while True:
            done = self.run.done()  # asked before the poll: what the core said last is still read
            for text in self.run.poll(0.0 if done else POLL_S):
                event = json.loads(text)
                match event["event"]:
                    case "paused" if event["action"].partition(":")[0] in ACTS:
                        self.act(event["action"])
                    case "finished":
                        last.append(event)
                    case kind:
                        if kind == "segment":
                            self.zero_ns = min(self.zero_ns, time.monotonic_ns() - event["t_ns"])
                        self.failed = self.failed or kind == "failed"
                        self.on_event(event)
            if done:
                break
            for command in self.words():
                obey(self.run, command)
        if self.failed:
            return 1
        self.write()
        for event in last:
            self.on_event(event)
        return 0

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
        self.load = StepLoading(self.plan, step, self.folder / step, self.on_event)
        return self.load.ready()

    def load_files(self, step: str) -> dict[str, Sequence[int]]:
        assert self.load is not None, "the pause before it has made it"
        if self.load.follow(self.words) == "stop":
            self.run.stop()
        return {}

    def stored(self, step: str) -> dict[str, Sequence[int]]:
        assert self.load is not None, "the pause before it has made it"
        self.load.end()
        found, segment = self.load.tables(self.parts, self.zero_ns)
        for name, rows in found.items():
            self.rows.setdefault(name, []).extend(rows)
        self.segments[self.load.index] = segment
        self.close()
        return {}

    def write(self) -> None:
        for name, rows in self.rows.items():
            tables.append(self.parts, name, rows)
        tables.loaded_segments(self.parts, self.segments)


#: Name in a plan's `pause` (`name:step`) -> what is done.
ACTS: Mapping[str, Callable[[StepRun, str], dict[str, Sequence[int]]]] = {
    READY: StepRun.ready,
    LOAD: StepRun.load_files,
    STORED: StepRun.stored,
}


class StepLoading(Heard):
    """One load step, from its files to its rows in the tables."""

    def __init__(self, plan: LoadingPlan, step: str, folder: Path, on_event: OnEvent) -> None:
        super().__init__(on_event)
        self.plan, self.step, self.folder = plan, step, folder
        self.of = plan["loads"][step]
        self.index, self.segment = next(
            (k, s) for k, s in enumerate(plan["segments"]) if s["kind"] == "load" and s["step"] == step
        )
        self.ends: LoadProcesses | None = None
        self._open = contextlib.ExitStack()
        self.go_ns = self.end_ns = 0
        #: `work`, `limit` or `stop`.
        self.ended_by = "work"
        self.ledger = 0

    def ready(self) -> dict[str, Sequence[int]]:
        """Files, processes and connections; files that are to come from the disk are forgotten by the kernel last."""
        of, plan = self.of, self.plan
        files = self.dumped() if "dump" in of["inputs"] else inputs.made(
            of["inputs"], plan["seed"], plan["epoch_ns"],
            lambda n, count: self.progress(self.step, n / count, segment=self.index, phase="inputs", role=self.step),
        )  # fmt: skip
        self.folder.mkdir(parents=True)
        self.ends = self._open.enter_context(LoadProcesses(of, files, self.folder))
        self.ends.ready()
        self.inputs = inputs.cooled(files, of["inputs"]["cold"])
        return {role: pids for role, pids in self.ends.processes().items() if pids}

    def dumped(self) -> list[Path]:
        """In the order of their numbers."""
        name = self.of["inputs"]["dump"]
        (dump,) = (op["dump"] for op in self.plan["operations"] if op["name"] == name and "dump" in op)
        found = sorted(Path(dump["folder"]).glob(f"{dump['name']}-*.csv"))
        if len(found) != (count := self.of["inputs"]["files"]):
            raise TargetError(
                f"{dump['folder']}: {len(found)} files of {dump['name']}, and the dump has {count}; was it cut by its limit?"
            )
        return found

    def follow(self, words: Callable[[], list[str]]) -> str:
        """Until all clients have finished, or what cut it before."""
        ends, limit_ns, said_s = self.ends, self.segment["limit_ns"], 0.0
        assert ends is not None, "it is ready"
        self.go_ns = time.monotonic_ns()
        ends.go()
        while ends.working() and self.ended_by == "work":
            self.listen(ends, TICK_S)
            spent_ns = time.monotonic_ns() - self.go_ns
            if "stop" in words():
                self.ended_by = "stop"
            elif limit_ns and spent_ns > limit_ns:
                self.ended_by = "limit"
            if time.monotonic() - said_s > PROGRESS_EVERY_S:
                said_s = time.monotonic()
                self.progress(self.step, self.share(), spent_ns / 1e9, self.index, "measure", self.step)
        self.listen(ends, 0.0)
        self.end_ns = time.monotonic_ns()
        if self.ended_by != "work":
            self._open.close()
        return self.ended_by

    def share(self) -> float:
        return self.rows / self.of["inputs"]["rows"]

    def end(self) -> None:
        """The load server's orderly end; then what the ledger has."""
        if self.ended_by == "work" and self.ends is not None:
            self.ends.finish()
            self.listen(self.ends, 0.0)
        self.close()
        self.ledger = int(ask(self.plan["target"], self.of["rows_in_ledger"], proofs.LIMIT_S)[0][0])

    def close(self) -> None:
        self._open.close()

    def tables(self, parts: Path, zero_ns: int) -> tuple[dict[str, list[Doc]], Doc]:
        """Rows by table, and what the segment was."""
        files = tables.files(self.files, self.go_ns, zero_ns, self.index, self.step)
        start_ns, end_ns = self.go_ns - zero_ns, self.end_ns - zero_ns
        if self.ended_by == "work":
            end_ns = max(f["end_ns"] for f in files)
        of, asked = self.of, self.of["inputs"]["files"]
        read = sum(f["rows"] for f in files) if self.ended_by == "work" else self.rows
        done = {
            "segment": self.index, "repetition": 0, "role": self.step, "start_ns": start_ns, "end_ns": end_ns, "rows": read,
            "bytes": sum(f["bytes"] for f in files) if self.ended_by == "work" else sum(self.read.values()),
            "ops": len(files), "ok": len(files), "errors": 0, "wrong": 0, "late": 0, "unsent": asked - len(files),
            "sessions": of["pipelines"]["count"], "cpu_ns": tables.cpu_of(parts, "load_client", start_ns, end_ns),
        }  # fmt: skip
        looks = [(t - zero_ns, stored, size) for t, stored, size in self.looks]
        (operation,) = self.segment["roles"][0]["operations"]
        interval_ns = self.plan["record"]["interval_ns"]
        found = {
            "files": files,
            "repetitions": [done],
            "intervals": tables.intervals(looks, files, operation["operation"], interval_ns, done),
            "counters": self.counted(
                self.index, self.inputs, end_ns, self.ends.held_by if self.ends is not None else ""
            ),
            "proofs": self.proofs(read, sum(f["rejected"] for f in files)),
        }
        return found, {
            "kind": "load", "phase": "measure", "start_ns": start_ns, "end_ns": end_ns, "ended_by": self.ended_by
        }  # fmt: skip

    def proofs(self, read: int, rejected: int) -> list[Doc]:
        """By the ledger: counts in = stored + rejected. A client that was killed did not hear of its last chunks."""
        table = self.of["inputs"]["table"]["name"]
        found = [
            proofs.compared(
                table,
                f"{self.step}: rows in = stored + rejected",
                self.of["inputs"]["rows"],
                self.ledger + rejected,
            )
        ]
        if self.ended_by == "work":
            found.insert(0, proofs.compared(table, f"{self.step}: rows in the ledger", read, self.ledger))
        return [{**row, "segment": self.index, "repetition": 0} for row in found]
