"""InfluxDB 1.x: its dialect. Twin of rust/engines/src/engine/influxdb.rs; the life of a server of ours is influxdb_life.py.

A namespace is a database whose default retention policy bears inrush's name. A table is a measurement: of its
identity the first time is the time of a point and the rest are tags, as are the names of things (texts made by
`format`), because InfluxQL groups by nothing else; all other columns are fields.

What InfluxQL cannot say are directives of a statement, which the wire half reads (statement.rs).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from inrush.border.plan import ChecksumItem, Directives, Pick, Statement
from inrush.border.statement import statement
from inrush.engines.base import http, row_calls, sql
from inrush.engines.base.checksum import WHOLE_TYPES, Item
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import Ask, OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.protocol_probe import Protocol
from inrush.engines.base.twin import Twin
from inrush.engines.influxdb.life import InfluxdbLife
from inrush.workload import DRAWN_LISTS, AnswerForm, Column, Operation, Table

#: Twin of MARK in influxdb.rs.
MARK = "made_by_inrush"
#: Stands in every point of a table whose fields may all be NULL. Twin of ROW_FIELD in line.rs.
ROW_FIELD = "inrush_row"
#: Wire types, as rust/rows/src/encode/line/roles.rs knows them.
TAG, TIME, FIELD = "tag", "time", "field"
TIMES = ("time_ms", "time_us")

LOSSES: Mapping[str, str] = {
    "u64": "unsigned 64-bit fields are stored with their bits reinterpreted: read back exactly, ordered and aggregated as "
    "signed; as tags they are decimal text",
    "f32": "32-bit floats take 8 bytes",
    "time_ms": "times that are not the point's own are integers of their unit; the point's own lies in 1677 to 2262",
    "time_us": "times that are not the point's own are integers of their unit; the point's own lies in 1677 to 2262",
    "text": "an empty text, a backslash or a line feed in a tag is refused",
    **sql.texts(),
    "decimal": "decimals are texts: exact, not summed",
    "list_f64": "lists are text: stored and read back, not searched",
    **dict.fromkeys(("list_i64", *DRAWN_LISTS), "lists are text: stored and read back, not searched"),
}
COLLAPSE = "rows of equal identity are one point, the last one written: {identity} must be unique, and proofs count points"
CHECKSUM_QUERY = "proofs by counts and wrapping sums of whole fields; floats, texts and tags are proven by reading them back"

#: Characters of a lock's holder in one name; the server takes names of 255.
PART = 200

#: What is read of SHOW STATS, and its names among the sizes; those of equal names are added up.
SIZES = (
    ("shard.diskBytes", "disk"),
    ("tsm1_filestore.diskBytes", "tsm"),
    ("tsm1_wal.currentSegmentDiskBytes", "wal"),
    ("tsm1_wal.oldSegmentsDiskBytes", "wal"),
    ("tsm1_cache.memBytes", "cache"),
)
COUNTERS = ("write.", "httpd.", "tsm1_engine.", "database.")
#: What is read of SHOW DIAGNOSTICS; the rest changes from second to second.
SETTINGS: tuple[Pick, ...] = ({"name": "config", "prefix": True}, {"name": "build.Version"})
FSYNC_DELAY = "config-data.wal-fsync-delay"


class Influxdb(Twin):
    name = "influxdb"
    title = "InfluxDB"
    collapses = True
    least_version = "1.6"
    years: ClassVar[Mapping[str, int]] = {"1.6": 2018, "1.7": 2018, "1.8": 2020}
    lacks: ClassVar[frozenset[str]] = frozenset({"blob", "date", "json"})
    keeps_not_finite: ClassVar[frozenset[str]] = frozenset()
    keeps_not_finite_items: ClassVar[frozenset[str]] = frozenset()
    schemes = ("influxdb",)
    lifecycle = InfluxdbLife()
    methods = ("bulk",)
    as_shipped: ClassVar[Mapping[str, str] | None] = {FSYNC_DELAY: "0s"}
    survive_by: ClassVar[Mapping[Survives, str]] = {Survives.POWER_LOSS: "as shipped"}
    indexes = False
    protocol = Protocol.HTTP
    programs: ClassVar[frozenset[str]] = frozenset({"influxd"})
    grant = "GRANT ALL PRIVILEGES TO the user"
    password_variable = "INFLUX_PASSWORD"
    client_variables = ("INFLUX_USERNAME", "SSL_CERT_FILE")
    list_form = (r"=\s*:{name}\b", "key = :{name}")

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        return (f"CREATE DATABASE {quote(namespace)} WITH DURATION INF REPLICATION 1 NAME {quote(MARK)}",)

    def lock(self, name: str, holder: str) -> tuple[str, ...]:
        """The holder is the name of further retention policies: what can be said without writing a point."""
        parts = [f"{k:02d}_{holder[at : at + PART]}" for k, at in enumerate(range(0, len(holder), PART))]
        return (
            *self.open_namespace(name),
            *(
                f"CREATE RETENTION POLICY {quote(part)} ON {quote(name)} DURATION INF REPLICATION 1"
                for part in parts
            ),
        )

    def ask_holder(self, name: str) -> str:
        return _policies(name)

    def ask_locks(self) -> str:
        return "SHOW DATABASES"

    def parse_holder(self, rows: Sequence[Sequence[Any]]) -> str:
        parts = sorted(str(row[0]) for row in rows if re.match(r"\d\d_", str(row[0])))
        return "".join(part[3:] for part in parts)

    def drop_namespace(self, namespace: str) -> tuple[Statement, ...]:
        return (statement(f"DROP DATABASE {quote(namespace)}", {"if_marked": namespace}),)

    def find_foreign_objects(self, namespaces: Sequence[str], ask: Ask) -> list[str]:
        there = {str(row[0]) for row in ask("SHOW DATABASES")}
        return [name for name in namespaces if name in there and not self._is_marked(name, ask)]

    def _is_marked(self, database: str, ask: Ask) -> bool:
        return any(row[0] == MARK for row in ask(_policies(database)))

    def drop_foreign_object(self, name: str) -> tuple[str, ...]:
        return (f"DROP DATABASE {quote(name)}",)

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        measurement = quote(table.name)
        drop = f"DROP MEASUREMENT {measurement}"
        return TablePlan(
            name=f"{quote(namespace)}..{measurement}",
            create=(),
            fresh=(statement(drop, {"on": namespace}),),
            drop=(statement(drop, {"if_marked": namespace, "on": namespace}),),
            wire=wires(table),
            losses=_losses(table),
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        if operation.kind == "together":
            return OpPlan("")
        if operation.kind == "insert":
            plan = tables[operation.table or ""]
            if method not in self.methods:
                return Unsupported(
                    f"influxdb has no method {method}; its one insert method is {self.methods[0]}"
                )
            if reason := _no_points(plan):
                return Unsupported(reason)
            return OpPlan(plan.name, method)
        if "influxdb" not in operation.sql and not operation.unsupported.get("influxdb"):
            return Unsupported(
                f"operation {operation.name} has no InfluxQL (sql.influxdb), and SQL is not understood"
            )
        own = tables.get(operation.table or "")
        if own is not None and (reason := _no_points(own)):
            return Unsupported(reason)
        return _statement(operation, tables)

    def plan_row_call(self, operation: Operation, table: Table, plan: TablePlan) -> OpPlan | Unsupported:
        if operation.does != "read":
            return Unsupported(
                f"no {operation.does} by key: a point is written over another of its key, and deletes are of series"
            )
        if operation.each_row and len(table.identity) > 1:
            return row_calls.several_columns(table)
        names = {c.name: "time" if plan.wire[c.name] == TIME else c.name for c in table.columns}
        found = " AND ".join(f"{quote(names[name])} = :{name}" for name in table.identity)
        text = f"SELECT {', '.join(map(quote, names.values()))} FROM {{table}} WHERE {found}"
        for column, each in operation.each_row.items():
            text = self.spread_list(text, column, each)
        form = AnswerForm(tuple(names.values()))
        spelled = replace(operation, sql={self.name: text}, answers={self.name: form})
        return self.plan_operation(spelled, "", {table.name: plan})

    @staticmethod
    def spread_list(text: str, param: str, names: Sequence[str]) -> str:
        """InfluxQL knows no IN: `key = :param` becomes a chain of OR."""

        def chain(found: re.Match[str]) -> str:
            return "(" + " OR ".join(f"{found['column']} = :{name}" for name in names) + ")"

        return re.sub(rf"(?P<column>[\w\"]+)\s*=\s*:{param}\b", chain, text)

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        items = checksum_items(table)
        names = [f"i{k}" for k in range(len(items))]
        figures = ", ".join(
            f"{_figure(item, table)} AS {quote(name)}" for item, name in zip(items, names, strict=True)
        )
        columns = ["time" if plan.wire[c.name] == TIME else c.name for c in table.columns]
        read = [name for name in columns if name != "time"]
        read += [] if _steady(table) else [ROW_FIELD]
        return Proof(
            checksum_query=f"SELECT {figures} FROM {plan.name}",
            items=items,
            read_back=f"SELECT {', '.join(map(quote, read))} FROM {plan.name}",
            checksum_directives={"columns": names, "zero_when_empty": True},
            read_back_directives={"columns": columns},
        )

    def whole_number(self, value: int) -> str | None:
        """Keys are tags, and tags are texts."""
        return None

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        database = _database(tables[0]) if tables else ""
        sizes: list[Pick] = [{"name": name, "as": shown} for name, shown in SIZES]
        counters: list[Pick] = [{"name": name, "prefix": True} for name in COUNTERS]
        return Probes(
            sizes=(
                statement("SHOW STATS", {"pairs": sizes, "only": {"tag": "database", "value": database}}),
            ),
            counters=(statement("SHOW STATS", {"pairs": counters}),),
            settings=(statement("SHOW DIAGNOSTICS", {"pairs": SETTINGS}),),
            version=statement("SHOW DIAGNOSTICS", {"pairs": [{"name": "build.Version", "as": "version"}]}),
        )

    def tls(self, target: Target, settings: Mapping[str, str]) -> str:
        return http.tls(target)

    def durability(self, settings: Mapping[str, str]) -> Durability:
        """A write is acknowledged when its entry in the write-ahead log is synced.

        `wal-fsync-delay` lets writes wait for one sync together; none is acknowledged before it.
        Source: InfluxDB 1.x, tsdb/engine/tsm1/wal.go, writeToLog: it returns what the sync returned.
        """
        if FSYNC_DELAY not in settings:
            return Durability(Survives.NOTHING)
        return Durability(Survives.POWER_LOSS, because={"wal-fsync-delay": settings[FSYNC_DELAY]})


# dialect


def quote(name: str) -> str:
    """An identifier of InfluxQL."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _policies(database: str) -> str:
    return f"SHOW RETENTION POLICIES ON {quote(database)}"


