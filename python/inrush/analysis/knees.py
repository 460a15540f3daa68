"""At how many rows a load began to wait for pages of its own table, seen in its rate. Pure.

    <step>.knee_rows    rows in the table from which on the rate of its load falls and does not come back (`model/outgrown.py`)

Absent where no such fall is seen, and where something else may be its reason: a table that fits the engine's cache, files that
differ in size, a load that was ended and went on, rows that were there before.
"""

from __future__ import annotations

import numpy as np

from inrush.engines import known_twin
from inrush.model.outgrown import LEAST, shape
from inrush.stats.gaps import gaps_of
from inrush.stats.load_series import file_loads, own_seconds
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.steps import held_bytes, segments_of_steps

#: Files are alike up to this ratio of the largest to the smallest.
ALIKE = 1.1


def knee_figures(run: RunRecord) -> dict[str, float]:
    """Of the first load of a run with steps."""
    steps = run.labels.get("steps") or {}
    step = next((name for name, do in steps.items() if do == "load"), None)
    if (
        step not in segments_of_steps(run)
        or gaps_of(run)
        or not outgrows_cache(run, step)
        or not files_alike(run, step)
    ):
        return {}
    rows, seconds = parts_of_load(run, step)
    seen = shape(np.cumsum(rows) - rows / 2, rows / seconds)
    return {} if seen.knee is None else {f"{step}.knee_rows": seen.knee}


def outgrows_cache(run: RunRecord, step: str) -> bool:
    """Whether the loaded table is larger than what the engine keeps of it."""
    twin = known_twin(run.engine)
    if twin is None or twin.pages is None:
        return False
    settings = {str(r["name"]): str(r["value"]) for r in run.rows("settings")}
    return held_bytes(run, step).get("after", 0.0) > twin.pages.cache_of(settings)


def files_alike(run: RunRecord, step: str) -> bool:
    """True of a load without files: batches of sessions are alike."""
    of = file_loads(run).get(step)
    return of is None or bool(of.bytes.max() <= ALIKE * of.bytes.min())


def parts_of_load(run: RunRecord, step: str) -> tuple[FloatArray, FloatArray]:
    """Rows and seconds of each file, or of each interval in which rows were stored, in order."""
    of = file_loads(run).get(step)
    if of is not None and len(of.rows) >= LEAST:
        return of.rows, own_seconds(of)
    found, waited_ns = [], 0
    for interval in sorted((i for i in run.rows("intervals") if i["role"] == step), key=lambda i: i["t_ns"]):
        waited_ns += interval["dt_ns"]
        if interval["rows"] and waited_ns:
            # A call that takes several intervals ends in the last of them.
            found.append((interval["rows"], waited_ns / 1e9))
            waited_ns = 0
    return np.array([n for n, _ in found], np.float64), np.array([s for _, s in found], np.float64)
