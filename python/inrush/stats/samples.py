"""Samples of a run: rows that were due together, from their due until the last of them was stored. Pure.

A sample has four stretches: *collect* (due until its rows were there), *queue* (until the first part went out),
*insert* (until the last part was acknowledged) and, of all three, *sample* (due until stored).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from inrush.stats.measures import RunRecord

FloatArray = NDArray[np.float64]
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True)
class Sampled:
    """Samples of a role in due order; seconds; arrays of one length, infinite where a sample was never stored."""

    #: From the start of the first.
    due_s: FloatArray
    collect_s: FloatArray
    queue_s: FloatArray
    insert_s: FloatArray
    #: Due until stored.
    sample_s: FloatArray
    #: Due until a reader saw a row of it; nan where none looked or saw it.
    seen_s: FloatArray
    #: Between two samples.
    every_s: float

    @property
    def in_time(self) -> NDArray[np.bool_]:
        """Stored before the next was due."""
        return self.sample_s <= self.every_s


def role_samples(run: RunRecord, segments: Mapping[int, object]) -> dict[str, Sampled]:
    """Role -> its samples in the measured segments.

    A role that is one per table has samples of its own: one is stored when those of all tables are.
    """
    every = intervals_s(run)
    of: dict[str, dict[tuple[int, int, int], list[tuple[float, ...]]]] = {}
    for row in run.rows("samples"):
        if row["segment"] not in segments or row["role"] not in every:
            continue
        stored, due = row["done_ns"] > 0, row["due_ns"]
        times = (
            float(due),
            row["collected_ns"] - due if row["sent_ns"] else np.inf,
            row["sent_ns"] - row["collected_ns"] if row["sent_ns"] else np.inf,
            row["done_ns"] - row["sent_ns"] if stored else np.inf,
            row["done_ns"] - due if stored else np.inf,
            row["seen_ns"] - due if row["seen_ns"] else np.nan,
        )
        key = (row["segment"], row["repetition"], row["sample"])
        whole = row["role"].split("/", 1)[0]
        for role in dict.fromkeys((row["role"], whole)):
            if every[role] is not None:
                of.setdefault(role, {}).setdefault(key, []).append(times)
    return {role: _sampled(cells, every[role] or 0.0) for role, cells in of.items()}


def _sampled(cells: Mapping[tuple[int, int, int], list[tuple[float, ...]]], every_s: float) -> Sampled:
    """The slowest part of every sample; parts of one sample are due together."""
    table = np.array([np.array(cells[key]).max(axis=0) for key in sorted(cells)]).T / 1e9
    due_s = table[0]
    sent = due_s[due_s > 0]
    begun_s = float(sent.min()) if len(sent) else 0.0
    return Sampled(due_s - begun_s, table[1], table[2], table[3], table[4], table[5], every_s)


def intervals_s(run: RunRecord) -> dict[str, float | None]:
    """Role -> seconds between its samples; a whole whose parts differ has None: its samples are not comparable."""
    found: dict[str, float | None] = {}
    for segment in run.plan.get("segments", ()):
        for role in segment.get("roles", ()):
            if role["schedule"]["kind"] == "samples":
                every_s = role["schedule"]["every_ns"] / 1e9
                found[role["name"]] = every_s
                whole = role["name"].split("/", 1)[0]
                found[whole] = every_s if found.get(whole, every_s) == every_s else None
    return found


def sample_figures(sampled: Sampled) -> dict[str, float]:
    """`in_time_share` counts what was never stored as late; quantiles are over what was stored."""
    n = len(sampled.sample_s)
    stored = np.isfinite(sampled.sample_s)
    figures = {
        "samples": float(n),
        "stored_share": float(stored.mean()),
        "in_time_share": float(sampled.in_time.mean()),
    }
    if stored.any():
        figures["sample_s"] = float(sampled.sample_s[stored].max())
        for kind in ("sample", "collect", "queue", "insert"):
            values = np.sort(getattr(sampled, f"{kind}_s")[stored])
            for name, q in QUANTILES.items():
                figures[f"{kind}_{name}_s"] = float(values[int(np.ceil(q * len(values))) - 1])
    return figures
