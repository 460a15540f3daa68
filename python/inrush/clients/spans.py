"""Intervals of several processes on one axis. Pure.

All begin with the common start and are equally long by the clock of their process, but the last one of a process, which
ends with its work, and one that a session reported as one with the next. So they are known by what each process's own
clock says since its start, however its clock drifts: the second that it calls its tenth stands in the tenth row. Those that
overlap become one.
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
#: What is lost when times are moved to another clock and back, as whole ns.
ROUNDING_NS = 4


@dataclass(frozen=True)
class Own:
    """A process's clock since it began: its first interval on the common axis, and what that clock loses there each ns."""

    begin_ns: int
    rate: float = 0.0

    def since_ns(self, t_ns: int) -> int:
        return round((t_ns - self.begin_ns) / (1.0 + self.rate))


@dataclass(frozen=True)
class Spans:
    """Of one role in one repetition, one after the other, since its start."""

    since: Sequence[Span]
    #: By process, those that have an interval.
    own: Mapping[int, Own]
    #: The furthest that an interval of a process began from its row.
    apart_ns: int = 0

    @property
    def begin_ns(self) -> int:
        """By the first process that has one."""
        return self.own[min(self.own)].begin_ns

    @property
    def spans(self) -> list[Span]:
        return [(self.begin_ns + begin, self.begin_ns + end) for begin, end in self.since]

    def at(self, process: int, t_ns: int) -> Span:
        """The one that holds an interval of a process that begins at `t_ns`."""
        since_ns = self.own[process].since_ns(t_ns) + ROUNDING_NS
        begin, end = self.since[bisect_right(self.since, since_ns, key=lambda span: span[0]) - 1]
        return self.begin_ns + begin, self.begin_ns + end


def merged_spans(each: Sequence[pa.Table], rates: Sequence[float] = ()) -> Mapping[Where, Spans]:
    """each: the table `intervals` of every process, on one clock. rates: what each one's own clock loses there each ns."""
    found: dict[Where, dict[int, list[Span]]] = {}
    for process, table in enumerate(each):
        columns = (
            table.column(name).to_pylist() for name in ("segment", "repetition", "role", "t_ns", "dt_ns")
        )
        for segment, repetition, role, t_ns, dt_ns in zip(*columns, strict=True):
            of = found.setdefault((segment, repetition, role), {})
            of.setdefault(process, []).append((t_ns, dt_ns))
    return {where: one_axis(of, rates) for where, of in found.items()}


def one_axis(of: Mapping[int, Sequence[Span]], rates: Sequence[float]) -> Spans:
    """of: process -> begin and length of its intervals; a length is by its own clock."""
    own = {
        process: Own(min(t_ns for t_ns, _ in mine), rates[process] if rates else 0.0)
        for process, mine in of.items()
    }
    axis_ns = own[min(own)].begin_ns
    since: set[Span] = set()
    apart_ns = 0
    for process, mine in of.items():
        for t_ns, dt_ns in mine:
            begin = own[process].since_ns(t_ns)
            since.add((begin, begin + dt_ns))
            apart_ns = max(apart_ns, abs(t_ns - (axis_ns + begin)))
    return Spans(united(sorted(since)), own, apart_ns)


def united(spans: Sequence[Span]) -> list[Span]:
    """spans: by their begin."""
    out: list[Span] = []
    for begin, end in spans:
        if out and (begin < out[-1][1] - ROUNDING_NS or begin <= out[-1][0] + ROUNDING_NS):
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((begin, end))
    return out
