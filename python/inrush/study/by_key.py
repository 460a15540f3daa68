"""Operations of kind `key`: a row is read or changed by its key, and the twin of an engine makes the statement. Pure.

Its parameters are columns of the row that a call draws, and have their names: of a read and of a delete those of the
table's identity, of an insert and of a write all, of an update those of the identity and those that it changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from inrush.study.document import Node
from inrush.study.keys import parse_law
from inrush.workload import KeyRows, Operation, OpKind, RowCall, Table

ROW_CALLS: tuple[RowCall, ...] = get_args(RowCall)
#: Those that add rows, or take them away: a row once.
ONCE = ("insert", "delete")
#: Those that change columns of a row.
CHANGES = ("update", "write")
#: Keys of such an operation.
ALLOWED = frozenset({"kind", "does", "table", "keys", "columns", "deadline_s", "unsupported", "about"})
#: Types with values that no row is found by.
NO_KEYS = ("json", "bit", "f32", "f64")


def alters(operation: Operation) -> bool:
    """Whether its calls add rows, change or delete them."""
    return operation.does not in ("", "read")


def parse_by_key(
    node: Node,
    name: str,
    fields: Mapping[str, Node],
    tables: Mapping[str, Table],
    sizes: Mapping[str, float],
    unsupported: Mapping[str, str],
) -> Operation:
    """`{ kind = "key", does = "read", table = "…", keys = { by = "zipf", exponent = 1.1 } }`."""
    for key in fields.keys() - ALLOWED:
        fields[key].problem(f'kind = "key" has no {key}: its statement is the engine\'s own; remove it')
    does = read_does(node, fields)
    kind: OpKind = "query" if does == "read" else "execute"
    table = fields["table"].text(tables, "table") if "table" in fields else ""
    if "table" not in fields:
        node.problem("write table, whose rows are read or changed by their keys")
    if table not in tables:
        return Operation(name, kind, does=does)
    of = tables[table]
    columns = changed_columns(node, fields, of, does)
    check_identity(fields["table"], of)
    keys = read_keys(fields.get("keys"), of, does, tables, sizes)
    named = [c.name for c in of.columns if c.name in {*of.identity, *columns}]
    if does in ("insert", "write"):
        named = [c.name for c in of.columns]
    others = [c.name for c in of.columns if c.name not in named] if does == "update" else []
    return Operation(
        name=name,
        kind=kind,
        does=does,
        table=table,
        params={column: row_param(of, column, column in columns) for column in named},
        key_rows=keys,
        holds=("asked",) if does == "read" else (),
        returns=tuple(c.name for c in of.columns) if does == "read" else (),
        compared={column: column for column in of.identity} if does == "read" else {},
        changes=columns,
        unchanged={column: row_param(of, column, changes=False) for column in others},
        deadline_s=fields["deadline_s"].number(above=True, default=0.0) if "deadline_s" in fields else 0.0,
        unsupported=unsupported,
    )


def read_does(node: Node, fields: Mapping[str, Node]) -> RowCall:
    said = fields["does"].text(ROW_CALLS, "kind of call") if "does" in fields else ""
    if "does" not in fields:
        node.problem(f"write does = one of {', '.join(ROW_CALLS)}")
    return next((does for does in ROW_CALLS if does == said), "read")


def row_param(table: Table, column: str, changes: bool) -> dict[str, object]:
    """A column of the row that is drawn, or what a change makes of it."""
    kind = "changed" if changes else "key"
    return {"type": table.column(column).type, "gen": {"kind": kind, "table": table.name, "column": column}}


def check_identity(node: Node, table: Table) -> None:
    """A key names one row, and a row has one."""
    if table.files is not None:
        node.problem(
            f"rows of {table.name} come from files and are not made again; keys are of generated tables"
        )
    if not table.identity:
        node.problem(f"{table.name} has no identity, so that no key names a row; give it one")
    for column in map(table.column, table.identity):
        if column.nullable:
            node.problem(
                f"column {column.name} of the identity can be NULL, which no row is found by; take another"
            )
        elif column.type in NO_KEYS:
            node.problem(
                f"column {column.name} of the identity is of type {column.type}; find rows by another"
            )


def changed_columns(node: Node, fields: Mapping[str, Node], table: Table, does: RowCall) -> tuple[str, ...]:
    """Of an update and of a write: all that are not of the identity, or those that are named and the version."""
    if does not in CHANGES:
        if "columns" in fields:
            fields["columns"].problem(f"only an {' and a '.join(CHANGES)} changes columns; remove it")
        return ()
    others = [c.name for c in table.columns if c.name not in table.identity]
    versions = [c.name for c in table.columns if c.gen is not None and c.gen.get("kind") == "version"]
    if len(versions) != 1:
        node.problem(
            f"rows that change need one column that counts their changes; {table.name} has "
            f'{len(versions) or "none"}: write {{ name = "version", type = "u64", gen = "version" }} among its columns'
        )
    if "columns" not in fields:
        return tuple(others)
    named = fields["columns"].texts(others, "column that is not of the identity", at_least=1)
    return tuple(name for name in others if name in named or name in versions)


def read_keys(
    node: Node | None, table: Table, does: RowCall, tables: Mapping[str, Table], sizes: Mapping[str, float]
) -> KeyRows:
    """The rows that calls draw; of those that come and go, each once."""
    if does not in ONCE:
        keys = KeyRows(table.name) if node is None else parse_law(node, table.name, tables, sizes)
    elif node is None:
        keys = KeyRows(table.name, by="each_once")
    else:
        keys = parse_law(node, table.name, tables, sizes, by="each_once")
        if keys.by != "each_once":
            node.problem(
                f"a row is {does}{'d' if does == 'delete' else 'ed'} once, "
                'so its keys are by = "each_once"; write that, or remove it'
            )
    if node is not None and keys.table != table.name:
        node.problem(f"keys of this kind are rows of its own table, {table.name}; remove keys.table")
    return keys
