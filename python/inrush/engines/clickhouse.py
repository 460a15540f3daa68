"""ClickHouse: its dialect, for servers of 2018 (18.16) and of today alike. Twin of rust/src/engine/clickhouse.rs; the
life of a server of ours is clickhouse_life.py.

A namespace is a database with a table as inrush's mark: a database of the user's is never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

from inrush.border.load import Rule
from inrush.engines import clickhouse_load, clickhouse_shards, http, sql
from inrush.engines.base import (
    Durability,
    OpPlan,
    Probes,
    Proof,
    ShardedTable,
    Survives,
    TablePlan,
    Target,
    Unsupported,
)
from inrush.engines.clickhouse_life import OF_TABLES, ClickhouseLife
from inrush.engines.sampled import Sampled
from inrush.engines.sql import Item, literal, quote
from inrush.workload import Column, Operation, Table

#: Logical type -> type in the table and on the wire.
TYPES: Mapping[str, str] = {
    "bool": "UInt8",
    "i16": "Int16",
    "i32": "Int32",
    "i64": "Int64",
    "u64": "UInt64",
    "f32": "Float32",
    "f64": "Float64",
    "time_ms": "Int64",
    "time_us": "Int64",
    "text": "String",
    "bytes": "String",
    "list_f64": "Array(Float64)",
    "list_i64": "Array(Int64)",
    "uuid": "String",
}
#: Times of tables that inrush made are integers, but for those of `clickhouse_load`: what a file holds says which they are.
COLUMN_TYPES: Mapping[str, tuple[str, ...]] = {
    "uint8": ("bool",),
    "bool": ("bool",),
    "int16": ("i16",),
    "int32": ("i32",),
    "int64": ("i64", "time_ms", "time_us"),
    "uint64": ("u64",),
    "float32": ("f32",),
    "float64": ("f64",),
    "string": ("text", "bytes"),
    "array(float64)": ("list_f64",),
    "array(int64)": ("list_i64",),
    "array(array(float64))": ("list_f64",),
    "array(array(int64))": ("list_i64",),
    "datetime64(3)": ("time_ms",),
    "datetime64(6)": ("time_us",),
}
#: Types of SQL's standard as ClickHouse of every age names them.
STANDARD = {"smallint": "Int16", "integer": "Int32", "bigint": "Int64"}
LOSSES: Mapping[str, str] = {
    "time_ms": "times are whole numbers of milliseconds since 1970 UTC, because ClickHouse 18 has no DateTime64: "
    "exact, ordered and grouped right, unknown to functions of dates",
    "time_us": "times are whole numbers of microseconds since 1970 UTC, because ClickHouse 18 has no DateTime64: "
    "exact, ordered and grouped right, unknown to functions of dates",
    "uuid": "a UUID is its text of 36 characters",
}
LISTS = ("list_f64", "list_i64")
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


#: From 1900 to the end of 2299, in the column's unit.
RANGES = {
    "datetime64(3)": (-2_208_988_800_000, 10_413_791_999_999),
    "datetime64(6)": (-2_208_988_800_000_000, 10_413_791_999_999_999),
}


class Clickhouse(ClickhouseLife):
    name = "clickhouse"
    schemes = ("clickhouse",)
    methods = ("native", "rowbinary", "tsv", "values")
    ways: ClassVar[Mapping[str, str]] = {"bulk": "native", "multirow": "values"}
    column_types: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMN_TYPES
    not_finite: ClassVar[frozenset[str]] = frozenset({"nan", "inf"})
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = RANGES
    password_variable = "CLICKHOUSE_PASSWORD"
    survive_by: ClassVar[Mapping[Survives, str]] = {
        Survives.POWER_LOSS: "--start clickhouse,merge_tree.fsync_after_insert=1,merge_tree.fsync_part_directory=1 (not in 18.16)",
        Survives.PROCESS_CRASH: "as shipped",
    }
    coordinated = True
    coordinator_configured = True
    null_is_a_type = True
    types_by_version = True
    first_database = "default"
    long_text: ClassVar[str] = "Nullable(String)"

    # decides

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        return (
            f"CREATE DATABASE {quote(namespace)}",
            f"CREATE TABLE {quote(namespace)}.{MARK} (created_by String) ENGINE = TinyLog",
        )

    def lock(self, name: str, holder: str) -> tuple[str, ...]:
        return (*self.open_namespace(name), sql.holder_table(name, holder, " ENGINE = TinyLog"))

    def ask_holder(self, name: str) -> str:
        return sql.ask_holder(name)

    def drop_namespace(self, namespace: str) -> tuple[str, ...]:
        return (_if_marked(namespace, f"DROP DATABASE IF EXISTS {quote(namespace)}"),)

    def foreign_objects(self, namespaces: Sequence[str]) -> str:
        marked = f"SELECT database FROM system.tables WHERE name = {literal(MARK)}"
        names = ", ".join(map(literal, namespaces))
        return f"SELECT name FROM system.databases WHERE name IN ({names}) AND name NOT IN ({marked}) ORDER BY name"

    def deleting(self, plan: TablePlan) -> str:
        return _mutating(plan)

    def drop_foreign_object(self, name: str) -> tuple[str, ...]:
        return (f"DROP DATABASE {quote(name)}",)

    def describe(self, schema: str, table: str) -> str:
        where = (
            f"database = {literal(schema) if schema else 'currentDatabase()'} AND table = {literal(table)}"
        )
        # A list that may be NULL stands in a list of its own.
        required = "type NOT LIKE '%Nullable(%' AND type NOT LIKE 'Array(Array(%'"
        return f"SELECT name, type, {required} FROM system.columns WHERE {where}"

    def schema_of(self, schema: str, table: str) -> str:
        return f"SELECT {literal(schema) if schema else 'currentDatabase()'}"

    def create_loaded(self, table: Table, name: str, sampled: Sampled) -> str:
        return clickhouse_load.create(table, name, sampled, _type)

    def load_methods(self, table: Table) -> tuple[str, ...]:
        if any(clickhouse_load.number_of(column) for column in table.columns):
            return clickhouse_load.METHODS
        # Bytes are sent as they are by those that are no text.
        return ("native", "rowbinary") if any(c.type == "bytes" for c in table.columns) else self.methods

    def raw_columns(self, table: Table) -> Mapping[str, int]:
        return {c.name: 0 for c in table.columns if c.type == "bytes"}

    def read_column(self, column: Column) -> str:
        number, name = clickhouse_load.number_of(column), quote(column.name)
        if column.type == "bytes":
            return f"{_hashed(column)} AS {name}"
        return name if number is None else f"{number}({name}) AS {name}"

    def create_keyed(self, name: str, columns: Mapping[str, str], key: Sequence[str]) -> str:
        declared = ", ".join(f"{column} {STANDARD.get(kind, 'String')}" for column, kind in columns.items())
        return (
            f"CREATE TABLE IF NOT EXISTS {name} ({declared}) ENGINE = MergeTree ORDER BY ({', '.join(key)})"
        )

    def unfit_for_load(self, schema: str, table: str) -> str:
        where = f"database = {literal(schema) if schema else 'currentDatabase()'} AND name = {literal(table)}"
        why = "its engine is Distributed, which stores rows later and elsewhere; `inrush load --into` that server finds its shards"
        return f"SELECT {literal(why)} FROM system.tables WHERE {where} AND engine = 'Distributed'"

    def ask_shards(self) -> str:
        return clickhouse_shards.ask_cluster()

    def shard_urls(self, rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
        return clickhouse_shards.shard_urls(rows)

    def ask_sharded_table(self, schema: str, table: str) -> str:
        return clickhouse_shards.ask_table(schema, table)

    def sharded_table(self, name: str, rows: Sequence[Sequence[Any]]) -> ShardedTable | None:
        return clickhouse_shards.sharded_table(name, rows)

    def know_shards(self, urls: Sequence[str], passwords: Mapping[str, str]) -> Sequence[str]:
        return ()  # its configuration says them

    def rule(self, kinds: Sequence[str], shards: int) -> Rule:
        return clickhouse_shards.rule(kinds, shards)

    def spread_table(
        self, name: str, columns: Sequence[tuple[str, str]], key: Sequence[str], urls: Sequence[str]
    ) -> Sequence[str]:
        return clickhouse_shards.table(name, columns, key, urls)

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        name = f"{quote(namespace)}.{quote(table.name)}"
        indexes = table.layouts.get(layout, ())
        return TablePlan(
            name=name,
            create=(_create_table(table, name, indexes),),
            fresh=(f"TRUNCATE TABLE {name}",),
            drop=(_if_marked(namespace, f"DROP TABLE IF EXISTS {name}"),),
            wire={column.name: _type(column) for column in table.columns},
            losses=_losses(table, indexes),
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        if operation.kind == "execute" and (deletion := _delete_by_age(operation, tables)):
            return deletion
        inserts = dict.fromkeys(self.methods, _insert)
        return sql.operation(operation, method, self.name, tables, inserts, sql.dollar)

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return sql.proof(table, plan, _figure, unsigned_is_signed=False, hashing="city_hash64")

    def load_proof(
        self, table: Table, name: str, declared: Mapping[str, str], loose: Collection[str] = ()
    ) -> Proof:
        items = sql.load_items(table, "city_hash64", False, declared, loose)
        return sql.load_proof(table, name, items, _figure)

    def load_checksum_query(self, table: Table, name: str, items: Sequence[Item]) -> str:
        return sql.load_checksum_query(table, name, items, _figure)

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
    """`statement` where the database bears inrush's mark or is not there; else the text fails before it."""
    there = f"SELECT count() FROM system.databases WHERE name = {literal(namespace)}"
    marked = (
        f"SELECT count() FROM system.tables WHERE database = {literal(namespace)} AND name = {literal(MARK)}"
    )
    refusal = quote(f"database {namespace} does not bear the mark of inrush and is left alone")
    return f"SELECT throwIf(({there}) > ({marked})) AS {refusal}; {statement}"


