"""How many calls leave together: what the sessions of each role sent by their sockets. Pure.

An engine inside the process has no socket, and a page's sessions are not counted: neither has any of this.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from inrush.stats.record import FloatArray, RunRecord

#: Segment, repetition, role.
Part = tuple[int, int, str]


def send_figures(run: RunRecord, segments: Collection[int], ops: Mapping[str, float]) -> dict[str, float]:
    """`role.sends`, and calls and bytes of one; ops: role -> its calls that ended, of parts and of wholes."""
    sums: dict[str, tuple[int, int]] = {}
    for row in run.rows("sends"):
        if row["segment"] in segments:
            for role in dict.fromkeys((row["role"], row["role"].split("/", 1)[0])):
                sends, sent_bytes = sums.get(role, (0, 0))
                sums[role] = (sends + row["sends"], sent_bytes + row["bytes"])
    figures: dict[str, float] = {}
    for role, (sends, sent_bytes) in sums.items():
        figures[f"{role}.sends"] = float(sends)
        figures[f"{role}.bytes_per_send"] = sent_bytes / sends
        if role in ops:
            figures[f"{role}.ops_per_send"] = ops[role] / sends
    return figures


def calls_per_send(run: RunRecord, segments: Collection[int]) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Role -> middles of its intervals in s of run time, calls that ended in each over its sends; of those with sends."""
    ended: dict[tuple[Part, int], int] = {}
    for row in run.rows("intervals"):
        at = ((row["segment"], row["repetition"], row["role"]), row["t_ns"])
        ended[at] = ended.get(at, 0) + row["ops"]
    found: dict[str, list[tuple[float, float]]] = {}
    for sent in run.rows("sends"):
        at = ((sent["segment"], sent["repetition"], sent["role"]), sent["t_ns"])
        if sent["segment"] in segments and at in ended:
            middle_s = (sent["t_ns"] + sent["dt_ns"] / 2) / 1e9
            found.setdefault(sent["role"], []).append((middle_s, ended[at] / sent["sends"]))
    return {role: columns(points) for role, points in found.items()}


def columns(points: list[tuple[float, float]]) -> tuple[FloatArray, FloatArray]:
    held = np.array(sorted(points), dtype=float)
    return held[:, 0], held[:, 1]
