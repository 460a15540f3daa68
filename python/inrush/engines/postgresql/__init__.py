"""PostgreSQL: its dialect. Twin of rust/engines/src/engine/postgresql.rs; its other parts stand beside this file.

A namespace is a schema with a comment as inrush's mark: a schema of the user's is never dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from typing import ClassVar

from inrush.engines.base import row_calls, sql
from inrush.engines.base.checksum import proof
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import TRANSPORTS
from inrush.engines.base.page_counters import PageCounters
from inrush.engines.base.pages import Pages
from inrush.engines.base.plans import LOG, TLS, OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.protocol_probe import Protocol
from inrush.engines.base.sql import literal, quote
from inrush.engines.base.twin import Twin
from inrush.engines.postgresql.checksum import PostgresqlFigures
from inrush.engines.postgresql.life import PostgresqlLife
from inrush.engines.postgresql.load import PostgresqlLoading
from inrush.engines.postgresql.shards import PostgresqlCluster, on_all, spread_over
from inrush.workload import SPELLED, TYPES, Column, Operation, Table

#: Logical type -> type in the table.
DECLARED: Mapping[str, str] = {
    **{name: TYPES[name].postgresql for name in SPELLED},
    "bool": "boolean",
    "i16": "smallint",
    "i32": "integer",
    "i64": "bigint",
    "u8": "smallint",
    "u16": "integer",
    "u32": "bigint",
    "u64": "bigint",
    "f32": "real",
    "f64": "double precision",
    "time_ms": "timestamptz(3)",
    "time_us": "timestamptz(6)",
    "text": "text",
    "list_f64": "double precision[]",
    "list_i64": "bigint[]",
    "list_bool": "boolean[]",
    "list_i16": "smallint[]",
    "list_i32": "integer[]",
    "list_u8": "smallint[]",
    "list_u16": "integer[]",
    "list_u32": "bigint[]",
    "list_u64": "bigint[]",
    "list_f32": "real[]",
    "list_text": "text[]",
    "blob": "bytea",
    "enum": "text",
    "decimal": "numeric({p}, {s})",
    "json": "jsonb",
    "bit": "bit({n})",
    "bytes": "bytea",
}
#: Logical type -> type on the wire, as rust/rows/src/encode/pgcopy/types.rs names them.
WIRE: Mapping[str, str] = {
    **{name: TYPES[name].postgresql for name in SPELLED},
    "bool": "bool",
    "i16": "int2",
    "i32": "int4",
    "i64": "int8",
    "u8": "int2",
    "u16": "int4",
    "u32": "int8",
    "u64": "int8",
    "f32": "float4",
    "f64": "float8",
    "time_ms": "timestamptz",
    "time_us": "timestamptz",
    "text": "text",
    "list_f64": "float8[]",
    "list_i64": "int8[]",
    "list_bool": "bool[]",
    "list_i16": "int2[]",
    "list_i32": "int4[]",
    "list_u8": "int2[]",
    "list_u16": "int4[]",
    "list_u32": "int8[]",
    "list_u64": "int8[]",
    "list_f32": "float4[]",
    "list_text": "text[]",
    "blob": "bytea",
    "enum": "text",
    "decimal": "numeric",
    "json": "jsonb",
    "bit": "varbit",
    "bytes": "text",
}
LOSSES: Mapping[str, str] = {
    "u64": "unsigned 64-bit values are stored with their bits reinterpreted: read back exactly, ordered and aggregated as signed",
    "text": "a text with a NUL character is refused",
    "enum": "enums are texts: no other text is refused",
    "json": "documents are parsed: blanks between values and the order of keys are the engine's own",
    "list_u64": "unsigned 64-bit items are stored with their bits reinterpreted: read back exactly, ordered and aggregated as signed",
}
MARK = "made by inrush"
#: Of a connection that cannot be encrypted, and that no other process can listen to.
SOCKET = "none, by a Unix socket"
#: Settings that say what an acknowledged row survives.
DURABILITY = ("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "wal_writer_delay")

#: How far maintenance is. Each phase counts by itself, in blocks or in rows.
PROGRESS = """SELECT 'progress:' || command || ', ' || phase, CASE WHEN tuples_total > 0 THEN tuples_done::float8 / tuples_total
WHEN blocks_total > 0 THEN blocks_done::float8 / blocks_total ELSE 0 END FROM pg_stat_progress_create_index
WHERE datname = current_database()
UNION ALL SELECT 'progress:' || command || ', ' || phase, CASE WHEN heap_blks_total > 0
THEN heap_blks_scanned::float8 / heap_blks_total WHEN reltuples > 0 THEN least(heap_tuples_scanned / reltuples, 1) ELSE 0 END
FROM pg_stat_progress_cluster JOIN pg_class ON oid = relid WHERE datname = current_database()
UNION ALL SELECT 'progress:VACUUM, ' || phase, CASE WHEN heap_blks_total > 0
THEN heap_blks_scanned::float8 / heap_blks_total ELSE 0 END FROM pg_stat_progress_vacuum WHERE datname = current_database()
UNION ALL SELECT 'progress:ANALYZE, ' || phase, CASE WHEN sample_blks_total > 0
THEN sample_blks_scanned::float8 / sample_blks_total ELSE 0 END FROM pg_stat_progress_analyze
WHERE datname = current_database()"""


class Postgresql(Twin):
    name = "postgresql"
    title = "PostgreSQL"
    least_version: ClassVar[str] = "15"
    years: ClassVar[Mapping[str, int]] = {"15": 2022, "16": 2023, "17": 2024, "18": 2025}
    schemes: ClassVar[tuple[str, ...]] = ("postgresql", "postgres")
    lifecycle = PostgresqlLife()
    cluster = PostgresqlCluster("postgresql")
    loading = PostgresqlLoading()
    methods = ("bulk", "multirow", "unnest")
    file_methods: ClassVar[tuple[str, ...]] = ("client_file", "server_file")
    ways_out = ("copy", "binary", "cursor")
    max_depth = 1024
    has_bits = True
    protocol = Protocol.POSTGRESQL
    programs: ClassVar[frozenset[str]] = frozenset({"postgres"})
    works_in_data = True
    transports = TRANSPORTS
    data_folder = "SHOW data_directory"
    grant = "GRANT CREATE ON DATABASE … TO the user"
    rate = (1e-3, 1.5e-6)
    # It keeps them when it is stopped, and what a session read only counts when that has ended.
    page_counters = PageCounters(
        ("pg_stat_database.blks_read",),
        ("pg_stat_database.blks_read", "pg_stat_database.blks_hit"),
        begin_anew=False,
        page=("block_size", 8192),
    )
    pages: ClassVar[Pages | None] = Pages("block_size", 8192, "shared_buffers", 16_384 * 8192)
    password_variable = "PGPASSWORD"
    client_variables = ("PGSSLMODE", "PGSSLROOTCERT", "PGPASSFILE", "SSL_CERT_FILE")
    as_shipped: ClassVar[Mapping[str, str] | None] = {
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
    }
    survive_by: ClassVar[Mapping[Survives, str]] = {
        Survives.POWER_LOSS: "--start {engine},fsync=on,full_page_writes=on,synchronous_commit=on",
        Survives.PROCESS_CRASH: "--start {engine},fsync=off",
    }

    #: In front of so many shards; 0: it has its rows itself.
    spread = 0

    def coordinator(self, shards: int) -> Twin | Unsupported:
        front = copy(self)
        front.spread = shards
        return front

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

    def ask_locks(self) -> str:
        return f"SELECT nspname FROM pg_namespace WHERE left(nspname, {len(sql.LOCK)}) = {literal(sql.LOCK)}"

    def drop_namespace(self, namespace: str) -> tuple[str, ...]:
        return (_if_marked(namespace, f"DROP SCHEMA {quote(namespace)} CASCADE"),)

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        name = f"{quote(namespace)}.{quote(table.name)}"
        indexes = table.layouts.get(layout, ())
        # A primary key takes no NULL, which its columns may hold when they come from a file.
        key = "UNIQUE" if any(table.column(c).nullable for c in table.identity) else "PRIMARY KEY"
        create = sql.create_table(table, name, DECLARED, indexes, key=key, chars="varchar({})")
        if self.spread:
            declared = [(c.name, declared_type(c)) for c in table.columns]
            whole = f"{namespace}.{table.name}"
            create = (on_all(create, spread_over(whole, declared, table.identity, self.spread)),)
        return TablePlan(
            name=name,
            create=create,
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
            "client_file": partial(_copy_text, source="STDIN"),
            "server_file": partial(_copy_text, source="'{path}'"),
            "multirow": partial(sql.insert_one_row, placeholder=sql.dollar),
            "unnest": lambda name, columns: _unnest(name, tables[operation.table or ""].wire),
        }
        if method == "unnest" and operation.kind == "insert":
            lists = [c for c, wire in tables[operation.table or ""].wire.items() if wire.endswith("[]")]
            if lists:
                return Unsupported(f"column {lists[0]} is a list; unnest takes an array of arrays apart")
        return sql.operation(operation, method, self.name, tables, inserts, sql.dollar)

    def row_call(self, operation: Operation, table: Table, plan: TablePlan) -> str | Unsupported:
        if self.spread and operation.does == "write":
            return Unsupported(
                "a coordinator has no ON CONFLICT: a key of foreign tables is none of its own; take shards.way = straight"
            )
        return row_calls.sql_text(operation, table, plan, row_calls.on_conflict)

    def uncounted(self) -> str:
        """A session's pages are counted when it has ended, which it does after its client has gone; or when it has been
        idle for 10 s, so that one which stays is not waited for. Source: pgstat.c, PGSTAT_IDLE_INTERVAL."""
        return (
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'inrush' AND datname = current_database() "
            "AND pid <> pg_backend_pid() AND clock_timestamp() < state_change + interval '15 s'"
        )

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return proof(table, plan, PostgresqlFigures(), unsigned_is_signed=True, hashing="postgresql")

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
            progress=PROGRESS,
            counters=(
                "SELECT 'wal_bytes', pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')",
                _row_as_pairs("pg_stat_database", "WHERE s.datname = current_database()"),
                f"{_row_as_pairs('pg_stat_bgwriter')} UNION ALL {_checkpoints()}",
            ),
            settings=(
                "SELECT name, setting || coalesce(' ' || unit, '') FROM pg_settings "
                # What was given by name is reported also where it is the server's own value: asked and read back are compared.
                f"WHERE setting IS DISTINCT FROM boot_val OR source = 'command line' OR name IN ({', '.join(map(literal, DURABILITY))}) "
                "ORDER BY name",
                f"SELECT {literal(TLS)}, CASE WHEN ssl THEN concat_ws(' ', version, cipher) "
                f"WHEN inet_client_addr() IS NULL THEN {literal(SOCKET)} ELSE 'none' END "
                "FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
            ),
            version="SELECT 'version', version()",
        )

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


def declared_type(column: Column) -> str:
    return f"varchar({column.chars})" if column.chars else sql.type_of(column, DECLARED)


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


def _copy_text(table: str, columns: tuple[str, ...], source: str) -> str:
    return f"COPY {table} ({', '.join(map(quote, columns))}) FROM {source} (FORMAT text)"


def _unnest(table: str, wire: Mapping[str, str]) -> str:
    arrays = ", ".join(f"${k}::{ty}[]" for k, ty in enumerate(wire.values(), start=1))
    return f"INSERT INTO {table} ({', '.join(map(quote, wire))}) SELECT * FROM unnest({arrays})"


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
