"""MySQL and MariaDB: their dialect. Twins of rust/engines/src/engine/mysql.rs; their other parts stand beside this file.

A namespace is a database with a table whose comment is inrush's mark: a database of the user's is never dropped. Every
connection quotes names with `"` (ANSI_QUOTES), works in UTC and refuses what a column cannot hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

from inrush.border.plan import DetailedStatement, Statement
from inrush.engines.base import row_calls, sql
from inrush.engines.base.checksum import HASHED_TYPES, proof
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import TRANSPORTS
from inrush.engines.base.page_counters import PageCounters
from inrush.engines.base.pages import Pages
from inrush.engines.base.plans import TLS, OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.protocol_probe import Protocol
from inrush.engines.base.sql import Insert, bits_of, quote
from inrush.engines.base.twin import Twin
from inrush.engines.mysql.checksum import MysqlFigures
from inrush.engines.mysql.life import MariadbLife, MysqlLife
from inrush.engines.mysql.load import MariadbLoading, MysqlLoading
from inrush.engines.mysql.tables import create_table, declared, literal
from inrush.workload import DRAWN_LISTS, Column, Operation, Table

LOSSES: Mapping[str, str] = {
    "f32": "NaN and infinities are refused",
    "f64": "NaN and infinities are refused",
    "time_ms": "times are DATETIME in UTC, years 0 to 9999",
    "time_us": "times are DATETIME in UTC, years 0 to 9999",
    "list_f64": "lists are JSON: stored and read back, not searched; NaN and infinities are refused",
    **sql.texts("date"),
    **dict.fromkeys(("list_i64", *DRAWN_LISTS), "lists are JSON: stored and read back, not searched"),
    "json": "documents are parsed: blanks between values and the order of keys are the engine's own",
    "list_f32": "lists are JSON: stored and read back, not searched; NaN and infinities are refused",
}
#: Types of columns of bytes and bits.
BINARY = re.compile(r"(?:tiny|medium|long)?blob|(?:var)?binary|bit\b", re.IGNORECASE)
MARK = "made by inrush"
MARK_TABLE = "inrush_mark"
#: Settings that say what an acknowledged row survives.
DURABILITY = (
    "innodb_flush_log_at_trx_commit", "innodb_flush_log_at_timeout", "innodb_doublewrite", "innodb_flush_method",
    "log_bin", "sync_binlog",
)  # fmt: skip
#: Of SHOW GLOBAL STATUS: work of the storage engine, and of the server as a whole.
COUNTERS = (
    "Bytes_received", "Bytes_sent", "Com_commit", "Com_insert", "Com_load", "Com_rollback", "Com_select",
    "Com_stmt_execute", "Connections", "Created_tmp_disk_tables", "Created_tmp_tables", "Handler_commit", "Questions",
    "Slow_queries", "Threads_connected",
)  # fmt: skip


def load(table: str, columns: tuple[str, ...]) -> str:
    """LOAD DATA of a batch in memory: the name of the file is never opened."""
    return load_with_bytes(table, columns, {})


def load_with_bytes(table: str, columns: tuple[str, ...], made: Mapping[str, str]) -> str:
    """made: column of bytes -> its declared type; rows have its hexadecimal digits."""
    number = {name: f"@b{k}" for k, name in enumerate(columns) if name in made}
    names = ", ".join(number.get(name, quote(name)) for name in columns)
    sets = (f"{quote(name)} = {bytes_of(at, made[name])}" for name, at in number.items())
    into = f"LOAD DATA LOCAL INFILE 'batch' INTO TABLE {table} CHARACTER SET utf8mb4 ({names})"
    return f"{into} SET {', '.join(sets)}" if number else into


def bytes_of(digits: str, declared: str) -> str:
    """The value of a column of bytes or bits, of its hexadecimal digits."""
    return f"CAST(CONV({digits}, 16, 10) AS UNSIGNED)" if bits_of(declared) else f"UNHEX({digits})"


def client_file(table: str, columns: tuple[str, ...]) -> str:
    """The text files of `study/inputs.py` are those of LOAD DATA as it is."""
    return load(table, columns)


def server_file(table: str, columns: tuple[str, ...]) -> str:
    return load(table, columns).replace("LOCAL INFILE 'batch'", "INFILE '{path}'", 1)


#: Method -> text. The wire runs the INSERT of one row for many at once (`bulk`), or repeats its values (`multirow`).
INSERTS: Mapping[str, Insert] = {
    "bulk": sql.insert_one_row,
    "load": load,
    "multirow": sql.insert_one_row,
    "client_file": client_file,
    "server_file": server_file,
}


class Mysql(Twin):
    name: ClassVar[str] = "mysql"
    title = "MySQL"
    least_version: ClassVar[str] = "8.0.17"
    years: ClassVar[Mapping[str, int]] = {
        "8.0": 2018,
        "8.4": 2024,
        "9.0": 2024,
        "9.1": 2024,
        "9.2": 2025,
        "9.3": 2025,
        "9.4": 2025,
        "9.5": 2025,
        "9.6": 2026,
        "9.7": 2026,
    }
    keeps_not_finite: ClassVar[frozenset[str]] = frozenset()
    keeps_not_finite_items: ClassVar[frozenset[str]] = frozenset()
    schemes: ClassVar[tuple[str, ...]] = ("mysql",)
    most_scale: ClassVar[int] = 30
    has_bits = True
    days = ("1000-01-01", "9999-12-31")
    #: Texts are compared byte by byte, blanks at their end included.
    collation: ClassVar[str] = "utf8mb4_0900_bin"
    lifecycle = MysqlLife()
    loading = MysqlLoading(collation)
    max_depth = 1024
    partitions = "counted"
    cuts_by_value = True
    methods: ClassVar[tuple[str, ...]] = ("load", "multirow")
    file_methods = ("client_file", "server_file")
    ways_out = ("binary", "text", "cursor")
    ways: ClassVar[Mapping[str, str]] = {"bulk": "load"}
    rate: ClassVar[tuple[float, float]] = (2e-3, 4e-6)
    # Those of read-ahead are in the first, and not in `Innodb_buffer_pool_reads`.
    page_counters = PageCounters(
        ("Innodb_pages_read",), ("Innodb_buffer_pool_read_requests",), page=("innodb_page_size", 16_384)
    )
    pages = Pages(
        "innodb_page_size",
        16_384,
        "innodb_buffer_pool_size",
        128 << 20,
        direct=("innodb_flush_method", "O_DIRECT"),
    )
    protocol = Protocol.MYSQL
    programs: ClassVar[frozenset[str]] = frozenset({"mysqld", "mariadbd"})
    works_in_data = True
    transports = TRANSPORTS
    data_folder = "SELECT @@datadir"
    grant = r"GRANT ALL ON `inrush\_%`.* TO the user"
    password_variable = "MYSQL_PWD"
    client_variables = ("SSL_CERT_FILE",)
    as_shipped: ClassVar[Mapping[str, str] | None] = {
        "innodb_flush_log_at_trx_commit": "1",
        "innodb_doublewrite": "ON",
        "log_bin": "ON",
        "sync_binlog": "1",
    }
    survive_by: ClassVar[Mapping[Survives, str]] = {
        Survives.POWER_LOSS: "--start {engine},innodb_flush_log_at_trx_commit=1,innodb_doublewrite=ON,sync_binlog=1",
        Survives.PROCESS_CRASH: "--start {engine},innodb_flush_log_at_trx_commit=2",
    }
    known_losses: ClassVar[Mapping[str, str]] = LOSSES
    #: Types that a hash is summed of.
    hashed: ClassVar[frozenset[str]] = HASHED_TYPES
    #: Where a connection reads its own status.
    session_status: ClassVar[str] = "performance_schema.session_status"

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        database = quote(namespace)
        return (
            f"CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE {self.collation}",
            f"CREATE TABLE {database}.{MARK_TABLE} (created_by INT) COMMENT {literal(MARK)}",
        )

    def lock(self, name: str, holder: str) -> tuple[str, ...]:
        return (*self.open_namespace(name), sql.holder_table(name, holder))

    def ask_holder(self, name: str) -> str:
        return sql.ask_holder(name)

    def ask_locks(self) -> str:
        return (
            "SELECT schema_name FROM information_schema.schemata "
            f"WHERE left(schema_name, {len(sql.LOCK)}) = {sql.literal(sql.LOCK)}"
        )

    def drop_namespace(self, namespace: str) -> tuple[Statement, ...]:
        return (_if_marked(namespace, f"DROP DATABASE {quote(namespace)}"),)

    def foreign_objects(self, namespaces: Sequence[str]) -> str:
        return (
            f"SELECT DISTINCT t.table_schema FROM information_schema.tables t WHERE t.table_schema IN ({_listed(namespaces)}) "
            f"AND NOT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = t.table_schema AND {OWN}) "
            "ORDER BY 1"
        )

    def drop_foreign_object(self, name: str) -> tuple[str, ...]:
        return (f"DROP DATABASE {quote(name)}",)

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        name = f"{quote(namespace)}.{quote(table.name)}"
        indexes = table.layouts.get(layout, ())
        indexed = {column for index in indexes for column in index}
        wire = {c.name: declared(c, c.name in indexed) for c in table.columns}
        return TablePlan(
            name=name,
            create=(
                create_table(table, name, wire, indexes, self.collation, table.partitions.get(self.name)),
            ),
            fresh=(f"TRUNCATE TABLE {name}",),
            drop=(_if_marked(namespace, f"DROP TABLE IF EXISTS {name}"),),
            wire=wire,
            losses=sql.losses(table, self.known_losses),
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        inserts = {name: INSERTS[name] for name in (*self.methods, *self.file_methods)}
        plan = tables.get(operation.table or "")
        if plan and (made := {c: kind for c, kind in plan.wire.items() if BINARY.match(kind)}):
            inserts = {**inserts, "load": partial(load_with_bytes, made=made)}
        return sql.operation(operation, method, self.dialect(operation), tables, inserts)

    def row_call(self, operation: Operation, table: Table, plan: TablePlan) -> str | Unsupported:
        return row_calls.sql_text(operation, table, plan, row_calls.on_duplicate_key)

    def dialect(self, operation: Operation) -> str:
        """Whose SQL serves."""
        return self.name

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return proof(
            table, plan, MysqlFigures(), unsigned_is_signed=False, hashing="crc32", hashed=self.hashed
        )

    def instant(self, column: Column, at_ns: int) -> str | None:
        return f"TIMESTAMP '{sql.instant_text(at_ns).removesuffix('+00')}'"

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        return Probes(
            sizes=tuple(f"{self.fresh_sizes(plan.name)} {_sizes(plan.name)}" for plan in tables),
            counters=(
                f"SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Innodb%' OR Variable_name IN ({_listed(COUNTERS)})",
            ),
            settings=(self.settings(), _tls(self.session_status)),
            version="SELECT 'version', CONCAT(VERSION(), ' ', @@version_comment)",
        )

    def fresh_sizes(self, table: str) -> str:
        """What must be run before so that sizes are those of now: the server keeps them for a day."""
        return f"SET SESSION information_schema_stats_expiry = 0; ANALYZE NO_WRITE_TO_BINLOG TABLE {table};"

    def settings(self) -> str:
        """Those that differ from the server's own, and those of durability."""
        return (
            "SELECT i.variable_name, v.variable_value FROM performance_schema.variables_info i "
            "JOIN performance_schema.global_variables v ON v.variable_name = i.variable_name "
            f"WHERE i.variable_source <> 'COMPILED' OR i.variable_name IN ({_listed(DURABILITY)}) ORDER BY 1"
        )

    def durability(self, settings: Mapping[str, str]) -> Durability:
        """What an acknowledged row survives.

        With a binary log that is not synced, rows that it lost are rolled back when the server comes up again.
        Without doublewrite, a page torn by a power cut takes rows with it that were stored long before.
        Sources: MySQL's manual, innodb_flush_log_at_trx_commit, sync_binlog, innodb_doublewrite; MariaDB's, group commit.
        """
        because = {name: settings[name] for name in DURABILITY if name in settings}
        flush = settings.get("innodb_flush_log_at_trx_commit", "")
        window_s = float(settings.get("innodb_flush_log_at_timeout", "1"))
        # A setting that could not be read promises nothing.
        if flush not in ("1", "2", "3"):
            return Durability(Survives.NOTHING, window_s, because)
        if flush == "2":
            return Durability(Survives.PROCESS_CRASH, window_s, because)
        whole_pages = settings.get("innodb_doublewrite", "").upper() in (
            "ON",
            "1",
            "DETECT_AND_RECOVER",
            "FAST",
        )
        logged = settings.get("log_bin", "OFF") == "OFF" or settings.get("sync_binlog") == "1"
        synced = settings.get("innodb_flush_method", "").lower() != "nosync"
        kept = whole_pages and logged and synced
        return Durability(Survives.POWER_LOSS if kept else Survives.PROCESS_CRASH, because=because)


