"""PostgreSQL: its dialect. Twin of rust/src/engine/postgresql.rs; the life of a server of ours is postgresql_life.py.

A namespace is a schema with a comment as inrush's mark: a schema of the user's is never dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from inrush.engines import postgresql_shards, sql
from inrush.engines.base import (
    LOG,
    TLS,
    Durability,
    OpPlan,
    Probes,
    Proof,
    ShardedTable,
    Survives,
    TablePlan,
    Unsupported,
)
from inrush.engines.postgresql_life import PostgresqlLife
from inrush.engines.sql import Item, bits_of, literal, quote
from inrush.workload import Column, Operation, Table

#: Logical type -> type in the table.
DECLARED: Mapping[str, str] = {
    "bool": "boolean",
    "i16": "smallint",
    "i32": "integer",
    "i64": "bigint",
    "u64": "bigint",
    "f32": "real",
    "f64": "double precision",
    "time_ms": "timestamptz(3)",
    "time_us": "timestamptz(6)",
    "text": "text",
    "list_f64": "double precision[]",
    "list_i64": "bigint[]",
    "date": "date",
    "uuid": "uuid",
    "bytes": "bytea",
}
#: Logical type -> type on the wire, as rust/src/encode/pgcopy/types.rs names them.
WIRE: Mapping[str, str] = {
    "bool": "bool",
    "i16": "int2",
    "i32": "int4",
    "i64": "int8",
    "u64": "int8",
    "f32": "float4",
    "f64": "float8",
    "time_ms": "timestamptz",
    "time_us": "timestamptz",
    "text": "text",
    "list_f64": "float8[]",
    "list_i64": "int8[]",
    "date": "date",
    "uuid": "uuid",
    "bytes": "text",
}
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
    "date": ("date",),
    "uuid": ("uuid",),
    **dict.fromkeys(("bytea", "bit"), ("bytes",)),
}
LOSSES: Mapping[str, str] = {
    "u64": "unsigned 64-bit values are stored with their bits reinterpreted: read back exactly, ordered and aggregated as signed",
    "text": "a text with a NUL character is refused",
}
#: Twin of SEED in rust/src/rows/lookup3.rs.
HASH_SEED = 0x7A5B_2236_7996_DCFD
#: Times whose distance from 1970 is below 2^31 s.
EXACT_FROM, EXACT_UNTIL = "1902-01-01 00:00:00Z", "2038-01-01 00:00:00Z"
MARK = "made by inrush"
#: Said of a connection that cannot be encrypted, and that nobody can listen to.
SOCKET = "none, by a Unix socket"
#: Settings that say what an acknowledged row survives.
DURABILITY = ("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "wal_writer_delay")


#: From 4714 BC on, µs since 1970.
RANGES = dict.fromkeys(
    ("timestamp with time zone", "timestamp without time zone"), (-210_866_803_200_000_000, 2**63 - 1)
)


class Postgresql(PostgresqlLife):
    name = "postgresql"
    schemes: ClassVar[tuple[str, ...]] = ("postgresql", "postgres")
    methods = ("bulk", "multirow", "unnest")
    max_depth = 1024
    transactional = True
    column_types = COLUMN_TYPES
    not_finite = frozenset({"nan", "inf"})
    has_days = True
    bounds_texts = True
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = RANGES
    rate = (1e-3, 1.5e-6)
    password_variable = "PGPASSWORD"
    survive_by: ClassVar[Mapping[Survives, str]] = {
        Survives.POWER_LOSS: "--start {engine},fsync=on,full_page_writes=on,synchronous_commit=on",
        Survives.PROCESS_CRASH: "--start {engine},fsync=off",
    }
    coordinated = True
    first_database = "postgres"

    # decides

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        schema = quote(namespace)
        return (f"CREATE SCHEMA {schema}", f"COMMENT ON SCHEMA {schema} IS {literal(MARK)}")

    def foreign_objects(self, namespaces: Sequence[str]) -> str:
        names = ", ".join(map(literal, namespaces))
        return (
            f"SELECT nspname FROM pg_namespace WHERE nspname IN ({names}) "
            f"AND obj_description(oid, 'pg_namespace') IS DISTINCT FROM {literal(MARK)}"
        )

    def drop_foreign_object(self, name: str) -> tuple[str, ...]:
        return (f"DROP SCHEMA {quote(name)} CASCADE",)

    def lock(self, name: str, holder: str) -> tuple[str, ...]:
        return (*self.open_namespace(name), sql.holder_table(name, holder))

    def ask_holder(self, name: str) -> str:
        return sql.ask_holder(name)

    def drop_namespace(self, namespace: str) -> tuple[str, ...]:
        return (_if_marked(namespace, f"DROP SCHEMA {quote(namespace)} CASCADE"),)

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        name = f"{quote(namespace)}.{quote(table.name)}"
        indexes = table.layouts.get(layout, ())
        # A primary key takes no NULL, which its columns may hold when they come from a file.
        key = "UNIQUE" if any(table.column(c).nullable for c in table.identity) else "PRIMARY KEY"
        return TablePlan(
            name=name,
            create=sql.create_table(table, name, DECLARED, indexes, key=key),
            fresh=(f"TRUNCATE {name}",),
            drop=(_if_marked(namespace, f"DROP TABLE IF EXISTS {name}"),),
            wire={column.name: WIRE[column.type] for column in table.columns},
            losses=sql.losses(table, LOSSES),
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        inserts: Mapping[str, sql.Insert] = {
            "bulk": _copy,
            "multirow": partial(sql.insert_one_row, placeholder=sql.dollar),
            "unnest": lambda name, columns: _unnest(name, tables[operation.table or ""].wire),
        }
        if method == "unnest" and operation.kind == "insert":
            lists = [c for c, wire in tables[operation.table or ""].wire.items() if wire.endswith("[]")]
            if lists:
                return Unsupported(f"column {lists[0]} is a list; unnest takes an array of arrays apart")
        return sql.operation(operation, method, self.name, tables, inserts, sql.dollar)

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return sql.proof(table, plan, _figure, unsigned_is_signed=True, hashing="postgresql")

    def load_methods(self, table: Table) -> tuple[str, ...]:
        # A COPY takes bytes as they are; the others send texts.
        return ("bulk",) if any(c.type == "bytes" for c in table.columns) else self.methods

    def raw_columns(self, table: Table) -> Mapping[str, int]:
        return {c.name: bits_of(c.declared) for c in table.columns if c.type == "bytes"}

    def read_column(self, column: Column) -> str:
        name = quote(column.name)
        return f"{_digits(column)} AS {name}" if column.type == "bytes" else name

    def load_proof(
        self, table: Table, name: str, declared: Mapping[str, str], loose: Collection[str] = ()
    ) -> Proof:
        items = sql.load_items(table, "postgresql", True, declared, loose)
        return sql.load_proof(table, name, items, _load_figure)

    def load_checksum_query(self, table: Table, name: str, items: Sequence[Item]) -> str:
        return sql.load_checksum_query(table, name, items, _load_figure)

    def instant(self, column: Column, at_ns: int) -> str | None:
        return f"TIMESTAMPTZ '{sql.instant_text(at_ns)}'"

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        own = [(plan.name, literal(plan.name)) for plan in tables]
        return Probes(
            sizes=(
                *(
                    f"SELECT {literal(f'{kind}:{name}')}, pg_{kind}_size({text}::regclass)"
                    for name, text in own
                    for kind in ("table", "indexes")
                ),
                _wal_size(),
            ),
            counters=(
                "SELECT 'wal_bytes', pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')",
                _row_as_pairs("pg_stat_database", "WHERE s.datname = current_database()"),
                f"{_row_as_pairs('pg_stat_bgwriter')} UNION ALL {_checkpoints()}",
            ),
            settings=(
                "SELECT name, setting || coalesce(' ' || unit, '') FROM pg_settings "
                # What was given by name is told also where it is the server's own value: asked and read back are compared.
                f"WHERE setting IS DISTINCT FROM boot_val OR source = 'command line' OR name IN ({', '.join(map(literal, DURABILITY))}) "
                "ORDER BY name",
                f"SELECT {literal(TLS)}, CASE WHEN ssl THEN concat_ws(' ', version, cipher) "
                f"WHEN inet_client_addr() IS NULL THEN {literal(SOCKET)} ELSE 'none' END "
                "FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
            ),
            version="SELECT 'version', version()",
        )

    def describe(self, schema: str, table: str) -> str:
        """By the catalogue: it names types as statements do, and columns of every kind of table."""
        name = literal(f"{schema}.{table}" if schema else table)
        return (
            "SELECT attname, format_type(atttypid, atttypmod), attnotnull::int FROM pg_attribute "
            f"WHERE attrelid = to_regclass({name}) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )

    def schema_of(self, schema: str, table: str) -> str:
        """Where the search path finds it; a new one is made in the first schema of that path."""
        name = literal(f"{schema}.{table}" if schema else table)
        otherwise = literal(schema) if schema else "current_schema()"
        found = f"(SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass({name}))"
        return f"SELECT coalesce({found}, {otherwise})"

    def copy_table(self, name: str, like: str) -> str:
        return f"CREATE TABLE IF NOT EXISTS {name} (LIKE {like} INCLUDING ALL)"

    def ask_shards(self) -> str:
        return postgresql_shards.ask_servers()

    def shard_urls(self, rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
        return postgresql_shards.worker_urls(self.name, rows)

    def ask_sharded_table(self, schema: str, table: str) -> str:
        return postgresql_shards.ask_table(schema, table)

    def sharded_table(self, name: str, rows: Sequence[Sequence[Any]]) -> ShardedTable | None:
        return postgresql_shards.sharded_table(self.name, name, rows)

    def know_shards(self, urls: Sequence[str], passwords: Mapping[str, str]) -> Sequence[str]:
        return postgresql_shards.servers(urls, passwords)

    def spread_table(
        self, name: str, columns: Sequence[tuple[str, str]], key: Sequence[str], urls: Sequence[str]
    ) -> Sequence[str]:
        return postgresql_shards.table(name, columns, key, urls)

    def durability(self, settings: Mapping[str, str]) -> Durability:
        """What an acknowledged COPY or INSERT survives.

        Without synchronous_commit a commit waits in the server's memory for up to three rounds of the WAL writer.
        Source: PostgreSQL's manual, "Asynchronous Commit" and "Write Ahead Log".
        """
        because = {name: settings[name] for name in DURABILITY if name in settings}
        if settings.get("synchronous_commit", "") == "off":
            delay_ms = float(settings.get("wal_writer_delay", "200 ms").split()[0])
            return Durability(Survives.NOTHING, 3 * delay_ms / 1e3, because)
        # A setting that could not be read promises nothing.
        kept = settings.get("fsync") == "on" and settings.get("full_page_writes") == "on"
        return Durability(Survives.POWER_LOSS if kept else Survives.PROCESS_CRASH, because=because)


# dialect


def _if_marked(namespace: str, statement: str) -> str:
    """`statement` where the schema bears inrush's mark, nothing where there is none, else a refusal."""
    refusal = f"schema {namespace} does not bear the mark of inrush and is left alone"
    return f"""DO $inrush$ DECLARE own oid := to_regnamespace({literal(quote(namespace))});
BEGIN
  IF obj_description(own, 'pg_namespace') = {literal(MARK)} THEN EXECUTE {literal(statement)};
  ELSIF own IS NOT NULL THEN RAISE EXCEPTION USING MESSAGE = {literal(refusal)};
  END IF;
END $inrush$"""


