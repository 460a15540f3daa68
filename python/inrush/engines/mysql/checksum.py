"""Figures of the checksum queries of MySQL and MariaDB. Pure."""

from __future__ import annotations

from collections.abc import Callable

from inrush.engines.base import sql
from inrush.engines.base.sql import Item, bits_of, quote
from inrush.workload import FLOAT_TYPES, Column


def figure(item: Item, column: Callable[[str], Column]) -> str:
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
        # The generator counts bytes in UTF-8.
        utf8 = name if column(item["column"]).charset == "utf8mb4" else f"CONVERT({name} USING utf8mb4)"
        return f"COALESCE(SUM(LENGTH({utf8})), 0)"
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
    if column.type in FLOAT_TYPES:
        return f"CRC32(ST_AsBinary(Point({name} + 0e0, 0)))"
    if column.type == "bytes":
        return f"CRC32({digits(column)})"
    return f"CRC32(CAST({name} AS CHAR CHARACTER SET utf8mb4))"


def digits(column: Column) -> str:
    """The hexadecimal digits of a column of bytes or bits, in lower case. Of a number HEX gives no zeros before it."""
    name, bits = quote(column.name), bits_of(column.declared)
    upper = f"LPAD(HEX({name} + 0), {(bits + 7) // 8 * 2}, '0')" if bits else f"HEX({name})"
    return f"CAST(LOWER({upper}) AS CHAR CHARACTER SET utf8mb4)"


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
    return {"time_ms": f"({since} DIV 1000)", "time_us": since, "bit": f"({name} + 0)"}.get(column.type, name)
