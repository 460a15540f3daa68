"""SQLite: one file in the client's process. Twin of rust/engines/src/engine/sqlite.rs.

A namespace is a prefix of table names, marked by a table of its own: a user's file keeps what else is in it.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from inrush.border.plan import Statement
from inrush.engines.base import row_calls, sql
from inrush.engines.base.checksum import proof
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.loading import Loading
from inrush.engines.base.merge import EMBEDDED
from inrush.engines.base.page_counters import PageCounters
from inrush.engines.base.pages import Pages
from inrush.engines.base.plans import OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.sql import file_of, literal, quote
from inrush.engines.base.twin import NoDatabase, Twin
from inrush.engines.sqlite.checksum import SqliteFigures
from inrush.engines.sqlite.memory import SqliteInMemory
from inrush.workload import DRAWN_LISTS, SPELLED, Column, Operation, Table

#: Declared type of every logical type. SQLite stores by affinity; by the name the wire half knows what a value means.
DECLARED: Mapping[str, str] = {
    "bool": "BOOLEAN INTEGER",
    "i16": "SMALLINT",
    "i32": "INTEGER",
    "i64": "BIGINT",
    "u8": "TINYINT UNSIGNED",
    "u16": "SMALLINT UNSIGNED",
    "u32": "INTEGER UNSIGNED",
    "u64": "UNSIGNED BIGINT",
    "f32": "REAL",
    "f64": "REAL",
    "time_ms": "INTEGER MILLISECONDS",
    "time_us": "INTEGER MICROSECONDS",
    "text": "TEXT",
    "list_f64": "BLOB F64",
    "list_i64": "BLOB I64",
    "list_bool": "BLOB BOOL",
    "list_i16": "BLOB I16",
    "list_i32": "BLOB I32",
    "list_u8": "BLOB U8",
    "list_u16": "BLOB U16",
    "list_u32": "BLOB U32",
    "list_u64": "BLOB U64",
    "list_f32": "BLOB F32",
    "list_text": "TEXT LIST",
    **dict.fromkeys(SPELLED, "TEXT"),
    "blob": "BLOB BYTES",
    "enum": "TEXT",
    "decimal": "TEXT",
    "json": "TEXT",
    "bit": "UNSIGNED BIGINT",
    "bytes": "BLOB",
}
#: A table may call its columns what it likes. SQLite's numbers have 64 bits whatever they are called.
COLUMN_TYPES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("boolean integer", "boolean", "bool"), ("bool",)),
    **dict.fromkeys(("smallint", "int2", "int16"), ("i16",)),
    **dict.fromkeys(("int4", "int32", "mediumint", "smallint unsigned", "mediumint unsigned"), ("i32",)),
    **dict.fromkeys(("integer", "int", "bigint", "int8", "int64", "int unsigned"), ("i64",)),
    **dict.fromkeys(("tinyint unsigned", "utinyint", "uint8"), ("u8",)),
    **dict.fromkeys(("usmallint", "uint16"), ("u16",)),
    **dict.fromkeys(("integer unsigned", "uinteger", "uint32"), ("u32",)),
    **dict.fromkeys(("unsigned bigint", "bigint unsigned", "ubigint", "uint64"), ("u64",)),
    **dict.fromkeys(("float4", "float32"), ("f32",)),
    **dict.fromkeys(("real", "float", "double", "double precision", "float8", "float64"), ("f64",)),
    "integer milliseconds": ("time_ms",),
    "integer microseconds": ("time_us",),
    # SQLite has no type of times: such a column holds what is written into it, and its functions of times read texts.
    **dict.fromkeys(
        ("timestamp with time zone", "timestamptz", "timestamp without time zone", "timestamp", "datetime"),
        ("text",),
    ),
    **dict.fromkeys(("text", "varchar", "character varying", "char", "character", "bpchar"), ("text",)),
    **dict.fromkeys(("string", "mediumtext", "longtext"), ("text",)),
    **dict.fromkeys(("blob f64", "double precision[]", "double[]"), ("list_f64",)),
    **dict.fromkeys(("blob i64", "bigint[]"), ("list_i64",)),
    "date": ("date",),
    "uuid": ("uuid",),
    "blob": ("bytes",),
}
LOSSES: Mapping[str, str] = {
    "u64": "unsigned 64-bit values are stored with their bits reinterpreted: read back exactly, ordered and aggregated as signed",
    "time_ms": "times are integers, milliseconds since 1970 UTC: no time functions without conversion",
    "time_us": "times are integers, microseconds since 1970 UTC: no time functions without conversion",
    "f32": "32-bit floats take 8 bytes; NaN becomes NULL",
    "f64": "NaN becomes NULL",
    "list_f64": "lists are blobs of 8-byte items: stored and read back, not searched",
    **sql.texts(),
    "enum": "enums are texts: no other text is refused",
    "decimal": "decimals are texts: exact, compared and ordered as texts",
    "json": "documents are texts: kept as they were written, and no text is refused",
    "list_i64": "lists are blobs of 8-byte items: stored and read back, not searched",
    **dict.fromkeys(
        DRAWN_LISTS, "lists are blobs of little-endian items: stored and read back, not searched"
    ),
    "list_text": "lists of texts are JSON: stored and read back, not searched",
}
#: Values of PRAGMA synchronous.
SYNCHRONOUS = {"0": "OFF", "1": "NORMAL", "2": "FULL", "3": "EXTRA"}
SETTINGS = (
    "auto_vacuum", "busy_timeout", "cache_size", "encoding", "foreign_keys", "journal_mode", "locking_mode",
    "page_size", "synchronous", "temp_store",
)  # fmt: skip


class SqliteLoading(Loading):
    unsigned_is_signed = True
    reads_texts = True
    merges = EMBEDDED
    empties = "DELETE FROM"
    transactional = True
    column_types = COLUMN_TYPES
    not_finite = frozenset({"inf"})
    figures = SqliteFigures()
    row_figures = 2_000
    folds_names = True

    def describe(self, schema: str, table: str) -> str:
        return f'SELECT name, type, "notnull" FROM pragma_table_info({literal(table)})'

    def ask_schemas(self, table: str) -> str:
        return f"SELECT 'main' FROM sqlite_master WHERE name = {literal(table)}"

    def schema_of(self, schema: str, table: str) -> str:
        return f"SELECT {literal(schema or 'main')}"

    def methods_for(self, table: Table, methods: tuple[str, ...]) -> tuple[str, ...]:
        return ("bulk",) if any(c.type == "bytes" for c in table.columns) else methods

    def read_column(self, column: Column) -> str:
        name = quote(column.name)
        # The digits of NULL are an empty text here.
        digits = f"iif({name} IS NULL, NULL, lower(hex({name}))) AS {name}"
        # A text that looks like a number is one in a column that is not declared as one of texts.
        text = f"CAST({name} AS TEXT) AS {name}"
        return {"bytes": digits, "text": text}.get(column.type, name)


class Sqlite(Twin):
    name = "sqlite"
    title = "SQLite"
    keeps_not_finite: ClassVar[frozenset[str]] = frozenset({"inf", "minus_inf"})
    #: Of numbers, a list is a blob.
    keeps_null_items: ClassVar[frozenset[str] | None] = frozenset({"list_text"})
    schemes = ("sqlite",)
    methods = ("bulk", "multirow")
    ways_out = ("rows",)
    embedded = True
    works_in_client = True
    loading = SqliteLoading()
    in_memory = SqliteInMemory
    rate = (1e-3, 1.5e-6)
    pages = Pages("page_size", 4096, "cache_size", 2000 * 1024, counts_pages=True)
    survive_by: ClassVar[Mapping[Survives, str]] = {
        Survives.POWER_LOSS: "[options.sqlite] synchronous = 'FULL'",
        Survives.PROCESS_CRASH: "[options.sqlite] synchronous = 'NORMAL'",
    }
    page_counters = PageCounters(page=("page_size", 4096))
    max_writers = 1

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        mark = _mark(namespace)
        return (
            f"CREATE TABLE {mark} (created_by TEXT NOT NULL)",
            f"INSERT INTO {mark} VALUES ('inrush')",
        )

    def foreign_objects(self, namespaces: Sequence[str]) -> str:
        return (
            "SELECT name FROM sqlite_schema AS t WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite~_%' ESCAPE '~' "
            "AND NOT EXISTS (SELECT 1 FROM sqlite_schema AS m "
            "WHERE m.name = substr(t.name, 1, instr(t.name, '.')) || 'inrush_mark')"
        )

    def ask_file(self, path: Path, statement: str) -> list[str]:
        try:
            with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
                return [str(row[0]) for row in file.execute(statement)]
        except sqlite3.OperationalError:  # it is busy, and a run waits
            return []
        except sqlite3.DatabaseError as error:
            raise NoDatabase(str(error)) from None

    def drop_namespace(self, namespace: str) -> tuple[Statement, ...]:
        # The mark goes last, so that a drop that was cut can be repeated; without it the query itself fails.
        own = f"substr(s.name, 1, {len(namespace) + 1}) = {literal(namespace + '.')}"
        query = (
            f"""SELECT 'DROP TABLE "' || replace(s.name, '"', '""') || '"' FROM {_mark(namespace)} """
            f"JOIN sqlite_schema s ON s.type = 'table' AND {own} ORDER BY s.name = {literal(namespace + '.inrush_mark')}"
        )
        return ({"text": query, "repeat": "each_row"},)

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        name = quote(f"{namespace}.{table.name}")
        wire = {column.name: DECLARED[column.type] for column in table.columns}
        indexes = table.layouts.get(layout, ())
        drop = literal(f"DROP TABLE IF EXISTS {name}")
        return TablePlan(
            name=name,
            create=sql.create_table(table, name, DECLARED, indexes, stem=f"{namespace}.{table.name}"),
            # The log is emptied too: a repetition must not pay for the checkpoint of the one before.
            fresh=(f"DELETE FROM {name}", "PRAGMA wal_checkpoint(TRUNCATE)"),
            drop=({"text": f"SELECT {drop} FROM {_mark(namespace)}", "repeat": "each_row"},),
            wire=wire,
            losses=sql.losses(table, LOSSES),
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        inserts: Mapping[str, sql.Insert] = {"bulk": sql.insert_one_row, "multirow": sql.insert_one_row}
        plan = tables.get(operation.table or "")
        kinds = list(plan.wire.values()) if plan else []
        if "BLOB" in kinds:
            # Bytes come as their hexadecimal digits.
            inserts = {"bulk": partial(sql.insert_one_row, placeholder=lambda k: unhexed(kinds[k - 1]))}
        return sql.operation(operation, method, self.name, tables, inserts)

    def row_call(self, operation: Operation, table: Table, plan: TablePlan) -> str | Unsupported:
        return row_calls.sql_text(operation, table, plan, row_calls.on_conflict)

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return proof(table, plan, SqliteFigures(), unsigned_is_signed=True, lengths=("text", "json"))

    def instant(self, column: Column, at_ns: int) -> str | None:
        return str(at_ns // (1_000_000 if column.type == "time_ms" else 1_000))

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        names = ", ".join(literal(_unquoted(plan.name)) for plan in tables)
        return Probes(
            sizes=(
                "SELECT 'file', page_count * page_size FROM pragma_page_count, pragma_page_size",
                "SELECT s.type || ':' || s.name, sum(d.pgsize) FROM dbstat d JOIN sqlite_schema s USING (name) "
                f"WHERE d.aggregate = 1 AND s.tbl_name IN ({names}) GROUP BY s.type, s.name",
            ),
            counters=("SELECT 'freelist_pages', freelist_count FROM pragma_freelist_count",),
            settings=tuple(f"SELECT {literal(name)}, * FROM pragma_{name}" for name in SETTINGS),
            version="SELECT 'version', sqlite_version()",
        )

    def durability(self, settings: Mapping[str, str]) -> Durability:
        """In WAL mode a commit is synced only from FULL on; a journal that is no file protects against nothing.

        Source: sqlite.org/pragma.html, synchronous and journal_mode.
        """
        journal = settings.get("journal_mode", "").upper()
        synchronous = SYNCHRONOUS.get(
            settings.get("synchronous", ""), settings.get("synchronous", "").upper()
        )
        if journal in ("", "OFF", "MEMORY"):
            survives = Survives.NOTHING
        elif synchronous in ("FULL", "EXTRA"):
            survives = Survives.POWER_LOSS
        else:
            survives = Survives.PROCESS_CRASH
        return Durability(survives, because={"journal_mode": journal, "synchronous": synchronous})

    def run_target(self, target: Target, data: Path) -> Target:
        if file_of(target.url):
            return target
        return replace(target, url=f"sqlite://{data.absolute()}/run.sqlite")


def unhexed(kind: str) -> str:
    """The placeholder of a value of this declared type."""
    return "unhex(?)" if kind == "BLOB" else "?"


def _mark(namespace: str) -> str:
    return quote(f"{namespace}.inrush_mark")


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"')
