"""Histograms of several processes by interval, added up bucket by bucket, a window of time after the other.

Memory holds the sums of one window and a chunk of one process's table, however many processes there are and however long
the run was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from inrush.agent.spans import ROUNDING_NS, WHERE, IntArray, Spans, Where, held, none, numbers, series
from inrush.agent.tables import Reader
from inrush.results.schema import SCHEMAS

#: Spans of all roles in a window.
SPANS = 1024
#: Rows that are read at a time at least.
ROWS = 256
#: Buckets that are made room for beyond the one that needs it: a power of two.
SPARE = 128
#: Later than every span, and more than every value.
NEVER = MOST = np.iinfo(np.int64).max
#: Segment, repetition, role, operation and kind.
Key = tuple[int, int, str, str, str]
KEY = (*WHERE, "op", "kind")


class Behind(Exception):
    """Rows stand further behind later ones than was said: some belong to a window that was over."""


def hist(
    readers: Sequence[Reader], spans: Mapping[Where, Spans], behind_ns: int, cut: bool = False
) -> Iterator[pa.Table]:
    """In order of time. behind_ns: as of `Axes`. cut: some tables end early, and rows without an interval are left out. Raises Behind, and ValueError of several grouping powers."""
    powers: set[int] = set()
    ahead_ns = reaches(spans, behind_ns) if behind_ns < NEVER else NEVER
    windowed = [Windowed(process, reader, spans, cut) for process, reader in enumerate(readers)]
    width = 0
    for begin, end in windows(spans):
        sums, rows = Buckets(spans, begin, end, width), ROWS
        for mine in windowed:
            before = mine.taken
            for table, place in mine.within(begin, end, min(end, NEVER - ahead_ns) + ahead_ns, rows):
                powers.update(table["grouping_power"].unique().to_pylist())
                if len(powers) != 1:
                    raise ValueError(f"histograms of grouping powers {sorted(powers)} cannot be merged")
                sums.add(table, place)
            # The next process has about as many; a batch more says that the window is over.
            rows = max(ROWS, (mine.taken - before) * 33 // 32)
        width = sums.count.shape[1]
        if sums.first:
            yield sums.table(*powers)
    if any(mine.taken + mine.left_out != mine.seen for mine in windowed):
        raise Behind


def reaches(spans: Mapping[Where, Spans], behind_ns: int) -> int:
    """So far behind the begin of a span rows that belong to it, or stand behind them in a table, may begin."""
    longest = max((int((of.end - of.begin).max()) for of in spans.values()), default=0)
    apart = max((of.apart_ns for of in spans.values()), default=0)
    return behind_ns + longest + apart + 2 * ROUNDING_NS


def windows(spans: Mapping[Where, Spans]) -> Iterator[tuple[int, int]]:
    """First begin of a span, and that of the next window."""
    begins = np.sort(np.concatenate([of.begin_ns + of.begin for of in spans.values()] or [none()]))
    yield from pairwise([*dict.fromkeys(begins[::SPANS].tolist()), NEVER] if len(begins) else [])


class Windowed:
    """The table of one process, a window after the other."""

    def __init__(self, process: int, reader: Reader, spans: Mapping[Where, Spans], cut: bool) -> None:
        self.process, self.reader, self.spans, self.cut = process, reader, spans, cut
        #: Rows that were in windows; those that were read, each once; and those before the place of the reader.
        self.taken = self.seen = self.passed = 0
        #: Rows without an interval among those that were looked at.
        self.left_out = self.looked = 0

    def within(self, begin: int, end: int, until: int, rows: int) -> Iterator[tuple[pa.Table, IntArray]]:
        """Rows of a window, and the number of the span of each. The reader then stands where rows of the next one begin.

        until: where a row begins so late, none of the window stands behind it.
        """
        next_place, count = None, self.passed
        for chunk in self.reader.chunks(rows):
            t_ns, place, of_row = self.spans_of(chunk.table)
            self.left_out += int((of_row[max(0, self.looked - count) :] < 0).sum())
            self.looked = max(self.looked, count + len(t_ns))
            later = np.flatnonzero(of_row >= end)
            if next_place is None and len(later):
                first, offset = chunk.batch_of(int(later[0]))
                next_place = count + first, offset
            count += len(t_ns)
            inside = np.flatnonzero((of_row >= begin) & (of_row < end))
            if len(inside):
                self.taken += len(inside)
                table, whole = chunk.table, inside[-1] - inside[0] + 1 == len(inside)
                yield (
                    table.slice(inside[0], len(inside)) if whole else table.take(pa.array(inside)),
                    place[inside],
                )
            if t_ns.max(initial=0) >= until:
                break
        self.seen = max(self.seen, count)
        if next_place is not None:
            self.passed, self.reader.offset = next_place

    def spans_of(self, table: pa.Table) -> tuple[IntArray, IntArray, IntArray]:
        """Of each row its begin, the number of its span, and the begin of that; -1: it has none."""
        t_ns = numbers(table, "t_ns")
        place, begin = np.zeros_like(t_ns), np.full_like(t_ns, -1)
        there = held(self.process, table, self.spans) if self.cut else np.ones(len(t_ns), np.bool_)
        for key, every in series(table, WHERE):
            rows = every[there[every]]
            if not len(rows):
                continue
            of = self.spans[key]
            place[rows] = of.places(self.process, t_ns[rows])
            begin[rows] = of.begin_ns + of.begin[place[rows]]
        return t_ns, place, begin


class Buckets:
    """The sums of a window: a line for each span of each series, and in it the buckets up to the last one counted in."""

    def __init__(self, spans: Mapping[Where, Spans], begin: int, end: int, width: int) -> None:
        """width: of its buckets, as far as they are known."""
        self.spans, self.window = spans, (begin, end)
        #: Series -> its first line, and the number of its first span.
        self.first: dict[Key, tuple[int, int]] = {}
        self.count = np.zeros((0, width), np.int64)
        self.there = np.zeros(0, bool)
        #: Least and most of rows with values, and of those without any.
        self.low, self.low_empty, self.high, self.high_empty, self.sum = (none() for _ in range(5))

    def add(self, rows: pa.Table, place: IntArray) -> None:
        """place: of each row the number of its span."""
        line = np.zeros(rows.num_rows, np.int64)
        for key, mine in series(rows, KEY):
            first, span = self.first.get(key) or self.begun(key)
            line[mine] = first + place[mine] - span
        lists = rows["bucket"].combine_chunks()
        bucket, count = (values_of(rows[column].combine_chunks()) for column in ("bucket", "count"))
        if (width := int(bucket.max(initial=-1)) + 1) > self.count.shape[1]:
            self.grow(len(self.there), width + SPARE)
        at = np.repeat(line * self.count.shape[1], np.diff(lists.offsets.to_numpy())) + bucket
        np.add.at(self.count.reshape(-1), at, count)
        low, high, filled = numbers(rows, "min_ns"), numbers(rows, "max_ns"), numbers(rows, "n") > 0
        for least, most, of in ((self.low, self.high, filled), (self.low_empty, self.high_empty, ~filled)):
            np.minimum.at(least, line[of], low[of])
            np.maximum.at(most, line[of], high[of])
        np.add.at(self.sum, line, numbers(rows, "sum_ns"))
        self.there[line] = True

    def begun(self, key: Key) -> tuple[int, int]:
        """Lines for a series that was not there."""
        of = self.spans[key[:3]]
        span, after = np.searchsorted(of.begin_ns + of.begin, self.window).tolist()
        self.first[key] = found = len(self.there), span
        more = after - span
        self.grow(len(self.there) + more, self.count.shape[1])
        self.there, self.sum, self.high, self.high_empty = (
            np.pad(of, (0, more)) for of in (self.there, self.sum, self.high, self.high_empty)
        )
        self.low, self.low_empty = (
            np.pad(of, (0, more), constant_values=MOST) for of in (self.low, self.low_empty)
        )
        return found

    def grow(self, lines: int, width: int) -> None:
        """Memory that was never written to is none yet: most lines and buckets may stay so."""
        larger = np.zeros((lines, width), np.int64)
        larger[: self.count.shape[0], : self.count.shape[1]] = self.count
        self.count = larger

    def table(self, power: int) -> pa.Table:
        """Spans in order of time, series of one time in order of their first rows."""
        keys, line = [*self.first], np.flatnonzero(self.there)
        firsts = np.array([first for first, _ in self.first.values()])
        of_key = np.searchsorted(firsts, line, side="right") - 1
        begin, end = np.zeros(len(line), np.int64), np.zeros(len(line), np.int64)
        for n, (key, (first, span)) in enumerate(self.first.items()):
            mine = of_key == n
            place = line[mine] - first + span
            of = self.spans[key[:3]]
            begin[mine], end[mine] = of.begin_ns + of.begin[place], of.begin_ns + of.end[place]
        order = np.argsort(begin, kind="stable")
        line, of_key, begin, end = line[order], pa.array(of_key[order]), begin[order], end[order]
        held = self.count[line]
        row, bucket = np.nonzero(held)
        offsets = np.searchsorted(row, np.arange(len(line) + 1))
        count = held[row, bucket]
        n = held.sum(axis=1)
        found: dict[str, Any] = {
            **{name: pa.array([key[k] for key in keys]).take(of_key) for k, name in enumerate(KEY)},
            "t_ns": begin, "dt_ns": end - begin, "grouping_power": np.full(len(line), power),
            "bucket": lists_of(offsets, bucket), "count": lists_of(offsets, count), "n": n, "sum_ns": self.sum[line],
            "min_ns": np.where(n > 0, self.low[line], self.low_empty[line]),
            "max_ns": np.where(n > 0, self.high[line], self.high_empty[line]),
        }  # fmt: skip
        return pa.table(
            [as_array(found[f.name]).cast(f.type) for f in SCHEMAS["hist"]], schema=SCHEMAS["hist"]
        )


def as_array(values: Any) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(values)


def values_of(lists: pa.ListArray) -> IntArray:
    found: IntArray = lists.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def lists_of(offsets: IntArray, values: IntArray) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values))
