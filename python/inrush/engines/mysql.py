"""MySQL and MariaDB: their dialect. Twins of rust/src/engine/mysql.rs; the lives of servers of ours are mysql_life.py.

A namespace is a database with a table whose comment is inrush's mark: a database of the user's is never dropped. Every
connection quotes names with `"` (ANSI_QUOTES), works in UTC and refuses what a column cannot hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import ClassVar

from inrush.border.plan import Command, EachRow
from inrush.engines import mysql_load, sql
from inrush.engines.base import (
    TLS,
    Durability,
    OpPlan,
    Probes,
    Proof,
    Survives,
    TablePlan,
    Unsupported,
    information_schema,
)
from inrush.engines.mysql_life import MariadbLife, MysqlLife
from inrush.engines.sampled import Sampled
from inrush.engines.sql import Insert, Item, bits_of, quote
from inrush.workload import Column, Operation, Table

#: Logical type -> type in the table and on the wire; texts see `text_type`.
DECLARED: Mapping[str, str] = {
    "bool": "BOOLEAN",
    "i16": "SMALLINT",
    "i32": "INT",
    "i64": "BIGINT",
    "u64": "BIGINT UNSIGNED",
    "f32": "FLOAT",
    "f64": "DOUBLE",
    "time_ms": "DATETIME(3)",
    "time_us": "DATETIME(6)",
    "text": "LONGTEXT",
    "list_f64": "JSON",
    "list_i64": "JSON",
    "date": "DATE",
    "uuid": "CHAR(36)",
    "bytes": "LONGBLOB",
}
#: As `column_type` of information_schema names them, without length.
COLUMN_TYPES: Mapping[str, tuple[str, ...]] = {
    "tinyint": ("i16", "bool"),
    "smallint": ("i16",),
    "mediumint": ("i32",),
    "int": ("i32",),
    "bigint": ("i64",),
    "smallint unsigned": ("i32",),
    "mediumint unsigned": ("i32",),
    "int unsigned": ("i64",),
    "bigint unsigned": ("u64",),
    "float": ("f32",),
    "double": ("f64",),
    "datetime": ("time_us",),
    "timestamp": ("time_us",),
    "varchar": ("text",),
    "char": ("text",),
    "text": ("text",),
    "mediumtext": ("text",),
    "longtext": ("text",),
    "json": ("text",),
    "date": ("date",),
    "uuid": ("uuid",),
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob", "binary", "varbinary", "bit"), ("bytes",)),
}
LOSSES: Mapping[str, str] = {
    "f32": "NaN and infinities are refused",
    "f64": "NaN and infinities are refused",
    "time_ms": "times are DATETIME in UTC, years 0 to 9999",
    "time_us": "times are DATETIME in UTC, years 0 to 9999",
    "list_f64": "lists are JSON: stored and read back, not searched; NaN and infinities are refused",
    "uuid": "a UUID is its text of 36 characters",
    "list_i64": "lists are JSON: stored and read back, not searched",
}
#: Types of columns of bytes and bits.
BINARY = re.compile(r"(?:tiny|medium|long)?blob|(?:var)?binary|bit\b", re.IGNORECASE)
MARK = "made by inrush"
MARK_TABLE = "inrush_mark"
#: Longest text of a column that an index may hold whole and a temporary table keeps in memory.
SHORT_TEXT = 255
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


#: Method -> text. The wire runs the INSERT of one row for many at once (`bulk`), or repeats its values (`multirow`).
INSERTS: Mapping[str, Insert] = {"bulk": sql.insert_one_row, "load": load, "multirow": sql.insert_one_row}


TEXT_BYTES = {"text": 2**16 - 1, "mediumtext": 2**24 - 1}
RANGES = {
    "datetime": (-30_610_224_000_000_000, 253_402_300_799_499_999),  # 1000-01-01 to the end of 9999
    "timestamp": (1_000_000, 2_147_483_647_499_999),
    "tinyint": (-(2**7), 2**7 - 1),
    "mediumint": (-(2**23), 2**23 - 1),
    "smallint unsigned": (0, 2**16 - 1),
    "mediumint unsigned": (0, 2**24 - 1),
    "int unsigned": (0, 2**32 - 1),
}


class Mysql(MysqlLife):
    name: ClassVar[str] = "mysql"
    schemes: ClassVar[tuple[str, ...]] = ("mysql",)
    max_depth = 1024
    methods: ClassVar[tuple[str, ...]] = ("load", "multirow")
    ways: ClassVar[Mapping[str, str]] = {"bulk": "load"}
    transactional: ClassVar[bool] = True
    column_types: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMN_TYPES
    has_days = True
    bounds_texts = True
    text_bytes: ClassVar[Mapping[str, int]] = TEXT_BYTES
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = RANGES
    time_digits = 0
    rewrites_json: ClassVar[bool] = True
    in_database = True
    rate: ClassVar[tuple[float, float]] = (2e-3, 4e-6)
    password_variable = "MYSQL_PWD"
    survive_by: ClassVar[Mapping[Survives, str]] = {
        Survives.POWER_LOSS: "--start {engine},innodb_flush_log_at_trx_commit=1,innodb_doublewrite=ON,sync_binlog=1",
        Survives.PROCESS_CRASH: "--start {engine},innodb_flush_log_at_trx_commit=2",
    }
    long_text: ClassVar[str] = "mediumtext"
    first_database: ClassVar[str | None] = ""
    #: Texts are compared byte by byte, blanks at their end included.
    collation: ClassVar[str] = "utf8mb4_0900_bin"
    #: Where a connection reads its own status.
    session_status: ClassVar[str] = "performance_schema.session_status"

    # decides

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

    def drop_namespace(self, namespace: str) -> tuple[Command, ...]:
        return (_if_marked(namespace, f"DROP DATABASE {quote(namespace)}"),)

    def foreign_objects(self, namespaces: Sequence[str]) -> str:
        return (
            f"SELECT s.schema_name FROM information_schema.schemata s WHERE s.schema_name IN ({_listed(namespaces)}) "
            f"AND NOT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = s.schema_name AND {OWN}) "
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
            create=(_create_table(table, name, wire, indexes, self.collation),),
            fresh=(f"TRUNCATE TABLE {name}",),
            drop=(_if_marked(namespace, f"DROP TABLE IF EXISTS {name}"),),
            wire=wire,
            losses=sql.losses(table, LOSSES),
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        inserts = {name: INSERTS[name] for name in self.methods}
        plan = tables.get(operation.table or "")
        if plan and (made := {c: kind for c, kind in plan.wire.items() if BINARY.match(kind)}):
            inserts = {"load": partial(load_with_bytes, made=made)}
        return sql.operation(operation, method, self.dialect(operation), tables, inserts)

    def create_database(self, name: str) -> str:
        return f"CREATE DATABASE {quote(name)} CHARACTER SET utf8mb4 COLLATE {self.collation}"

    def create_loaded(self, table: Table, name: str, sampled: Sampled) -> str:
        usual = {c.name: declared(c, indexed=False) for c in table.columns}
        return _create_table(table, name, mysql_load.types(table, usual, sampled), (), self.collation)

    def describe(self, schema: str, table: str) -> str:
        return information_schema(schema, table, "DATABASE()", "column_type")

    def load_methods(self, table: Table) -> tuple[str, ...]:
        # LOAD DATA makes bytes of their digits.
        return ("load",) if any(c.type == "bytes" for c in table.columns) else self.methods

    def read_column(self, column: Column) -> str:
        name = quote(column.name)
        if column.type == "bytes":
            return f"{_digits(column)} AS {name}"
        return (
            f"CAST({name} AS CHAR CHARACTER SET utf8mb4) AS {name}"
            if column.type in ("date", "uuid")
            else name
        )

    def schema_of(self, schema: str, table: str) -> str:
        return f"SELECT {literal(schema) if schema else 'DATABASE()'}"

    def copy_table(self, name: str, like: str) -> str:
        return f"CREATE TABLE IF NOT EXISTS {name} LIKE {like}"

    def unfit_for_load(self, schema: str, table: str) -> str:
        """MyISAM, Aria and their like store at once what a transaction has not committed."""
        why = "CONCAT('its engine ', t.engine, ' has no transactions; ALTER TABLE it to InnoDB')"
        return (
            f"SELECT {why} FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine "
            f"WHERE t.table_schema = {literal(schema) if schema else 'DATABASE()'} AND t.table_name = {literal(table)} "
            "AND COALESCE(e.transactions, 'NO') <> 'YES'"
        )

    def dialect(self, operation: Operation) -> str:
        """Whose SQL serves."""
        return self.name

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return sql.proof(table, plan, _figure, unsigned_is_signed=False, hashing="crc32")

    def load_proof(
        self, table: Table, name: str, declared: Mapping[str, str], loose: Collection[str] = ()
    ) -> Proof:
        items = sql.load_items(table, "crc32", False, declared, loose)
        return sql.load_proof(table, name, items, _figure)

    def load_checksum_query(self, table: Table, name: str, items: Sequence[Item]) -> str:
        return sql.load_checksum_query(table, name, items, _figure)

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


class Mariadb(MariadbLife, Mysql):
    name = "mariadb"
    rate = (2e-3, 3e-6)
    rewrites_json = False
    schemes = ("mariadb",)
    methods = ("bulk", "load", "multirow")
    ways: ClassVar[Mapping[str, str]] = {}
    collation = "utf8mb4_nopad_bin"
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


def literal(text: str) -> str:
    """A string as SQL text; a backslash escapes here."""
    return sql.literal(text.replace("\\", "\\\\"))


def declared(column: Column, indexed: bool) -> str:
    """Type of a column. A text that an index holds, or that its generator keeps short, is a VARCHAR."""
    if column.type == "bytes":
        return column.declared or DECLARED["bytes"]
    if column.type != "text":
        return DECLARED[column.type]
    gen = column.gen or {}
    longest = int(gen.get("max_bytes", SHORT_TEXT)) if gen else SHORT_TEXT + 1
    return f"VARCHAR({SHORT_TEXT})" if indexed or longest <= SHORT_TEXT else DECLARED["text"]


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


def _if_marked(namespace: str, statement: str) -> EachRow:
    """`statement` where the database bears inrush's mark, nothing where there is none, else a refusal."""
    refusal = f"database {namespace} does not bear the mark of inrush and is left alone"
    signal = f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = {literal(refusal)}"
    own = f"table_schema = {literal(namespace)} AND {OWN}"
    return {
        "text": f"SELECT CASE WHEN EXISTS (SELECT 1 FROM information_schema.tables WHERE {own}) THEN {literal(statement)} "
        f"WHEN EXISTS (SELECT 1 FROM information_schema.schemata WHERE schema_name = {literal(namespace)}) "
        f"THEN {literal(signal)} ELSE 'DO 0' END",
        "repeat": "each_row",
    }


