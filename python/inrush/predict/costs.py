"""What a row costs, by the runs of studies: CPU, bytes on disk, bytes written. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inrush.analysis.points import Measured
from inrush.guards.notes import stored_bytes
from inrush.model.work import fit_proportion
from inrush.predict.support import written_rows_per_s
from inrush.predict.training import cores_busy, written_bytes_per_s
from inrush.stats.measures import measured_windows, writing_roles
from inrush.stats.record import RunRecord

#: Of the largest size that was seen: less than this is no slope, and says nothing of a row.
HIDDEN_SHARE = 0.01


def cores_for(runs: Sequence[Measured], rate: float) -> float | None:
    """Cores of client and engine together: the median over the points of the studies."""
    held = [cores_busy(m.figures) / written for m in runs for written in [written_rows_per_s(m)] if written]
    return float(np.median(held)) * rate if held else None


def stored_for(runs: Sequence[Measured], rows: float) -> float | None:
    """Bytes on disk of so many rows."""
    held = [(n, stored_bytes(m.run)) for m in runs for n in [rows_at_end(m.run)] if n]
    if not held:
        return None
    counts, sizes = (np.array(v, np.float64) for v in zip(*held, strict=True))
    per_row = fit_proportion(counts, sizes).per_unit_s if len(np.unique(counts)) > 1 else 0.0
    if per_row * counts.max() < HIDDEN_SHARE * sizes.max():
        # Files that are made larger than their rows hide what a row takes: then all of them is laid to the rows.
        per_row = float(np.median(sizes / counts))
    return float(per_row * rows)


def rows_at_end(run: RunRecord) -> int:
    """Rows in the tables when sizes were probed: those of the last repetition."""
    windows, writers = measured_windows(run), writing_roles(run.plan)
    repetitions = [s for s in run.rows("repetitions") if s["segment"] in windows and s["role"] in writers]
    if not repetitions:
        return 0
    last = max((s["segment"], s["repetition"]) for s in repetitions)
    return int(sum(s["rows"] for s in repetitions if (s["segment"], s["repetition"]) == last))


def write_for(runs: Sequence[Measured], rate: float) -> float | None:
    held = [
        w / rows
        for m in runs
        for w, rows in [(written_bytes_per_s(m.run), written_rows_per_s(m))]
        if w and rows
    ]
    return float(np.median(held)) * rate if held else None
