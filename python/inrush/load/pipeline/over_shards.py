"""A load over shards, which has a run to itself: their tables are made, proven and dropped here."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from inrush.agent.shared_run import OnEvent
from inrush.border.pipeline import AnyPlan, PipelineShard
from inrush.border.plan import SamplePlan
from inrush.errors import CoreError
from inrush.load.pipeline import proofs, stretches, tables
from inrush.load.pipeline.environment import LoadEnvironment
from inrush.load.pipeline.loading import RunLoad
from inrush.results.parts import whole
from inrush.targets.sizes import Take, sampled

Doc = dict[str, Any]
Proven = Sequence[Mapping[str, pa.Table]]


class RunLoadOverShards(RunLoad):
    tick_s = 0.05
    # Of a run that is nothing but the load, its clients are the client.
    clients = "client"

    def __init__(
        self, plan: AnyPlan, role: str, parts: Path, on_event: OnEvent, environment: LoadEnvironment
    ) -> None:
        super().__init__(plan, role, parts, on_event, environment)
        self.shards = self.of["shards"]
        #: Whether its tables may be there.
        self.stands = False
        #: By shard, what it has and what its copies have; none before they are proven. Rows of copies by the ledger.
        self.proven: Proven = ()
        self.copies: Proven = ()
        self.copied = 0

    def create(self) -> None:
        self.make()
        self.stands = True
        for shard in self.shards:
            for statement in shard["create"]:
                proofs.control(shard, statement)

    def ready(self) -> Mapping[str, Sequence[int]]:
        return self.begin()

    # --- on the clock

    @contextlib.contextmanager
    def sampling(self) -> Iterator[None]:
        with contextlib.ExitStack() as looking:
            for k, shard in enumerate(self.shards):
                looking.enter_context(sampled(self.sample(shard), shard["target"], self.sized_on(k)))
            yield

    def sample(self, shard: PipelineShard) -> SamplePlan | None:
        of_load = self.segment.get("sample")
        if of_load is None:
            return None
        return {**of_load, "probes": [{"into": "sizes", "statement": s} for s in shard["sizes"]]}

    def sized_on(self, k: int) -> Take:
        """Of shard k. The file of an embedded one has its number behind it; tables have names of their own."""
        several = len(self.shards) > 1

        def take(found: Sequence[tuple[str, str]]) -> None:
            self.sized(
                [(f"{name}@{k}" if several and ":" not in name else name, value) for name, value in found]
            )

        return take

    def over_limit(self) -> str:
        limit_s = self.segment["limit_ns"] / 1e9
        raise CoreError(
            f"the load was cut after {limit_s:g} s (schedule.limit_s): raise it or take fewer files"
        )

    def failed(self, message: str) -> None:
        """Said at once over hosts: tables are dropped before the run has failed, which may take long."""
        super().failed(message)
        self.ended_by = "error"
        if self.environment.over_hosts:
            self.on_event({"event": "failing", "message": message})
        # Before the watch of this host takes its last look, and before a load server could write into what is dropped.
        self.environment.kill()
        self.drop()

    # --- behind it

    def rows_in_ledger(self) -> int:
        return sum(int(proofs.control(s, s["rows_in_ledger"])[0][0]) for s in self.shards)

    def prove(self, folder: Path) -> None:
        """folder: for the tables of the proofs."""
        each, plan = range(len(self.shards)), self.plan
        found = [proofs.core_run(proofs.proving_plan(plan, self.of, k), folder / f"proof-{k}") for k in each]
        copies = [
            proofs.core_run(copy, folder / f"replica-{k}")
            for k in each
            if (copy := proofs.replica_plan(plan, self.of, k)) is not None
        ]
        self.proven, self.copies = found, copies
        replicas = [(s, s["replica"]["rows_in_ledger"]) for s in self.shards if "replica" in s]
        self.copied = sum(int(proofs.control(s, asked)[0][0]) for s, asked in replicas)

    def drop(self) -> None:
        """Once. What a shard that is gone keeps, the next run of the point drops first."""
        from inrush import _core

        stood, self.stands = self.stands, False
        for shard in self.shards if stood else ():
            for statement in shard["drop"]:
                with contextlib.suppress(_core.CoreFailure):
                    proofs.control(shard, statement)

    # --- what it was

    def keeps(self) -> bool:
        """Of a load that failed over hosts: what it came to, by its clients' last words. None of it is proven."""
        path = self.environment.on_one_clock(self.journal.path) if self.environment.over_hosts else None
        return path is not None and stretches.stretch(path) is not None

    def tables(self, parts: Path) -> Mapping[str, Iterable[Doc]]:
        """Its clients and servers have the names of a run's; what the load servers received is with them."""
        (one,), of = self.stretches, self.whole
        net = tables.received([(one.at(t), b) for t, b in stretches.received(one)], of.start_ns, of.end_ns)
        looks = self.environment.watched(whole("resources", parts))
        tables.write(parts, {"resources": tables.resources(looks, net)})
        found = super().tables(parts)
        sizes = itertools.chain(found["sizes"], self.probed("sizes"))
        return {**found, "sizes": sizes, "settings": self.probed("settings")}

    def probed(self, name: str) -> list[Doc]:
        """By the proof of the first shard."""
        rows = self.proven[0][name].to_pylist() if self.proven else []
        return [{**row, "segment": self.index_of_proof} for row in rows]

    @property
    def index_of_proof(self) -> int:
        return next(k for k, segment in enumerate(self.plan["segments"]) if segment["kind"] == "proof")

    def proofs(self) -> list[Doc]:
        """The generator's figures, and the ledger: counts in = stored + rejected."""
        if not self.proven:
            return []
        name, of = self.plan["tables"][0]["name"], self.whole
        by_shard = [found["proofs"].to_pylist() for found in self.proven]
        found = [
            *proofs.together(by_shard, name),
            proofs.compared(name, "rows in the ledger", of.rows, self.ledger),
            proofs.compared(
                name, "rows in = stored + rejected", self.of["inputs"]["rows"], self.ledger + of.rejected
            ),
        ]
        if self.copies:
            of_copies = [found["proofs"].to_pylist() for found in self.copies]
            copy = next(s["replica"]["table"]["name"] for s in self.shards if "replica" in s)
            found += [
                *proofs.together(of_copies, copy),
                proofs.beside(by_shard, of_copies, copy),
                proofs.compared(copy, "rows in the ledger", self.ledger, self.copied),
            ]
        return [{**row, "segment": self.index_of_proof, "repetition": 0} for row in found]
