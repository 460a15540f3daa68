"""ClickHouse: its dialect, for servers of 2018 (18.16) and of today alike. Twin of rust/engines/src/engine/clickhouse.rs; its
other parts stand beside this file.

A namespace is a database with a table as inrush's mark: a database of the user's is never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from inrush.engines.base import http, row_calls, sql
from inrush.engines.base.checksum import proof
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.page_counters import PageCounters
from inrush.engines.base.plans import OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.protocol_probe import Protocol
from inrush.engines.base.sql import literal, quote
from inrush.engines.base.twin import Twin
from inrush.engines.base.versions import number_of
from inrush.engines.clickhouse.checksum import ClickhouseFigures
from inrush.engines.clickhouse.cluster import ClickhouseCluster
from inrush.engines.clickhouse.life import OF_TABLES, ClickhouseLife, folder_of_data
from inrush.engines.clickhouse.load import ClickhouseLoading
from inrush.engines.clickhouse.tables import type_of
from inrush.workload import SPELLED, Column, Operation, Table

LOSSES: Mapping[str, str] = {
    "time_ms": "times are whole numbers of milliseconds since 1970 UTC, because ClickHouse 18 has no DateTime64: "
    "exact, ordered and grouped right, unknown to functions of dates",
    "time_us": "times are whole numbers of microseconds since 1970 UTC, because ClickHouse 18 has no DateTime64: "
    "exact, ordered and grouped right, unknown to functions of dates",
    **sql.texts("date"),
    "json": "documents are texts: kept as they were written, and no text is refused",
}
#: Types that are stored as texts of one form.
HASHED = {*SPELLED, "json"} - {"date"}
LIST_LOSS = "a list that may be NULL is stored in a list of its own, which is empty for NULL"
KEY_LOSS = "the key orders the rows of a MergeTree and does not make them unique"
NULL_KEY_LOSS = "columns that may be NULL do not order the rows of a MergeTree: {}"
AGE_LOSS = "rows are deleted by the hour: a partition goes when all of it is too old"

MARK = "inrush_mark"
#: An hour in the unit of a time column: what is deleted by age at once.
HOUR: Mapping[str, int] = {"time_ms": 3_600_000, "time_us": 3_600_000_000}
#: Data time of a partition: deletes by age drop whole ones.
PIECE_S = 3600.0
#: Settings that say what an acknowledged row survives; older servers know the last ones not.
DURABILITY = ("fsync_metadata", "async_insert", "wait_for_async_insert", "async_insert_busy_timeout_ms")
TABLE_DURABILITY = ("fsync_after_insert", "fsync_part_directory")

_DELETE_BY_AGE = re.compile(
    r"DELETE\s+FROM\s+\{(?P<table>\w+)\}\s+WHERE\s+(?P<column>\w+)\s*<\s*:(?P<param>\w+)\s*;?\s*",
    re.IGNORECASE,
)

#: A placeholder, or what only looks like one.
_PLACE = re.compile(r"""'(?:[^'\\]|\\.|'')*' | "(?:[^"]|"")*" | \$(\d+)""", re.VERBOSE | re.DOTALL)
_SCALE = re.compile(r"Decimal\(\d+, (\d+)\)")


