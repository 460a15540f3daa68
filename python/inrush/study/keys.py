"""Which rows of a table an operation asks for by key: `keys` of an operation in a workload file. Pure.

A call draws a row number by a law; parameters `{ gen = "key", column = "…" }` are columns of that row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic

from inrush.study.document import Node, Reader, given, unknown
from inrush.study.forms import (
    MAX_ROWS,
    Factors,
    FromFactor,
    Plain,
    Ref,
    count,
    read_number,
    read_reference,
    values_of,
)
from inrush.study.sizes import parse_size
from inrush.workload import KeyRows, Table

#: Law -> its parameters; twin of `KeyLaw` in plan/operation.rs.
LAWS: Mapping[str, tuple[str, ...]] = {
    "uniform": (),
    "zipf": ("exponent",),
    "hot_set": ("share_of_draws", "share_of_rows"),
    "own_range": (),
    "each_once": (),
}


#: Parameter of a law -> its highest value; all are above 0.
HIGHEST: Mapping[str, float] = {"exponent": 10.0, "share_of_draws": 1.0, "share_of_rows": 1.0}


@dataclass(frozen=True)
class KeysOf(Generic[Ref]):
    """How a role draws its keys, in place of what its operations say; values may be factors."""

    #: Law; None: the operation's.
    by: str | Ref | None = None
    exponent: float | Ref | None = None
    share_of_draws: float | Ref | None = None
    share_of_rows: float | Ref | None = None
    #: From the table's first row on; None: the operation's.
    rows: int | Ref | None = None


def drawn_by(keys: KeysOf[Plain], own: KeyRows) -> KeyRows:
    """The rows of an operation as a role draws them."""
    rows = own.rows if keys.rows is None else int(keys.rows)
    if keys.by is None:
        return replace(own, rows=rows)
    law = {name: float(getattr(keys, name)) for name in LAWS[keys.by]}
    return KeyRows(table=own.table, by=keys.by, rows=rows, held=own.held, **law)


def parse_keys_of(node: Node, factors: Factors) -> KeysOf[FromFactor]:
    """`"uniform"`, `"@keys"`, or `{ by = "@keys", exponent = 1.1, rows = "@rows" }`.

    Where the law is a factor, the parameters of all its laws stand beside it.
    """
    if not isinstance(node.value, dict):
        by, laws = parse_law_form(node, factors)
        for law in laws:
            if LAWS[law]:
                needs = ", ".join(f"{name} = …" for name in LAWS[law])
                node.problem(f'{law} needs parameters: write {{ by = "{node.value}", {needs} }}')
        return KeysOf(by=by)
    members = node.members()
    by, laws = parse_law_form(members["by"], factors) if "by" in members else (None, [])
    needed = [name for name in HIGHEST if any(name in LAWS[law] for law in laws)]
    fields = node.fields(("by", "rows", *needed), required=needed)
    readers = {
        **{name: up_to(HIGHEST[name], factors) for name in needed},
        "rows": count(factors, 1, MAX_ROWS),
    }
    found = given(fields, readers)
    if not members:
        node.problem(f"write a law, by = one of {', '.join(LAWS)}, or rows")
    return KeysOf(by=by, **found)


def parse_law_form(node: Node, factors: Factors) -> tuple[str | FromFactor | None, list[str]]:
    """A law or a factor of laws, and the laws that it may be."""
    if isinstance(node.value, str) and node.value.startswith("@"):
        reference = read_reference(node, factors)
        if reference is None:
            return None, []
        return reference, [
            law for value in values_of(node, reference, factors) if (law := value.text(LAWS, "law of keys"))
        ]
    law = node.text(LAWS, "law of keys")
    return (law, [law]) if law else (None, [])


def parse_keys(
    node: Node | None,
    operation: Node,
    params: Mapping[str, Any],
    table: str | None,
    tables: Mapping[str, Table],
    sizes: Mapping[str, float],
) -> KeyRows | None:
    """The keys of an operation; uniform over its own table where it only has parameters with gen = "key"."""
    columns = [str(p["gen"].get("column", "")) for p in params.values() if p["gen"]["kind"] == "key"]
    if node is None:
        keys = KeyRows(table or "") if columns else None
    else:
        keys = parse_law(node, table, tables, sizes)
        if not columns:
            node.problem('no parameter is { gen = "key", column = "…" }; add one, or remove the keys')
    if keys is None:
        return None
    where = node or operation
    if keys.table not in tables:
        where.problem('say which table the keys are of: keys = { table = "…" }, or `table` of the operation')
        return None
    of = tables[keys.table]
    if of.files is not None:
        where.problem(
            f"rows of {of.name} come from files and are not made again; keys are of generated tables"
        )
    for name in dict.fromkeys(columns):
        known = {c.name: c for c in of.columns}
        if name not in known:
            where.problem(f"{of.name} has no column {name}: {unknown('column', name, known)}")
        elif known[name].null_share > 0:
            where.problem(f"column {name} of {of.name} can be NULL, which no row is found by; take another")
    return keys


def parse_law(
    node: Node,
    table: str | None,
    tables: Mapping[str, Table],
    sizes: Mapping[str, float],
    by: str = "uniform",
) -> KeyRows:
    """by: the law where none is said."""
    said = node.members().get("by")
    law = (said.text(LAWS, "law of keys") if said is not None else by) or by
    # Parameters beside a law that is none are not judged: any may be its own.
    others = HIGHEST if said is not None and said.value not in LAWS else LAWS[law]
    fields = node.fields(("by", "table", "rows", *others), required=LAWS[law])
    readers: dict[str, Reader] = {
        "table": lambda named: named.text(tables, "table"),
        "rows": lambda rows: parse_size(rows, sizes),
        **{name: up_to(HIGHEST[name], {}) for name in LAWS[law]},
    }
    return KeyRows(**given(fields, readers, table=table or "", by=law))


def up_to(high: float, factors: Factors) -> Reader:
    return lambda node: read_number(node, factors, high)


def keys_table(node: Node | None, table: str | None) -> str | None:
    """The table that the keys of an operation are of, before anything is known to be right."""
    named = node.members().get("table") if node is not None and isinstance(node.value, dict) else None
    return named.value if named is not None and isinstance(named.value, str) else table
