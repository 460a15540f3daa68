"""Figures of PostgreSQL's checksum queries, of inrush's own tables and of those that `inrush load` fills. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from inrush.engines.base import sql
from inrush.engines.base.sql import Item, bits_of, quote
from inrush.workload import FLOAT_TYPES, Column

#: Twin of SEED in rust/rows/src/rows/lookup3.rs.
HASH_SEED = 0x7A5B_2236_7996_DCFD
#: Times whose distance from 1970 is below 2^31 s.
EXACT_FROM, EXACT_UNTIL = "1902-01-01 00:00:00Z", "2038-01-01 00:00:00Z"


def load_figure(item: Item, column: Callable[[str], Column]) -> str:
    """As `figure`, where the table is a user's: long, and read once."""
    return figure(item, column, _whole_fast)


def figure(item: Item, column: Callable[[str], Column], whole: Callable[[Column], str] | None = None) -> str:
    """One figure of the checksum query. PostgreSQL's sum of bigint is a numeric: exact, without overflow.

    whole: a column of whole numbers or times as a bigint; `_whole` where it is None.
    """
    whole = whole or _whole
    kind = item["kind"]
    if kind == "rows":
        return "count(*)"
    if kind == "product":
        key, value = (whole(column(item[name])) for name in ("key", "value"))
        return f"coalesce(sum(({key} & 65535) * ({value} & 65535)), 0)"
    if kind == "sum_rows":
        row = sql.row_number(item, column, partial(_remainder, whole))
        return f"coalesce(sum(hashint8extended({row}, {HASH_SEED})), 0)"
    name = quote(item["column"])
    if kind == "not_null":
        return f"count({name})"
    if kind == "count_true":
        return f"count(*) FILTER (WHERE {name})"
    if kind == "sum_hash":
        return f"coalesce(sum({_hash(column(item['column']))}), 0)"
    if kind == "sum_length":
        return f"coalesce(sum(octet_length({name})), 0)"
    if kind == "sum_scaled":
        # Scaling a double by a power of two is exact, and so is the cast of a whole one.
        return f"coalesce(sum(({name}::float8 * {2 ** item['bits']})::bigint), 0)"
    term = {
        "sum_low": f"{whole(column(item['column']))} & 4294967295",
        "sum_high": f"{whole(column(item['column']))} >> 32",
    }
    return f"coalesce(sum({term[kind]}), 0)"


def _hash(column: Column) -> str:
    """A value's hash of 64 bits: twin of rust/rows/src/rows/lookup3.rs. `bpchar` loses its blanks as it becomes text."""
    name = quote(column.name)
    if column.type in FLOAT_TYPES:
        return f"hash{'float4' if column.type == 'f32' else 'float8'}extended({name}, {HASH_SEED})"
    # A cast of an `inet` writes the bits of its network where the type itself leaves them out.
    as_text = f"abbrev({name})" if column.type == "inet" else f"{name}::text"
    text = digits(column) if column.type == "bytes" else as_text
    return f'hashtextextended({text} COLLATE "C", {HASH_SEED})'


def digits(column: Column) -> str:
    """The hexadecimal digits of a column of bytes or bits, in lower case."""
    name, bits = quote(column.name), bits_of(column.declared)
    return f"lpad(to_hex({name}::bigint), {(bits + 7) // 8 * 2}, '0')" if bits else f"encode({name}, 'hex')"


def _remainder(whole: Callable[[Column], str], column: Column) -> str:
    """A column's part of its row's number: see `sql.row_number`."""
    if column.type == "bool":
        value = f"{quote(column.name)}::int::bigint"
    else:
        value = whole(column) if column.type in sql.WHOLE_TYPES else _hash(column)
    return f"coalesce({value} % {sql.ROW_DIVISOR}, {sql.ROW_DIVISOR})"


def _whole(column: Column) -> str:
    """A whole column as bigint: times in their own unit since 1970."""
    name = quote(column.name)
    per_s = {"time_ms": 1_000, "time_us": 1_000_000}.get(column.type)
    return f"{name}::bigint" if per_s is None else f"(extract(epoch FROM {name}) * {per_s})::bigint"


def _whole_fast(column: Column) -> str:
    """The same number as `_whole`: `extract` gives a numeric, and takes half of the time of a proof by that.

    A double holds microseconds of these years with an error below 0.25. 2^31 s are 68 years.
    """
    if column.type != "time_us":
        return _whole(column)
    name = quote(column.name)
    seconds = f"date_part('epoch', {name})"
    return f"(CASE WHEN {name} BETWEEN '{EXACT_FROM}' AND '{EXACT_UNTIL}' THEN ({seconds} * 1000000)::bigint ELSE {_whole(column)} END)"
