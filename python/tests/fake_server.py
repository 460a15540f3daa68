"""A twin for tests of what surrounds engines: it keeps a diary and needs no server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import Cold, Instance, NotCold, Release, Stop, Target
from inrush.engines.base.lifecycle import Lifecycle
from inrush.engines.base.plans import OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.twin import Twin
from inrush.workload import Operation, Table


class FakeLife(Lifecycle):
    name = title = "fake"

    def __init__(self) -> None:
        self.diary: list[str] = []
        self.cold: Cold | NotCold = Cold("stopped, caches dropped, started")

    def fetch(self, version: str | None = None) -> Release:
        return Release(self.name, "1", Path("/"))

    def fetched(self, version: str | None = None) -> Release | None:
        return self.fetch()

    def url_of(self, port: int) -> str:
        return f"fake://localhost:{port}"

    def start(self, data: Path, settings: Mapping[str, str]) -> Instance:
        self.diary.append("start")
        data.mkdir(parents=True, exist_ok=True)
        return Instance(self.name, data, self.url_of(1), 1, 1, data / "log", self.fetch(), settings)

    def stop(self, instance: Instance, how: Stop) -> None:
        self.diary.append(f"stop {how.value}")

    def make_cold(self, target: Target) -> Cold | NotCold:
        self.diary.append("make_cold")
        return self.cold


class FakeServer(Twin):
    name = "fake"
    schemes = ("fake",)
    methods = ("bulk",)

    lifecycle: FakeLife

    def __init__(self) -> None:
        self.lifecycle = FakeLife()

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        return (f"create {namespace}",)

    def drop_namespace(self, namespace: str) -> tuple[str, ...]:
        return (f"drop {namespace}",)

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        return TablePlan(table.name, (), (), (), {})

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        return OpPlan(operation.name, method)

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return Proof("", (), "")

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        return Probes()

    def durability(self, settings: Mapping[str, str]) -> Durability:
        return Durability(Survives.NOTHING)
