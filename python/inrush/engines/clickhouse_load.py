"""The tables that `inrush load --create` makes on ClickHouse: times, NULL and the order of rows. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from inrush.engines.sampled import Sampled
from inrush.engines.sql import quote
from inrush.workload import Column, Table

#: Logical type -> its type on a server that has `DateTime64` of the years 1900 to 2299.
TIMES = {"time_ms": "DateTime64(3, 'UTC')", "time_us": "DateTime64(6, 'UTC')"}
#: The first such version (22.8 has it, 22.7 has fewer years).
SINCE = 23
#: Digits of a second -> function that gives such a time as the whole number that is stored.
NUMBERS = {"3": "toUnixTimestamp64Milli", "6": "toUnixTimestamp64Micro"}
#: The insert method of such columns: in the others a whole number would mean seconds.
METHODS = ("rowbinary",)
_DIGITS = re.compile(r"DateTime64\((\d)")


def create(table: Table, name: str, sampled: Sampled, wire: Callable[[Column], str]) -> str:
    """wire: a column's type without `DateTime64`."""

    def declared(column: Column) -> str:
        kind = wire(column)
        return kind.replace("Int64", TIMES[column.type]) if has_ticks(column, sampled) else kind

    columns = ", ".join(f"{quote(c.name)} {declared(c)}" for c in table.columns)
    order = ", ".join(map(quote, order_of(table, sampled.key)))
    return (
        f"CREATE TABLE {name} ({columns}) ENGINE = MergeTree ORDER BY {f'({order})' if order else 'tuple()'}"
    )


def has_ticks(column: Column, sampled: Sampled) -> bool:
    """Whether a column of times is a `DateTime64`: not where that loses one, or where rows are placed by the whole number."""
    major = sampled.version.partition(".")[0]
    known = major.isdigit() and int(major) >= SINCE
    placed = sampled.placed and column.name in sampled.key
    return known and column.type in TIMES and column.name not in sampled.far and not placed


def order_of(table: Table, key: Sequence[str]) -> list[str]:
    """The columns that rows are ordered by: the key, else the first time. A column that may be NULL orders nothing."""
    firm = {c.name: c for c in table.columns if not c.nullable}
    keys = [name for name in key if name in firm]
    return keys or [name for name, c in firm.items() if c.type in TIMES][:1]


def number_of(column: Column) -> str | None:
    """The function that gives a `DateTime64` of a table as a whole number of the column's unit; None of other types."""
    found = _DIGITS.search(column.declared)
    return NUMBERS[found[1]] if found else None
