"""Rates over time, for charts, series and tests alike: steps of one length that what they describe fills. Pure.

What happens in calls and is looked at in intervals has a wrong rate wherever a step is not full: three batches, four a
second, in an interval that ends after 0.51 s are no six a second. So a part of a step at either end is cut; where
nothing whole is left, the whole time is the one step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from inrush.stats.gaps import Window, gaps_of
from inrush.stats.gaps import worked as without_gaps
from inrush.stats.measures import (
    call_gaps_s,
    grouped,
    measured_windows,
    repetition_spans,
    whole,
)
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.role_series import Series, role_series

#: A step counts as whole that misses so little of its length: sessions begin microseconds after the clock.
SLACK = 0.02


def role_rates(run: RunRecord, most: int | None = None) -> dict[str, Series]:
    """`role_series` in steps that the role filled (`rates.steps`), each repetition by itself: what rates are read from.

    most: steps are so much longer than an interval that about so many are left.
    """
    spans, idle = worked(run), gaps_of(run)
    return {
        role: in_steps(s, spans.get(role, {}), interval_s(run, s), most, idle)
        for role, s in role_series(run).items()
    }


def worked(run: RunRecord) -> dict[str, dict[tuple[int, int], tuple[float, float]]]:
    """Role (the whole) -> (segment, repetition) -> from when to when it worked, ns (`repetition_spans`)."""
    windows, gaps_s = measured_windows(run), call_gaps_s(run.plan)
    measured = [s for s in run.rows("repetitions") if s["segment"] in windows]
    return {
        role: repetition_spans(mine, gaps_s)
        for role, mine in grouped(measured).items()
        if role == whole(role)
    }


def interval_s(run: RunRecord, series: Series) -> float:
    """Length of a whole interval: as planned; of a plan that does not say it, the longest."""
    planned_ns = (run.plan.get("record") or {}).get("interval_ns")
    return planned_ns / 1e9 if planned_ns else float(series.dt_s.max(initial=0.0))


def in_steps(
    series: Series,
    spans: Mapping[tuple[int, int], tuple[float, float]],
    interval: float,
    most: int | None,
    idle: Sequence[Window] = (),
) -> Series:
    """spans: (segment, repetition) -> from when to when the role worked, ns. idle: gaps, in which no step lies."""
    parts_of = [
        (repetition, part)
        for (_, repetition), (start, end) in sorted(spans.items(), key=lambda item: item[1])
        for part in (without_gaps((start, end), idle) if idle else [(start, end)])
    ]
    worked_s = sum(end - start for _, (start, end) in parts_of) / 1e9
    times = max(1, int(np.ceil(worked_s / interval / most))) if most and interval > 0 else 1
    parts = []
    for repetition, (start_ns, end_ns) in parts_of:
        start_s, end_s = start_ns / 1e9, end_ns / 1e9
        of = series.only(
            (series.repetition == repetition) & (series.t_s < end_s) & (series.t_s + series.dt_s > start_s)
        )
        if not len(of.t_s) or interval <= 0:
            continue
        # What is counted in an interval came evenly; between two intervals came nothing.
        at = np.column_stack([of.t_s, of.t_s + of.dt_s]).ravel()
        grown = [
            steps(at, total, start_s, end_s, times * interval, float(of.t_s[0]))
            for column in (of.rows, of.bytes, of.ops)
            for after in [np.cumsum(column)]
            for total in [np.column_stack([after - column, after]).ravel()]
        ]
        (t, dt, rows), (_, _, sent), (_, _, ops) = grown
        parts.append(Series(t, dt, rows, sent, ops, np.full(len(t), repetition)))

    def joined(column: Callable[[Series], FloatArray]) -> FloatArray:
        return np.concatenate([column(p) for p in parts]) if parts else np.empty(0)

    return Series(
        joined(lambda p: p.t_s),
        joined(lambda p: p.dt_s),
        joined(lambda p: p.rows),
        joined(lambda p: p.bytes),
        joined(lambda p: p.ops),
        joined(lambda p: p.repetition.astype(np.float64)).astype(np.int64),
    )


def steps(
    t_s: FloatArray,
    total: FloatArray,
    begin_s: float,
    end_s: float,
    width_s: float,
    origin_s: float | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(starts, lengths, growth) of the steps of `width_s` that lie within begin_s … end_s; growth / length is the rate.

    t_s, total: a cumulative figure at times in ascending order, linear between them.
    origin_s: where a step begins, so that steps fall on the intervals in which was counted; else begin_s.
    One step of the whole time where no whole one fits; none where there is no time.
    """
    if len(t_s) < 2 or end_s <= begin_s:
        return np.empty(0), np.empty(0), np.empty(0)
    origin = begin_s if origin_s is None else origin_s
    first = int(np.ceil((begin_s - origin) / width_s - SLACK))
    last = int(np.floor((end_s - origin) / width_s + SLACK))
    whole = origin + width_s * np.arange(first, last + 1, dtype=np.float64)
    edges = whole if last > first else np.array([begin_s, end_s])
    grown: FloatArray = np.diff(np.interp(edges, t_s, total))
    return edges[:-1], np.diff(edges), grown


def no_faster(t_s: FloatArray, total: FloatArray, most_per_s: float) -> FloatArray:
    """The least that was spent by each time, given what was seen and that nothing is spent faster than `most_per_s`.

    A process that a watch finds late brings all that it spent before: that was spent earlier, and not at once.
    """
    room = most_per_s * t_s
    spent: FloatArray = np.maximum.accumulate((total - room)[::-1])[::-1] + room
    return spent