def wires(table: Table) -> dict[str, str]:
    """Column -> tag, time or field. No column is the time where a row has no identity: its points could not be
    distinguished."""
    times = [c.name for c in table.columns if c.type in TIMES]
    own = [name for name in times if name in table.identity]
    always = [name for name in times if not table.column(name).nullable]
    time = next(iter(own or always), None) if table.identity else None
    return {c.name: TIME if c.name == time else TAG if _is_tag(table, c) else FIELD for c in table.columns}


def _is_tag(table: Table, column: Column) -> bool:
    names = column.type == "text" and (column.gen or {}).get("kind") == "format" and not column.nullable
    return column.name in table.identity or names


def _no_points(plan: TablePlan) -> str | None:
    if TIME in plan.wire.values():
        return None
    return f"{plan.name}: a point of InfluxDB has a time, and rows without an identity that holds one overwrite each other"


def _losses(table: Table) -> tuple[str, ...]:
    of_types = sql.losses(table, LOSSES)
    return (*of_types, COLLAPSE.format(identity=", ".join(table.identity) or "what they are"), CHECKSUM_QUERY)


def _database(plan: TablePlan) -> str:
    return plan.name.rpartition("..")[0].strip('"')


def _statement(operation: Operation, tables: Mapping[str, TablePlan]) -> OpPlan | Unsupported:
    """The author's InfluxQL with measurements and parameters in place; a tag is compared with a text."""
    names = tables
    if operation.kind == "execute":
        # What deletes takes a measurement of the database that it is asked on, not a qualified name.
        names = {key: TablePlan(p.name.rpartition("..")[2], (), (), (), p.wire) for key, p in tables.items()}
    planned = sql.statement(operation, "influxdb", names, sql.dollar, forms=True)
    if isinstance(planned, Unsupported):
        return planned
    of_tags = [_compares_tag(operation, name, tables) for name in planned.params]

    def place(found: re.Match[str]) -> str:
        return f"'{found[0]}'" if of_tags[int(found[1]) - 1] else found[0]

    text = re.sub(r"(?<!')\$(\d+)(?!\d)", place, planned.text)
    directives: Directives = {}
    if operation.kind == "execute" and (own := tables.get(operation.table or "")):
        directives["on"] = _database(own)
    if form := operation.answers.get("influxdb"):
        directives["columns"] = form.columns
        if form.zero_when_empty:
            directives["zero_when_empty"] = True
    return OpPlan(text, params=planned.params, directives=directives or None)


