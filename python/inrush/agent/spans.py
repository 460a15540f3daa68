"""Intervals of several processes on one axis. Pure.

All begin with the common start and are equally long by the clock of their process, but the last one of a process, which
ends with its work, and one that a session reported as one with the next. So they are known by what each process's own
clock says since its start, however its clock drifts: the second that it calls its tenth stands in the tenth row. Those that
overlap become one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
#: Segment, repetition and role.
Where = tuple[int, int, str]
WHERE = ("segment", "repetition", "role")
#: Begin and end, ns.
Span = tuple[int, int]
#: What is lost when times are moved to another clock and back, as whole ns.
ROUNDING_NS = 4


@dataclass(frozen=True)
class Own:
    """A process's clock since it began: its first interval on the common axis, and what that clock loses there each ns."""

    begin_ns: int
    rate: float = 0.0

    def since_ns(self, t_ns: IntArray) -> IntArray:
        return np.rint((t_ns - self.begin_ns) / (1.0 + self.rate)).astype(np.int64)


@dataclass(frozen=True)
class Spans:
    """Of one role in one repetition, one after the other, since its start."""

    begin: IntArray
    end: IntArray
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
        return [*zip((self.begin_ns + self.begin).tolist(), (self.begin_ns + self.end).tolist(), strict=True)]

    def places(self, process: int, t_ns: IntArray) -> IntArray:
        """Numbers of those that hold intervals of a process that begin at `t_ns`."""
        since_ns = self.own[process].since_ns(t_ns) + ROUNDING_NS
        found: IntArray = np.searchsorted(self.begin, since_ns, side="right") - 1
        assert found.min(initial=0) >= 0, "no row of a process begins before its first interval"
        return found

    def holds(self, process: int, t_ns: IntArray) -> NDArray[np.bool_]:
        """Which of a process's rows are in any: a worker that was lost may have sent them, and not their interval."""
        if process not in self.own:
            return np.zeros(len(t_ns), np.bool_)
        since_ns = self.own[process].since_ns(t_ns)
        inside: NDArray[np.bool_] = (since_ns >= self.begin[0] - ROUNDING_NS) & (since_ns < self.end[-1])
        return inside

    def at(self, process: int, t_ns: int) -> Span:
        """The one that holds an interval of a process that begins at `t_ns`."""
        place = self.places(process, np.array([t_ns], np.int64))[0]
        return self.begin_ns + int(self.begin[place]), self.begin_ns + int(self.end[place])


class Axes:
    """Intervals of all roles, one process added after the other."""

    def __init__(self, rates: Sequence[float] = ()) -> None:
        self.rates = rates
        self.of: dict[Where, Axis] = {}
        #: How much earlier than one ahead of it in its table an interval began, at most: a role that waits for a long call
        #: writes its intervals after those of others.
        self.behind_ns = 0

    def add(self, process: int, table: pa.Table) -> None:
        t_ns, dt_ns = numbers(table, "t_ns"), numbers(table, "dt_ns")
        behind = np.maximum.accumulate(t_ns) - t_ns
        self.behind_ns = max(self.behind_ns, int(behind.max(initial=0)))
        for where, rows in series(table, WHERE):
            own = Own(int(t_ns[rows].min()), self.rates[process] if self.rates else 0.0)
            self.of.setdefault(where, Axis()).add(process, own, t_ns[rows], dt_ns[rows])

    def spans(self) -> Mapping[Where, Spans]:
        return {where: of.spans() for where, of in self.of.items()}


def none() -> IntArray:
    return np.zeros(0, np.int64)


@dataclass
class Axis:
    """Intervals of one role in one repetition since the start, each once.

    Clocks that were moved there and back differ by a few ns, so that of any number of processes there are a few pairs for
    each interval, and the last of each process. They are united when all are there: what is united earlier may reach over
    what would have stood by itself.
    """

    begin: IntArray = field(default_factory=none)
    end: IntArray = field(default_factory=none)
    own: dict[int, Own] = field(default_factory=dict)
    apart_ns: int = 0

    def add(self, process: int, own: Own, t_ns: IntArray, dt_ns: IntArray) -> None:
        """dt_ns: by the process's own clock."""
        self.own[process] = own
        since = own.since_ns(t_ns)
        axis_ns = self.own[min(self.own)].begin_ns
        self.apart_ns = max(self.apart_ns, int(np.abs(t_ns - (axis_ns + since)).max()))
        begin, end = np.concatenate([self.begin, since]), np.concatenate([self.end, since + dt_ns])
        order = np.lexsort((end, begin))
        begin, end = begin[order], end[order]
        new = np.concatenate([[True], (np.diff(begin) != 0) | (np.diff(end) != 0)])
        self.begin, self.end = begin[new], end[new]

    def spans(self) -> Spans:
        found = united([*zip(self.begin.tolist(), self.end.tolist(), strict=True)])
        begin, end = np.array(found, np.int64).T
        return Spans(begin.copy(), end.copy(), self.own, self.apart_ns)


def united(spans: Sequence[Span]) -> list[Span]:
    """spans: by their begin."""
    out: list[Span] = []
    for begin, end in spans:
        if out and (begin < out[-1][1] - ROUNDING_NS or begin <= out[-1][0] + ROUNDING_NS):
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((begin, end))
    return out


def held(process: int, table: pa.Table, spans: Mapping[Where, Spans]) -> NDArray[np.bool_]:
    """Which rows of a process's table are in an interval of any process."""
    t_ns, found = numbers(table, "t_ns"), np.zeros(table.num_rows, np.bool_)
    for key, rows in series(table, WHERE):
        if key in spans:
            found[rows] = spans[key].holds(process, t_ns[rows])
    return found


def numbers(table: pa.Table, column: str) -> IntArray:
    found: IntArray = table[column].to_numpy().astype(np.int64)
    return found


def series(table: pa.Table, columns: Sequence[str]) -> list[tuple[Any, IntArray]]:
    """Distinct values of columns, in order of their first rows, and the rows of each, in order."""
    if not table.num_rows:
        return []
    code = np.zeros(table.num_rows, np.int64)
    for column in columns:
        values = table[column].combine_chunks().dictionary_encode()
        if len(values.dictionary) > 1:
            code = code * len(values.dictionary) + values.indices.to_numpy()
            # Those that occur, one after the other: a product of many columns stays small.
            code = (np.cumsum(np.bincount(code) > 0) - 1)[code]
    # Small numbers are put in order without being compared.
    order = np.argsort(code.astype(np.uint16) if code.max() < 2**16 else code, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(code[order])) + 1)
    parts.sort(key=lambda rows: int(rows[0]))
    firsts = table.select(list(columns)).take(pa.array([rows[0] for rows in parts]))
    keys = zip(*(firsts[column].to_pylist() for column in columns), strict=True)
    return [*zip(keys, parts, strict=True)]
