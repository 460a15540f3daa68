"""A twin for tests of what surrounds engines: it keeps a diary and needs no server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from inrush.engines.base import (
    Cold,
    Durability,
    Instance,
    NotCold,
    OpPlan,
    Probes,
    Proof,
    Release,
    Server,
    Stop,
    Survives,
    TablePlan,
    Target,
    Unsupported,
)
from inrush.workload import Operation, Table


class FakeServer(Server):
    name = "fake"
    schemes = ("fake",)
    methods = ("bulk",)

    def __init__(self) -> None:
        self.diary: list[str] = []
        self.cold: Cold | NotCold = Cold("stopped, caches dropped, started")

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

    def start(self, data: Path, settings: Mapping[str, str]) -> Instance:
        self.diary.append("start")
        data.mkdir(parents=True, exist_ok=True)
        release = Release(self.name, "1", Path("/"))
        return Instance(self.name, data, "fake://localhost:1", 1, 1, data / "log", release, settings)

    def stop(self, instance: Instance, how: Stop) -> None:
        self.diary.append(f"stop {how.value}")

    def make_cold(self, target: Target) -> Cold | NotCold:
        self.diary.append("make_cold")
        return self.cold