class Clickhouse(Twin):
    name = "clickhouse"
    partitions = "cut"
    title = "ClickHouse"
    least_version = "18.16"
    lifecycle = ClickhouseLife()
    cluster = ClickhouseCluster()
    loading = ClickhouseLoading()
    schemes = ("clickhouse",)
    methods = ("native", "rowbinary", "tsv", "values")
    # It reads no files but those of one folder of its own.
    file_methods = ("client_file",)
    ways_out = ("native", "rowbinary")
    ways: ClassVar[Mapping[str, str]] = {"bulk": "native", "multirow": "values"}
    protocol = Protocol.HTTP
    # It has no memory of its own for pages: all that it asks for comes from the kernel, and the process says what of it
    # the device gave.
    page_counters = PageCounters(asked=("ReadBufferFromFileDescriptorReadBytes",), in_bytes=True)
    programs: ClassVar[frozenset[str]] = frozenset({"clickhouse", "clickhouse-server"})
    #: Of every version: 18.16 takes a text of a later day for 1970-01-01.
    days = ("1970-01-01", "2105-12-31")
    grant = "GRANT ALL ON *.* TO the user, or take a user whose profile is not readonly"
    free_bytes = "SELECT min(free_space) FROM system.disks"
    password_variable = "CLICKHOUSE_PASSWORD"
    client_variables = ("CLICKHOUSE_USER", "SSL_CERT_FILE")
    as_shipped: ClassVar[Mapping[str, str] | None] = {}
    survive_by: ClassVar[Mapping[Survives, str]] = {
        Survives.POWER_LOSS: "--start clickhouse,merge_tree.fsync_after_insert=1,merge_tree.fsync_part_directory=1 (not in 18.16)",
        Survives.PROCESS_CRASH: "as shipped",
    }

    def year_of(self, version: str) -> int | None:
        """Its versions begin with it."""
        first = number_of(version).partition(".")[0]
        return 2000 + int(first) if first else None

    def folder_of_data(self, opened: Iterable[str]) -> str:
        return folder_of_data(opened)

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        return (
            f"CREATE DATABASE {quote(namespace)}",
            f"CREATE TABLE {quote(namespace)}.{MARK} (created_by String) ENGINE = TinyLog",
        )

    def lock(self, name: str, holder: str) -> tuple[str, ...]:
        return (*self.open_namespace(name), sql.holder_table(name, holder, " ENGINE = TinyLog"))

    def ask_holder(self, name: str) -> str:
        return sql.ask_holder(name)

    def ask_locks(self) -> str:
        return f"SELECT name FROM system.databases WHERE startsWith(name, {literal(sql.LOCK)})"

    def drop_namespace(self, namespace: str) -> tuple[str, ...]:
        return (_if_marked(namespace, f"DROP DATABASE IF EXISTS {quote(namespace)}"),)

    def foreign_objects(self, namespaces: Sequence[str]) -> str:
        marked = f"SELECT database FROM system.tables WHERE name = {literal(MARK)}"
        names = ", ".join(map(literal, namespaces))
        return (
            f"SELECT DISTINCT database AS name FROM system.tables WHERE database IN ({names}) "
            f"AND database NOT IN ({marked}) ORDER BY name"
        )

    def deleting(self, plan: TablePlan) -> str:
        return _mutating(plan)

    def drop_foreign_object(self, name: str) -> tuple[str, ...]:
        return (f"DROP DATABASE {quote(name)}",)

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        name = f"{quote(namespace)}.{quote(table.name)}"
        indexes = table.layouts.get(layout, ())
        return TablePlan(
            name=name,
            create=(_create_table(table, name, indexes),),
            fresh=(f"TRUNCATE TABLE {name}",),
            drop=(_if_marked(namespace, f"DROP TABLE IF EXISTS {name}"),),
            wire={column.name: type_of(column) for column in table.columns},
            losses=_losses(table, indexes),
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        if operation.kind == "execute" and (deletion := _delete_by_age(operation, tables)):
            return deletion
        inserts = dict.fromkeys((*self.methods, *self.file_methods), _insert)
        planned = sql.operation(operation, method, self.name, tables, inserts, sql.dollar)
        return planned if isinstance(planned, Unsupported) else _with_decimals(planned, operation, tables)

    def row_call(self, operation: Operation, table: Table, plan: TablePlan) -> str | Unsupported:
        return row_calls.reads_only(
            operation,
            table,
            plan,
            "its rows lie in parts, which are written whole and changed in the background",
        )

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return proof(
            table, plan, ClickhouseFigures(), unsigned_is_signed=False, hashing="city_hash64", hashed=HASHED
        )

    def instant(self, column: Column, at_ns: int) -> str | None:
        return str(at_ns // (1_000_000 if column.type == "time_ms" else 1_000))

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        return Probes(
            sizes=tuple(
                f"SELECT {literal(f'{kind}:{plan.name}')}, {figure} FROM system.parts "
                f"WHERE active AND {_is_table(plan)}"
                for plan in tables
                for kind, figure in (
                    ("table", "sum(bytes_on_disk) - sum(marks_bytes)"),
                    ("indexes", "sum(marks_bytes)"),
                )
            ),
            counters=(
                "SELECT event, value FROM system.events",
                "SELECT concat('metric.', metric), value FROM system.metrics",
                *(
                    f"SELECT {literal(f'parts:{plan.name}')}, count() FROM system.parts "
                    f"WHERE active AND {_is_table(plan)}"
                    for plan in tables
                ),
            ),
            settings=(
                _settings("system.settings", "name", DURABILITY),
                _settings("system.merge_tree_settings", f"concat('{OF_TABLES}', name)", TABLE_DURABILITY),
            ),
            version="SELECT 'version', version()",
        )

    def tls(self, target: Target, settings: Mapping[str, str]) -> str:
        return http.tls(target)

    def durability(self, settings: Mapping[str, str]) -> Durability:
        """What an acknowledged INSERT survives.

        Parts are written to files before the answer, and not synced: the kernel has them when the process dies, the disk
        has not when the power fails. Servers of today can sync each part and its folder; and they can answer before they
        write at all.
        """
        names = (*DURABILITY, *(OF_TABLES + name for name in TABLE_DURABILITY))
        because = {name: settings[name] for name in names if name in settings}
        if settings.get("async_insert") == "1" and settings.get("wait_for_async_insert") == "0":
            window_ms = float(settings.get("async_insert_busy_timeout_ms", "1000"))
            return Durability(Survives.NOTHING, window_ms / 1e3, because)
        synced = all(settings.get(OF_TABLES + name) == "1" for name in TABLE_DURABILITY)
        return Durability(Survives.POWER_LOSS if synced else Survives.PROCESS_CRASH, because=because)


def _if_marked(namespace: str, statement: str) -> str:
    """`statement` where the database bears inrush's mark, holds no table or is not there; else the text fails before it.

    An inrush that was killed while it made the database has left it without a table.
    """
    tables = f"SELECT count() FROM system.tables WHERE database = {literal(namespace)}"
    refusal = quote(f"database {namespace} does not bear the mark of inrush and is left alone")
    return f"SELECT throwIf(({tables}) > 0 AND ({tables} AND name = {literal(MARK)}) = 0) AS {refusal}; {statement}"


def _with_decimals(planned: OpPlan, operation: Operation, tables: Mapping[str, TablePlan]) -> OpPlan:
    """Keys that are decimals, made of their texts: ClickHouse compares a decimal with no text."""
    asked = operation.key_rows.table if operation.key_rows else operation.table
    wire = tables[asked].wire if asked is not None and asked in tables else {}

    def made(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        gen = operation.params.get(planned.params[int(found[1]) - 1], {}).get("gen", {})
        scale = _SCALE.search(wire.get(gen["column"], "")) if gen.get("kind") == "key" else None
        return f"toDecimal128({found[0]}, {scale[1]})" if scale else found[0]

    return replace(planned, text=_PLACE.sub(made, planned.text))


def _create_table(table: Table, name: str, indexes: Sequence[tuple[str, ...]]) -> str:
    columns = ", ".join(f"{quote(c.name)} {type_of(c)}" for c in table.columns)
    keys = [quote(key) for key in (indexes[0] if indexes else ()) if not table.column(key).nullable]
    order = f"({', '.join(keys)})" if keys else "tuple()"
    return f"CREATE TABLE {name} ({columns}) ENGINE = MergeTree{_partition(table, indexes)} ORDER BY {order}"


def _partition(table: Table, indexes: Sequence[tuple[str, ...]]) -> str:
    """As the workload says; by the hour, where the layout asks for an index on a time, which serves the deletion by age."""
    own = table.partitions.get(Clickhouse.name)
    if own and table.time:
        seconds = HOUR[table.time.type] // 3600
        return f" PARTITION BY {_hour_of(table.time.name, int(own.every_s) * seconds)}"
    column = _age_column(table, indexes)
    return f" PARTITION BY {_hour_of(column.name, HOUR[column.type])}" if column else ""


def _age_column(table: Table, indexes: Sequence[tuple[str, ...]]) -> Column | None:
    if Clickhouse.name in table.partitions:
        return None
    alone = [table.column(index[0]) for index in indexes if len(index) == 1]
    return next((c for c in alone if c.type in HOUR and not c.nullable), None)


def _hour_of(column: str, hour: int) -> str:
    return f"intDiv({quote(column)}, {hour})"


def _losses(table: Table, indexes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    found = list(sql.losses(table, LOSSES))
    if any(c.type.startswith("list") and c.nullable for c in table.columns):
        found.append(LIST_LOSS)
    if indexes:
        found.append(KEY_LOSS)
        if open_keys := [key for key in indexes[0] if table.column(key).nullable]:
            found.append(NULL_KEY_LOSS.format(", ".join(open_keys)))
    if _age_column(table, indexes):
        found.append(AGE_LOSS)
    return tuple(found)


def _insert(table: str, columns: tuple[str, ...]) -> str:
    """What follows is the format, which the wire half knows by the method."""
    return f"INSERT INTO {table} ({', '.join(map(quote, columns))})"


def _delete_by_age(operation: Operation, tables: Mapping[str, TablePlan]) -> OpPlan | None:
    """`DELETE FROM {table} WHERE time < :t0` in ClickHouse's way; None for any other statement, or one of its own.

    By partitions where the table has them by this column: the statement gives those that are too old, each as the
    statement that drops it. Else as a mutation, which rewrites the parts in the background.
    """
    if "clickhouse" in operation.sql or "clickhouse" in operation.unsupported:
        return None
    found = _DELETE_BY_AGE.fullmatch(operation.sql.get("default", "").strip())
    if found is None:
        return None
    logical = operation.table if found["table"] == "table" else found["table"]
    plan = tables[logical or ""]
    column = found["column"]
    hour = next((h for h in HOUR.values() if f"PARTITION BY {_hour_of(column, h)} " in plan.create[0]), None)
    if hour is None:
        return OpPlan(f"ALTER TABLE {plan.name} DELETE WHERE {quote(column)} < $1", params=(found["param"],))
    return OpPlan(
        f"SELECT concat({literal(f'ALTER TABLE {plan.name} DROP PARTITION ')}, partition) FROM system.parts "
        f"WHERE active AND {_is_table(plan)} AND toInt64(partition) < intDiv($1, {hour}) GROUP BY partition",
        "each",
        (found["param"],),
        PIECE_S,
    )


def _mutating(plan: TablePlan) -> str:
    """Deletes that are no partitions: mutations, acknowledged before they are done."""
    return f"SELECT mutation_id FROM system.mutations WHERE {_is_table(plan)} AND NOT is_done"


def _is_table(plan: TablePlan) -> str:
    """A row of `system.parts` is about this table."""
    *named, table = (part.replace('""', '"') for part in plan.name[1:-1].split('"."'))
    database = literal(named[0]) if named else "currentDatabase()"
    return f"database = {database} AND table = {literal(table)}"


def _settings(view: str, name: str, always: Sequence[str]) -> str:
    names = ", ".join(map(literal, always))
    return f"SELECT {name}, value FROM {view} WHERE changed OR name IN ({names}) ORDER BY name"
