"""Readers that go on when the last row is in: after how much time, and how many written bytes, they are as fast as at rest. Pure.

At rest are the last third of the intervals behind the last insert, by the mean latency in each, if its halves are as fast as
each other. A reader has settled where the median of three intervals is no slower than those at rest, or by a tenth at most,
and stays so: this is known to an interval. One that has not settled before it is at rest has no such figure.

`settled_s`       from the last insert that was acknowledged until then; of several queries that of the last one
`settled_bytes`   what the engine's process wrote meanwhile: what it merged, rewrote or wrote back
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from inrush.stats.measures import measured_windows, scheduled_operations, whole, writing_roles
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.watched import cumulative, grown

#: Intervals behind the last insert that make a rest to compare with: fewer say nothing.
LEAST_INTERVALS = 12
#: Slower than at rest by at most this share.
TOLERANCE = 0.1

Course = tuple[FloatArray, FloatArray]


def settled_figures(run: RunRecord) -> dict[str, float]:
    writers = writing_roles(run.plan)
    ends_ns = [r["end_ns"] for r in run.rows("repetitions") if r["role"] in writers and r["rows"]]
    figures: dict[str, float] = {}
    if not ends_ns:
        return figures
    last_ns = max(ends_ns)
    wrote = written_by_engine(run)
    for role, courses in courses_after(run, last_ns).items():
        if role in writers or any(whole(row["role"]) == role for row in run.rows("failures")):
            continue
        each_ns = [settled_ns(course) for course in courses]
        if any(at_ns is None for at_ns in each_ns):
            continue
        until_ns = max(at_ns for at_ns in each_ns if at_ns is not None)
        figures[f"{role}.settled_s"] = max(until_ns - last_ns, 0.0) / 1e9
        if wrote is not None:
            figures[f"{role}.settled_bytes"] = grown(*wrote, last_ns, max(until_ns, last_ns))
    return figures


def settled_ns(course: Course) -> float | None:
    """Begin of the first interval from which on it is as fast as at rest; None where it is not known to be."""
    t_ns, mean_ns = course
    if len(mean_ns) < LEAST_INTERVALS:
        return None
    rest = mean_ns[-(len(mean_ns) // 3) :]
    earlier, later = (float(np.median(half)) for half in (rest[: len(rest) // 2], rest[len(rest) // 2 :]))
    if earlier > later * (1 + TOLERANCE):
        return None
    smooth = np.array([np.median(mean_ns[max(k - 1, 0) : k + 2]) for k in range(len(mean_ns))])
    slowest = max(float(np.median(rest)) * (1 + TOLERANCE), float(smooth[-len(rest) :].max()))
    slow = np.flatnonzero(smooth > slowest)
    settled = int(slow[-1]) + 1 if len(slow) else 0
    return float(t_ns[settled])


def courses_after(run: RunRecord, last_ns: int) -> dict[str, list[Course]]:
    """Role, as a whole -> for each query that it is due to ask, begin and mean latency of the intervals behind the last insert."""
    table = run.tables.get("hist")
    if table is None:
        return {}
    due, segments = scheduled_operations(run.plan), measured_windows(run)
    sums: dict[tuple[str, str], dict[int, tuple[int, int]]] = {}
    columns = ["segment", "role", "op", "kind", "t_ns", "n", "sum_ns"]
    for row in table.select(columns).to_pylist():
        behind = row["t_ns"] >= last_ns and row["segment"] in segments
        if (
            row["kind"] != "latency"
            or not behind
            or not row["n"]
            or row["op"] not in due.get(row["role"], ())
        ):
            continue
        at = sums.setdefault((whole(row["role"]), row["op"]), {})
        n, sum_ns = at.get(row["t_ns"], (0, 0))
        at[row["t_ns"]] = n + row["n"], sum_ns + row["sum_ns"]
    found: dict[str, list[Course]] = {}
    for (role, _), at in sums.items():
        found.setdefault(role, []).append(course(at))
    return found


def course(at: Mapping[int, tuple[int, int]]) -> Course:
    times = sorted(at)
    return np.array(times, np.float64), np.array([at[t][1] / at[t][0] for t in times])


def written_by_engine(run: RunRecord) -> Course | None:
    """What its process has written over time; of an engine in the client's process that one."""
    series = cumulative(run, "write_bytes")
    embedded = (run.summary.get("page_counters") or {}).get("embedded", False)
    return series.get("client" if embedded else "server")


FIGURES = (settled_figures,)
