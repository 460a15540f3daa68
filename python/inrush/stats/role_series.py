"""What roles did over time: sums of each interval of a run. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inrush.border.tables import IntervalRow
from inrush.stats.measures import counts_in, measured_windows, scheduled_operations, whole
from inrush.stats.record import FloatArray, RunRecord


@dataclass(frozen=True)
class Series:
    """What a role did per interval of the measured segments, in time order; all arrays of one length."""

    t_s: FloatArray
    dt_s: FloatArray
    rows: FloatArray
    bytes: FloatArray
    ops: FloatArray
    repetition: NDArray[np.int64]

    def only(self, wanted: NDArray[np.bool_]) -> Series:
        return Series(*(getattr(self, name)[wanted] for name in Series.__dataclass_fields__))


def role_series(run: RunRecord) -> dict[str, Series]:
    """Role (the whole, not its parts) -> its intervals; members of a `together` do not count twice."""
    sums: dict[str, dict[tuple[int, int, int], list[float]]] = {}
    for name, r in counted_intervals(run):
        cell = sums.setdefault(name, {}).setdefault(
            (r["t_ns"], r["segment"], r["repetition"]), [0.0, 0.0, 0.0, 0.0]
        )
        cell[0] = max(cell[0], r["dt_ns"] / 1e9)
        for i, n in enumerate((r["rows"], r["bytes"], r["ops"]), start=1):
            cell[i] += n
    return {role: _series(cells) for role, cells in sums.items()}


def counted_intervals(run: RunRecord) -> Iterator[tuple[str, IntervalRow]]:
    """Role (the whole) -> each row of the measured segments that counts for it."""
    windows, scheduled = measured_windows(run), scheduled_operations(run.plan)
    own = {r["role"] for r in run.rows("intervals")}
    for r in run.rows("intervals"):
        name, is_due = counts_in(r["role"], own)[-1], r["op"] in scheduled.get(r["role"], {r["op"]})
        if r["segment"] in windows and is_due and name == whole(r["role"]):
            yield name, r


def _series(cells: Mapping[tuple[int, int, int], Sequence[float]]) -> Series:
    keys = sorted(cells)
    table = np.array([cells[k] for k in keys], np.float64)
    t_s = np.array([k[0] / 1e9 for k in keys])
    return Series(
        t_s, table[:, 0], table[:, 1], table[:, 2], table[:, 3], np.array([k[2] for k in keys], np.int64)
    )