def _create_table(
    table: Table, name: str, wire: Mapping[str, str], indexes: Sequence[tuple[str, ...]], collation: str
) -> str:
    parts = [f"{quote(c.name)} {wire[c.name]}{' NULL' if c.nullable else ' NOT NULL'}" for c in table.columns]
    for k, columns in enumerate(indexes):
        if k == 0 and columns == table.identity:
            # A primary key takes no NULL, which its columns may hold when they come from a file.
            kind = "UNIQUE KEY" if any(table.column(c).nullable for c in columns) else "PRIMARY KEY"
        else:
            kind = "KEY"
        parts.append(f"{kind} ({', '.join(map(quote, columns))})")
    return f"CREATE TABLE {name} ({', '.join(parts)}) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE {collation}"


def _sizes(name: str) -> str:
    """Pages of rows (the primary key holds them) and of all other indexes, in bytes."""
    database, table = (literal(part[1:-1].replace('""', '"')) for part in name.split("."))
    where = f"FROM information_schema.tables WHERE table_schema = {database} AND table_name = {table}"
    return (
        f"SELECT {literal(f'table:{name}')}, data_length {where} "
        f"UNION ALL SELECT {literal(f'indexes:{name}')}, index_length {where}"
    )


def _figure(item: Item, column: Callable[[str], Column]) -> str:
    """One figure of the checksum query. The sum of integers is a DECIMAL: exact, without overflow."""
    kind = item["kind"]
    if kind == "rows":
        return "COUNT(*)"
    if kind == "product":
        key, value = (_whole(column(item[name])) for name in ("key", "value"))
        return f"COALESCE(SUM(({key} & 65535) * ({value} & 65535)), 0)"
    if kind == "sum_rows":
        return f"COALESCE(SUM(CRC32({sql.row_number(item, column, _remainder)})), 0)"
    name = quote(item["column"])
    if kind == "not_null":
        return f"COUNT({name})"
    if kind == "count_true":
        return f"COALESCE(SUM({name} <> 0), 0)"
    if kind == "sum_hash":
        return f"COALESCE(SUM({_hash(column(item['column']))}), 0)"
    if kind == "sum_length":
        return f"COALESCE(SUM(LENGTH({name})), 0)"
    if kind == "sum_scaled":
        # Scaling a double by a power of two is exact, and so is the cast of a whole one.
        return f"COALESCE(SUM(CAST({name} * {2 ** item['bits']}e0 AS SIGNED)), 0)"
    whole = _whole(column(item["column"]))
    if kind == "sum_low":
        return f"COALESCE(SUM({whole} & 4294967295), 0)"
    high = f"{whole} >> 32"
    # Shifts are of unsigned numbers: the upper half of a negative one comes out 2^32 too large.
    if item["signed"]:
        high = f"CAST({high} AS SIGNED) - IF({whole} < 0, 4294967296, 0)"
    return f"COALESCE(SUM({high}), 0)"