class Mariadb(Mysql):
    name = "mariadb"
    title = "MariaDB"
    least_version = "10.11"
    years: ClassVar[Mapping[str, int]] = {"10.11": 2023, "11.4": 2024, "11.8": 2025}
    most_scale = 38
    hashed = HASHED_TYPES | {"json"}
    known_losses: ClassVar[Mapping[str, str]] = {
        **LOSSES,
        "json": "documents are texts that the engine checks: kept as they were written",
    }
    schemes = ("mariadb",)
    collation = "utf8mb4_nopad_bin"
    lifecycle = MariadbLife()
    loading = MariadbLoading(collation)
    rate = (2e-3, 3e-6)
    as_shipped: ClassVar[Mapping[str, str] | None] = {
        "innodb_flush_log_at_trx_commit": "1",
        "innodb_doublewrite": "ON",
        "log_bin": "OFF",
        "sync_binlog": "0",
    }
    methods = ("bulk", "load", "multirow")
    ways: ClassVar[Mapping[str, str]] = {}
    session_status = "information_schema.session_status"

    def dialect(self, operation: Operation) -> str:
        own = self.name in operation.sql or self.name in operation.unsupported
        return self.name if own else Mysql.name

    def fresh_sizes(self, table: str) -> str:
        return f"ANALYZE NO_WRITE_TO_BINLOG TABLE {table};"

    def settings(self) -> str:
        return (
            "SELECT LOWER(variable_name), global_value FROM information_schema.system_variables "
            "WHERE global_value IS NOT NULL AND (global_value_origin <> 'COMPILE-TIME' "
            f"OR LOWER(variable_name) IN ({_listed(DURABILITY)})) ORDER BY 1"
        )


