"""QuestDB: its dialect. Twin of rust/engines/src/engine/questdb.rs, which speaks PostgreSQL's protocol, and the line protocol over
HTTP for inserts by `ilp`; `life` starts it and looks after it.

A namespace is a prefix of tables' names (`<namespace>.<table>`), and the table `<namespace>.made_by_inrush` is its mark.

Every table lies in the order of a time and has a write-ahead log. A row is acknowledged when it is in the log, and queries
see it when the log was applied to the table, which the server does in the background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

from inrush.border.plan import Statement
from inrush.engines.base import row_calls, sql
from inrush.engines.base.checksum import proof
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.protocol_probe import Protocol
from inrush.engines.base.sql import literal, quote
from inrush.engines.base.twin import Twin
from inrush.engines.questdb import http as questdb_http
from inrush.engines.questdb.checksum import QuestdbFigures
from inrush.engines.questdb.life import QuestdbLife
from inrush.workload import SPELLED, Column, Operation, Table

#: Logical type -> (type in the table, type on the wire as PostgreSQL names it).
TYPES: Mapping[str, tuple[str, str]] = {
    "bool": ("boolean", "bool"),
    "i16": ("short", "int2"),
    "i32": ("int", "int4"),
    "i64": ("long", "int8"),
    "u8": ("short", "int2"),
    "u16": ("int", "int4"),
    "u32": ("long", "int8"),
    "u64": ("long", "int8"),
    "f32": ("float", "float4"),
    "f64": ("double", "float8"),
    "time_ms": ("timestamp", "timestamptz"),
    "time_us": ("timestamp", "timestamptz"),
    "text": ("varchar", "text"),
    "list_f64": ("double[]", "float8[]"),
    "list_i64": ("double[]", "float8[]"),
    **dict.fromkeys(
        ("list_i16", "list_i32", "list_u8", "list_u16", "list_u32", "list_u64", "list_f32"),
        ("double[]", "float8[]"),
    ),
    **dict.fromkeys(SPELLED, ("varchar", "text")),
    "uuid": ("uuid", "uuid"),
    "enum": ("varchar", "text"),
    # Named so that a plan with them can say that it lacks them.
    **dict.fromkeys(("list_bool", "list_text", "blob", "json", "bit"), ("varchar", "text")),
    "decimal": ("varchar", "text"),
}
#: Where a value may be NULL: types without one of their own are stored wider.
NULLABLE: Mapping[str, tuple[str, str]] = {
    **TYPES,
    "bool": ("int", "int4"),
    "i16": ("int", "int4"),
    "u8": ("int", "int4"),
}
LEAST = "the least value of {} bits is NULL, and a proof finds it missing"
LOSSES: Mapping[str, str] = {
    "i32": LEAST.format(32),
    "i64": LEAST.format(64),
    "u64": "unsigned 64-bit values are stored with their bits reinterpreted: read back exactly, ordered and aggregated as "
    "signed; 2^63 is NULL, and a proof finds it missing",
    **sql.texts("uuid"),
    "decimal": "decimals are texts: exact, compared as texts",
    "list_i64": "lists of whole numbers are lists of doubles: exact within 2^53, others are refused",
    "list_u64": "lists of whole numbers are lists of doubles: exact within 2^53, others are refused",
}
MARK = "made_by_inrush"
#: A query for statements: each drops a table.
DROPS = """SELECT 'DROP TABLE "' || table_name || '"' AS text"""
HOLDER = sql.HOLDER
#: Rows of a day above which a table is cut by the hour.
DAY_ROWS = 100_000_000
NO_TIME = (
    "{}: a table of QuestDB lies in the order of a time, and this one has no time that is never NULL; of a table from files "
    "that is one of its identity or of files.required"
)
COMMIT_MODE = "cairo.commit.mode"
SUSPENDED = "the table is suspended, see errorMessage in wal_tables() and the server log"


class Questdb(Twin):
    name = "questdb"
    title = "QuestDB"
    least_version = "9.3"
    years: ClassVar[Mapping[str, int]] = {"9.3": 2026}
    keeps_not_finite: ClassVar[frozenset[str]] = frozenset()
    keeps_not_finite_items: ClassVar[frozenset[str]] = frozenset()
    keeps_null_items: ClassVar[frozenset[str] | None] = frozenset()
    lacks: ClassVar[frozenset[str]] = frozenset({"list_bool", "list_text", "blob", "date", "json"})
    schemes = ("questdb",)
    lifecycle = QuestdbLife()
    methods = ("multirow", "ilp")
    ways: ClassVar[Mapping[str, str]] = {"bulk": "multirow"}
    max_depth = 1024
    depths: ClassVar[Mapping[str, int]] = {"ilp": 1}
    indexes = False
    protocol = Protocol.POSTGRESQL
    #: Of what listens there and speaks as it does.
    programs: ClassVar[frozenset[str]] = frozenset({"java"})
    rate = (1e-3, 5e-6)
    password_variable = "PGPASSWORD"
    client_variables = ("PGSSLMODE", "PGSSLROOTCERT", "PGPASSFILE", "SSL_CERT_FILE")
    grant = "pg.security.readonly=false in server.conf"
    as_shipped: ClassVar[Mapping[str, str] | None] = {COMMIT_MODE: "nosync"}
    survive_by: ClassVar[Mapping[Survives, str]] = {
        Survives.POWER_LOSS: "--start questdb,cairo.commit.mode=sync",
        Survives.PROCESS_CRASH: "--start questdb,cairo.commit.mode=nosync",
    }

    def unready(self, target: Target, methods: frozenset[str]) -> str:
        if "ilp" not in methods or questdb_http.takes_lines(target.url):
            return ""
        port = questdb_http.port_of(target.url)
        return (
            f"port {port} is not the HTTP of QuestDB 9.0 or later, which method ilp needs; add http=PORT to the URL, "
            "or take method multirow"
        )

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        return (f"CREATE TABLE {_named(namespace, MARK)} (made boolean)",)

    def drop_namespace(self, namespace: str) -> tuple[Statement, ...]:
        return (_drop_marked(namespace, _within(namespace)),)

    def foreign_objects(self, namespaces: Sequence[str]) -> str:
        each = " UNION ALL ".join(
            f"SELECT {literal(name)} AS name, count() AS tables, "
            f"sum(CASE WHEN table_name = {literal(f'{name}.{MARK}')} THEN 1 ELSE 0 END) AS marks "
            f"FROM tables() WHERE {_within(name)}"
            for name in namespaces
        )
        return f"SELECT name FROM ({each}) WHERE tables > 0 AND marks = 0"

    def drop_foreign_object(self, name: str) -> tuple[Statement, ...]:
        return ({"text": f"{DROPS} FROM tables() WHERE {_within(name)}", "repeat": "each_row"},)

    def lock(self, name: str, holder: str) -> tuple[str, ...]:
        held = f"CREATE TABLE {_named(name, HOLDER)} AS (SELECT {literal(holder)} AS holder)"
        return (*self.open_namespace(name), held)

    def ask_holder(self, name: str) -> str:
        return f"SELECT holder FROM {_named(name, HOLDER)}"

    def ask_locks(self) -> str:
        return f"SELECT table_name FROM tables() WHERE starts_with(table_name, {literal(sql.LOCK)})"

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        name, time = _named(namespace, table.name), table.time.name if table.time else None
        types = {c.name: (NULLABLE if c.nullable else TYPES)[c.type] for c in table.columns}
        columns = ", ".join(f"{quote(column)} {declared}" for column, (declared, _) in types.items())
        cut = "HOUR" if table.series * 86_400 > DAY_ROWS * table.period_s else "DAY"
        order = "" if time is None else f" TIMESTAMP({quote(time)}) PARTITION BY {cut} WAL"
        return TablePlan(
            name=name,
            create=(f"CREATE TABLE {name} ({columns}){order}",),
            fresh=(f"TRUNCATE TABLE {name}",),
            drop=(_drop_marked(namespace, f"table_name = {literal(f'{namespace}.{table.name}')}"),),
            wire={column: wire for column, (_, wire) in types.items()},
            losses=sql.losses(table, LOSSES),
            takes_no_rows=NO_TIME.format(name) if time is None else "",
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        if operation.deletes_before and self.name not in operation.sql:
            return Unsupported("QuestDB deletes no rows, only whole partitions")
        inserts: Mapping[str, sql.Insert] = {
            "multirow": partial(sql.insert_one_row, placeholder=sql.dollar),
            "ilp": sql.table_name,
        }
        if operation.kind == "insert" and (reason := tables[operation.table or ""].takes_no_rows):
            return Unsupported(reason)
        return sql.operation(operation, method, self.name, tables, inserts, sql.dollar)

    def row_call(self, operation: Operation, table: Table, plan: TablePlan) -> str | Unsupported:
        named = {*operation.params, *operation.each_row}
        # Values of these are sent as PostgreSQL's types have them, and the column is a text.
        for column in table.columns:
            if column.name in named and column.type in SPELLED and TYPES[column.type][0] == "varchar":
                return Unsupported(
                    f"column {column.name}: QuestDB keeps {column.type} as a text, and is asked for none"
                )
        return row_calls.reads_only(
            operation, table, plan, "its rows are appended to a log, and reads see them when that was applied"
        )

    def unseen(self, plan: TablePlan) -> str:
        table = literal(plan.name.strip('"'))
        return (
            f"SELECT name, CASE WHEN suspended THEN {literal(SUSPENDED)} ELSE 'its log is not applied yet' END AS state "
            f"FROM wal_tables() WHERE name = {table} AND writerTxn < sequencerTxn"
        )

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return proof(table, plan, QuestdbFigures(), unsigned_is_signed=True)

    def instant(self, column: Column, at_ns: int) -> str | None:
        return f"cast({literal(sql.instant_text(at_ns)[:-3].replace(' ', 'T') + 'Z')} AS timestamp)"

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        names = ", ".join(literal(plan.name.strip('"')) for plan in tables) or "''"
        return Probes(
            sizes=(
                f"SELECT 'table:' || tableName AS name, diskSize FROM table_storage() WHERE tableName IN ({names})",
            ),
            counters=("SELECT 'memory.' || memory_tag AS name, bytes FROM memory_metrics()",),
            settings=(
                # The core takes the number of all rows off again: it tells whether other clients took some.
                "SELECT property_path, value, listed FROM "
                "(SELECT property_path, value, value_source, count(*) OVER () AS listed FROM (SHOW PARAMETERS)) "
                f"WHERE value_source <> 'default' OR property_path = {literal(COMMIT_MODE)} ORDER BY property_path",
            ),
            version="SELECT 'version' AS name, 'QuestDB ' || split_part(split_part(build(), 'QuestDB ', 2), ',', 1) AS version",
        )

    def durability(self, settings: Mapping[str, str]) -> Durability:
        """What an acknowledged INSERT survives.

        A commit writes to files that are mapped into memory, and the kernel has them. With `sync` it waits until they are
        on disk; with `async` it does not. Source: QuestDB's manual, "Durability and commit modes".
        """
        mode = settings.get(COMMIT_MODE)
        because = {} if mode is None else {COMMIT_MODE: mode}
        survives = {
            "sync": Survives.POWER_LOSS,
            "nosync": Survives.PROCESS_CRASH,
            "async": Survives.PROCESS_CRASH,
        }
        return Durability(survives.get(mode or "", Survives.NOTHING), because=because)


def _named(namespace: str, table: str) -> str:
    return quote(f"{namespace}.{table}")


def _within(namespace: str) -> str:
    return f"starts_with(table_name, {literal(namespace + '.')})"


def _drop_marked(namespace: str, where: str) -> Statement:
    """Drops the tables `where` the namespace bears inrush's mark; the mark last, so that what a kill left is found."""
    mark = literal(f"{namespace}.{MARK}")
    return {
        "text": f"{DROPS} FROM tables() CROSS JOIN (SELECT table_name AS mark FROM tables() WHERE table_name = {mark}) "
        f"WHERE {where} ORDER BY table_name = {mark}",
        "repeat": "each_row",
    }