def _copy(table: str, columns: tuple[str, ...]) -> str:
    return f"COPY {table} ({', '.join(map(quote, columns))}) FROM STDIN (FORMAT binary)"


def _unnest(table: str, wire: Mapping[str, str]) -> str:
    arrays = ", ".join(f"${k}::{ty}[]" for k, ty in enumerate(wire.values(), start=1))
    return f"INSERT INTO {table} ({', '.join(map(quote, wire))}) SELECT * FROM unnest({arrays})"


def _load_figure(item: Item, column: Callable[[str], Column]) -> str:
    """As `_figure`, where the table is a user's: long, and read once."""
    return _figure(item, column, _whole_fast)


def _figure(item: Item, column: Callable[[str], Column], whole: Callable[[Column], str] | None = None) -> str:
    """One figure of the checksum query. PostgreSQL's sum of bigint is a numeric: exact, without overflow.

    whole: a column of whole numbers or times as a bigint; `_whole` where it is None.
    """
    whole = whole or _whole
    kind = item["kind"]
    if kind == "rows":
        return "count(*)"
    if kind == "product":
        key, value = (whole(column(item[name])) for name in ("key", "value"))
        return f"coalesce(sum(({key} & 65535) * ({value} & 65535)), 0)"
    if kind == "sum_rows":
        row = sql.row_number(item, column, partial(_remainder, whole))
        return f"coalesce(sum(hashint8extended({row}, {HASH_SEED})), 0)"
    name = quote(item["column"])
    if kind == "not_null":
        return f"count({name})"
    if kind == "count_true":
        return f"count(*) FILTER (WHERE {name})"
    if kind == "sum_hash":
        return f"coalesce(sum({_hash(column(item['column']))}), 0)"
    if kind == "sum_length":
        return f"coalesce(sum(octet_length({name})), 0)"
    if kind == "sum_scaled":
        # Scaling a double by a power of two is exact, and so is the cast of a whole one.
        return f"coalesce(sum(({name}::float8 * {2 ** item['bits']})::bigint), 0)"
    term = {
        "sum_low": f"{whole(column(item['column']))} & 4294967295",
        "sum_high": f"{whole(column(item['column']))} >> 32",
    }
    return f"coalesce(sum({term[kind]}), 0)"


