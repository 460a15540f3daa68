"""Calls by key as SQL: what the twins of SQL engines share. Pure.

A parameter has the name of its column. A key is the whole identity, so that a call is of one row; a read may ask for several
(`each_row`), which are compared as a list.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from inrush.engines.base.plans import TablePlan, Unsupported
from inrush.engines.base.sql import quote
from inrush.workload import TYPES, Operation, Table

#: Columns of the identity, columns that change -> the end of an INSERT that changes a row which is there.
Upsert = Callable[[Sequence[str], Sequence[str]], str]
#: Types with values that statements take one by one.
BOUND = frozenset(kind.name for kind in TYPES.values() if kind.bound)


def sql_text(operation: Operation, table: Table, plan: TablePlan, upsert: Upsert) -> str | Unsupported:
    """The statement of a call by key, with `:name` for parameters and `{table}` for the table.

    upsert: how an INSERT says that a row which is there is changed.
    """
    if (refused := unbound(operation, table, {*operation.params, *operation.each_row})) is not None:
        return refused
    found = " AND ".join(f"{quote(name)} = :{name}" for name in table.identity)
    listed = ", ".join(quote(column.name) for column in table.columns)
    match operation.does:
        case "read" if operation.each_row:
            if len(table.identity) > 1:
                return several_columns(table)
            (name,) = table.identity
            return f"SELECT {listed} FROM {{table}} WHERE {quote(name)} IN (:{name})"
        case "read":
            return f"SELECT {listed} FROM {{table}} WHERE {found}"
        case "delete":
            return f"DELETE FROM {{table}} WHERE {found}"
        case "update":
            changed = ", ".join(f"{quote(name)} = :{name}" for name in operation.changes)
            return f"UPDATE {{table}} SET {changed} WHERE {found}"
    if operation.does == "write" and not plan.keyed:
        return Unsupported(
            "a write finds the row that is there by its key; take a layout with the identity first"
        )
    values = ", ".join(f":{column.name}" for column in table.columns)
    text = f"INSERT INTO {{table}} ({listed}) VALUES ({values})"
    return text if operation.does == "insert" else f"{text} {upsert(table.identity, operation.changes)}"


def unbound(operation: Operation, table: Table, named: Collection[str]) -> Unsupported | None:
    """What is said of a call with parameters of these columns where one of them has a type that is no parameter."""
    column = next((c for c in table.columns if c.name in named and c.type not in BOUND), None)
    if column is None:
        return None
    return Unsupported(
        f"column {column.name} is of type {column.type}, which no statement takes as a value of its own; "
        f"the rows of {table.name} are not to be had by {operation.does}"
    )


def several_columns(table: Table) -> Unsupported:
    return Unsupported(
        f"a key of {table.name} has several columns ({', '.join(table.identity)}), and a statement compares a list with one; call "
        "for one row at a time"
    )


def on_conflict(identity: Sequence[str], changed: Sequence[str]) -> str:
    """Of PostgreSQL, SQLite and DuckDB."""
    values = ", ".join(f"{quote(name)} = excluded.{quote(name)}" for name in changed)
    return f"ON CONFLICT ({', '.join(map(quote, identity))}) DO UPDATE SET {values}"


def on_duplicate_key(_identity: Sequence[str], changed: Sequence[str]) -> str:
    """Of MySQL and MariaDB: by whichever key is there."""
    return "ON DUPLICATE KEY UPDATE " + ", ".join(
        f"{quote(name)} = VALUES({quote(name)})" for name in changed
    )


def reads_only(operation: Operation, table: Table, plan: TablePlan, why: str) -> str | Unsupported:
    """Of engines whose rows are not changed one by one. why: said of all but a read."""
    if operation.does == "read":
        return sql_text(operation, table, plan, on_conflict)
    return Unsupported(f"no {operation.does} by key: {why}")
