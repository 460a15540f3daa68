"""Samples of a run: rows that were due together, from their due until the last of them was stored. Pure.

A sample has four stretches: *collect* (due until its rows were there), *queue* (until the first part went out),
*insert* (until the last part was acknowledged) and, of all three, *sample* (due until stored).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from inrush.border.pipeline import each_role

if TYPE_CHECKING:
    from inrush.stats.record import RunRecord

FloatArray = NDArray[np.float64]
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
#: Of a repetition's samples, those that say whether a backlog was left at its end.
LAST_SHARE = 0.01
STRETCHES = ("sample", "collect", "queue", "insert", "sample_on_time", "queue_on_time", "insert_on_time")


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
    #: queue, insert and sample as if the client had been on time.
    queue_on_time_s: FloatArray
    insert_on_time_s: FloatArray
    sample_on_time_s: FloatArray
    #: Between two samples.
    every_s: float
    #: Among the last of a repetition: late ones there are a backlog that nothing shows to be worked off.
    last: NDArray[np.bool_]

    @property
    def caught_up(self) -> bool:
        """Everything was stored, and the last samples of every repetition in time: what was late before was made up for."""
        return bool(np.isfinite(self.sample_s).all() and self.in_time[self.last].all())

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
            *on_time(row),
        )
        key = (row["segment"], row["repetition"], row["sample"])
        whole = row["role"].split("/", 1)[0]
        for role in dict.fromkeys((row["role"], whole)):
            if every[role] is not None:
                of.setdefault(role, {}).setdefault(key, []).append(times)
    return {role: _sampled(cells, every[role] or 0.0) for role, cells in of.items()}


def on_time(row: Mapping[str, Any]) -> tuple[float, float, float]:
    """Queue, insert and all of it in ns, had the client been on time: infinite where it was never stored."""
    if not row["done_ns"]:
        return (np.inf, np.inf, np.inf)
    sent, done = row["sent_on_time_ns"], row["done_on_time_ns"]
    return (max(0, sent - row["collected_ns"]), done - sent, done - row["due_ns"])


def _sampled(cells: Mapping[tuple[int, int, int], list[tuple[float, ...]]], every_s: float) -> Sampled:
    """The slowest part of every sample; parts of one sample are due together."""
    table = np.array([np.array(cells[key]).max(axis=0) for key in sorted(cells)]).T / 1e9
    due_s = table[0]
    sent = due_s[due_s > 0]
    begun_s = float(sent.min()) if len(sent) else 0.0
    collect, queue, insert, whole, seen, queue_on_time, insert_on_time, whole_on_time = table[1:9]
    return Sampled(
        due_s - begun_s,
        collect,
        queue,
        insert,
        whole,
        seen,
        queue_on_time,
        insert_on_time,
        whole_on_time,
        every_s,
        last_of_each(sorted(cells)),
    )


def last_of_each(keys: Sequence[tuple[int, int, int]]) -> NDArray[np.bool_]:
    """keys: segment, repetition and number of each sample, in order. True for the last LAST_SHARE of a repetition's samples."""
    found = np.zeros(len(keys), dtype=np.bool_)
    begins = [i for i, key in enumerate(keys) if i == 0 or key[:2] != keys[i - 1][:2]]
    for begin, end in zip(begins, [*begins[1:], len(keys)], strict=True):
        found[end - max(1, math.ceil(LAST_SHARE * (end - begin))) : end] = True
    return found


def intervals_s(run: RunRecord) -> dict[str, float | None]:
    """Role -> seconds between its samples; a whole with parts that differ has None: its samples are not comparable."""
    shares: dict[str, float | None] = {}
    for _, role in each_role(run.plan):
        if role["schedule"]["kind"] == "samples":
            every_s = role["schedule"]["every_ns"] / 1e9
            shares[role["name"]] = every_s
            whole = role["name"].split("/", 1)[0]
            shares[whole] = every_s if shares.get(whole, every_s) == every_s else None
    return shares


def sample_figures(sampled: Sampled) -> dict[str, float]:
    """What was never stored is late, and slower than every sample that was: a percentile that reaches it is infinite.

    `<stretch>_on_time_…` and `in_time_on_time_share` are as if the client had been on time.
    """
    n = len(sampled.sample_s)
    figures = {
        "samples": float(n),
        "stored_share": float(np.isfinite(sampled.sample_s).mean()),
        "in_time_share": float(sampled.in_time.mean()),
        "sample_s": float(sampled.sample_s.max()),
        "caught_up": float(sampled.caught_up),
    }
    figures["in_time_on_time_share"] = float((sampled.sample_on_time_s <= sampled.every_s).mean())
    figures["sample_on_time_s"] = float(sampled.sample_on_time_s.max())
    for stretch in STRETCHES:
        values = np.sort(getattr(sampled, f"{stretch}_s"))
        for name, q in QUANTILES.items():
            figures[f"{stretch}_{name}_s"] = float(values[int(np.ceil(q * n)) - 1])
    return figures
