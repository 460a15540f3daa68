"""Sizes of tables, indexes and logs as a curve over the rows that were stored. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from inrush.stats.measures import measured_windows, writing_roles
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.role_series import role_series
from inrush.stats.steps import number

#: A curve: rows stored in this repetition, and bytes; both of one length, in time order.
Curve = tuple[FloatArray, FloatArray]


def sizes_over_rows(run: RunRecord) -> Mapping[str, Curve]:
    """What was sized -> its curve, of the samples taken while rows were written (`record.sizes_s`).

    Rows count from the beginning of a repetition, when its tables are fresh; between two ends of an interval they grow
    evenly. Samples between two repetitions belong to neither and are left out.
    """
    windows = measured_windows(run)
    written = rows_written(run)
    curves: dict[str, list[tuple[float, float]]] = {}
    for sample in run.rows("sizes"):
        if sample["segment"] not in windows:
            continue
        at = rows_at(written, sample["t_ns"] / 1e9)
        size = number(sample["value"])
        if at is not None and size is not None:
            curves.setdefault(str(sample["name"]), []).append((at, size))
    return {name: tuple(np.array(points).T) for name, points in curves.items()}


def rows_written(run: RunRecord) -> list[Curve]:
    """Per repetition: times in s, and rows stored until then."""
    series = [s for role, s in role_series(run).items() if role in writing_roles(run.plan)]
    found = []
    for repetition in sorted({int(r) for s in series for r in s.repetition}):
        of = [s.only(s.repetition == repetition) for s in series]
        times = np.unique(np.concatenate([np.concatenate([s.t_s, s.t_s + s.dt_s]) for s in of]))
        rows = np.zeros(len(times))
        for s in of:
            if len(s.t_s):
                ends = np.concatenate([s.t_s[:1], s.t_s + s.dt_s])
                rows += np.interp(times, ends, np.concatenate([[0.0], np.cumsum(s.rows)]))
        found.append((times, rows))
    return found


def rows_at(written: list[Curve], t_s: float) -> float | None:
    """Rows stored at a time; None outside of every repetition."""
    for times, rows in written:
        if times[0] <= t_s <= times[-1]:
            return float(np.interp(t_s, times, rows))
    return None
