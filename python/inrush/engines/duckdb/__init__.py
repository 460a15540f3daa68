"""DuckDB in the client's process, through its ADBC driver. Twin of rust/engines/src/engine/duckdb.rs.

A namespace is a schema with a mark in it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from inrush.border.table import Spelling
from inrush.engines.base import row_calls, sql
from inrush.engines.base.checksum import proof
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.loading import Loading, base_type
from inrush.engines.base.merge import EMBEDDED
from inrush.engines.base.page_counters import PageCounters
from inrush.engines.base.plans import OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.sql import file_of, literal, quote
from inrush.engines.base.twin import NoDatabase, Twin
from inrush.engines.duckdb.checksum import DuckDBFigures
from inrush.engines.duckdb.memory import DuckDBInMemory
from inrush.errors import TargetError
from inrush.extras import need
from inrush.workload import SPELLED, Column, Operation, Table

TYPES: Mapping[str, str] = {
    **dict.fromkeys(SPELLED, "VARCHAR"),
    "bool": "BOOLEAN",
    "i16": "SMALLINT",
    "i32": "INTEGER",
    "i64": "BIGINT",
    "u8": "UTINYINT",
    "u16": "USMALLINT",
    "u32": "UINTEGER",
    "u64": "UBIGINT",
    "f32": "FLOAT",
    "f64": "DOUBLE",
    "time_ms": "TIMESTAMPTZ",
    "time_us": "TIMESTAMPTZ",
    "text": "VARCHAR",
    "list_f64": "DOUBLE[]",
    "list_i64": "BIGINT[]",
    "list_bool": "BOOLEAN[]",
    "list_i16": "SMALLINT[]",
    "list_i32": "INTEGER[]",
    "list_u8": "UTINYINT[]",
    "list_u16": "USMALLINT[]",
    "list_u32": "UINTEGER[]",
    "list_u64": "UBIGINT[]",
    "list_f32": "FLOAT[]",
    "list_text": "VARCHAR[]",
    "time": "TIME",
    "date": "DATE",
    "uuid": "UUID",
    "blob": "BLOB",
    "enum": "ENUM({labels})",
    "decimal": "DECIMAL({p}, {s})",
    "json": "JSON",
    "bit": "BIT",
    "bytes": "BLOB",
}
LOSSES = sql.texts("date", "time", "uuid")
COLUMN_TYPES: Mapping[str, tuple[str, ...]] = {
    "boolean": ("bool",),
    "smallint": ("i16",),
    "integer": ("i32",),
    "bigint": ("i64",),
    "utinyint": ("u8",),
    "usmallint": ("u16",),
    "uinteger": ("u32",),
    "ubigint": ("u64",),
    "float": ("f32",),
    "double": ("f64",),
    "timestamp with time zone": ("time_us",),
    "timestamp": ("time_us",),
    "varchar": ("text",),
    "double[]": ("list_f64",),
    "bigint[]": ("list_i64",),
    "date": ("date",),
    "time": ("time",),
    "uuid": ("uuid",),
    "blob": ("bytes",),
}
#: STANDARD, FULL (differs on macOS only) or NONE; absent before DuckDB 2.0, which always synced.
FSYNC = "fsync_mode"


class DuckDBLoading(Loading):
    figures = DuckDBFigures()
    reads_texts = True
    # Of a text it makes the first member that takes texts, of 1 and of no value too.
    misread = ("union(",)
    whole_rows = ("bulk",)
    merges = EMBEDDED
    empties = "DELETE FROM"
    decimal = ("DECIMAL", 38, 38)
    spelled: ClassVar[Mapping[str, Spelling]] = {
        "decimal": {"kind": "fixed", "digits": 3},
        **{whole: {"kind": "fixed", "digits": 0} for whole in ("hugeint", "uhugeint", "tinyint")},
    }
    transactional = True
    column_types = COLUMN_TYPES
    not_finite = frozenset({"nan", "inf"})
    has_days = True
    folds_names = True

    def wire_of(self, column: Column, usual: str) -> str:
        is_bare = column.declared.upper() in ("TIMESTAMP", "DATETIME", "TIMESTAMP WITHOUT TIME ZONE")
        return "TIMESTAMP" if is_bare and column.type in ("time_ms", "time_us") else usual

    def methods_for(self, table: Table, methods: tuple[str, ...]) -> tuple[str, ...]:
        # Bytes travel as Arrow has them.
        is_bulk = self.has_texts(table) or any(c.type == "bytes" for c in table.columns)
        return ("bulk",) if is_bulk else methods

    def raw_columns(self, table: Table) -> Mapping[str, int]:
        return {c.name: 0 for c in table.columns if c.type == "bytes"}

    def read_column(self, column: Column) -> str:
        if not self.is_as_text(column.declared):
            return read_column(column)
        name = quote(column.name)
        text = f"CAST({name} AS VARCHAR)"
        if base_type(column.declared) == "decimal":
            # Where all digits stand behind the point, as in DECIMAL(3,3), DuckDB writes none before it.
            text = f"regexp_replace({text}, '^(-?)\\.', '\\10.')"
        return f"{text} AS {name}"


class DuckDB(Twin):
    name = "duckdb"
    title = "DuckDB"
    schemes = ("duckdb",)
    methods = ("bulk", "multirow")
    file_methods = ("server_file",)
    reads_escapes = False
    ways_out = ("arrow",)
    embedded = True
    extra = "duckdb"
    oracle = "sqlite"
    has_bits = True
    works_in_client = True
    loading = DuckDBLoading()
    in_memory = DuckDBInMemory
    rate = (1e-3, 1e-6)
    page_counters = PageCounters(page=("default_block_size", 262_144))
    survive_by: ClassVar[Mapping[Survives, str]] = {
        Survives.POWER_LOSS: "[options.duckdb] 'set.fsync_mode' = 'STANDARD'",
        Survives.PROCESS_CRASH: "[options.duckdb] 'set.fsync_mode' = 'NONE'",
    }

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        mark = _mark(namespace)
        return (
            f"CREATE SCHEMA {quote(namespace)}",
            f"CREATE TABLE {mark} (created_by VARCHAR NOT NULL)",
            f"INSERT INTO {mark} VALUES ('inrush')",
        )

    def foreign_objects(self, namespaces: Sequence[str]) -> str:
        held = "FROM information_schema.tables WHERE table_catalog = current_database()"
        return (
            f"SELECT table_schema || '.' || table_name {held} "
            f"AND table_schema NOT IN (SELECT table_schema {held} AND table_name = 'inrush_mark')"
        )

    def ask_file(self, path: Path, statement: str) -> list[str]:
        import duckdb

        try:
            with duckdb.connect(str(path), read_only=True) as file:
                return [str(row[0]) for row in file.execute(statement).fetchall()]
        except duckdb.Error as error:  # held by another process, too: a run would not wait
            raise NoDatabase(str(error).partition("\n")[0]) from None

    def drop_namespace(self, namespace: str) -> tuple[str, ...]:
        return (_refuse_unmarked(namespace), f"DROP SCHEMA {quote(namespace)} CASCADE")

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        name = f"{quote(namespace)}.{quote(table.name)}"
        indexes = table.layouts.get(layout, ())
        create = sql.create_table(
            table, name, TYPES, indexes, stem=table.name
        )  # it lives in its table's schema
        drop = f"DROP TABLE IF EXISTS {name}"
        return TablePlan(
            name=name,
            create=create,
            # Deleted rows would stay in the file's row groups; a new table starts as the first did.
            fresh=(drop, *create, "CHECKPOINT"),
            drop=(_refuse_unmarked(namespace), drop),
            wire={column.name: sql.type_of(column, TYPES) for column in table.columns},
            losses=sql.losses(table, LOSSES),
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        inserts: Mapping[str, sql.Insert] = {
            "bulk": sql.table_name,
            "multirow": sql.insert_one_row,
            "server_file": _copy_text,
        }
        return sql.operation(operation, method, self.name, tables, inserts)

    def row_call(self, operation: Operation, table: Table, plan: TablePlan) -> str | Unsupported:
        return row_calls.sql_text(operation, table, plan, row_calls.on_conflict)

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return proof(
            table,
            plan,
            DuckDBFigures(),
            unsigned_is_signed=False,
            lengths=("text", "json"),
            read_column=read_column,
        )

    def instant(self, column: Column, at_ns: int) -> str | None:
        return f"TIMESTAMPTZ '{sql.instant_text(at_ns)}'"

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        return Probes(
            sizes=(
                # Rows still in the log have no blocks yet. Gives no row.
                "SELECT 'checkpointed', * FROM checkpoint()",
                "SELECT 'file', total_blocks * block_size FROM pragma_database_size()",
                "SELECT 'used', used_blocks * block_size FROM pragma_database_size()",
                *(_table_size(plan) for plan in tables),
            ),
            counters=("SELECT tag, memory_usage_bytes FROM duckdb_memory() WHERE memory_usage_bytes > 0",),
            settings=(
                "SELECT name, value FROM duckdb_settings()",
                "SELECT 'path', coalesce(path, '') FROM duckdb_databases() WHERE database_name = current_database()",
            ),
            version="SELECT 'version', version()",
        )

    def durability(self, settings: Mapping[str, str]) -> Durability:
        """A commit syncs the write-ahead log of a file; a database in memory keeps nothing."""
        because = {name: settings[name] for name in ("path", FSYNC) if name in settings}
        if not settings.get("path"):
            return Durability(Survives.NOTHING, because=because)
        if settings.get(FSYNC, "").upper() == "NONE":
            return Durability(Survives.PROCESS_CRASH, because=because)
        return Durability(Survives.POWER_LOSS, because=because)

    def run_target(self, target: Target, data: Path) -> Target:
        url = target.url if file_of(target.url) else f"duckdb://{data.absolute()}/run.duckdb"
        return replace(target, url=url, options={**driver(), **target.options})


def read_column(column: Column) -> str:
    """A column as a read-back selects it."""
    name = quote(column.name)
    if column.type == "bytes":
        return f"lower(hex({name})) AS {name}"
    if column.bits:
        # A string of another length may be the same number: it is read as NULL, and differs.
        return f"CASE WHEN length({name}) = {column.bits} THEN {name} END AS {name}"
    return (
        f"CAST({name} AS VARCHAR) AS {name}"
        if column.type in SPELLED and TYPES[column.type] != "VARCHAR"
        else name
    )


def _copy_text(table: str, columns: tuple[str, ...]) -> str:
    options = "FORMAT csv, DELIMITER '\t', NULLSTR '\\N', HEADER false, QUOTE '', ESCAPE ''"
    return f"COPY {table} ({', '.join(map(quote, columns))}) FROM '{{path}}' ({options})"


def driver() -> Mapping[str, str]:
    """The driver is the library of the Python package itself: it is there when DuckDB is."""
    need("duckdb", DuckDB.extra)
    found = importlib.util.find_spec("_duckdb")
    if found is None or found.origin is None:
        raise TargetError("duckdb: the package has no library _duckdb; pip install --force-reinstall duckdb")
    return {"driver": found.origin, "entrypoint": "duckdb_adbc_init"}


def _mark(namespace: str) -> str:
    return f"{quote(namespace)}.inrush_mark"


def _refuse_unmarked(namespace: str) -> str:
    """Fails where the mark is missing; what follows it is then not run."""
    return f"SELECT created_by FROM {_mark(namespace)}"


def _table_size(plan: TablePlan) -> str:
    """Blocks that hold rows of the table; blocks shared with other tables count for each of them."""
    blocks = (
        f"SELECT unnest(list_append(additional_block_ids, block_id)) AS block FROM pragma_storage_info({literal(plan.name)}) "
        "WHERE persistent"
    )
    return (
        f"SELECT {literal('table:' + plan.name)}, coalesce(count(DISTINCT block) * any_value(block_size), 0) "
        f"FROM ({blocks}), pragma_database_size()"
    )
