"""Engines without a database: `null` does nothing, `simulated` serves in known times. Twins of null.rs and simulated.rs.

They measure the instrument: `null` its floor, `null:<wire>` the floor with an encoder, `simulated` its statistics.
`null:record` also writes each call by key as NDB's client library takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.plans import OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.twin import Twin
from inrush.workload import Operation, Table


class Null(Twin):
    """Takes every row and keeps none, so there is nothing to prove."""

    name: ClassVar[str] = "null"
    schemes = ("null",)
    methods = ("bulk",)
    max_depth = 4096
    rate = (1e-6, 5e-8)
    embedded = True
    answers = False

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        return ()

    def drop_namespace(self, namespace: str) -> tuple[str, ...]:
        return ()

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        # An empty wire type is the encoder's usual one for the logical type.
        wire = {column.name: "" for column in table.columns}
        return TablePlan(table.name, (), (), (), wire, ("nothing is stored: the floor of the instrument",))

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        if operation.kind == "insert" and method not in self.methods:
            return Unsupported(f"{self.name} has one insert method, {self.methods[0]}")
        return OpPlan(operation.name, method if operation.kind == "insert" else "")

    def plan_row_call(self, operation: Operation, table: Table, plan: TablePlan) -> OpPlan | Unsupported:
        return OpPlan(operation.name, params=tuple(operation.params))

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return Proof("", (), "")

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        return Probes()

    def durability(self, settings: Mapping[str, str]) -> Durability:
        return Durability(Survives.NOTHING, because={"engine": "stores nothing"})


class NullRecord(Null):
    """Tables and calls by key as on NDB: what a client does for them up to the client library."""

    name: ClassVar[str] = "null:record"

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        planned = ndb().plan_table(table, layout, namespace)
        losses = ("nothing is stored: the client's own cost of records",)
        return TablePlan(table.name, (), (), (), planned.wire, losses, takes_no_rows=planned.takes_no_rows)

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        if operation.kind == "insert" and (why := tables[operation.table or ""].takes_no_rows):
            return Unsupported(why)
        return super().plan_operation(operation, method, tables, batch_rows)

    def plan_row_call(self, operation: Operation, table: Table, plan: TablePlan) -> OpPlan | Unsupported:
        return ndb().plan_row_call(operation, table, plan)


def ndb() -> Twin:
    """Loaded where a study asks for its records."""
    from inrush.engines.ndb import Ndb

    return Ndb()


class Simulated(Null):
    """c servers with known service times: statistics are tested against theory on it."""

    name: ClassVar[str] = "simulated"
    schemes = ("simulated",)
    max_depth = 1024
    rate = Twin.rate

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        planned = super().plan_operation(operation, method, tables, batch_rows)
        if isinstance(planned, OpPlan) and "asked" in operation.holds:
            # Rows of a key are generated: it answers them as a server would.
            return replace(planned, params=tuple(operation.params))
        return planned
