"""Extracts as the core reads them: which rows each asks for, and by which way out of the engine. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from inrush.border.plan import ParamPlan, RangeLength, RangePlan
from inrush.engines.base.plans import Unsupported
from inrush.engines.base.twin import Twin
from inrush.errors import Problem
from inrush.plan.units import ns
from inrush.study.forms import MAX_ROWS
from inrush.workload import Operation, RangeOf, Table

#: The way out that takes rows in fetches of so many; and how many, where the study does not say.
CURSOR, FETCH_ROWS = "cursor", 10_000


def way_out(operation: Operation, server: Twin) -> str | Unsupported:
    """How an engine hands over the rows of an extract."""
    if not server.ways_out:
        return Unsupported(f"{server.name} hands over no rows as they come yet: it has no extracts")
    method = operation.method or server.ways_out[0]
    if method not in server.ways_out:
        return Unsupported(f"{server.name} has no way out {method}; it has {', '.join(server.ways_out)}")
    if operation.fetch_rows is not None and method != CURSOR:
        return Unsupported(f"fetch_rows is of the way out {CURSOR}, and this one is {method}")
    return method


def range_problems(
    operations: Sequence[Operation],
    tables: Mapping[str, Table],
    before: Callable[[str], int],
    changes: Callable[[str], bool],
) -> list[Problem]:
    """Extracts, and queries of ranges, of tables without rows that lie there before, and stay; and ranges that are too long.

    before: table -> rows that lie there when it is read. changes: whether rows come or go meanwhile.
    """
    found = []
    for operation in operations:
        of, table = operation.range, operation.table or ""
        key = f"operations.{operation.name}.range"
        rows = before(table)
        if of is None:
            continue
        if not rows or changes(table):
            remedy = f"{table} has no rows that are loaded and stay: load them first, with load = {{ rows = N }} or a step"
            found.append(Problem("", key, table, remedy))
        elif of.rows is not None and of.rows > rows:
            remedy = f"{table} has {rows:,} rows in all; ask for fewer"
            found.append(Problem("", f"{key}.rows", f"{of.rows:,}", remedy))
        elif of.seconds is not None and of.seconds > (span_s := time_span_s(tables[table], of.time, rows)):
            found.append(
                Problem(
                    "", f"{key}.seconds", f"{of.seconds:g}", too_long(tables[table], of.seconds, rows, span_s)
                )
            )
    return found


def too_long(table: Table, seconds: float, rows: int, span_s: float) -> str:
    """The message about a range that is longer than its table."""
    remedy = f"the {rows:,} rows of {table.name} span {span_s:.6g} s of data time; set seconds to {span_s:.6g} at most"
    needed = math.ceil(rows * (seconds / span_s))
    return f"{remedy}, or load {needed:,} rows" if needed <= MAX_ROWS else remedy


def time_span_s(table: Table, time: str, rows: int) -> float:
    """Data time from the first row to behind the last one, in a column that grows along the series.

    Where each series has a period of its own, that of a period which one in ten thousand series exceeds.
    """
    gen = table.column(time).gen or {}
    if gen.get("kind") == "time":
        return rows * float(gen["period_us"]) / 1e6
    if gen.get("kind") == "series_time":
        longest_s = float(gen["median_period_ms"]) / 1e3 * math.exp(3.72 * float(gen["sigma"]))
        return math.ceil(rows / table.series + 1) * longest_s
    if table.rates is not None:
        return rows / table.series * table.period_s
    return math.ceil(rows / table.series) * table.period_s


def range_document(operation: Operation, method: str, index: Mapping[str, int], rows: int) -> RangePlan:
    of = operation.range
    assert of is not None, "it was asked for"
    document: RangePlan = {
        "table": index[operation.table or ""],
        "rows": rows,
        "columns": list(operation.returns),
        "time": of.time,
        "length": length_document(of),
    }
    if of.series is not None:
        document["series"] = of.series
    if method == CURSOR:
        document["fetch_rows"] = operation.fetch_rows or FETCH_ROWS
    return document


def length_document(of: RangeOf) -> RangeLength:
    if of.rows is not None:
        return {"kind": "rows", "rows": of.rows}
    if of.share is not None:
        return {"kind": "share", "ppm": max(1, round(of.share * 1e6))}
    return {"kind": "time", "ns": ns(of.seconds or 0.0)}


def ends_as(time_type: str, params: Sequence[ParamPlan]) -> list[ParamPlan]:
    """The ends of an interval are of the type of its column."""
    return [{**p, "type": time_type} if p["gen"]["kind"] in ("range_from", "range_to") else p for p in params]
