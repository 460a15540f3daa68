"""How many calls leave together: what the sessions of each role sent by their sockets. Pure.

An engine inside the process has no socket, and a page's sessions are not counted: neither has any of this.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from inrush.stats.measures import measured_windows
from inrush.stats.record import FloatArray, RunRecord


def send_figures(run: RunRecord) -> dict[str, float]:
    """`role.sends`, and calls and bytes of one; a part (`writers/pe`) also counts for its whole."""
    sums: dict[str, list[int]] = {}
    segments = measured_windows(run)
    for row in run.rows("sends"):
        if row["segment"] in segments:
            for role in dict.fromkeys((row["role"], row["role"].split("/", 1)[0])):
                total = sums.setdefault(role, [0, 0, 0])
                for k, column in enumerate((row["ops"], row["sends"], row["bytes"])):
                    total[k] += column
    figures: dict[str, float] = {}
    for role, (ops, sends, sent_bytes) in sums.items():
        figures[f"{role}.sends"] = float(sends)
        figures[f"{role}.ops_per_send"] = ops / sends
        figures[f"{role}.bytes_per_send"] = sent_bytes / sends
    return figures


FIGURES = (send_figures,)


def calls_per_send(run: RunRecord, segments: Collection[int]) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Role -> middles of its intervals with sends in s of run time, and the calls of one send in each."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in run.rows("sends"):
        if row["segment"] in segments:
            middle_s = (row["t_ns"] + row["dt_ns"] / 2) / 1e9
            found.setdefault(row["role"], []).append((middle_s, row["ops"] / row["sends"]))
    return {role: columns(points) for role, points in found.items()}


def columns(points: list[tuple[float, float]]) -> tuple[FloatArray, FloatArray]:
    held = np.array(sorted(points), dtype=float)
    return held[:, 0], held[:, 1]
