"""The tables of others on PostgreSQL, as `inrush load` describes, fills and proves them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from inrush.border.table import Spelling
from inrush.engines.base.loading import Loading
from inrush.engines.base.merge import ORDER, MergeDialect
from inrush.engines.base.sql import bits_of, literal, oid, quote
from inrush.engines.postgresql.checksum import LoadedFigures, digits
from inrush.workload import SPELLED, TYPES, Column, Table

#: As `format_type` names them, without length.
COLUMN_TYPES: Mapping[str, tuple[str, ...]] = {
    "boolean": ("bool",),
    "smallint": ("i16",),
    "integer": ("i32",),
    "bigint": ("i64",),
    "real": ("f32",),
    "double precision": ("f64",),
    "timestamp with time zone": ("time_us",),
    "timestamp without time zone": ("time_us",),
    "text": ("text",),
    "character varying": ("text",),
    "character": ("text",),
    "bpchar": ("text",),
    "double precision[]": ("list_f64",),
    "bigint[]": ("list_i64",),
    **{TYPES[name].postgresql: (name,) for name in SPELLED},
    **dict.fromkeys(("bytea", "bit"), ("bytes",)),
}
#: From 4714 BC on, µs since 1970.
RANGES = dict.fromkeys(
    ("timestamp with time zone", "timestamp without time zone"), (-210_866_803_200_000_000, 2**63 - 1)
)


class PostgresqlLoading(Loading):
    figures = LoadedFigures()
    hashing = "postgresql"
    unsigned_is_signed = True
    pads_texts = True
    row_figures = 1_664
    reads_texts = True
    decimal = ("numeric", 1_000, 1_000)
    spelled: ClassVar[Mapping[str, Spelling]] = {"numeric": {"kind": "written"}}
    merges = MergeDialect(
        make=(
            "CREATE UNLOGGED TABLE IF NOT EXISTS {stage} AS SELECT {columns} FROM {table} LIMIT 0",
            f"ALTER TABLE {{stage}} ADD COLUMN IF NOT EXISTS {ORDER} bigint GENERATED ALWAYS AS IDENTITY",
        ),
        # Deleted rows would be read again by every later statement.
        clear="TRUNCATE TABLE",
        order=ORDER,
        text="text",
        lock=("SELECT pg_advisory_xact_lock(hashtext('inrush ' || {name}::regclass::oid::text))",),
    )
    transactional = True
    column_types: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMN_TYPES
    not_finite = frozenset({"nan", "inf"})
    has_days = True
    bounds_texts = True
    # A longer one is cut, and the server says so in a notice alone: NAMEDATALEN - 1.
    name_limit = (63, "bytes")
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = RANGES
    first_database = "postgres"

    def methods_for(self, table: Table, methods: tuple[str, ...]) -> tuple[str, ...]:
        if self.has_texts(table):
            return ("client_file",)
        # A COPY takes bytes as they are; the others send texts.
        return ("bulk",) if any(c.type == "bytes" for c in table.columns) else methods

    def raw_columns(self, table: Table) -> Mapping[str, int]:
        return {c.name: bits_of(c.declared) for c in table.columns if c.type == "bytes"}

    def read_column(self, column: Column) -> str:
        name = quote(column.name)
        if column.type == "bytes":
            return f"{digits(column)} AS {name}"
        return f"{name}::text AS {name}" if self.is_as_text(column.declared) else name

    def describe(self, schema: str, table: str) -> str:
        """By the catalogue: it names types as statements do, and columns of every kind of table."""
        return (
            "SELECT attname, format_type(atttypid, atttypmod), attnotnull::int FROM pg_attribute "
            f"WHERE attrelid = {oid(schema, table)} AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )

    def ask_sequences(self, name: str) -> str:
        table = literal(name)
        sequence = f"pg_get_serial_sequence({table}, attname)"
        return (
            f"SELECT attname, {sequence}, coalesce(pg_sequence_last_value({sequence}::regclass), 0) FROM pg_attribute "
            f"WHERE attrelid = {table}::regclass AND attnum > 0 AND NOT attisdropped AND {sequence} IS NOT NULL "
            f"AND has_sequence_privilege({sequence}, 'SELECT')"
        )

    def schema_of(self, schema: str, table: str) -> str:
        """Where the search path finds it; a new one is made in the first schema of that path."""
        otherwise = literal(schema) if schema else "current_schema()"
        found = f"(SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = {oid(schema, table)})"
        return f"SELECT coalesce({found}, {otherwise})"

    def copy_table(self, name: str, like: str) -> str:
        return f"CREATE TABLE IF NOT EXISTS {name} (LIKE {like} INCLUDING ALL)"