def _hash(column: Column) -> str:
    """A value's CRC-32: of a text's bytes in UTF-8, of a float's bits, which nothing but a geometry shows."""
    name = quote(column.name)
    if column.type in sql.FLOAT_TYPES:
        return f"CRC32(ST_AsBinary(Point({name} + 0e0, 0)))"
    if column.type == "bytes":
        return f"CRC32({_digits(column)})"
    return f"CRC32(CAST({name} AS CHAR CHARACTER SET utf8mb4))"


def _digits(column: Column) -> str:
    """The hexadecimal digits of a column of bytes or bits, in lower case. Of a number HEX gives no zeros before it."""
    name, bits = quote(column.name), bits_of(column.declared)
    digits = f"LPAD(HEX({name} + 0), {(bits + 7) // 8 * 2}, '0')" if bits else f"HEX({name})"
    return f"CAST(LOWER({digits}) AS CHAR CHARACTER SET utf8mb4)"


def _remainder(column: Column) -> str:
    """A column's part of its row's number: see `sql.row_number`. One unsigned operand would make every sum unsigned."""
    if column.type == "bool":
        value = f"({quote(column.name)} <> 0)"
    else:
        value = _whole(column) if column.type in sql.WHOLE_TYPES else _hash(column)
    return f"CAST(IFNULL({value} % {sql.ROW_DIVISOR}, {sql.ROW_DIVISOR}) AS SIGNED)"


def _whole(column: Column) -> str:
    """A whole column as a number: times in their own unit since 1970."""
    name = quote(column.name)
    since = f"TIMESTAMPDIFF(MICROSECOND, TIMESTAMP '1970-01-01 00:00:00', {name})"
    return {"time_ms": f"({since} DIV 1000)", "time_us": since}.get(column.type, name)
