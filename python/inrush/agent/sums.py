"""Counts of several processes by interval: columns of sums, which each process's tables are added to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from inrush.agent.spans import WHERE, IntArray, Spans, Where, held, numbers, series
from inrush.results.schema import SCHEMAS

#: Behind every row.
NOWHERE = np.iinfo(np.int64).max


class IntervalSums:
    """Of one series (a role, or an operation of it), a place for each of its spans."""

    def __init__(self, spans: Spans, columns: Sequence[str]) -> None:
        self.spans = spans
        #: The first row of each among those of all processes; NOWHERE: no process has one.
        self.first = np.full(len(spans.begin), NOWHERE)
        self.of = {column: np.zeros(len(spans.begin), np.int64) for column in columns}

    def add(self, column: str, place: IntArray, values: IntArray) -> None:
        np.add.at(self.of[column], place, values)

    def columns(self, name: str, where: Mapping[str, Any]) -> pa.Table:
        """In order of time."""
        there = np.flatnonzero(self.first != NOWHERE)
        begin, end = self.spans.begin[there], self.spans.end[there]
        found = {
            **{column: pa.repeat(value, len(there)) for column, value in where.items()},
            "t_ns": pa.array(self.spans.begin_ns + begin),
            "dt_ns": pa.array(end - begin),
            **{column: pa.array(values[there]) for column, values in self.of.items()},
        }
        schema = SCHEMAS[name]
        return pa.table([found[f.name].cast(f.type) for f in schema], schema=schema)


ADDED = ("rows", "bytes", "ops", "errors", "late")
#: What a process has reached so far: it goes on counting where another one works longer.
REACHED = ("backlog", "cum_rows")


def intervals(each: Iterable[pa.Table], spans: Mapping[Where, Spans]) -> Iterator[pa.Table]:
    found: dict[tuple[int, int, str, str], IntervalSums] = {}
    for process, table in enumerate(each):
        values = {column: numbers(table, column) for column in ("t_ns", *ADDED, "in_flight", *REACHED)}
        for key, rows in series(table, (*WHERE, "op")):
            sums = found.get(key) or found.setdefault(
                key, IntervalSums(spans[key[:3]], (*ADDED, "in_flight", *REACHED))
            )
            place = sums.spans.places(process, values["t_ns"][rows])
            sums.first[place] = 0
            for column in ADDED:
                sums.add(column, place, values[column][rows])
            # Of several rows of a process in one span the last one counts.
            last = np.full(len(sums.first), -1)
            np.maximum.at(last, place, rows)
            mine = np.flatnonzero(last >= 0)
            sums.of["in_flight"][mine] += values["in_flight"][last[mine]]
            latest = np.maximum.accumulate(np.where(last >= 0, np.arange(len(last)), -1))
            since = np.flatnonzero(latest >= 0)
            for column in REACHED:
                sums.of[column][since] += values[column][last[latest[since]]]
    for key, sums in found.items():
        yield sums.columns("intervals", dict(zip((*WHERE, "op"), key, strict=True)))


SENT = ("ops", "sends", "bytes")


def sends(each: Iterable[pa.Table], spans: Mapping[Where, Spans], cut: bool = False) -> Iterator[pa.Table]:
    """In order of their first rows. cut: some tables end early, and rows without an interval are left out."""
    found: dict[Where, IntervalSums] = {}
    before = 0
    for process, whole in enumerate(each):
        table = whole.filter(pa.array(held(process, whole, spans))) if cut else whole
        values = {column: numbers(table, column) for column in ("t_ns", *SENT)}
        for key, rows in series(table, WHERE):
            sums = found.get(key) or found.setdefault(key, IntervalSums(spans[key], SENT))
            place = sums.spans.places(process, values["t_ns"][rows])
            np.minimum.at(sums.first, place, before + rows)
            for column in SENT:
                sums.add(column, place, values[column][rows])
        before += table.num_rows
    if not found:
        return
    joined = pa.concat_tables(
        sums.columns("sends", dict(zip(WHERE, key, strict=True))) for key, sums in found.items()
    )
    first = np.concatenate([sums.first[sums.first != NOWHERE] for sums in found.values()])
    yield joined.take(pa.array(np.argsort(first)))
