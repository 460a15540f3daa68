"""The tables of others on MySQL and MariaDB, as `inrush load` makes, describes, fills and proves them. Pure.

The length of a text that `--create` declares follows the longest text sampled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from inrush.border.table import Spelling
from inrush.engines.base.loading import Loading, information_schema
from inrush.engines.base.merge import ORDER, MergeDialect
from inrush.engines.base.plans import TablePlan
from inrush.engines.base.sampled import SampledColumns
from inrush.engines.base.sql import quote
from inrush.engines.mysql.checksum import MysqlFigures, digits
from inrush.engines.mysql.tables import create_table, literal
from inrush.workload import SPELLED, Column, Table

#: As `column_type` of information_schema names them, without length.
COLUMN_TYPES: Mapping[str, tuple[str, ...]] = {
    "tinyint": ("i16", "bool"),
    "smallint": ("i16",),
    "mediumint": ("i32",),
    "int": ("i32",),
    "bigint": ("i64",),
    "tinyint unsigned": ("u8", "bool"),
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
#: Later values have room: a column takes texts so many times as long as the longest that was sampled.
ROOM = 2
#: Lengths of a VARCHAR in characters. InnoDB stores what can be longer than 255 bytes outside of a page that is full: 64 is
#: the shortest such length, and a wide table is not refused for it.
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
#: Bytes of a character in utf8mb4, at most.
CHARACTER_BYTES = 4
#: Longer texts -> bytes that the type holds.
LONGER = {"TEXT": 2**16 - 1, "MEDIUMTEXT": 2**24 - 1}
LONGEST = "LONGTEXT"
#: Bytes of a row at most, texts that are no VARCHAR left out; each of these, and each number, takes up to so many.
ROW_BYTES, FIELD_BYTES = 65_535, 12
LENGTH = re.compile(r"(?:VAR)?CHAR\((\d+)\)")


class MysqlMerge(MergeDialect):
    """It replaces rows by whichever unique key they have."""

    def updated(self, key: Sequence[str], columns: Sequence[str]) -> str:
        return f"ON DUPLICATE KEY UPDATE {', '.join(f'{c} = VALUES({c})' for c in columns)}"

    def joined(self, figures: Sequence[str]) -> str:
        return f"CONCAT_WS(' ', {', '.join(f'CAST({figure} AS {self.text})' for figure in figures)})"


class MysqlLoading(Loading):
    figures = MysqlFigures()
    hashing = "crc32"
    pads_texts = True
    reads_texts = True
    decimal = ("decimal", 65, 30)
    spelled: ClassVar[Mapping[str, Spelling]] = {"decimal": {"kind": "fixed", "digits": 0}}
    merges = MysqlMerge(
        make=(
            f"CREATE TABLE IF NOT EXISTS {{stage}} ({ORDER} BIGINT AUTO_INCREMENT PRIMARY KEY) SELECT {{columns}} FROM {{table}} LIMIT 0",
        ),
        order=ORDER,
        text="CHAR",
        # The line of the ledger's own identity: a lock of rows, for others of the table say nothing under READ COMMITTED.
        lock=("UPDATE {ledger} SET is_last = 1 - is_last WHERE load_id = 'ledger' AND file_no = -1",),
        ask_keys="SELECT s.index_name, COALESCE(s.column_name, ''), s.sub_part IS NULL AND s.column_name IS NOT NULL, "
        "COALESCE(c.extra LIKE '%auto_increment%', 0) FROM information_schema.statistics s LEFT JOIN information_schema.columns c "
        "ON c.table_schema = s.table_schema AND c.table_name = s.table_name AND c.column_name = s.column_name "
        "WHERE s.non_unique = 0 AND s.table_schema = {schema} AND s.table_name = {name}",
    )
    transactional = True
    column_types: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMN_TYPES
    has_days = True
    bounds_texts = True
    name_limit = (64, "characters")
    text_bytes: ClassVar[Mapping[str, int]] = TEXT_BYTES
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = RANGES
    time_digits = 0
    rewrites_json = True
    in_database = True
    long_text = "mediumtext"
    first_database = ""

    def __init__(self, collation: str) -> None:
        """collation: of databases and tables that are made."""
        self.collation = collation

    def create_database(self, name: str) -> str:
        return f"CREATE DATABASE {quote(name)} CHARACTER SET utf8mb4 COLLATE {self.collation}"

    def create_table(self, usual: TablePlan, table: Table, sampled: SampledColumns) -> str:
        return create_table(table, usual.name, types(table, usual.wire, sampled), (), self.collation)

    def describe(self, schema: str, table: str) -> str:
        return information_schema(schema, table, "DATABASE()", "column_type")

    def methods_for(self, table: Table, methods: tuple[str, ...]) -> tuple[str, ...]:
        # LOAD DATA makes bytes of their digits.
        is_load = self.has_texts(table) or any(c.type == "bytes" for c in table.columns)
        return ("load",) if is_load else methods

    def read_column(self, column: Column) -> str:
        name = quote(column.name)
        if column.type == "bytes":
            return f"{digits(column)} AS {name}"
        as_text = column.type in SPELLED or self.is_as_text(column.declared)
        return f"CAST({name} AS CHAR CHARACTER SET utf8mb4) AS {name}" if as_text else name

    def schema_of(self, schema: str, table: str) -> str:
        return f"SELECT {literal(schema) if schema else 'DATABASE()'}"

    def copy_table(self, name: str, like: str) -> str:
        return f"CREATE TABLE IF NOT EXISTS {name} LIKE {like}"

    def ask_unfit(self, schema: str, table: str) -> str:
        """MyISAM, Aria and their like store at once what a transaction has not committed."""
        why = "CONCAT('its engine ', t.engine, ' has no transactions; ALTER TABLE it to InnoDB')"
        return (
            f"SELECT {why} FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine "
            f"WHERE t.table_schema = {literal(schema) if schema else 'DATABASE()'} AND t.table_name = {literal(table)} "
            "AND COALESCE(e.transactions, 'NO') <> 'YES'"
        )


class MariadbLoading(MysqlLoading):
    rewrites_json = False


def text_type(longest: int) -> str:
    """longest: characters of the longest text sampled; 0 where there was none, which says nothing of later ones."""
    if longest == 0:
        return "TEXT"
    chars = ROOM * longest
    if chars <= LENGTHS[-1]:
        return f"VARCHAR({next(length for length in LENGTHS if chars <= length)})"
    fitting = (kind for kind, most in LONGER.items() if chars * CHARACTER_BYTES <= most)
    return next(fitting, LONGEST)


def types(table: Table, usual: Mapping[str, str], sampled: SampledColumns) -> dict[str, str]:
    """Column -> its type. usual: column -> the type it has where nothing was sampled.

    Where all VARCHARs together are longer than a row may be, the longest of them become TEXT, which holds as much.
    """
    found = {
        c.name: text_type(sampled.longest[c.name])
        if c.type == "text" and not c.made and c.name in sampled.longest
        else usual[c.name]
        for c in table.columns
    }
    while row_bytes(found) > ROW_BYTES and (longest := longest_varchar(found)):
        found[longest] = "TEXT"
    return found


def row_bytes(types: Mapping[str, str]) -> int:
    return sum(map(field_bytes, types.values())) + len(types) // 8 + 1


def field_bytes(kind: str) -> int:
    """With the two bytes of its length."""
    found = LENGTH.fullmatch(kind)
    return CHARACTER_BYTES * int(found[1]) + 2 if found else FIELD_BYTES


def longest_varchar(types: Mapping[str, str]) -> str | None:
    """The column whose VARCHAR is the longest, the first of several; None where there is none."""
    varchars = [name for name, kind in types.items() if kind.startswith("VARCHAR(")]
    return max(varchars, key=lambda name: field_bytes(types[name]), default=None)
