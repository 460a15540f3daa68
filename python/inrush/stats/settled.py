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

from collections.abc import Collection

import numpy as np

from inrush.border.pipeline import AnyPlan, roles_of
from inrush.border.tables import RepetitionRow
from inrush.stats.course import courses_of
from inrush.stats.measures import measured_repetitions, whole, writing_roles
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.watched import cumulative, spent

#: Intervals behind the last insert that make a rest to compare with: fewer say nothing.
LEAST_INTERVALS = 12
#: Slower than at rest by at most this share.
TOLERANCE = 0.25


def settled_figures(run: RunRecord) -> dict[str, float]:
    writers, held = writing_roles(run.plan), measured_repetitions(run)
    ends_ns = {
        r["segment"]: r["end_ns"] for r in sorted(held, key=lambda r: r["end_ns"]) if is_last(r, writers)
    }
    figures: dict[str, float] = {}
    for segment, last_ns in ends_ns.items():
        failed = {whole(row["role"]) for row in run.rows("failures") if row["segment"] == segment}
        unsent = {whole(r["role"]) for r in held if r["segment"] == segment and r["unsent"]}
        courses = courses_of(run, segment, queries(run.plan, segment, writers), from_ns=last_ns)
        each_ns = {query: settled_ns(of.t_ns[:-1], of.mean_ns[:-1]) for query, of in courses.items()}
        for role in dict.fromkeys(role for role, _ in each_ns):
            own_ns = [at_ns for (of, _), at_ns in each_ns.items() if of == role]
            known_ns = [at_ns for at_ns in own_ns if at_ns is not None]
            if role in failed | unsent or len(known_ns) < len(own_ns):
                continue
            until_ns = max(known_ns)
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


def settled_ns(t_ns: FloatArray, mean_ns: FloatArray) -> float | None:
    """Begin of the first interval from which on it is as fast as at rest; None where it is not known to be.

    t_ns, mean_ns: begin of each interval, and the mean latency in it.
    """
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


def queries(plan: AnyPlan, segment: int, writers: Collection[str]) -> dict[tuple[str, str], tuple[str, str]]:
    """(role, operation) that readers are due in the segment -> the same of the role as a whole."""
    of_segment = plan["segments"][segment : segment + 1]
    each = (
        (role["name"], w["operation"])
        for of in of_segment
        for role in roles_of(of)
        for w in role["operations"]
    )
    return {(role, name): (whole(role), name) for role, name in each if whole(role) not in writers}


FIGURES = (settled_figures,)