def _hash(column: Column) -> str:
    """A value's hash of 64 bits: twin of rust/src/rows/lookup3.rs. `bpchar` loses its blanks as it becomes text."""
    name = quote(column.name)
    if column.type in sql.FLOAT_TYPES:
        return f"hash{'float4' if column.type == 'f32' else 'float8'}extended({name}, {HASH_SEED})"
    text = _digits(column) if column.type == "bytes" else f"{name}::text"
    return f'hashtextextended({text} COLLATE "C", {HASH_SEED})'


def _digits(column: Column) -> str:
    """The hexadecimal digits of a column of bytes or bits, in lower case."""
    name, bits = quote(column.name), bits_of(column.declared)
    return f"lpad(to_hex({name}::bigint), {(bits + 7) // 8 * 2}, '0')" if bits else f"encode({name}, 'hex')"


def _remainder(whole: Callable[[Column], str], column: Column) -> str:
    """A column's part of its row's number: see `sql.row_number`."""
    if column.type == "bool":
        value = f"{quote(column.name)}::int::bigint"
    else:
        value = whole(column) if column.type in sql.WHOLE_TYPES else _hash(column)
    return f"coalesce({value} % {sql.ROW_DIVISOR}, {sql.ROW_DIVISOR})"


def _whole(column: Column) -> str:
    """A whole column as bigint: times in their own unit since 1970."""
    name = quote(column.name)
    per_s = {"time_ms": 1_000, "time_us": 1_000_000}.get(column.type)
    return f"{name}::bigint" if per_s is None else f"(extract(epoch FROM {name}) * {per_s})::bigint"


