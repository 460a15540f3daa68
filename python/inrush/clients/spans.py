"""Intervals of several processes on one axis. Pure.

All begin with the common start and are equally long, but the last one of a process, which ends with its work, and one that
a session reported as one with the next. Those that overlap become one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

#: Segment, repetition and role.
Where = tuple[int, int, str]
#: Begin and end, ns.
Span = tuple[int, int]


@dataclass(frozen=True)
class Spans:
    """Of one role in one repetition, one after the other."""

    spans: Sequence[Span]
    #: Times of two processes are compared to so much.
    error_ns: int = 0

    def at(self, t_ns: int) -> Span:
        """The one that holds an interval that begins at `t_ns`."""
        return self.spans[bisect_right(self.spans, t_ns + self.error_ns, key=lambda span: span[0]) - 1]


def merged_spans(each: Sequence[pa.Table], error_ns: int = 0) -> Mapping[Where, Spans]:
    """each: the table `intervals` of every process, on one clock, to `error_ns`."""
    found: dict[Where, set[Span]] = {}
    for table in each:
        columns = (
            table.column(name).to_pylist() for name in ("segment", "repetition", "role", "t_ns", "dt_ns")
        )
        for segment, repetition, role, t_ns, dt_ns in zip(*columns, strict=True):
            found.setdefault((segment, repetition, role), set()).add((t_ns, t_ns + dt_ns))
    return {of: Spans(united(sorted(spans), error_ns), error_ns) for of, spans in found.items()}


def united(spans: Sequence[Span], error_ns: int = 0) -> list[Span]:
    """spans: by their begin. What overlaps by `error_ns` at most may be one after the other."""
    out: list[Span] = []
    for begin, end in spans:
        if out and (begin < out[-1][1] - error_ns or begin <= out[-1][0] + error_ns):
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((begin, end))
    return out
