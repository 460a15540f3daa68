"""At how many rows a load began to wait for pages of its own table, seen in its rate. Pure.

    <step>.knee_rows    rows in the table from which on the rate of its load falls and does not come back (`model/outgrown.py`)
    <step>.level_rows   rows up to which it does not fall, of a table with twice the bytes of the engine's cache

A load has one of them or none. Both are only of an engine that goes round the kernel's cache, where rows do not come in the
order of an index. Neither is there where something else may be the reason: files that differ in size, a load that was ended
and went on, and a fall where the table has less than half of the cache.
"""

from __future__ import annotations

import numpy as np

from inrush.analysis.run_facts import only_cache
from inrush.model.outgrown import LEAST, MATERIAL, Shape, shape
from inrush.stats.gaps import gaps_of
from inrush.stats.load_series import file_loads, own_seconds
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.row_order import out_of_order
from inrush.stats.steps import held_bytes, segments_of_steps

#: Files are alike up to this ratio of the largest to the smallest.
ALIKE = 1.1
#: Of the cache, what a table has at least where it outgrows it, and what it has had where a level rate says something.
FILLED, BEYOND = 0.5, 2.0


def knee_figures(run: RunRecord) -> dict[str, float]:
    """Of the first load of a run with steps."""
    steps = run.labels.get("steps") or {}
    step = next((name for name, do in steps.items() if do == "load"), None)
    if step not in segments_of_steps(run) or gaps_of(run) or not files_alike(run, step):
        return {}
    cache, size = only_cache(run), held_bytes(run, step).get("after", 0.0)
    if not cache or size <= cache or not out_of_order(run.plan, run.labels):
        return {}
    rows, seconds = parts_of_load(run, step)
    seen = shape(np.cumsum(rows) - rows / 2, rows / seconds)
    if seen.knee is not None:
        filled = seen.knee * size / float(rows.sum())
        return {f"{step}.knee_rows": seen.knee} if filled >= FILLED * cache else {}
    level = len(rows) >= LEAST and size >= BEYOND * cache and stays(seen)
    return {f"{step}.level_rows": float(rows.sum())} if level else {}


def stays(seen: Shape) -> bool:
    """Whether the lowest rate is hardly below the highest before it."""
    return bool(seen.low >= (1 - MATERIAL) * seen.before)


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
