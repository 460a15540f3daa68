"""The tables of others on ClickHouse, as `inrush load` makes, describes, fills and proves them. Pure.

What `--create` makes differs in its times, in NULL and in the order of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from inrush.engines.base.loading import Loading
from inrush.engines.base.plans import TablePlan
from inrush.engines.base.sampled import SampledColumns
from inrush.engines.base.sql import literal, quote
from inrush.engines.clickhouse.checksum import ClickhouseFigures, digits
from inrush.engines.clickhouse.tables import number_of
from inrush.workload import Column, Table

#: Times of tables that inrush made are integers, but for `TIMES`: what a file holds says which they are.
COLUMN_TYPES: Mapping[str, tuple[str, ...]] = {
    "uint8": ("u8", "bool"),
    "bool": ("bool",),
    "int16": ("i16",),
    "int32": ("i32",),
    "int64": ("i64", "time_ms", "time_us"),
    "uint16": ("u16",),
    "uint32": ("u32",),
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
#: From 1900 to the end of 2299, in the column's unit.
RANGES = {
    "datetime64(3)": (-2_208_988_800_000, 10_413_791_999_999),
    "datetime64(6)": (-2_208_988_800_000_000, 10_413_791_999_999_999),
}
#: Logical type -> its type on a server that has `DateTime64` of the years 1900 to 2299.
TIMES = {"time_ms": "DateTime64(3, 'UTC')", "time_us": "DateTime64(6, 'UTC')"}
#: The first such version (22.8 has it, 22.7 has fewer years).
SINCE = 23
#: The insert method of such columns: in the others a whole number would mean seconds.
METHODS = ("rowbinary",)
#: 50.0049 becomes the float below its nearest one; 26.1034 does not.
ROUNDED = "ClickHouse takes a float of a text for the nearest one or the one beside it"


class ClickhouseLoading(Loading):
    figures = ClickhouseFigures()
    hashing = "city_hash64"
    pads_texts = True
    reads_texts = True
    column_types: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMN_TYPES
    not_finite: ClassVar[frozenset[str]] = frozenset({"nan", "inf"})
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = RANGES
    null_is_a_type = True
    types_by_version = True
    first_database = "default"
    rounds_floats: ClassVar[Mapping[str, str]] = {"tsv": ROUNDED, "values": ROUNDED}

    def describe(self, schema: str, table: str) -> str:
        where = (
            f"database = {literal(schema) if schema else 'currentDatabase()'} AND table = {literal(table)}"
        )
        # A list that may be NULL stands in a list of its own.
        required = "type NOT LIKE '%Nullable(%' AND type NOT LIKE 'Array(Array(%'"
        return f"SELECT name, type, {required} FROM system.columns WHERE {where}"

    def ask_schemas(self, table: str) -> str:
        return f"SELECT database FROM system.tables WHERE name = {literal(table)} ORDER BY 1"

    def schema_of(self, schema: str, table: str) -> str:
        return f"SELECT {literal(schema) if schema else 'currentDatabase()'}"

    def create_table(self, usual: TablePlan, table: Table, sampled: SampledColumns) -> str:
        def declared(column: Column) -> str:
            kind = usual.wire[column.name]
            return kind.replace("Int64", TIMES[column.type]) if has_ticks(column, sampled) else kind

        columns = ", ".join(f"{quote(c.name)} {declared(c)}" for c in table.columns)
        keys = ", ".join(map(quote, order_of(table, sampled.key)))
        order = f"({keys})" if keys else "tuple()"
        return f"CREATE TABLE {usual.name} ({columns}) ENGINE = MergeTree ORDER BY {order}"

    def methods_for(self, table: Table, methods: tuple[str, ...]) -> tuple[str, ...]:
        ticks = any(number_of(column) for column in table.columns)
        if self.has_texts(table):
            return () if ticks else ("tsv",)
        if ticks:
            return METHODS
        # Bytes are sent as they are by those that are no text.
        return ("native", "rowbinary") if any(c.type == "bytes" for c in table.columns) else methods

    def wire_of(self, column: Column, usual: str) -> str:
        # Texts of arrays and their like have escapes of their own.
        return column.declared if self.is_as_text(column.declared) else usual

    def raw_columns(self, table: Table) -> Mapping[str, int]:
        return {c.name: 0 for c in table.columns if c.type == "bytes"}

    def read_column(self, column: Column) -> str:
        number, name = number_of(column), quote(column.name)
        if column.type == "bytes":
            return f"{digits(column)} AS {name}"
        if self.is_as_text(column.declared):
            return f"toString({name}) AS {name}"
        if column.declared.startswith("LowCardinality("):
            plain = column.declared.removeprefix("LowCardinality(").removesuffix(")")
            return f"CAST({name} AS {plain}) AS {name}"
        return name if number is None else f"{number}({name}) AS {name}"

    def create_keyed(self, name: str, columns: Mapping[str, str], key: Sequence[str]) -> str:
        declared = ", ".join(f"{column} {STANDARD.get(kind, 'String')}" for column, kind in columns.items())
        return (
            f"CREATE TABLE IF NOT EXISTS {name} ({declared}) ENGINE = MergeTree ORDER BY ({', '.join(key)})"
        )

    def ask_unfit(self, schema: str, table: str) -> str:
        where = f"database = {literal(schema) if schema else 'currentDatabase()'} AND name = {literal(table)}"
        why = "its engine is Distributed, which stores rows later and elsewhere; `inrush load --into` that server finds its shards"
        return f"SELECT {literal(why)} FROM system.tables WHERE {where} AND engine = 'Distributed'"


def has_ticks(column: Column, sampled: SampledColumns) -> bool:
    """Whether a column of times is a `DateTime64`: not where that loses one, or where rows are placed by the whole number."""
    major = sampled.version.partition(".")[0]
    known = major.isdigit() and int(major) >= SINCE
    placed = sampled.placed and column.name in sampled.key
    return known and column.type in TIMES and column.name not in sampled.far and not placed


def order_of(table: Table, key: Sequence[str]) -> list[str]:
    """The columns that rows are ordered by: the key, else the first time. A column that may be NULL orders nothing."""
    firm = {c.name: c for c in table.columns if not c.nullable}
    keys = [name for name in key if name in firm]
    return keys or [name for name, c in firm.items() if c.type in TIMES][:1]