#: The mark, among the tables of information_schema.
OWN = f"table_name = {literal(MARK_TABLE)} AND table_comment = {literal(MARK)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(literal, names))


def _tls(status: str) -> str:
    """How this connection is encrypted; no row where the server keeps no status."""
    return (
        f"SELECT {literal(TLS)}, IF(c.variable_value = '', 'none', CONCAT(v.variable_value, ' ', c.variable_value)) "
        f"FROM {status} c JOIN {status} v ON c.variable_name = 'Ssl_cipher' AND v.variable_name = 'Ssl_version'"
    )


def _if_marked(namespace: str, statement: str) -> DetailedStatement:
    """`statement` where the database bears inrush's mark or holds no table, nothing where there is none, else a refusal.

    An inrush that was killed while it made the database has left it without a table.
    """
    refusal = f"database {namespace} does not bear the mark of inrush and is left alone"
    signal = f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = {literal(refusal)}"
    tables = f"EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = {literal(namespace)}"
    return {
        "text": f"SELECT CASE WHEN {tables} AND {OWN}) THEN {literal(statement)} "
        f"WHEN {tables}) THEN {literal(signal)} "
        f"WHEN EXISTS (SELECT 1 FROM information_schema.schemata WHERE schema_name = {literal(namespace)}) "
        f"THEN {literal(statement)} ELSE 'DO 0' END",
        "repeat": "each_row",
    }


def _sizes(name: str) -> str:
    """Pages of rows (the primary key holds them) and of all other indexes, in bytes."""
    *named, table = (literal(part[1:-1].replace('""', '"')) for part in name.split("."))
    database = named[0] if named else "DATABASE()"
    where = f"FROM information_schema.tables WHERE table_schema = {database} AND table_name = {table}"
    return (
        f"SELECT {literal(f'table:{name}')}, data_length {where} "
        f"UNION ALL SELECT {literal(f'indexes:{name}')}, index_length {where}"
    )
