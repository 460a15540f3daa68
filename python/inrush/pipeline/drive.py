"""One pipeline run in the worker: files, tables, processes, GO … all stored, proofs, tables, drop."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from inrush.agent.parent import Parent
from inrush.agent.shared_run import OnEvent, Words
from inrush.border.pipeline import PipelinePlan, PipelineShard
from inrush.border.plan import SamplePlan
from inrush.border.words import Document
from inrush.errors import CoreError, InrushError, TargetError
from inrush.pipeline import proofs, stretches, tables
from inrush.pipeline.heard import Heard, is_stopped
from inrush.pipeline.journal import Journal
from inrush.pipeline.load_environment import LoadAtWork, LoadEnvironment, OneHost
from inrush.study.pipeline import ROLE
from inrush.targets.sizes import Take, sampled

Doc = dict[str, Any]

#: How long a wait for the ends lasts before commands and limits are looked at, s; how often progress is said.
TICK_S, PROGRESS_EVERY_S = 0.05, 0.5
LABELS = ("create", "before", "measure", "proof", "drop")


def work(document: Document, parent: Parent) -> int:
    """On this host."""
    plan, parts = cast("PipelinePlan", document["plan"]), Path(document["parts"])
    return driven(plan, parts, parent.words, parent.say, lambda folder: OneHost(plan, folder))


def driven(
    plan: PipelinePlan,
    parts: Path,
    words: Words,
    on_event: OnEvent,
    environment: Callable[[Path], LoadEnvironment],
) -> int:
    """0: done, and the tables are in `parts`; 1: failed, and an event says how. environment: by a folder for the run."""
    folder = parts / "work"
    folder.mkdir(parents=True)
    drive = Drive(plan, parts, folder, words, on_event, environment(folder))
    try:
        ended_by = drive.run()
    except InrushError as e:
        drive.keep()
        kind = "target" if isinstance(e, TargetError) else "load"
        on_event({"event": "failed", "kind": kind, "message": str(e)})
        return 1
    finally:
        drive.journal.close()
        shutil.rmtree(folder, ignore_errors=True)
    on_event({"event": "finished", "ended_by": ended_by})
    return 0


class Drive(Heard):
    def __init__(
        self,
        plan: PipelinePlan,
        parts: Path,
        folder: Path,
        words: Words,
        on_event: OnEvent,
        environment: LoadEnvironment,
    ) -> None:
        super().__init__(on_event, Journal(folder / "journal"))
        self.plan, self.parts, self.folder, self.words = plan, parts, folder, words
        self.shards = plan["shards"]
        self.environment = environment

    def run(self) -> str:
        self.environment.make(lambda n, of: self.progress("inputs", n / of))
        self.segment(0, "control")
        try:
            for shard in self.shards:
                for statement in shard["create"]:
                    proofs.control(shard, statement)
            self.segment(2, "load", "measure")
            return self.measured()
        finally:
            self.segment(4, "control")
            self.drop()

    def measured(self) -> str:
        plan = self.plan
        with self.environment.at_work() as ends, self.failing():
            go_ns = self.go(ends)
            with contextlib.ExitStack() as looking:
                for k, shard in enumerate(self.shards):
                    looking.enter_context(sampled(self.sample(shard), shard["target"], self.sized(k)))
                if (cut := self.follow(ends, go_ns)) is not None:
                    return cut
            # Takes in what was said after the last look: a file's end comes before its client's.
            self.listen(ends, 0.0)
            ends.finish()
            self.listen(ends, 0.0)
        self.segment(3, "proof")
        found = [
            proofs.core_run(proofs.proving_plan(plan, k), self.folder / f"proof-{k}")
            for k in range(len(self.shards))
        ]
        copies = [
            proofs.core_run(copy, self.folder / f"replica-{k}")
            for k in range(len(self.shards))
            if (copy := proofs.replica_plan(plan, k)) is not None
        ]
        self.journal.close()
        self.write(found, copies)
        return "work"

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        """Said at once over hosts: what was watched is looked at once more, and tables are dropped, before the run has failed."""
        try:
            yield
        except InrushError as e:
            if self.environment.keeps:
                self.on_event({"event": "failing", "message": str(e)})
            raise

    def go(self, ends: LoadAtWork) -> int:
        """When, by CLOCK_MONOTONIC."""
        go_ns, zero_ns = self.environment.due_ns(), self.environment.zero_ns
        self.journal.say(
            "go", t_ns=go_ns, zero_ns=zero_ns, zero_unix_ns=time.time_ns() - (time.monotonic_ns() - zero_ns), rows=0, bytes=0,
            done=0, in_hand=[], unheard=[], again=[],
        )  # fmt: skip
        self.rows_due = self.shards[0]["proof"]["rows"]
        ends.go(go_ns)
        return go_ns

    def sample(self, shard: PipelineShard) -> SamplePlan | None:
        every_ns = self.plan["record"].get("sizes_ns")
        if every_ns is None:
            return None
        return {"every_ns": every_ns, "probes": [{"into": "sizes", "statement": s} for s in shard["sizes"]]}

    def sized(self, k: int) -> Take:
        """Of shard k. The file of an embedded one has its number behind it; tables have names of their own."""
        several = len(self.shards) > 1

        def take(found: Sequence[tuple[str, str]]) -> None:
            named = [(f"{name}@{k}" if several and ":" not in name else name, value) for name, value in found]
            self.journal.say("sizes", t_ns=time.monotonic_ns(), found=named)

        return take

    def follow(self, ends: LoadAtWork, go_ns: int) -> str | None:
        """Until all clients have finished; why it was cut before, else None."""
        segment, progress_s = self.plan["segments"][tables.MEASURED], 0.0
        assert segment["kind"] == "load", "a pipeline plan is measured in this segment"
        limit_ns = segment["limit_ns"]
        while ends.working():
            self.listen(ends, TICK_S)
            self.journal.alive()
            if is_stopped(self.words):
                return "stop"
            if time.monotonic_ns() - go_ns > limit_ns:
                raise CoreError(
                    f"the load was cut after {limit_ns / 1e9:g} s (schedule.limit_s): raise it or take fewer files"
                )
            if time.monotonic() - progress_s > PROGRESS_EVERY_S:
                progress_s = time.monotonic()
                self.progress("measure", self.share(), (time.monotonic_ns() - go_ns) / 1e9)
        return None

    def share(self) -> float:
        share: float = self.rows / self.shards[0]["proof"]["rows"]
        return share

    def keep(self) -> None:
        """Of a load that failed: what it came to, by its clients' last words. None of it is proven."""
        if (
            not self.environment.keeps
            or (one := stretches.stretch(self.environment.on_one_clock(self.journal.path))) is None
        ):
            return
        whole = stretches.whole([one], "error")
        tables.write(self.parts, self.measured_tables(one, whole, "error"))

    def measured_tables(
        self, one: stretches.Stretch, whole: stretches.Whole, ended_by: str
    ) -> dict[str, Any]:
        plan, start_ns, end_ns = self.plan, whole.start_ns, whole.end_ns
        net = tables.received([(one.at(t), b) for t, b in stretches.received(one)], start_ns, end_ns)
        resources = tables.resources(self.environment.watched(), net)
        client_ns = tables.cpu_ns(resources, "client", start_ns, end_ns)
        return {
            "segments": tables.segments(plan["segments"], start_ns, end_ns, one.at(time.monotonic_ns()), ended_by),
            "intervals": stretches.intervals(
                [one], whole, plan["inputs"]["files"], tables.MEASURED, ROLE, plan["operations"][0]["name"],
                plan["record"]["interval_ns"],
            ),
            "repetitions": [tables.totals(whole, plan["pipelines"]["count"], client_ns)],
            "files": stretches.files([one], tables.MEASURED, ROLE),
            "resources": resources,
        }  # fmt: skip

    def write(self, proven: list[dict[str, Any]], copies: list[dict[str, Any]]) -> None:
        one = stretches.stretch(self.environment.on_one_clock(self.journal.path))
        assert one is not None, "it has ended"
        whole = stretches.whole([one], "work")
        sizes = {name: proven[0].get(name) for name in ("sizes", "settings")}
        tables.write(
            self.parts,
            {
                **self.measured_tables(one, whole, "work"),
                "proofs": self.proof_rows(proven, copies, whole),
                "counters": self.counters(whole.end_ns),
                **{name: table for name, table in sizes.items() if table is not None},
            },
        )
        tables.append(self.parts, "sizes", stretches.sizes([one], tables.MEASURED))

    def proof_rows(
        self, proven: list[dict[str, Any]], copies: list[dict[str, Any]], whole: stretches.Whole
    ) -> list[Doc]:
        """The generator's figures, and the ledger: counts in = stored + rejected. copies: where rows are stored twice."""
        name, wanted = self.plan["tables"][0]["name"], self.shards[0]["proof"]["rows"]
        by_shard = [found["proofs"].to_pylist() for found in proven]
        ledger = sum(int(proofs.control(s, s["rows_in_ledger"])[0][0]) for s in self.shards)
        read, rejected = whole.rows, whole.rejected
        found = [
            *proofs.together(by_shard, name),
            proofs.compared(name, "rows in the ledger", read, ledger),
            proofs.compared(name, "rows in = stored + rejected", wanted, ledger + rejected),
        ]
        if copies:
            of_copies = [found["proofs"].to_pylist() for found in copies]
            replicas = [(s, s["replica"]["rows_in_ledger"]) for s in self.shards if "replica" in s]
            copied = sum(int(proofs.control(s, asked)[0][0]) for s, asked in replicas)
            copy = replicas[0][0]["replica"]["table"]["name"]
            found += [
                *proofs.together(of_copies, copy),
                proofs.beside(by_shard, of_copies, copy),
                proofs.compared(copy, "rows in the ledger", ledger, copied),
            ]
        return [{**row, "segment": tables.MEASURED + 1, "repetition": 0} for row in found]

    def counters(self, t_ns: int) -> list[Doc]:
        return self.counted(tables.MEASURED, self.environment.read, t_ns, self.environment.held_by)

    def drop(self) -> None:
        """What a shard that is gone keeps, the next run of the point drops first."""
        from inrush import _core

        for shard in self.shards:
            for statement in shard["drop"]:
                with contextlib.suppress(_core.CoreFailure):
                    proofs.control(shard, statement)

    def segment(self, index: int, kind: str, phase: str = "") -> None:
        self.on_event(
            {
                "event": "segment",
                "index": index,
                "label": LABELS[index],
                "kind": kind,
                "phase": phase,
                "t_ns": 0,
            }
        )
