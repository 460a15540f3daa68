"""MySQL Cluster by its NDB API, without SQL. Twin of rust/engines/src/engine/ndb.rs.

A row is found by its key, which is the table's identity. A call is a record and no statement: `directives.record` says
what it does, and `directives.ndb` what is done to tables. A namespace is a database, a prefix of names of tables; its table
`inrush_mark` says that it is inrush's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from inrush.border.plan import Statement
from inrush.border.statement import NdbAction, NdbColumn, RecordCall
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.lifecycle import Lifecycle
from inrush.engines.base.plans import OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.protocol_probe import Protocol
from inrush.engines.base.twin import Twin
from inrush.engines.ndb.life import NdbLife
from inrush.engines.servers import client_libraries
from inrush.workload import SPELLED, TYPES, Column, Operation, Table

#: Logical type -> NDB's, of those with one width.
WHOLE: Mapping[str, str] = {
    "bool": "Tinyunsigned", "i16": "Smallint", "i32": "Int", "i64": "Bigint",
    "u8": "Tinyunsigned", "u16": "Smallunsigned", "u32": "Unsigned", "u64": "Bigunsigned", "bit": "Bigunsigned",
    "f32": "Float", "f64": "Double", "time_ms": "Bigint", "time_us": "Bigint", "uuid": "Binary(16)", "date": "Binary(10)",
}  # fmt: skip
#: Logical types that no column of inrush's holds, each with its reason.
REASONS: Mapping[str, str] = {
    "decimal": "its digits are packed, and the client library does not pack them",
    "json": "a document is a blob, which is rows of another table",
    "blob": "a blob is rows of another table",
}
NO_LIST = "it has no lists"
#: Most bytes of a text with one byte in front, of one that says no more, and of a row.
SHORT, USUAL, ROW_BYTES = 255, 255, 30_000
#: Bytes of a row beside its values.
HEAD_BYTES = 40
#: Most columns of a table.
MOST_COLUMNS = 512
NO_KEY = "{table}: a row of NDB is found by its key; give the table an identity"
#: A setting of the data nodes, ms: the redo log is written to disk so often.
BETWEEN_CHECKPOINTS = "TimeBetweenGlobalCheckpoints"
COUNTED = (
    "the cluster adds up no column, so that proofs count the rows that are read and compare every one of them"
)


class Ndb(Twin):
    name = "ndb"
    title = "NDB"
    least_version = "9.7"
    years: ClassVar[Mapping[str, int]] = {"9.7": 2026}
    schemes = ("ndb",)
    lifecycle = NdbLife()
    methods = ("bulk",)
    max_depth = 1024
    indexes = False
    lacks: ClassVar[frozenset[str]] = frozenset(REASONS)
    rate = (1e-4, 1e-5)
    protocol = Protocol.NDB_MANAGEMENT
    grant = "give the cluster a free [api] section"
    unreported = frozenset({BETWEEN_CHECKPOINTS.lower()})
    as_shipped: ClassVar[Mapping[str, str] | None] = {"replicas": "2"}
    survive_by: ClassVar[Mapping[Survives, str]] = {
        Survives.PROCESS_CRASH: "--start ndb,replicas=2",
    }

    def open_namespace(self, namespace: str) -> tuple[Statement, ...]:
        return (asked(f"mark database {namespace}", {"kind": "mark", "database": namespace}),)

    def drop_namespace(self, namespace: str) -> tuple[Statement, ...]:
        return (asked(f"drop database {namespace}", {"kind": "drop_database", "database": namespace}),)

    def foreign_objects(self, namespaces: Sequence[str]) -> Statement:
        return asked("list databases without a mark", {"kind": "foreign", "databases": list(namespaces)})

    def drop_foreign_object(self, name: str) -> tuple[Statement, ...]:
        return (asked(f"drop database {name}", {"kind": "drop_database", "database": name, "force": True}),)

    def lock(self, name: str, holder: str) -> tuple[Statement, ...]:
        return (asked(f"mark database {name}", {"kind": "mark", "database": name, "holder": holder}),)

    def ask_holder(self, name: str) -> Statement:
        return asked(f"read the mark of {name}", {"kind": "holder", "database": name})

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        name = f"{namespace}.{table.name}"
        wire = {column.name: wire_of(column) or "" for column in table.columns}
        create = asked(
            f"create table {name}",
            {"kind": "create_table", "table": name, "columns": [column_of(table, c, wire[c.name]) for c in table.columns]},
        )  # fmt: skip
        drop = asked(f"drop table {name}", {"kind": "drop_table", "table": name})
        refused = refusal(table, wire)
        return TablePlan(
            name=name,
            create=() if refused else (create,),
            fresh=(drop, create),
            drop=(drop,),
            wire=wire,
            losses=(COUNTED,),
            takes_no_rows=refused,
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        if operation.kind == "together":
            return OpPlan("")
        if reason := operation.unsupported.get(self.name):
            return Unsupported(reason)
        if operation.kind != "insert":
            return Unsupported(
                f"operation {operation.name} is a statement, and ndb takes rows by their keys: an operation of kind `key`"
            )
        plan = tables[operation.table or ""]
        if method not in self.methods:
            return Unsupported(f"ndb has no method {method}; its one insert method is {self.methods[0]}")
        return Unsupported(plan.takes_no_rows) if plan.takes_no_rows else OpPlan(plan.name, method)

    def plan_row_call(self, operation: Operation, table: Table, plan: TablePlan) -> OpPlan | Unsupported:
        if plan.takes_no_rows or not operation.does:
            return Unsupported(plan.takes_no_rows or f"operation {operation.name} is no call by key")
        # One transaction of as many operations as a call has rows.
        columns = tuple(operation.compared.get(name, name) for name in operation.params)
        record: RecordCall = {"does": operation.does, "table": plan.name, "columns": columns}
        return OpPlan("", params=tuple(operation.params), directives={"record": record})

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return Proof(
            checksum_query=f"count rows of {plan.name}",
            items=({"kind": "rows"},),
            read_back=f"read {plan.name}",
            checksum_directives={"ndb": {"kind": "count", "table": plan.name}},
            read_back_directives={"ndb": {"kind": "scan", "table": plan.name}},
        )

    def whole_number(self, value: int) -> str | None:
        """Its values are looked up, not asked for."""
        return None

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        names = [plan.name for plan in tables if not plan.takes_no_rows]
        return Probes(
            sizes=(asked("sizes of tables", {"kind": "sizes", "tables": names}),) if names else (),
            settings=(asked("settings of the cluster", {"kind": "settings"}),),
            version=asked("version of the management server", {"kind": "version"}),
        )

    def durability(self, settings: Mapping[str, str]) -> Durability:
        """A commit is in the memory of every node of its group when it is acknowledged, and on no disk. So a row survives
        the crash of a node where its group has another one.

        Where all nodes of a group end, what a global checkpoint has written comes back. One begins every
        TimeBetweenGlobalCheckpoints, or when the one before is done; a commit waits for the next to begin, and for its end.
        So long as one takes no longer than the time between two, it waits for less than twice that time. A table without
        logging is empty then, whenever its rows were acknowledged.
        """
        bearing = ("replicas", "logging", BETWEEN_CHECKPOINTS.lower())
        because = {name: value for name, value in settings.items() if name.lower() in bearing}
        replicas, is_logged = settings.get("replicas", ""), settings.get("logging", "") == "true"
        survives = Survives.PROCESS_CRASH if replicas.isdigit() and int(replicas) > 1 else Survives.NOTHING
        between = next((v for n, v in settings.items() if n.lower() == BETWEEN_CHECKPOINTS.lower()), "")
        window_s = 2e-3 * int(between) if is_logged and between.isdigit() else 0.0
        return Durability(survives, window_s, because)

    def run_target(self, target: Target, data: Path) -> Target:
        """Where the core finds the client library."""
        found = library(target, self.lifecycle)
        return replace(target, options={"library": found, **target.options}) if found else target


def library(target: Target, lifecycle: Lifecycle | None) -> str:
    """The file of the client library: the user's, that of the instance, or one that is fetched. Empty: there is none."""
    if named := os.environ.get(client_libraries.NDB_NAMED, ""):
        return named
    release = target.instance.release if target.instance else lifecycle.fetched() if lifecycle else None
    return str(next(release.path.rglob(client_libraries.NDB), "")) if release else ""


