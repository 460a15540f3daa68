"""Tables as MySQL and MariaDB write them: types of columns, and the statement that makes one. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from inrush.engines.base import sql
from inrush.engines.base.sql import quote
from inrush.workload import DRAWN_LISTS, SPELLED, TYPES, Column, Partitions, Table

#: Logical type -> type in the table and on the wire; texts see `text_type`.
DECLARED: Mapping[str, str] = {
    "bool": "BOOLEAN",
    "i16": "SMALLINT",
    "i32": "INT",
    "i64": "BIGINT",
    "u8": "TINYINT UNSIGNED",
    "u16": "SMALLINT UNSIGNED",
    "u32": "INT UNSIGNED",
    "u64": "BIGINT UNSIGNED",
    "f32": "FLOAT",
    "f64": "DOUBLE",
    "time_ms": "DATETIME(3)",
    "time_us": "DATETIME(6)",
    "text": "LONGTEXT",
    "list_f64": "JSON",
    "list_i64": "JSON",
    **dict.fromkeys(DRAWN_LISTS, "JSON"),
    **{name: f"VARCHAR({TYPES[name].longest})" for name in SPELLED},
    "date": "DATE",
    "uuid": "CHAR(36)",
    "blob": "LONGBLOB",
    "enum": "ENUM({labels})",
    "decimal": "DECIMAL({p}, {s})",
    "json": "JSON",
    "bit": "BIT({n})",
    "bytes": "LONGBLOB",
}
#: Longest text of a column that an index may hold whole and a temporary table keeps in memory.
SHORT_TEXT = 255


def literal(text: str) -> str:
    """A string as SQL text; a backslash escapes here."""
    return sql.literal(text.replace("\\", "\\\\"))


def declared(column: Column, indexed: bool) -> str:
    """Type of a column. A text that an index holds, or that its generator keeps short, is a VARCHAR."""
    if column.made:
        return column.made
    if column.type == "bytes":
        return column.declared or DECLARED["bytes"]
    if column.type != "text":
        return sql.type_of(column, DECLARED)
    if column.chars:
        own = (
            ""
            if column.charset == "utf8mb4"
            else f" CHARACTER SET {column.charset} COLLATE {column.charset}_bin"
        )
        return f"CHAR({column.chars}){own}"
    gen = column.gen or {}
    longest = int(gen.get("max_bytes", SHORT_TEXT)) if gen else SHORT_TEXT + 1
    return f"VARCHAR({SHORT_TEXT})" if indexed or longest <= SHORT_TEXT else DECLARED["text"]


def create_table(
    table: Table,
    name: str,
    wire: Mapping[str, str],
    indexes: Sequence[tuple[str, ...]],
    collation: str,
    cut: Partitions | None = None,
) -> str:
    parts = [f"{quote(c.name)} {wire[c.name]}{' NULL' if c.nullable else ' NOT NULL'}" for c in table.columns]
    for k, columns in enumerate(indexes):
        if k == 0 and columns == table.identity:
            # A primary key takes no NULL, which its columns may hold when they come from a file.
            kind = "UNIQUE KEY" if any(table.column(c).nullable for c in columns) else "PRIMARY KEY"
        else:
            kind = "KEY"
        parts.append(f"{kind} ({', '.join(map(quote, columns))})")
    made = f"CREATE TABLE {name} ({', '.join(parts)}) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE {collation}"
    if cut is not None and cut.below:
        return made + partitioned_by_value(cut)
    return made if cut is None or table.time is None else made + partitioned(table.time, cut)


def partitioned_by_value(cut: Partitions) -> str:
    """Partitions by ranges of a column's values, and one for all from the last value on."""
    each = [
        f"PARTITION p{k} VALUES LESS THAN ({literal(end) if isinstance(end, str) else end})"
        for k, end in enumerate(cut.below, start=1)
    ]
    more = "PARTITION more VALUES LESS THAN (MAXVALUE)"
    return f" PARTITION BY RANGE COLUMNS({quote(cut.column)}) ({', '.join([*each, more])})"


def partitioned(time: Column, cut: Partitions) -> str:
    """Partitions by ranges of a time, and one for all that is later."""
    begin = datetime.fromisoformat(cut.epoch.replace("Z", "+00:00"))
    ends = [begin + timedelta(seconds=cut.every_s * k) for k in range(1, (cut.count or 1) + 1)]
    each = [
        f"PARTITION p{k} VALUES LESS THAN ('{end:%Y-%m-%d %H:%M:%S}')" for k, end in enumerate(ends, start=1)
    ]
    later = "PARTITION later VALUES LESS THAN (MAXVALUE)"
    return f" PARTITION BY RANGE COLUMNS({quote(time.name)}) ({', '.join([*each, later])})"
