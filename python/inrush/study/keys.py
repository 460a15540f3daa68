"""Which rows of a table an operation asks for by key: `keys` of an operation in a workload file. Pure.

A call draws a row number by a law; parameters `{ gen = "key", column = "…" }` are columns of that row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inrush.study.document import Node, unknown
from inrush.study.sizes import parse_size
from inrush.workload import KeyRows, Table

#: Law -> its parameters; twin of `KeyLaw` in plan/operation.rs.
LAWS: Mapping[str, tuple[str, ...]] = {
    "uniform": (),
    "zipf": ("exponent",),
    "hot_set": ("share_of_draws", "share_of_rows"),
    "own_range": (),
}


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
        where.problem('say whose rows the keys are of: keys = { table = "…" }, or `table` of the operation')
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
    node: Node, table: str | None, tables: Mapping[str, Table], sizes: Mapping[str, float]
) -> KeyRows:
    by = node.members().get("by")
    law = (by.text(LAWS, "law of keys") if by is not None else "uniform") or "uniform"
    fields = node.fields(("by", "table", "rows", *LAWS[law]), required=LAWS[law])
    found: dict[str, Any] = {"table": table or "", "by": law}
    if "table" in fields:
        found["table"] = fields["table"].text(tables, "table")
    if "rows" in fields:
        found["rows"] = parse_size(fields["rows"], sizes)
    for name in LAWS[law]:
        if name not in fields:
            continue
        found[name] = fields[name].number()
        most = 10.0 if name == "exponent" else 1.0
        if not 0 < found[name] <= most:
            fields[name].problem(f"above 0 up to {most:g}")
    return KeyRows(**found)


def keys_table(node: Node | None, table: str | None) -> str | None:
    """The table whose rows the keys of an operation are of, before anything is known to be right."""
    named = node.members().get("table") if node is not None and isinstance(node.value, dict) else None
    return named.value if named is not None and isinstance(named.value, str) else table
