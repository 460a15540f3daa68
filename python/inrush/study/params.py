"""The parameters of a workload's statements: what draws their values, and what may be compared with them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from inrush.study.document import I64, Node, plain
from inrush.study.ranges import range_param
from inrush.study.sizes import parse_seconds, parse_size, read_place
from inrush.workload import LOGICAL_TYPES, Table

#: Types of a constant that may be the name of a size.
WHOLE = ("i16", "i32", "i64", "u8", "u16", "u32", "u64")
#: Parameter generator -> its parameters; twin of `ParamGen` in plan/operation.rs.
PARAM_GENS: Mapping[str, tuple[str, ...]] = {
    "constant": ("value",),
    "key": ("column",),
    "now_minus": ("seconds",),
    "of_series": ("column", "table", "series"),
    "range": ("column", "end"),
    "seen_until": (),
    "uniform": ("from", "to"),
}
#: What a list of keys is drawn by.
LISTED = ("key", "of_series", "uniform")
#: Types with values that no statement is given.
UNBOUND = ("json", "bit")


def parse_param(
    node: Node,
    table: str | None,
    tables: Mapping[str, Table],
    sizes: Mapping[str, float],
    of_keys: str | None = None,
) -> dict[str, Any]:
    """{ gen = "…", … } -> {"type": logical type, "gen": {"kind": …, …}}. of_keys: table that keys are rows of."""
    members = node.members()
    kind = members["gen"].text(PARAM_GENS, "generator of a parameter") if "gen" in members else ""
    if not kind:
        if "gen" not in members:
            node.problem(f"needs gen = one of {', '.join(PARAM_GENS)}")
        return {"type": "i64", "gen": {"kind": "constant", "value": 0}}
    fields = node.fields(
        ("gen", "type", "list", *PARAM_GENS[kind]),
        required=[k for k in PARAM_GENS[kind] if k not in ("table", "series") and kind != "range"],
    )
    gen: dict[str, Any] = {"kind": kind}
    logical = "time_ms" if kind in ("now_minus", "seen_until") else "i64"
    if kind == "now_minus" and "seconds" in fields:
        named = isinstance(fields["seconds"].value, str)
        seconds = parse_seconds(fields["seconds"], sizes) if named else fields["seconds"].number()
        gen["seconds"] = min(seconds, 1e9)
    elif kind == "of_series":
        gen |= series_param(fields, table, tables, sizes)
        logical = types_of(tables, gen["table"]).get(gen["column"], logical)
    elif kind == "key" and "column" in fields:
        gen |= {"table": of_keys or "", "column": fields["column"].text()}
        logical = types_of(tables, of_keys).get(gen["column"], logical)
        if logical in UNBOUND:
            fields["column"].problem(
                f"a value of type {logical} is no parameter; find the row by another column"
            )
    elif kind == "range":
        gen, logical = range_param(fields, node, tables.get(table or ""))
    elif kind == "uniform":
        gen |= {key: fields[key].integer(*I64) for key in ("from", "to") if key in fields}
        if gen.get("from", 0) > gen.get("to", 0):
            node.problem("`from` is above `to`; swap them")
    elif kind == "constant" and "value" in fields:
        of_size = (
            "type" in fields and isinstance(fields["value"].value, str) and fields["type"].value in WHOLE
        )
        gen["value"] = parse_size(fields["value"], sizes) if of_size else plain(fields["value"])
        logical = (
            "text" if isinstance(gen["value"], str) else "f64" if isinstance(gen["value"], float) else "i64"
        )
    if "type" in fields:
        logical = fields["type"].text(LOGICAL_TYPES, "type") or logical
    parameter: dict[str, Any] = {"type": logical, "gen": gen}
    if "list" in fields and fields["list"].flag():
        if kind not in LISTED:
            fields["list"].problem(f"keys of a list are drawn, by gen = {' or '.join(LISTED)}; remove it")
        parameter["list"] = True
    return parameter


def types_of(tables: Mapping[str, Table], name: str | None) -> dict[str, str]:
    """Column -> type; none of a table that is not there."""
    return {c.name: c.type for c in tables[name].columns} if name is not None and name in tables else {}


def series_param(
    fields: Mapping[str, Node], table: str | None, tables: Mapping[str, Table], sizes: Mapping[str, float]
) -> dict[str, Any]:
    """A column's value in a series: in one that is drawn, or in the one that is named."""
    source = fields["table"].text(tables, "table") if "table" in fields else (table or "")
    column = fields["column"].text(types_of(tables, source), "column") if "column" in fields else ""
    gen: dict[str, Any] = {"table": source, "column": column}
    if "series" in fields:
        most = tables[source].series - 1 if source in tables else 0
        gen["series"] = read_place(fields["series"], sizes)
        if gen["series"] > most:
            fields["series"].problem(f"the table has the series 0 to {most:,}")
            gen["series"] = 0
    return gen


def check_no_range(fields: Mapping[str, Node], params: Mapping[str, Any]) -> None:
    """Of an operation that has no range, or must not have one."""
    if "range" in fields:
        fields["range"].problem("only an extract and a query ask for a range; remove it")
    for name, param in params.items():
        if param["gen"]["kind"] == "range":
            fields["params"].at(name, "range").problem(
                "a parameter of a range needs one: range = { rows = N } of the operation"
            )


def check_lists(fields: Mapping[str, Node], params: Mapping[str, Any], texts: Mapping[str, str]) -> None:
    """At most one list an operation, so that a call has a number of keys; and SQL compares it as one. How another
    engine's own statement writes it is known to its twin (`Dialect.list_form`)."""
    lists = [name for name, param in params.items() if param.get("list")]
    if len(lists) > 1:
        fields["params"].at(lists[1], True).problem("an operation has one list of keys; remove the other")
    for name in lists:
        text = texts.get("default", "")
        if text and not re.search(rf"\bIN\s*\(\s*:{re.escape(name)}\s*\)", text, re.IGNORECASE):
            fields["sql"].at("default", text).problem(f"a list is compared as key IN (:{name})")
