"""PostgreSQL: its dialect, and the life of a server of ours. Twin of rust/src/engine/postgresql.rs.

A namespace is a schema with a comment as inrush's mark: a schema of the user's is never dropped.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from inrush.engines import life, postgresql_release, sql
from inrush.engines.base import (
    Cold,
    Durability,
    Instance,
    NotCold,
    OpPlan,
    Probes,
    Proof,
    Release,
    Server,
    Stop,
    Survives,
    TablePlan,
    Target,
    Unsupported,
)
from inrush.engines.sql import Item, literal, quote
from inrush.errors import TargetError
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
}
#: Logical type -> type on the wire, as rust/src/encode/pgcopy.rs names them.
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
}
LOSSES: Mapping[str, str] = {
    "u64": "unsigned 64-bit values are stored with their bits reinterpreted: read back exactly, ordered and aggregated as signed",
    "text": "a text with a NUL character is refused",
}
MARK = "made by inrush"
#: Settings that say what an acknowledged row survives.
DURABILITY = ("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "wal_writer_delay")
#: How a server of ours differs from one as shipped, whose 128 MB of buffers are meant for any machine.
#: Durability is not touched.
PROFILE: Mapping[str, str] = {"max_wal_size": "4GB", "max_connections": "500"}
BUFFERS_SHARE = 4  # a quarter of the memory, as PostgreSQL's manual advises
BUFFERS_MOST_MB = 8192

READY_S = 120.0
#: Time to end: a clean stop writes a checkpoint first.
STOP_S = 120.0
KILL_S = 20.0


class Postgresql(Server):
    name = "postgresql"
    schemes = ("postgresql", "postgres")
    methods = ("bulk", "multirow")

    # decides

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        schema = quote(namespace)
        return (f"CREATE SCHEMA {schema}", f"COMMENT ON SCHEMA {schema} IS {literal(MARK)}")

    def drop_namespace(self, namespace: str) -> tuple[str, ...]:
        return (_if_marked(namespace, f"DROP SCHEMA {quote(namespace)} CASCADE"),)

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        name = f"{quote(namespace)}.{quote(table.name)}"
        indexes = table.layouts.get(layout, ())
        return TablePlan(
            name=name,
            create=(_create_table(table, name, indexes), *_create_indexes(table, name, indexes)),
            fresh=(f"TRUNCATE {name}",),
            drop=(_if_marked(namespace, f"DROP TABLE IF EXISTS {name}"),),
            wire={column.name: WIRE[column.type] for column in table.columns},
            losses=tuple(dict.fromkeys(LOSSES[c.type] for c in table.columns if c.type in LOSSES)),
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        if operation.kind == "together":
            return OpPlan("")
        if operation.kind != "insert":
            return sql.statement(operation, self.name, tables, sql.dollar)
        plan = tables[operation.table or ""]
        columns = tuple(plan.wire)
        if method == "bulk":
            return OpPlan(
                f"COPY {plan.name} ({', '.join(map(quote, columns))}) FROM STDIN (FORMAT binary)", method
            )
        if method == "multirow":
            return OpPlan(sql.insert_one_row(plan.name, columns, sql.dollar), method)
        return Unsupported(f"postgresql has no method {method}; it has {', '.join(self.methods)}")

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return sql.proof(table, plan, _figure, unsigned_is_signed=True)

    def instant(self, column: Column, at_ns: int) -> str | None:
        return f"TIMESTAMPTZ '{sql.instant_text(at_ns)}'"

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        own = [(plan.name, literal(plan.name)) for plan in tables]
        return Probes(
            sizes=tuple(
                f"SELECT {literal(f'{kind}:{name}')}, pg_{kind}_size({text}::regclass)"
                for name, text in own
                for kind in ("table", "indexes")
            ),
            counters=(
                "SELECT 'wal_bytes', pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')",
                _row_as_pairs("pg_stat_database", "WHERE s.datname = current_database()"),
                # From version 17 on, checkpoints stand in a view of their own, which older ones have not.
                _row_as_pairs("pg_stat_bgwriter"),
            ),
            settings=(
                "SELECT name, setting || coalesce(' ' || unit, '') FROM pg_settings "
                f"WHERE setting IS DISTINCT FROM boot_val OR name IN ({', '.join(map(literal, DURABILITY))}) "
                "ORDER BY name",
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

    # does

    def fetch(self) -> Release:
        return postgresql_release.fetch()

    def start(self, data: Path, settings: Mapping[str, str]) -> Instance:
        """A server in `data`, made if there is none; ready when a SELECT works.

        settings: of postgresql.conf, over PROFILE. The port stays the same over restarts.
        Raises TargetError, with the end of the log.
        """
        release, user = self.fetch(), life.servant()
        data = life.own_folder(data.absolute(), user)
        cluster, log = data / "cluster", data / "server.log"
        life.end_leftover(data, cluster, signal.SIGINT, STOP_S)
        if not (cluster / "PG_VERSION").is_file():
            _make_cluster(release, cluster, user)
        _check_version(release, cluster)
        (cluster / "postmaster.pid").unlink(missing_ok=True)  # nobody works here: it is a dead server's

        port = life.last_port(data)
        chosen = {**PROFILE, "shared_buffers": _shared_buffers(), **settings}
        options = {
            **chosen,
            "listen_addresses": "127.0.0.1",
            "port": str(port),
            "unix_socket_directories": "",
        }
        argv: list[str | Path] = [release.path / "postgres", "-D", cluster]
        for key, value in options.items():
            argv += ["-c", f"{key}={value}"]
        process = life.launch(user, argv, cluster, log)
        life.write_record(data, process.pid, port)
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        try:
            life.wait_until_ready(
                process, lambda: _is_ready(cluster, url), log, f"PostgreSQL in {data}", READY_S
            )
        except BaseException:  # Ctrl-C too: what was started is not left behind
            life.end(process.pid, signal.SIGINT, cluster, KILL_S)
            raise
        return Instance(self.name, data, url, port, process.pid, log, release, dict(settings))

    def stop(self, instance: Instance, how: Stop) -> None:
        asked = signal.SIGINT if how is Stop.CLEAN else signal.SIGKILL
        life.end(instance.pid, asked, instance.data / "cluster", STOP_S if how is Stop.CLEAN else KILL_S)
        life.remove_record(instance.data)

    def processes(self, target: Target) -> dict[str, list[int]]:
        return {"server": [target.instance.pid]} if target.instance else {}

    def make_cold(self, target: Target) -> Cold | NotCold:
        """Stop, drop the kernel's caches, start: neither PostgreSQL nor the kernel has a page of the data."""
        instance = target.instance
        if instance is None:
            return NotCold(
                "inrush did not start this server, so it cannot restart it; use --start postgresql"
            )
        if not life.can_drop_caches():
            return NotCold(
                f"the kernel keeps the files in memory: {life.DROP_CACHES} can be written by root only"
            )
        self.stop(instance, Stop.CLEAN)
        life.drop_caches()
        started = self.start(instance.data, instance.settings)
        instance.pid, instance.port, instance.url = started.pid, started.port, started.url
        return Cold("server stopped, kernel caches written back and dropped, server started")


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


