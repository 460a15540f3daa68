"""What roles did over time: sums of each interval of a run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    windows = measured_windows(run)
    scheduled = scheduled_operations(run.plan)
    sums: dict[str, dict[tuple[int, int, int], list[float]]] = {}
    own = {r["role"] for r in run.rows("intervals")}
    for r in run.rows("intervals"):
        if r["segment"] not in windows or r["op"] not in scheduled.get(r["role"], {r["op"]}):
            continue
        if (name := counts_in(r["role"], own)[-1]) != whole(r["role"]):
            continue
        cell = sums.setdefault(name, {}).setdefault(
            (r["t_ns"], r["segment"], r["repetition"]), [0.0, 0.0, 0.0, 0.0]
        )
        cell[0] = max(cell[0], r["dt_ns"] / 1e9)
        for i, n in enumerate((r["rows"], r["bytes"], r["ops"]), start=1):
            cell[i] += n
    return {role: _series(cells) for role, cells in sums.items()}


def _series(cells: Mapping[tuple[int, int, int], Sequence[float]]) -> Series:
    keys = sorted(cells)
    table = np.array([cells[k] for k in keys], np.float64)
    t_s = np.array([k[0] / 1e9 for k in keys])
    return Series(
        t_s, table[:, 0], table[:, 1], table[:, 2], table[:, 3], np.array([k[2] for k in keys], np.int64)
    )
