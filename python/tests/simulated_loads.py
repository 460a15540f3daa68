"""Loads of files with known costs, as models and reports take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from inrush.model.decomposition import Units, units
from inrush.results.schema import SCHEMAS
from inrush.stats.record import RunRecord, StudyRecord
from tests import synthetic
from tests.synthetic import SECOND

FloatArray = NDArray[np.float64]
ROW_BYTES = 26.0


def hump(n: int, times: float = 8.0) -> FloatArray:
    """Sizes of files in bytes that grow to so many times, and shrink again, as those of the original do."""
    x = (np.arange(n) + 0.5) / n
    return 1.2e6 * (1 + (times - 1) * np.exp(-(((x - 0.62) / 0.1) ** 2)))


def load(
    sizes: FloatArray,
    *,
    byte_s: float = 7e-8,
    file_s: float = 0.0,
    file_byte_s: float = 0.0,
    place_s: float = 0.0,
    table_s: Callable[[FloatArray], FloatArray] = np.zeros_like,
    places: FloatArray | None = None,
    noise: float = 0.1,
    seed: int = 1,
) -> Units:
    """table_s: seconds a byte that a table of so many rows adds; noise: sd of the logs of times."""
    rows = sizes / ROW_BYTES
    before = np.cumsum(rows) - rows / 2
    seconds = file_s + sizes * (byte_s + file_byte_s * sizes + table_s(before))
    if places is not None:
        seconds = seconds + place_s * places
    drawn = np.exp(noise * np.random.default_rng(seed).normal(size=len(sizes)))
    return units(seconds * drawn, sizes, before, rows, places)


def wandering(n: int, rho: float, seed: int) -> FloatArray:
    """AR(1) of sd 1."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n + 60)
    for i in range(1, n + 60):
        x[i] = rho * x[i - 1] + np.sqrt(1 - rho**2) * x[i]
    return x[60:]


def run_of(
    of: Units,
    engine: str = "sqlite",
    factors: Mapping[str, Any] | None = None,
    block: int = 1,
    at_once: int = 1,
) -> RunRecord:
    """A sealed run that loaded these files, so many at once; each row costs 2 µs of the server's CPU and 50 bytes written."""
    assert of.rows is not None
    begin_ns, free = SECOND, [0.0] * at_once
    files = []
    for k, (seconds, size, rows) in enumerate(zip(of.seconds, of.bytes, of.rows, strict=True)):
        who = int(np.argmin(free))
        start, free[who] = free[who], free[who] + float(seconds)
        files.append({
            "segment": 2, "repetition": 0, "role": "writers", "file": k, "pipeline": who, "due_ns": begin_ns,
            "start_ns": begin_ns + round(start * 1e9), "sent_ns": begin_ns + round(free[who] * 1e9),
            "end_ns": begin_ns + round(free[who] * 1e9), "bytes": round(float(size)), "rows": round(float(rows)), "rejected": 0,
            "runs": 0 if of.places is None else round(float(of.places[k])),
        })  # fmt: skip
    span_s = max(free)
    base = synthetic.run(
        engine, factors, block, makespan_s=span_s, rows=sum(f["rows"] for f in files), interval_s=span_s / 20,
        resources=False,
    )  # fmt: skip
    done, used = np.array([f["end_ns"] for f in files]), np.cumsum([f["rows"] for f in files])
    moments = [
        0,
        begin_ns,
        *np.linspace(begin_ns, begin_ns + span_s * 1e9, 200)[1:].round().astype(int).tolist(),
    ]
    resources = [
        {"role": role, "t_ns": t, "metric": metric, "device": device, "value": each * rows}
        for t in moments
        for rows in [float(np.interp(t, [begin_ns, *done], [0, *used]))]
        for role, metric, device, each in (
            ("server", "cpu_s", "", 2e-6),
            ("host", "dev_write_bytes", "sda", 50.0),
        )
    ]
    tables = {
        "files": pa.Table.from_pylist(files, SCHEMAS["files"]),
        "resources": pa.Table.from_pylist(resources, SCHEMAS["resources"]),
    }
    return replace(base, tables={**base.tables, **tables}, _rows={})


def study_of(runs: Sequence[RunRecord]) -> StudyRecord:
    doc = {**synthetic.STUDY, "answer": {"kind": "comparison", "of": "writers.rows_per_s", "per": ["engine"]}}
    return StudyRecord(doc, runs)