def _create_table(table: Table, name: str, indexes: Sequence[tuple[str, ...]]) -> str:
    columns = [
        f"{quote(c.name)} {DECLARED[c.type]}{'' if c.nullable else ' NOT NULL'}" for c in table.columns
    ]
    if indexes and indexes[0] == table.identity:
        # A primary key takes no NULL, which its columns may hold when they come from a file.
        kind = "UNIQUE" if any(table.column(name).nullable for name in table.identity) else "PRIMARY KEY"
        columns.append(f"{kind} ({', '.join(map(quote, indexes[0]))})")
    return f"CREATE TABLE {name} ({', '.join(columns)})"


def _create_indexes(table: Table, name: str, indexes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Indexes other than the primary key."""
    primary = 1 if indexes and indexes[0] == table.identity else 0
    return tuple(
        f"CREATE INDEX ON {name} ({', '.join(map(quote, columns))})" for columns in indexes[primary:]
    )


def _figure(item: Item, column: Callable[[str], Column]) -> str:
    """One figure of the screen. PostgreSQL's sum of bigint is a numeric: exact, without overflow."""
    kind = item["kind"]
    if kind == "rows":
        return "count(*)"
    if kind == "product":
        key, value = (_whole(column(item[name])) for name in ("key", "value"))
        return f"coalesce(sum(({key} & 65535) * ({value} & 65535)), 0)"
    name = quote(item["column"])
    if kind == "not_null":
        return f"count({name})"
    if kind == "sum_length":
        return f"coalesce(sum(octet_length({name})), 0)"
    if kind == "sum_scaled":
        # Scaling a double by a power of two is exact, and so is the cast of a whole one.
        return f"coalesce(sum(({name}::float8 * {2 ** item['bits']})::bigint), 0)"
    term = {
        "sum_low": f"{_whole(column(item['column']))} & 4294967295",
        "sum_high": f"{_whole(column(item['column']))} >> 32",
    }
    return f"coalesce(sum({term[kind]}), 0)"


def _whole(column: Column) -> str:
    """A whole column as bigint: times in their own unit since 1970."""
    name = quote(column.name)
    per_s = {"time_ms": 1_000, "time_us": 1_000_000}.get(column.type)
    return f"{name}::bigint" if per_s is None else f"(extract(epoch FROM {name}) * {per_s})::bigint"


def _row_as_pairs(view: str, where: str = "") -> str:
    """Every column of a view of one row, whatever this version has, as (name, value)."""
    return (
        f"SELECT {literal(view)} || '.' || pair.key, pair.value FROM {view} s, "
        f"jsonb_each_text(to_jsonb(s)) pair {where}"
    )


# life


def _make_cluster(release: Release, cluster: Path, user: life.User) -> None:
    """An empty database in UTF-8 and plain byte order; whoever is on this machine may log in, as with any socket."""
    options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
    life.run_as(user, [release.path / "initdb", "-D", cluster, *options], cluster.parent, "initdb")


def _check_version(release: Release, cluster: Path) -> None:
    made_by = (cluster / "PG_VERSION").read_text().strip()
    if release.version.split(".")[0] != made_by.split(".")[0]:
        raise TargetError(
            f"{cluster} was made by PostgreSQL {made_by} and cannot be opened by {release.version}; "
            f"set {postgresql_release.VARIABLE} to the programs of version {made_by}, or choose another --data"
        )


def _shared_buffers() -> str:
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return f"{max(128, min(BUFFERS_MOST_MB, memory_mb // BUFFERS_SHARE))}MB"


def _is_ready(cluster: Path, url: str) -> bool:
    """The server says so in its pid file, and answers."""
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    if len(lines) < 8 or lines[7].strip() != "ready":
        return False
    from inrush import _core

    target = {"engine": "postgresql", "url": url, "options": {}}
    try:
        _core.control(json.dumps(target), "SELECT 1", 10.0)
    except _core.CoreFailure:
        return False
    return True