def _type(column: Column) -> str:
    kind = TYPES[column.type]
    if not column.nullable:
        return kind
    return f"Array({kind})" if column.type in LISTS else f"Nullable({kind})"


def _create_table(table: Table, name: str, indexes: Sequence[tuple[str, ...]]) -> str:
    columns = ", ".join(f"{quote(c.name)} {_type(c)}" for c in table.columns)
    keys = [quote(key) for key in (indexes[0] if indexes else ()) if not table.column(key).nullable]
    order = f"({', '.join(keys)})" if keys else "tuple()"
    return f"CREATE TABLE {name} ({columns}) ENGINE = MergeTree{_partition(table, indexes)} ORDER BY {order}"


def _partition(table: Table, indexes: Sequence[tuple[str, ...]]) -> str:
    """By the hour, where the layout asks for an index on a time: that index serves the deletion by age."""
    column = _age_column(table, indexes)
    return f" PARTITION BY {_hour_of(column.name, HOUR[column.type])}" if column else ""


def _age_column(table: Table, indexes: Sequence[tuple[str, ...]]) -> Column | None:
    alone = [table.column(index[0]) for index in indexes if len(index) == 1]
    return next((c for c in alone if c.type in HOUR and not c.nullable), None)


def _hour_of(column: str, hour: int) -> str:
    return f"intDiv({quote(column)}, {hour})"


