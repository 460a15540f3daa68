"""What client processes had used when they began and ended together. Pure.

They wait for each other before a segment, and behind it: what one had used when it was looked at while it waited holds at the
instant at which the first session began, or the last one ended, which no look can meet. Rows that a session makes before
the instant are those of its first call. A server and a machine do not wait: of them nothing is known between two looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from inrush.agent.spans import IntArray, series
from inrush.agent.watched import AT_ENDS, CLIENT

#: They wait no longer than that between a look and a segment, ns: an older look is none of it.
NEAR_NS = 250_000_000
#: Begin and end, ns.
Window = tuple[int, int]


def shared_windows(each: Iterable[pa.Table]) -> list[Window]:
    """Of the segments that several processes drove: from the first begin to the last end. each: `segments` of every process."""
    found: dict[int, list[Window]] = {}
    for table in each:
        for row in table.select(["segment", "start_ns", "end_ns"]).to_pylist():
            found.setdefault(row["segment"], []).append((row["start_ns"], row["end_ns"]))
    spans = (of for of in found.values() if len(of) > 1)
    return sorted((min(begin for begin, _ in of), max(end for _, end in of)) for of in spans)


def with_edges(looks: pa.Table, windows: Sequence[Window]) -> pa.Table:
    """Looks (a table `resources`) with one more of each series of the client at every begin, as the last one before it, and at
    every end, as the first one behind it."""
    if not windows or not looks.num_rows:
        return looks
    t_ns = looks["t_ns"].to_numpy().astype(np.int64)
    rows, times = [np.arange(len(t_ns))], [t_ns]
    for (role, metric, _), of in series(looks, ("role", "metric", "device")):
        if role != CLIENT or metric in AT_ENDS:
            continue
        order = of[np.argsort(t_ns[of], kind="stable")]
        at, edge = nearest(t_ns[order], windows)
        rows.append(order[at])
        times.append(edge)
    all_ns = np.concatenate(times)
    order = np.argsort(all_ns, kind="stable")
    taken = looks.take(pa.array(np.concatenate(rows)[order]))
    place = looks.schema.get_field_index("t_ns")
    return taken.set_column(place, looks.schema.field(place), pa.array(all_ns[order].astype(np.uint64)))


def nearest(t_ns: IntArray, windows: Sequence[Window]) -> tuple[IntArray, IntArray]:
    """t_ns: looks in time order. Places of those that hold at an edge, and these edges."""
    begins, ends = np.array(windows, np.int64).T
    before = np.searchsorted(t_ns, begins, side="right") - 1
    behind = np.searchsorted(t_ns, ends, side="left")
    # Between two segments: behind the one before, and before the next one.
    since = np.concatenate([[np.iinfo(np.int64).min], ends[:-1]])
    until = np.concatenate([begins[1:], [np.iinfo(np.int64).max]])
    clipped = np.clip(before, 0, None), np.clip(behind, None, len(t_ns) - 1)
    first, last = t_ns[clipped[0]], t_ns[clipped[1]]
    begun = (before >= 0) & (first >= since) & (first < begins) & (first >= begins - NEAR_NS)
    ended = (behind < len(t_ns)) & (last <= until) & (last > ends) & (last <= ends + NEAR_NS)
    return (
        np.concatenate([clipped[0][begun], clipped[1][ended]]),
        np.concatenate([begins[begun], ends[ended]]),
    )