def _whole_fast(column: Column) -> str:
    """The same number as `_whole`: `extract` gives a numeric, and takes half of the time of a proof by that.

    A double holds microseconds of these years with an error below 0.25. 2^31 s are 68 years.
    """
    if column.type != "time_us":
        return _whole(column)
    name = quote(column.name)
    seconds = f"date_part('epoch', {name})"
    return f"(CASE WHEN {name} BETWEEN '{EXACT_FROM}' AND '{EXACT_UNTIL}' THEN ({seconds} * 1000000)::bigint ELSE {_whole(column)} END)"


def _row_as_pairs(view: str, where: str = "") -> str:
    """Every column of a view of one row, whatever this version has, as (name, value)."""
    return (
        f"SELECT {literal(view)} || '.' || pair.key, pair.value FROM {view} s, "
        f"jsonb_each_text(to_jsonb(s)) pair {where}"
    )


def _wal_size() -> str:
    """Bytes of the files of the write-ahead log; NULL where the user may not look at them (role pg_monitor may)."""
    allowed = "has_function_privilege('pg_catalog.pg_ls_waldir()', 'EXECUTE')"
    bytes_ = _looked_up(
        allowed, "SELECT sum(size) AS bytes FROM pg_catalog.pg_ls_waldir()", "SELECT NULL AS bytes"
    )
    return f"SELECT {literal(LOG)}, substring({bytes_} FROM '<bytes>(.*?)</bytes>')::bigint"


def _checkpoints() -> str:
    """From version 17 on, checkpoints stand in a view of their own; no row where there is none."""
    view = "pg_stat_checkpointer"
    there = f"to_regclass('pg_catalog.{view}') IS NOT NULL"
    row = _looked_up(there, f"SELECT * FROM pg_catalog.{view}", "SELECT 1 WHERE false")
    return (
        f"SELECT {literal(view + '.')} || pair[1], pair[2] "
        f"FROM regexp_matches({row}, '<([a-z_]+)>([^<]*)</', 'g') pair"
    )


def _looked_up(condition: str, query: str, otherwise: str) -> str:
    """Rows of a query as text: of names that exist only, and may be used only, under a condition.

    A statement that names them is refused as a whole; what stands in a text is looked at when it is run.
    """
    chosen = f"CASE WHEN {condition} THEN {literal(query)} ELSE {literal(otherwise)} END"
    return f"query_to_xml({chosen}, false, true, '')::text"
