"""One load step, from its files to its rows in the tables."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from inrush.agent.shared_run import OnEvent, Words
from inrush.border.pipeline import LoadingPlan
from inrush.engines.sql import literal
from inrush.errors import TargetError
from inrush.pipeline import inputs, proofs, stretches, tables
from inrush.pipeline.ends import LoadProcesses
from inrush.pipeline.heard import Heard, is_stopped
from inrush.pipeline.journal import Journal, lines
from inrush.pipeline.reached import Reached, nothing, reached
from inrush.targets.ask import ask
from inrush.targets.sizes import sampled

Doc = dict[str, Any]

#: How long a wait for the ends lasts before commands and limits are looked at, s: a step ends when it has passed.
TICK_S, PROGRESS_EVERY_S = 0.005, 0.5
#: Beside the tables of a run, by step.
JOURNAL = "{}.journal"


class StepLoading(Heard):
    def __init__(self, plan: LoadingPlan, step: str, folder: Path, parts: Path, on_event: OnEvent) -> None:
        super().__init__(on_event, Journal(parts / JOURNAL.format(step)))
        self.plan, self.step, self.folder = plan, step, folder
        self.of = plan["loads"][step]
        self.index, self.segment = next(
            (k, s) for k, s in enumerate(plan["segments"]) if s["kind"] == "load" and s["step"] == step
        )
        #: None where no file is left to load.
        self.ends: LoadProcesses | None = None
        self._open = contextlib.ExitStack()
        #: What workers before this one have left of the run; empty: it is the first.
        self.earlier = [Path(p) for p in self.of.get("earlier", ())]
        self.stretches: list[stretches.Stretch] = []
        self.zero_ns = self.go_ns = self.before_ns = 0
        #: `work`, `limit` or `stop`.
        self.ended_by = "work"
        self.ledger = 0

    # --- before the clock

    def ready(self) -> dict[str, Sequence[int]]:
        """Files, processes and connections; files that are to come from the disk are forgotten by the kernel last."""
        of = self.of
        self.paths = self.dumped() if "dump" in of["inputs"] else inputs.made(
            of["inputs"], self.plan["seed"], self.plan["epoch_ns"],
            lambda n, count: self.progress(self.step, n / count, segment=self.index, phase="inputs", role=self.step),
        )  # fmt: skip
        self.reached = self.asked()
        left = self.reached.left
        self.rows_before = self.reached.rows_stored
        self.folder.mkdir(parents=True)
        if left:
            processes = LoadProcesses(of, self.paths, self.folder, left)
            self.ends = self._open.enter_context(processes)
            self.ends.ready()
        held = inputs.cooled([self.paths[n] for n in left], of["inputs"]["cold"])
        self.inputs = replace(held, bytes=sum(path.stat().st_size for path in self.paths))
        roles = self.ends.processes() if self.ends is not None else {}
        return {role: pids for role, pids in roles.items() if pids}

    def asked(self) -> Reached:
        """How far the load has come; one that begins leaves its mark in the ledger."""
        files, goes_on = len(self.paths), self.of.get("goes_on")
        if goes_on is None or "mark" not in self.of:
            return nothing(files)
        if not self.earlier:
            mark = f"{goes_on['write_mark']}{literal(self.of['mark'])})"
            ask(self.plan["target"], mark, proofs.LIMIT_S)
            return nothing(files)
        return reached(
            goes_on, files, lambda text: ask(self.plan["target"], text, proofs.LIMIT_S), self.size_of
        )

    def size_of(self, file: int) -> int:
        return self.paths[file].stat().st_size

    @cached_property
    def rows_of_files(self) -> list[int]:
        """By number."""
        of, plan = self.of["inputs"], self.plan
        return [rows for _, rows in inputs.rows_of(of, plan["seed"], plan["epoch_ns"])]

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

    # --- on the clock

    def follow(self, words: Words, zero_ns: int) -> str:
        """Until all clients have finished, or what cut it before. zero_ns: CLOCK_MONOTONIC at the run's time zero."""
        self.go(zero_ns)
        with sampled(self.segment.get("sample"), self.plan["target"], self.sized):
            self.ended_by = self.until_done(words)
        self.journal.look(self.rows, self.bytes, last=True)
        self.journal.say("end", t_ns=time.monotonic_ns(), by=self.ended_by)
        if self.ended_by != "work":
            self._open.close()
        return self.ended_by

    def go(self, zero_ns: int) -> None:
        self.zero_ns = zero_ns
        begun = self.heard_before()
        self.before_ns = stretches.worked_ns(self.stretches)
        self.go_ns = time.monotonic_ns()
        unix_ns = time.time_ns()
        self.journal.say(
            "go", t_ns=self.go_ns, zero_ns=zero_ns, zero_unix_ns=unix_ns - (self.go_ns - zero_ns),
            rows=self.rows_before, bytes=self.reached.bytes_stored(self.size_of), done=sum(self.reached.whole),
            in_hand=self.reached.in_hand, **begun,
        )  # fmt: skip
        self.rows_due = self.of["inputs"]["rows"]
        self.gaps = stretches.gaps(self.earlier_and_own())
        if self.ends is not None:
            self.ends.go()

    def heard_before(self) -> Doc:
        """Files whose end earlier workers heard and the ledger does not have, and the other way round."""
        if not self.earlier:
            return {"unheard": [], "again": []}
        heard = bytearray(len(self.paths))
        for parts in self.earlier:
            for line in lines(parts / JOURNAL.format(self.step)):
                if line["said"] == "go":
                    for file, _, _ in line["unheard"]:
                        heard[file] = 1
                    for file in line["again"]:
                        heard[file] = 0
                elif line["said"] == "file":
                    heard[line["file"]] = 1
        self.stretches = self.earlier_stretches()
        whole = self.reached.whole
        return {
            "unheard": [
                (n, self.rows_of_files[n], self.size_of(n))
                for n, done in enumerate(whole)
                if done and not heard[n]
            ],
            "again": [n for n, done in enumerate(whole) if heard[n] and not done],
        }

    def until_done(self, words: Words) -> str:
        ends, limit_ns, said_s = self.ends, self.segment["limit_ns"], 0.0
        ended_by = "work"
        while ends is not None and ends.working() and ended_by == "work":
            self.listen(ends, TICK_S)
            self.journal.alive()
            spent_ns = time.monotonic_ns() - self.go_ns
            if is_stopped(words):
                ended_by = "stop"
            elif limit_ns and self.before_ns + spent_ns > limit_ns:
                ended_by = "limit"
            if time.monotonic() - said_s > PROGRESS_EVERY_S:
                said_s = time.monotonic()
                self.progress(self.step, self.share(), spent_ns / 1e9, self.index, "measure", self.step)
        if ends is not None:
            self.listen(ends, 0.0)
        return ended_by

    def sized(self, found: Sequence[tuple[str, str]]) -> None:
        self.journal.say("sizes", t_ns=time.monotonic_ns(), found=found)

    def share(self) -> float:
        return (self.rows_before + self.rows) / self.of["inputs"]["rows"]

    # --- behind it

    def end(self) -> None:
        """The load server's orderly end; then what the ledger has."""
        if self.ended_by == "work" and self.ends is not None:
            self.ends.finish()
            self.listen(self.ends, 0.0)
        self.close()
        self.ledger = int(ask(self.plan["target"], self.of["rows_in_ledger"], proofs.LIMIT_S)[0][0])

    def failed(self, message: str) -> None:
        """What was stored by then stays, and a resumable load goes on there."""
        self.journal.look(self.rows, self.bytes, last=True)
        self.journal.say("end", t_ns=time.monotonic_ns(), by=message)

    def close(self) -> None:
        self._open.close()
        self.journal.close()

    # --- what it was

    def earlier_stretches(self) -> list[stretches.Stretch]:
        found = [stretches.stretch(parts / JOURNAL.format(self.step)) for parts in self.earlier]
        return stretches.on_one_clock([one for one in found if one is not None])

    def earlier_and_own(self) -> list[stretches.Stretch]:
        own = stretches.stretch(self.journal.path)
        assert own is not None, "its files are due"
        return stretches.on_one_clock([*self.earlier_stretches(), own])

    def on_the_runs_clock(self) -> None:
        """Reads what was said, of all workers. Of a run that was never killed that is one stretch."""
        self.stretches = self.earlier_and_own()
        self.whole = stretches.whole(self.stretches, self.ended_by)

    def segment_row(self) -> Doc:
        return {
            "kind": "load", "phase": "measure", "start_ns": self.whole.start_ns, "end_ns": self.whole.end_ns,
            "ended_by": self.ended_by,
        }  # fmt: skip

    def tables(self, parts: Path) -> Mapping[str, Iterable[Doc]]:
        """Rows by table. parts: with what was watched while it went on."""
        of, whole, due = self.of, self.whole, self.of["inputs"]["files"]
        (operation,) = self.segment["roles"][0]["operations"]
        cpu_ns = tables.cpu_of(parts, "load_client", whole.start_ns, whole.end_ns)
        held_by = self.ends.held_by if self.ends is not None else ""
        interval_ns = self.plan["record"]["interval_ns"]
        return {
            "files": stretches.files(self.stretches, self.index, self.step),
            "repetitions": [
                tables.totals(whole, of["pipelines"]["count"], cpu_ns, self.index, self.step, due)
            ],
            "intervals": stretches.intervals(
                self.stretches, whole, due, self.index, self.step, operation["operation"], interval_ns
            ),
            "sizes": stretches.sizes(self.stretches, self.index),
            "counters": self.counted(self.index, self.inputs, whole.end_ns, held_by),
            "proofs": self.proofs(),
        }

    def proofs(self) -> list[Doc]:
        """By the ledger: counts in = stored + rejected. A client that was killed did not hear of its last chunks."""
        table, whole = self.of["inputs"]["table"]["name"], self.whole
        wanted, found = self.of["inputs"]["rows"], self.ledger + whole.rejected
        rows = [proofs.compared(table, f"{self.step}: rows in = stored + rejected", wanted, found)]
        if self.ended_by == "work":
            rows.insert(
                0, proofs.compared(table, f"{self.step}: rows in the ledger", whole.rows, self.ledger)
            )
        return [{**row, "segment": self.index, "repetition": 0} for row in rows]
