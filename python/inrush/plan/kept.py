"""Which values of a table an engine cannot keep, so that a run with them is not planned. Pure."""

from __future__ import annotations

from dataclasses import replace

from inrush.engines.base.twin import Twin
from inrush.workload import NOT_FINITE, Column, Table

NAMES = {"nan": "NaN", "inf": "infinity", "minus_inf": "negative infinity"}


def not_kept(server: Twin, table: Table) -> str:
    """The first column with values that the engine has no form for, and what to do; empty: it keeps all."""
    for column in table.columns:
        if problem := list_not_kept(server, table, column):
            return problem
        if column.scale > server.most_scale:
            return (
                f"{server.title} has decimals of at most {server.most_scale} digits behind the point, and column {column.name} of "
                f"{table.name} is decimal({column.precision}, {column.scale}); give it fewer, or leave out {server.name}"
            )
        first, last = server.days
        if any(not first <= day <= last for day in days_of(column)):
            return (
                f"{server.title} has the days from {first} to {last}, and column {column.name} of {table.name} has others; "
                f"narrow its from and to, or leave out {server.name}"
            )
        for value in NOT_FINITE:
            if value in column.not_finite and value not in server.keeps_not_finite:
                return (
                    f"{server.title} keeps no {NAMES[value]}, and column {column.name} ({column.type}) of {table.name} has it; "
                    f"leave out its {value}_share, or leave out {server.name}"
                )
    return ""


def list_not_kept(server: Twin, table: Table, column: Column) -> str:
    """A type that the engine has not, and what it does not keep in lists."""
    where = f"column {column.name} ({column.type}) of {table.name}"
    if column.type in server.lacks:
        return f"{server.title} has no {column.type}, and {where} is one; choose another type, or leave out {server.name}"
    keeps_null = server.keeps_null_items is None or column.type in server.keeps_null_items
    if column.has_null_items and not keeps_null:
        return (
            f"{server.title} keeps no NULL in such a list, and {where} has it; leave out its null_ppm, or leave out "
            f"{server.name}"
        )
    for value in NOT_FINITE if column.type.startswith("list") else ():
        if (column.gen or {}).get(f"{value}_ppm") and value not in server.keeps_not_finite_items:
            return (
                f"{server.title} keeps no {NAMES[value]} in a list, and {where} has it; leave out its {value}_ppm, or leave "
                f"out {server.name}"
            )
    return ""


def as_stored(server: Twin, table: Table) -> Table:
    """The table as the engine has it: without bits, they are unsigned numbers of the next width."""
    if server.has_bits or not any(column.bits for column in table.columns):
        return table
    return replace(table, columns=tuple(_as_number(column) for column in table.columns))


def _as_number(column: Column) -> Column:
    if not column.bits:
        return column
    width = next(width for width in (8, 16, 32, 64) if column.bits <= width)
    return replace(column, type=f"u{width}", bits=0)


def days_of(column: Column) -> tuple[str, ...]:
    """First and last day of a column of generated dates, which sort as their texts do; none of another."""
    gen = column.gen or {}
    if column.type != "date" or not gen:
        return ()
    given = (gen["from"], gen["to"]) if gen["kind"] == "between" else gen.get("values", (gen.get("value"),))
    return (str(min(given)), str(max(given)))
