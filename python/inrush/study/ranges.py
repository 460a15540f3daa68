"""Which rows an extract or a query asks for: `range` of an operation in a workload file, and its parameters. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from inrush.study.document import Node, unknown
from inrush.study.sizes import parse_seconds, parse_size
from inrush.workload import Column, Parameter, RangeOf, Table

#: How long a range is: exactly one of them is given.
LENGTHS = ("rows", "share", "seconds")
#: Ends of the interval, as a parameter names them; anything else is a column of the series.
ENDS = ("from", "to")
TIMES = ("time_ms", "time_us")
#: Generators of times that grow along a series.
GROWING = ("sweep_time", "time", "series_time")
#: What an extract has not got, beside what no query has.
NOT_OF_EXTRACTS = ("keys", "members", "holds", "may_be_empty", "deletes_before")


def parse_range(
    fields: Mapping[str, Node],
    operation: Node,
    params: Mapping[str, Parameter],
    texts: Mapping[str, str],
    returns: Sequence[str],
    table: Table | None,
    sizes: Mapping[str, float],
) -> RangeOf | None:
    """Every mistake is a problem; None where there is no range to speak of."""
    for key in NOT_OF_EXTRACTS:
        if key in fields:
            fields[key].problem(
                "an extract is held to the rows of its range, all of them and in their order; remove it"
            )
    if table is None:
        operation.problem("an extract needs `table`, whose rows it reads")
        return None
    check_generated(operation, table)
    if "range" not in fields:
        operation.problem(
            f"an extract needs a range, {{ rows = N }}; give its length by {' or '.join(LENGTHS)}"
        )
        return None
    found = read_range(fields["range"], table, sizes)
    if found is None:
        return None
    ends = {str(p["gen"].get("end")) for p in params.values() if p["gen"]["kind"] == "range"}
    columns = {str(p["gen"].get("column")) for p in params.values() if p["gen"]["kind"] == "range"}
    for end in ENDS:
        if end not in ends:
            operation.problem(
                f'needs a parameter {{ gen = "range", end = "{end}" }}, the time that it is cut at'
            )
    needed = [name for name in table.identity if name != found.time] if table.series > 1 else []
    for name in needed:
        if name not in columns:
            operation.problem(
                f'needs a parameter {{ gen = "range", column = "{name}" }}: {name} is a part of the key of one series of '
                f"{table.name}"
            )
    if table.series > 1 and found.time not in table.identity:
        operation.problem(
            f"`identity` of {table.name} holds no {found.time}; ranges are of tables that a series and a time identify"
        )
    check_answer(fields, operation, texts, returns, found.time)
    return found


def check_answer(
    fields: Mapping[str, Node], operation: Node, texts: Mapping[str, str], returns: Sequence[str], time: str
) -> None:
    """All rows of the range, sorted by their time, each column once."""
    where = fields.get("returns", operation)
    if not returns:
        operation.problem("needs `returns`: the table's column behind each column of the answer")
    elif time not in returns:
        where.problem(f"the answer is sorted by {time}, and does not show it; add it")
    if len(set(returns)) < len(returns):
        where.problem("a column stands there twice; remove one")
    for dialect, text in texts.items():
        if not re.search(r"\bORDER\s+BY\b", text, re.IGNORECASE):
            fields["sql"].at(dialect, text).problem(
                f"without ORDER BY rows come in any order; an extract is sorted by {time}"
            )
        if re.search(r"\bLIMIT\b", text, re.IGNORECASE):
            fields["sql"].at(dialect, text).problem(
                "an extract is held to all rows of its range; remove LIMIT"
            )


def range_of_query(
    node: Node, params: Mapping[str, Parameter], table: Table | None, sizes: Mapping[str, float]
) -> RangeOf | None:
    """A query may ask for a part of a range: for its series alone, or for one end. What its answer promises is `holds`."""
    if table is None:
        node.problem("a range needs `table`, whose rows it is of")
        return None
    check_generated(node, table)
    if not any(p["gen"]["kind"] == "range" for p in params.values()):
        node.problem('no parameter asks for it; write params.from = { gen = "range", end = "from" }')
    return read_range(node, table, sizes)


def check_generated(node: Node, table: Table) -> None:
    if table.files is not None:
        node.problem(
            f"rows of {table.name} come from files and are not made again; ranges are of generated tables"
        )


def read_range(node: Node, table: Table, sizes: Mapping[str, float]) -> RangeOf | None:
    """`{ rows = N }`, `{ share = 0.1 }` or `{ seconds = S }`, of a `series` if one is named."""
    fields = node.fields((*LENGTHS, "series", "time"))
    said = [name for name in LENGTHS if name in fields]
    if len(said) != 1:
        node.problem("say how long it is, by one of rows = N, share = 0.1 (of the series' rows), seconds = S")
        return None
    times = [c for c in table.columns if c.type in TIMES]
    time = read_time(fields.get("time", node), table, times, "time" in fields)
    share = None
    if "share" in fields:
        share = fields["share"].number(above=True)
        if share > 1:
            fields["share"].problem("a share is above 0 up to 1")
    return RangeOf(
        time=time,
        rows=parse_size(fields["rows"], sizes) if "rows" in fields else None,
        share=share,
        seconds=parse_seconds(fields["seconds"], sizes) if "seconds" in fields else None,
        series=read_series(fields["series"], table, sizes) if "series" in fields else None,
    )


def read_series(node: Node, table: Table, sizes: Mapping[str, float]) -> int:
    """A number, or the name of a size."""
    if not isinstance(node.value, str):
        return node.integer(0, table.series - 1)
    found = parse_size(node, sizes)
    if found >= table.series:
        node.problem(f"{table.name} has {table.series} series, from 0")
    return found


def read_time(node: Node, table: Table, times: Sequence[Column], is_said: bool) -> str:
    """The column that the interval is of: the one that is named, else the only one."""
    names = [c.name for c in times]
    if is_said:
        name = node.text()
        if name and name not in names:
            node.problem(unknown("column of times", name, names))
            return name
    else:
        own = [name for name in names if name in table.identity] or names
        if len(own) != 1:
            node.problem(
                f'say which column the interval is of, time = "…": {table.name} has {", ".join(names) or "none"}'
            )
            return ""
        name = own[0]
    column = table.column(name) if name in names else None
    if column is not None and column.null_share > 0:
        node.problem(f"{name} can be NULL, which lies in no range; take another column")
    if column is not None and (column.gen or {}).get("kind") not in GROWING and table.files is None:
        node.problem(f"{name} does not grow along a series; a range is of {', '.join(GROWING)}")
    return name


def range_param(fields: Mapping[str, Node], node: Node, table: Table | None) -> tuple[dict[str, str], str]:
    """The generator of a parameter of a range, and its type: `column` of the series, or an `end` of the interval."""
    if ("column" in fields) == ("end" in fields):
        node.problem('write column = "…", of the series, or end = "from" or end = "to", of the interval')
        return {"kind": "range", "end": "from"}, "time_ms"
    if "end" in fields:
        times = [c.type for c in table.columns if c.type in TIMES] if table else []
        return {"kind": "range", "end": fields["end"].text(ENDS, "end")}, times[0] if times else "time_ms"
    columns = {c.name: c for c in table.columns} if table else {}
    name = fields["column"].text(columns, "column")
    if name in columns and columns[name].null_share > 0:
        fields["column"].problem(f"{name} can be NULL, which no row is found by; take another")
    return {"kind": "range", "column": name}, columns[name].type if name in columns else "i64"
