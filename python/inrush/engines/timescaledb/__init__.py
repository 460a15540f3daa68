"""TimescaleDB: PostgreSQL whose tables are cut into chunks by time. The wire is PostgreSQL's.

Sources: TimescaleDB's manual, "create_hypertable", "hypertable_detailed_size", "drop_chunks".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from inrush.engines.base import sql
from inrush.engines.base.instance import Release
from inrush.engines.base.plans import OpPlan, Probes, TablePlan, Unsupported
from inrush.engines.base.sql import literal
from inrush.engines.base.twin import Twin
from inrush.engines.postgresql import Postgresql
from inrush.engines.postgresql.life import PostgresqlLife
from inrush.engines.postgresql.shards import PostgresqlCluster
from inrush.engines.servers import debian
from inrush.engines.servers.own_server import OwnServer, ServerPlace
from inrush.workload import Operation, Table

TIMESCALEDB = {
    "17": debian.Packages(
        "timescaledb",
        "timescaledb-17",
        "trixie",
        ("postgresql-17-timescaledb", "postgresql-17"),
        "usr/lib/postgresql/*/bin/postgres",
    )
}
#: A chunk holds about so many rows, so that a chunk's indexes fit into memory while it is written.
CHUNK_ROWS = 10_000_000
#: TimescaleDB's own interval, for tables of unknown rate.
CHUNK_MOST_S = 7 * 86_400
CHUNK_LEAST_S = 60


class TimescaledbLife(PostgresqlLife):
    """PostgreSQL's, with the extension loaded."""

    name = "timescaledb"
    title = "TimescaleDB"
    reserved = PostgresqlLife.reserved | {"shared_preload_libraries"}
    offers = TIMESCALEDB

    def program(self, release: Release) -> Path:
        return OwnServer.program(self, release)

    def fetch(self, version: str | None = None) -> Release:
        return OwnServer.fetch(self, version)

    def fetched(self, version: str | None = None) -> Release | None:
        return OwnServer.fetched(self, version)

    def command(self, place: ServerPlace) -> Sequence[str | Path]:
        # It reports to its makers unless this is switched off.
        own = ["shared_preload_libraries=timescaledb", "timescaledb.telemetry_level=off"]
        return [*super().command(place), *(part for setting in own for part in ("-c", setting))]


class Timescaledb(Postgresql):
    name = "timescaledb"
    title = "TimescaleDB"
    partitions = "cut"
    schemes = ("timescaledb",)
    lifecycle = TimescaledbLife()
    cluster = PostgresqlCluster("timescaledb")
    rate = (5e-3, 5e-6)
    pages = None  # a tree of each chunk, of which a load in time order fills one after the other

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        return ("CREATE EXTENSION IF NOT EXISTS timescaledb", *super().open_namespace(namespace))

    def coordinator(self, shards: int) -> Twin | Unsupported:
        return Twin.coordinator(self, shards)  # its tables are cut by time, and a foreign table is not

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        plan = super().plan_table(table, layout, namespace)
        time = table.time.name if table.time else None
        keys = table.layouts.get(layout, ())
        if time is None:
            return replace(
                plan, losses=(*plan.losses, "a plain table: it has no time column that is never NULL")
            )
        if keys and keys[0] == table.identity and time not in keys[0]:
            return replace(plan, losses=(*plan.losses, "a plain table: the key of its layout holds no time"))
        cut = (
            f"SELECT create_hypertable({literal(plan.name)}, {literal(time)}, create_default_indexes => FALSE, "
            f"chunk_time_interval => INTERVAL '{chunk_s(table)} s')"
        )
        # A table is cut while it is empty and before it has indexes, which its chunks then have too.
        return replace(plan, create=(plan.create[0], cut, *plan.create[1:]), chunked=True)

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        own = self.name in operation.sql or self.name in operation.unsupported
        if operation.kind in ("insert", "together"):
            return super().plan_operation(operation, method, tables, batch_rows)
        # What is written for PostgreSQL, or for all, holds here too.
        planned = sql.statement(operation, self.name if own else Postgresql.name, tables, sql.dollar)
        return (
            planned
            if isinstance(planned, Unsupported)
            else replace(planned, text=named_as_text(planned.text))
        )

    def maintenance(self, text: str) -> str:
        return named_as_text(text)

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        plain = super().probes([plan for plan in tables if not plan.chunked])
        cut = [plan.name for plan in tables if plan.chunked]
        return replace(
            plain,
            sizes=(*plain.sizes, *(size for name in cut for size in chunk_sizes(name))),
            settings=(
                *plain.settings,
                "SELECT name, setting FROM pg_settings WHERE name = 'timescaledb.license'",
            ),
            version="SELECT 'version', version() || coalesce((SELECT ', TimescaleDB ' || extversion FROM pg_extension "
            "WHERE extname = 'timescaledb'), '')",
        )


def named_as_text(statement: str) -> str:
    """`drop_chunks({table}, …)`, `show_chunks({table})`: the functions take a table by its name as a text."""
    return re.sub(
        r'((?:drop|show)_chunks\(\s*)("(?:[^"]|"")+"(?:\."(?:[^"]|"")+")?)',
        lambda m: m[1] + literal(m[2]),
        statement,
    )


def chunk_s(table: Table) -> int:
    """Seconds of data time in one chunk, from the table's rate of rows."""
    if own := table.partitions.get(Timescaledb.name):
        return int(own.every_s)
    if table.files is not None:
        return CHUNK_MOST_S
    seconds = int(CHUNK_ROWS * table.period_s / max(table.series, 1))
    return max(CHUNK_LEAST_S, min(CHUNK_MOST_S, seconds))


def chunk_sizes(name: str) -> tuple[str, ...]:
    """Sizes of all chunks of a table, in bytes: rows with their long values, and indexes."""
    columns = {"table": "table_bytes + toast_bytes", "indexes": "index_bytes"}
    return tuple(
        f"SELECT {literal(f'{kind}:{name}')}, coalesce(sum({bytes_}), 0) FROM hypertable_detailed_size({literal(name)})"
        for kind, bytes_ in columns.items()
    )