def _compares_tag(operation: Operation, param: str, tables: Mapping[str, TablePlan]) -> bool:
    gen = operation.params[param].get("gen", {})
    plan = tables.get(gen.get("table") or operation.table or "")
    return plan is not None and plan.wire.get(gen.get("column", "")) == TAG


# the checksum query of a proof


def checksum_items(table: Table) -> tuple[ChecksumItem, ...]:
    """Counts of fields that may be NULL, and sums of whole fields as the server adds them: wrapping at 64 bits.

    A sum of doubles is exact only within 2**53, so floats are left to the read-back, as are texts and tags."""
    items: list[ChecksumItem] = [{"kind": "rows"}]
    roles = wires(table)
    for column in table.columns:
        if roles[column.name] != FIELD:
            continue
        if column.nullable:
            items.append({"kind": "not_null", "column": column.name})
        if column.type in WHOLE_TYPES:
            items.append({"kind": "sum_wrapped", "column": column.name})
    return tuple(items)


def _figure(item: Item, table: Table) -> str:
    if item["kind"] == "rows":
        return f"COUNT({quote(_steady(table) or ROW_FIELD)})"
    function = "COUNT" if item["kind"] == "not_null" else "SUM"
    return f"{function}({quote(item['column'])})"


def _steady(table: Table) -> str | None:
    """A field that every row has."""
    roles = wires(table)
    return next((c.name for c in table.columns if roles[c.name] == FIELD and not c.nullable), None)
