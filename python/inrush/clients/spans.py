"""Intervals of several processes on one axis. Pure.

All begin with the common start and are equally long, but the last one of a process, which ends with its work, and one that
a session reported as one with the next. Those that overlap become one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import pyarrow as pa

#: Segment, repetition and role.
Where = tuple[int, int, str]
#: Begin and end, ns.
Span = tuple[int, int]


def merged_spans(each: Sequence[pa.Table]) -> Mapping[Where, Sequence[Span]]:
    """each: the table `intervals` of every process, on one clock."""
    found: dict[Where, set[Span]] = {}
    for table in each:
        columns = (
            table.column(name).to_pylist() for name in ("segment", "repetition", "role", "t_ns", "dt_ns")
        )
        for segment, repetition, role, t_ns, dt_ns in zip(*columns, strict=True):
            found.setdefault((segment, repetition, role), set()).add((t_ns, t_ns + dt_ns))
    return {of: united(sorted(spans)) for of, spans in found.items()}


def united(spans: Sequence[Span]) -> list[Span]:
    """spans: by their begin."""
    out: list[Span] = []
    for begin, end in spans:
        if out and (begin < out[-1][1] or begin == out[-1][0]):
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((begin, end))
    return out


def span_at(spans: Sequence[Span], t_ns: int) -> Span:
    """The one that holds an interval that begins at `t_ns`."""
    return spans[bisect_right(spans, t_ns, key=lambda span: span[0]) - 1]
