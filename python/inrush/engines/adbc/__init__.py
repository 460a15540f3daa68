"""Any database with an ADBC driver, in plain SQL. Twin of rust/engines/src/engine/adbc.rs.

The target's options name the driver's library; the types are those that every SQL database knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from inrush.border.plan import ChecksumItem, NotNull
from inrush.engines.base import row_calls, sql
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.sql import literal, quote
from inrush.engines.base.twin import Twin
from inrush.errors import UsageError
from inrush.workload import SPELLED, Operation, Table

#: An unsigned value travels with its bits reinterpreted: the wire half sees that BIGINT has no U.
TYPES: Mapping[str, str] = {
    "bool": "BOOLEAN",
    "i16": "SMALLINT",
    "i32": "INTEGER",
    "i64": "BIGINT",
    "u8": "SMALLINT",
    "u16": "INTEGER",
    "u32": "BIGINT",
    "u64": "BIGINT",
    "f32": "REAL",
    "f64": "DOUBLE PRECISION",
    "time_ms": "TIMESTAMP WITH TIME ZONE",
    "time_us": "TIMESTAMP WITH TIME ZONE",
    "text": "VARCHAR",
    "list_f64": "DOUBLE PRECISION ARRAY",
    "list_i64": "BIGINT ARRAY",
    "list_bool": "BOOLEAN ARRAY",
    "list_i16": "SMALLINT ARRAY",
    "list_i32": "INTEGER ARRAY",
    "list_f32": "REAL ARRAY",
    "list_text": "VARCHAR ARRAY",
    **dict.fromkeys(SPELLED, "VARCHAR"),
    "enum": "VARCHAR",
    # Named so that a plan with them can say that it lacks them.
    **dict.fromkeys(("list_u8", "list_u16", "list_u32", "list_u64", "blob", "json", "bit"), "VARCHAR"),
    "decimal": "VARCHAR",
}
LOSSES: Mapping[str, str] = {
    "u64": "unsigned 64-bit values are stored with their bits reinterpreted: read back exactly, ordered and aggregated as signed",
    **sql.texts(),
    "decimal": "decimals are texts: exact, compared as texts",
}


class Adbc(Twin):
    name = "adbc"
    title = "ADBC"
    schemes = ("adbc",)
    methods = ("bulk", "multirow")
    ways_out = ("arrow",)
    namespace_holds_tables = False
    works_in_client = True
    lacks: ClassVar[frozenset[str]] = frozenset(
        {"list_u8", "list_u16", "list_u32", "list_u64", "blob", "date", "json"}
    )

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        mark = _mark(namespace)
        return (
            f"CREATE TABLE {mark} (created_by VARCHAR(16) NOT NULL)",
            f"INSERT INTO {mark} VALUES ('inrush')",
        )

    def drop_namespace(self, namespace: str) -> tuple[str, ...]:
        """The mark alone: schemas differ too much between databases, so tables are dropped one by one.

        Both carry the namespace in their names, and not every database can ask for the mark before it drops.
        """
        return (f"DROP TABLE IF EXISTS {_mark(namespace)}",)

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        stem = f"{namespace}_{table.name}"
        name = quote(stem)
        return TablePlan(
            name=name,
            create=sql.create_table(table, name, TYPES, table.layouts.get(layout, ()), stem),
            fresh=(f"DELETE FROM {name}",),
            drop=(f"DROP TABLE IF EXISTS {name}",),
            wire={column.name: TYPES[column.type] for column in table.columns},
            losses=sql.losses(table, LOSSES),
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        inserts: Mapping[str, sql.Insert] = {"bulk": sql.table_name, "multirow": sql.insert_one_row}
        return sql.operation(operation, method, self.name, tables, inserts)

    def row_call(self, operation: Operation, table: Table, plan: TablePlan) -> str | Unsupported:
        if operation.does == "write":
            return Unsupported("drivers of ADBC have no common spelling of a write by key")
        return row_calls.sql_text(operation, table, plan, row_calls.on_conflict)

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        """Counts only: bit operations have no common spelling. The read-back compares every value."""
        items: list[ChecksumItem] = [{"kind": "rows"}]
        items += [NotNull(kind="not_null", column=c.name) for c in table.columns]
        counts = ", ".join(f"count({quote(c.name)})" for c in table.columns)
        columns = ", ".join(quote(c.name) for c in table.columns)
        return Proof(
            checksum_query=f"SELECT count(*), {counts} FROM {plan.name}",
            items=tuple(items),
            read_back=f"SELECT {columns} FROM {plan.name}",
        )

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        return Probes(
            sizes=tuple(f"SELECT {literal('rows:' + p.name)}, count(*) FROM {p.name}" for p in tables)
        )

    def durability(self, settings: Mapping[str, str]) -> Durability:
        return Durability(
            Survives.NOTHING, because={"adbc": "the driver does not report what a commit survives"}
        )

    def run_target(self, target: Target, data: Path) -> Target:
        if not target.options.get("driver"):
            raise UsageError(
                f"{target.url or 'adbc:'}: options.driver is missing; it is the path of an ADBC driver's library"
            )
        return target


def _mark(namespace: str) -> str:
    return quote(f"{namespace}_inrush_mark")
