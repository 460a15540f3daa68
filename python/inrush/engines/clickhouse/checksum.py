"""Figures of ClickHouse's checksum queries. Pure."""

from __future__ import annotations

from collections.abc import Callable

from inrush.engines.base import sql
from inrush.engines.base.sql import Item, quote
from inrush.engines.clickhouse.tables import number_of
from inrush.workload import Column


def figure(item: Item, column: Callable[[str], Column]) -> str:
    """One figure of the checksum query. A sum of UInt64 or Int64 halves is exact up to 2^32 rows."""
    kind = item["kind"]
    if kind == "rows":
        return "count()"
    if kind == "product":
        key, value = (f"toInt64(bitAnd({_whole(column(item[n]))}, 65535))" for n in ("key", "value"))
        return f"sum({key} * {value})"
    if kind == "sum_rows":
        return f"sum(intHash64({sql.row_number(item, column, _remainder)}))"
    name = quote(item["column"])
    if kind == "not_null":
        return (
            f"countIf(notEmpty({name}))"
            if column(item["column"]).type.startswith("list")
            else f"count({name})"
        )
    if kind == "count_true":
        return f"countIf({name} != 0)"
    if kind == "sum_hash":
        # NULL has no hash; sums of UInt64 wrap at 2^64, as ours do.
        return f"sum(cityHash64({hashed(column(item['column']))}))"
    if kind == "sum_length":
        return f"sum(length({name}))"
    if kind == "sum_scaled":
        # Scaling a double by a power of two is exact, and so is the cast of a whole one.
        return f"sum(toInt64(toFloat64({name}) * {2 ** item['bits']}))"
    whole = _whole(column(item["column"]))
    return f"sum(bitAnd({whole}, 4294967295))" if kind == "sum_low" else f"sum(bitShiftRight({whole}, 32))"


def _remainder(column: Column) -> str:
    """A column's part of its row's number: see `sql.row_number`."""
    if column.type == "bool":
        value = f"({quote(column.name)} != 0)"
    else:
        value = _whole(column) if column.type in sql.WHOLE_TYPES else f"cityHash64({hashed(column)})"
    return f"ifNull(toInt64({value} % {sql.ROW_DIVISOR}), {sql.ROW_DIVISOR})"


def hashed(column: Column) -> str:
    """What is hashed of a column: of bytes their hexadecimal digits."""
    name = quote(column.name)
    return f"lower(hex({name}))" if column.type == "bytes" else name


def _whole(column: Column) -> str:
    """A whole column with all its 64 bits."""
    name, number = quote(column.name), number_of(column)
    if number is not None:
        return f"{number}({name})"
    return name if column.type == "u64" else f"toInt64({name})"