def asked(text: str, action: NdbAction) -> Statement:
    """text: for people alone."""
    return {"text": text, "directives": {"ndb": action}}


def column_of(table: Table, column: Column, wire: str) -> NdbColumn:
    found: NdbColumn = {"name": column.name, "wire": wire}
    if column.name in table.identity:
        found["key"] = True
    elif column.nullable:
        found["nullable"] = True
    return found


def wire_of(column: Column) -> str | None:
    """NDB's type of a column; None where it has none."""
    if column.type in WHOLE:
        return WHOLE[column.type]
    if column.type in SPELLED:
        return f"Varbinary({TYPES[column.type].longest})"
    if column.type not in ("text", "enum"):
        return None
    if column.chars and column.charset == "latin1":
        return f"Binary({column.chars})"
    most = text_bytes(column)
    return f"Varbinary({most})" if most <= SHORT else f"Longvarbinary({most})"


def text_bytes(column: Column) -> int:
    """Most bytes of a text: what its generator makes, else what its type takes."""
    gen = column.gen or {}
    if column.chars:
        return 4 * column.chars
    given = [v for v in (*gen.get("values", ()), gen.get("value")) if isinstance(v, str)]
    if given:
        return max(1, *(len(value.encode()) for value in given))
    most = gen.get("max_bytes")
    return int(most) if isinstance(most, int) and most > 0 else USUAL


def refusal(table: Table, wire: Mapping[str, str]) -> str:
    """Why no rows can go into a table, in one line; empty where they can."""
    for column in table.columns:
        if not wire[column.name]:
            reason = (
                NO_LIST if column.type.startswith("list") else REASONS.get(column.type, "it has no such type")
            )
            return (
                f"{table.name}: column {column.name} is of type {column.type}: NDB is not given it: {reason}"
            )
    if not table.identity:
        return NO_KEY.format(table=table.name)
    if len(table.columns) > MOST_COLUMNS:
        return f"{table.name}: {len(table.columns)} columns; a table of NDB has {MOST_COLUMNS} at most"
    row_bytes = HEAD_BYTES + sum(bytes_of(wire[column.name]) for column in table.columns)
    if row_bytes > ROW_BYTES:
        return f"{table.name}: a row may have {row_bytes:,} bytes; NDB takes {ROW_BYTES:,}"
    return ""


def bytes_of(wire: str) -> int:
    """Of a value at most, as it is stored: in whole words."""
    name, _, length = wire.rstrip(")").partition("(")
    if length:
        return -(-int(length) // 4) * 4 + (4 if name != "Binary" else 0)
    return 8 if name in ("Bigint", "Bigunsigned", "Double") else 4
