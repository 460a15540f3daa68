"""One load, from its files to its rows in the tables."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any

from inrush.agent.shared_run import OnEvent, Words
from inrush.border.pipeline import AnyPlan, loads_of, roles_of
from inrush.engines.base.sql import literal
from inrush.load.pipeline import inputs, proofs, stretches, tables
from inrush.load.pipeline.environment import LoadEnvironment
from inrush.load.pipeline.heard import Heard, is_stopped
from inrush.load.pipeline.journal import Journal, lines
from inrush.load.pipeline.reached import Reached, nothing, reached
from inrush.targets.ask import ask
from inrush.targets.sizes import sampled

Doc = dict[str, Any]

#: How often progress is said, s.
PROGRESS_EVERY_S = 0.5
#: Beside the tables of a run, by role.
JOURNAL = "{}.journal"


class RunLoad(Heard):
    """Into tables that its run has made."""

    #: How long a wait for the ends lasts before commands and limits are looked at, s: a step ends when it has passed.
    tick_s = 0.005
    #: What the watch calls its clients.
    clients = "load_client"

    def __init__(
        self, plan: AnyPlan, role: str, parts: Path, on_event: OnEvent, environment: LoadEnvironment
    ) -> None:
        super().__init__(on_event, Journal(parts / JOURNAL.format(role)))
        self.plan, self.role, self.environment = plan, role, environment
        self.of = loads_of(plan)[role]
        self.index, self.segment = next(
            (k, s)
            for k, s in enumerate(plan["segments"])
            if s["kind"] == "load" and roles_of(s)[0]["name"] == role
        )
        self.files = self.of["inputs"]["files"]
        #: What workers before this one have left of the run; empty: it is the first.
        self.earlier = [Path(p) for p in self.of.get("earlier", ())]
        self.stretches: list[stretches.Stretch] = []
        self.zero_ns = self.go_ns = self.before_ns = 0
        #: `work`, `limit` or `stop`.
        self.ended_by = "work"
        self.ledger = 0

    # --- before the clock

    def ready(self) -> Mapping[str, Sequence[int]]:
        """Files, processes and connections."""
        self.make()
        return self.begin()

    def begin(self) -> Mapping[str, Sequence[int]]:
        self.reached = self.asked()
        self.rows_before = self.reached.rows_stored
        return self.environment.begin(self.reached.left)

    def make(self) -> None:
        self.environment.make(lambda n, count: self.said_progress("inputs", n / count))

    def asked(self) -> Reached:
        """How far the load has come; one that begins leaves its mark in the ledger."""
        goes_on = self.of.get("goes_on")
        if goes_on is None or "mark" not in self.of:
            return nothing(self.files)
        if not self.earlier:
            mark = f"{goes_on['write_mark']}{literal(self.of['mark'])})"
            ask(self.plan["target"], mark, proofs.LIMIT_S)
            return nothing(self.files)
        return reached(
            goes_on, self.files, lambda text: ask(self.plan["target"], text, proofs.LIMIT_S), self.size_of
        )

    def size_of(self, file: int) -> int:
        return self.environment.paths[file].stat().st_size

    @cached_property
    def rows_of_files(self) -> list[int]:
        """By number."""
        of, plan = self.of["inputs"], self.plan
        return [rows for _, rows in inputs.rows_of(of, plan["seed"], plan["epoch_ns"])]

    # --- on the clock

    def follow(self, words: Words, zero_ns: int) -> str:
        """Until all clients have finished, or what cut it before. zero_ns: CLOCK_MONOTONIC at the run's time zero."""
        self.go(zero_ns)
        with self.sampling():
            self.ended_by = self.until_done(words)
        self.record_end(self.ended_by)
        if self.ended_by != "work":
            self.environment.end()
        return self.ended_by

    def record_end(self, by: str) -> None:
        # Lines of several hosts are put in order by clocks that are known to within an error: an end could come before
        # that of a file.
        if not self.environment.over_hosts:
            self.journal.look(self.rows, self.bytes, last=True)
            self.journal.say("end", t_ns=time.monotonic_ns(), by=by)

    def go(self, zero_ns: int) -> None:
        self.zero_ns = zero_ns
        begun = self.heard_before()
        self.before_ns = stretches.worked_ns(self.stretches)
        self.go_ns = self.environment.due_ns()
        zero_unix_ns = time.time_ns() - (time.monotonic_ns() - zero_ns)
        self.journal.say(
            "go", t_ns=self.go_ns, zero_ns=zero_ns, zero_unix_ns=zero_unix_ns, rows=self.rows_before,
            bytes=self.reached.bytes_stored(self.size_of), done=sum(self.reached.whole), in_hand=self.reached.in_hand, **begun,
        )  # fmt: skip
        self.rows_due = self.of["inputs"]["rows"]
        self.gaps = stretches.gaps(self.earlier_and_own()) if self.earlier else ()
        self.environment.go(self.go_ns, zero_ns)

    def sampling(self) -> AbstractContextManager[None]:
        """Sizes, where the study asks for them."""
        return sampled(self.segment.get("sample"), self.plan["target"], self.sized)

    def heard_before(self) -> Doc:
        """Files whose end earlier workers heard and the ledger does not have, and the other way round."""
        if not self.earlier:
            return {"unheard": [], "again": []}
        heard = bytearray(self.files)
        for parts in self.earlier:
            for line in lines(parts / JOURNAL.format(self.role)):
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
        ends, limit_ns, said_s = self.environment, self.segment["limit_ns"], 0.0
        ended_by = "work"
        while ends.working() and ended_by == "work":
            self.listen(ends, self.tick_s)
            self.journal.alive()
            spent_ns = time.monotonic_ns() - self.go_ns
            if is_stopped(words):
                ended_by = "stop"
            elif limit_ns and self.before_ns + spent_ns > limit_ns:
                ended_by = self.over_limit()
            if time.monotonic() - said_s > PROGRESS_EVERY_S:
                said_s = time.monotonic()
                self.said_progress("measure", self.share(), spent_ns / 1e9)
        # Takes in what was said after the last look: a file's end comes before its client's.
        self.listen(ends, 0.0)
        return ended_by

    def over_limit(self) -> str:
        """What ends it then."""
        return "limit"

    def said_progress(self, phase: str, share: float, seconds: float = 0.0) -> None:
        self.progress(self.index, self.segment["label"], phase, self.role, share, seconds)

    def sized(self, found: Sequence[tuple[str, str]]) -> None:
        self.journal.say("sizes", t_ns=time.monotonic_ns(), found=found)

    def share(self) -> float:
        return (self.rows_before + self.rows) / self.of["inputs"]["rows"]

    # --- behind it

    def end(self) -> None:
        """The load server's orderly end; then what the ledger has."""
        if self.ended_by == "work":
            self.environment.finish()
            self.listen(self.environment, 0.0)
            self.environment.end()
        self.journal.close()
        self.ledger = self.rows_in_ledger()

    def rows_in_ledger(self) -> int:
        return int(ask(self.plan["target"], self.of["rows_in_ledger"], proofs.LIMIT_S)[0][0])

    def failed(self, message: str) -> None:
        """What was stored by then stays, and a resumable load goes on there."""
        self.record_end(message)

    def keeps(self) -> bool:
        """What is recorded of a load that failed."""
        return False

    def close(self) -> None:
        self.environment.kill()
        self.journal.close()

    # --- what it was

    def earlier_stretches(self) -> list[stretches.Stretch]:
        found = [stretches.stretch(parts / JOURNAL.format(self.role)) for parts in self.earlier]
        return stretches.on_one_clock([one for one in found if one is not None])

    def earlier_and_own(self) -> list[stretches.Stretch]:
        own = stretches.stretch(self.environment.on_one_clock(self.journal.path))
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
        of, whole = self.of, self.whole
        (operation,) = self.segment["roles"][0]["operations"]
        cpu_ns = tables.cpu_of(parts, self.clients, whole.start_ns, whole.end_ns)
        interval_ns = self.plan["record"]["interval_ns"]
        held_by, read = self.environment.held_by, self.environment.read
        return {
            "files": stretches.files(self.stretches, self.index, self.role),
            "repetitions": [
                tables.totals(whole, of["pipelines"]["count"], cpu_ns, self.index, self.role, self.files)
            ],
            "intervals": stretches.intervals(
                self.stretches, whole, self.files, self.index, self.role, operation["operation"], interval_ns
            ),
            "sizes": stretches.sizes(self.stretches, self.index),
            "counters": self.counted(self.index, read, whole.end_ns, held_by),
            "proofs": self.proofs(),
        }

    def proofs(self) -> list[Doc]:
        """By the ledger: counts in = stored + rejected. A client that was killed did not hear of its last chunks."""
        table, whole = self.of["inputs"]["table"]["name"], self.whole
        wanted, found = self.of["inputs"]["rows"], self.ledger + whole.rejected
        rows = [proofs.compared(table, f"{self.role}: rows in = stored + rejected", wanted, found)]
        if self.ended_by == "work":
            rows.insert(
                0, proofs.compared(table, f"{self.role}: rows in the ledger", whole.rows, self.ledger)
            )
        return [{**row, "segment": self.index, "repetition": 0} for row in rows]