def _losses(table: Table, indexes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    found = list(sql.losses(table, LOSSES))
    if any(c.type in LISTS and c.nullable for c in table.columns):
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
    database, table = (part.replace('""', '"') for part in plan.name[1:-1].split('"."'))
    return f"database = {literal(database)} AND table = {literal(table)}"


def _settings(view: str, name: str, always: Sequence[str]) -> str:
    names = ", ".join(map(literal, always))
    return f"SELECT {name}, value FROM {view} WHERE changed OR name IN ({names}) ORDER BY name"


def _figure(item: Item, column: Callable[[str], Column]) -> str:
    """One figure of the checksum query. A sum of UInt64 or Int64 halves is exact up to 2^32 rows."""
    kind = item["kind"]
    if kind == "rows":
        return "count()"
    if kind == "product":
        key, value = (f"toInt64(bitAnd({_whole(column(item[n]))}, 65535))" for n in ("key", "value"))
        return f"sum({key} * {value})"
    if kind == "sum_rows":
        return f"sum(intHash64({sql.row_number(item, column, _remainder)}))"
    name = quote(item["column"])
    if kind == "not_null":
        return f"countIf(notEmpty({name}))" if column(item["column"]).type in LISTS else f"count({name})"
    if kind == "count_true":
        return f"countIf({name} != 0)"
    if kind == "sum_hash":
        # NULL has no hash; sums of UInt64 wrap at 2^64, as ours do.
        return f"sum(cityHash64({_hashed(column(item['column']))}))"
    if kind == "sum_length":
        return f"sum(length({name}))"
    if kind == "sum_scaled":
        # Scaling a double by a power of two is exact, and so is the cast of a whole one.
        return f"sum(toInt64(toFloat64({name}) * {2 ** item['bits']}))"
    whole = _whole(column(item["column"]))
    return f"sum(bitAnd({whole}, 4294967295))" if kind == "sum_low" else f"sum(bitShiftRight({whole}, 32))"


def _remainder(column: Column) -> str:
    """A column's part of its row's number: see `sql.row_number`."""
    if column.type == "bool":
        value = f"({quote(column.name)} != 0)"
    else:
        value = _whole(column) if column.type in sql.WHOLE_TYPES else f"cityHash64({_hashed(column)})"
    return f"ifNull(toInt64({value} % {sql.ROW_DIVISOR}), {sql.ROW_DIVISOR})"


def _hashed(column: Column) -> str:
    """What is hashed of a column: of bytes their hexadecimal digits."""
    name = quote(column.name)
    return f"lower(hex({name}))" if column.type == "bytes" else name


def _whole(column: Column) -> str:
    """A whole column with all its 64 bits."""
    name, number = quote(column.name), clickhouse_load.number_of(column)
    if number is not None:
        return f"{number}({name})"
    return name if column.type == "u64" else f"toInt64({name})"
