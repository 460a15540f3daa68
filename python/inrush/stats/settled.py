"""Readers that go on when the last row is in: after how much time, and how many written bytes, they are as fast as at rest. Pure.

Of the intervals behind the last insert, whose last is left out because it may be cut, the last third are at rest, by the mean
latency in each, if its halves are as fast as each other. A reader has settled where the median of three intervals is slower
than at rest by a quarter at most, and stays so: this is known to an interval. An interval without an answer is slower than any
other. A reader that has not settled before it is at rest has no such figure, and so has one with a call that failed or was
never sent.

`settled_s`       from the last insert that was acknowledged until then; of several queries that of the last one
`settled_bytes`   what the server wrote meanwhile: what it merged, rewrote or wrote back; not of an engine in the client's process
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc

from inrush.border.tables import RepetitionRow
from inrush.stats.measures import measured_repetitions, whole, writing_roles
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.watched import cumulative, spent

#: Intervals behind the last insert that make a rest to compare with: fewer say nothing.
LEAST_INTERVALS = 12
#: Slower than at rest by at most this share.
TOLERANCE = 0.25

#: Begin and mean latency of each interval, ns; infinite where nothing was answered.
Course = tuple[FloatArray, FloatArray]


def settled_figures(run: RunRecord) -> dict[str, float]:
    writers, held = writing_roles(run.plan), measured_repetitions(run)
    ends_ns = {
        r["segment"]: r["end_ns"] for r in sorted(held, key=lambda r: r["end_ns"]) if is_last(r, writers)
    }
    figures: dict[str, float] = {}
    for segment, last_ns in ends_ns.items():
        failed = {whole(row["role"]) for row in run.rows("failures") if row["segment"] == segment}
        unsent = {whole(r["role"]) for r in held if r["segment"] == segment and r["unsent"]}
        for role, courses in courses_after(run, segment, last_ns, writers).items():
            each_ns = [settled_ns(course) for course in courses]
            if role in failed | unsent or any(at_ns is None for at_ns in each_ns):
                continue
            until_ns = max(at_ns for at_ns in each_ns if at_ns is not None)
            figures[f"{role}.settled_s"] = max(until_ns - last_ns, 0.0) / 1e9
            wrote = written(run, last_ns, max(until_ns, last_ns))
            if wrote is not None:
                figures[f"{role}.settled_bytes"] = wrote
    return figures


def written(run: RunRecord, begin_ns: float, end_ns: float) -> float | None:
    """Bytes that the server's process wrote; None where the watch did not look at both ends, and without a server."""
    series = cumulative(run, "write_bytes").get("server")
    if series is None:
        return None
    return spent(series, [(begin_ns, end_ns)]) if end_ns > begin_ns else 0.0


def is_last(totals: RepetitionRow, writers: Collection[str]) -> bool:
    """Whether the repetition ends with an insert."""
    return totals["role"] in writers and totals["rows"] > 0


def settled_ns(course: Course) -> float | None:
    """Begin of the first interval from which on it is as fast as at rest; None where it is not known to be."""
    t_ns, mean_ns = course
    count, rest = len(mean_ns), mean_ns[-(len(mean_ns) // 3) :]
    if count < LEAST_INTERVALS or not np.isfinite(at_rest := float(np.median(rest))):
        return None
    halves = np.median(rest[: len(rest) // 2]), np.median(rest[len(rest) // 2 :])
    if max(halves) > min(halves) * (1 + TOLERANCE):
        return None
    firsts = np.clip(np.arange(count) - 1, 0, count - 3)
    smooth = np.array([np.median(mean_ns[first : first + 3]) for first in firsts])
    slow = np.flatnonzero(smooth > at_rest * (1 + TOLERANCE))
    if not len(slow):
        return float(t_ns[0])
    return float(t_ns[slow[-1] + 1]) if slow[-1] + 1 <= count - len(rest) else None


def courses_after(
    run: RunRecord, segment: int, last_ns: int, writers: Collection[str]
) -> dict[str, list[Course]]:
    """Reader, as a whole -> the intervals behind the last insert but the last, of each query that it is due to ask."""
    table, due = run.tables.get("hist"), queries(run.plan, segment, writers)
    if table is None or not due:
        return {}
    # Those of a long run are hundreds of MB: only what lies behind the last insert becomes Python's.
    held = table.filter(pc.and_(pc.equal(table["segment"], segment), pc.equal(table["kind"], "latency")))
    if not held.num_rows:
        return {}
    step_ns, begin_ns = pc.max(held["dt_ns"]).as_py(), pc.min(held["t_ns"]).as_py()
    first = -((begin_ns - last_ns) // step_ns)
    end = round((pc.max(held["t_ns"]).as_py() - begin_ns) / step_ns)
    times = begin_ns + step_ns * np.arange(first, max(first, end), dtype=np.float64)
    calls = {query: np.zeros(len(times)) for query in due}
    spent_ns = {query: np.zeros(len(times)) for query in due}
    behind = held.filter(pc.greater(held["t_ns"], last_ns - step_ns))
    for row in behind.select(["role", "op", "t_ns", "n", "sum_ns"]).to_pylist():
        query = whole(row["role"]), row["op"]
        at = round((row["t_ns"] - begin_ns) / step_ns) - first
        if query in calls and 0 <= at < len(times):
            calls[query][at] += row["n"]
            spent_ns[query][at] += row["sum_ns"]
    found: dict[str, list[Course]] = {}
    for (role, operation), count in calls.items():
        mean_ns = np.full(len(times), np.inf)
        np.divide(spent_ns[role, operation], count, out=mean_ns, where=count > 0)
        found.setdefault(role, []).append((times, mean_ns))
    return found


def queries(plan: Mapping[str, Any], segment: int, writers: Collection[str]) -> list[tuple[str, str]]:
    """(role, operation) that readers are due in the segment, each once; of parts of a role their whole."""
    segments = plan["segments"]
    roles = segments[segment].get("roles", ()) if segment < len(segments) else ()
    each = ((whole(of["name"]), w["operation"]) for of in roles for w in of["operations"])
    return [query for query in dict.fromkeys(each) if query[0] not in writers]


FIGURES = (settled_figures,)
