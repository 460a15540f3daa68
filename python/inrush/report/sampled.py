"""Samples of a run one after the other: collect, queue and insert of each, when a reader saw it, and the deletes behind. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np

from inrush.report.timeline import Panel
from inrush.stats.measures import measured_windows, whole
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.samples import Sampled, role_samples

#: A figure draws so many samples one by one; beyond, the slowest of equal numbers of them.
MOST_SAMPLES = 600
STRETCHES = ("collect", "queue", "insert")


def sample_panels(run: RunRecord) -> list[Panel]:
    """A panel for each role that writes samples, one for how soon they were seen, one for deletes by age."""
    windows = measured_windows(run)
    held = role_samples(run, windows)
    wholes = {whole(role) for role in held} & set(held)
    found = [
        Panel(f"{role}, ms", rows)
        for role, sampled in held.items()
        if role in wholes and (rows := stretch_rows(sampled))
    ]
    seen = [
        row
        for role, s in held.items()
        if role not in wholes or not parts(role, held)
        for row in seen_rows(s, role)
    ]
    deleted = delete_rows(run, windows)
    return [
        *found,
        *([Panel("seen after due, ms", seen)] if seen else []),
        *([Panel("deletes by age, ms", deleted)] if deleted else []),
    ]


def parts(role: str, held: dict[str, Sampled]) -> list[str]:
    return [name for name in held if name.startswith(f"{role}/")]


def stretch_rows(sampled: Sampled) -> list[dict[str, Any]]:
    """Stored samples; one that never was has no point, and the verdict says so."""
    stored = np.isfinite(sampled.sample_s)
    return [
        row
        for stretch in (*STRETCHES, "sample")
        for row in slowest(sampled.due_s[stored], getattr(sampled, f"{stretch}_s")[stored], label(stretch))
    ]


def label(stretch: str) -> str:
    return "all of it" if stretch == "sample" else stretch


def seen_rows(sampled: Sampled, role: str) -> list[dict[str, Any]]:
    seen = np.isfinite(sampled.seen_s)
    return slowest(sampled.due_s[seen], sampled.seen_s[seen], role)


def slowest(t_s: FloatArray, y_s: FloatArray, series: str) -> list[dict[str, Any]]:
    if not len(t_s):
        return []
    edges = np.arange(0, len(t_s), -(-len(t_s) // MOST_SAMPLES))
    worst = np.maximum.reduceat(y_s, edges) * 1e3
    return [
        {"t": round(float(a), 4), "y": float(f"{b:.5g}"), "series": series}
        for a, b in zip(t_s[edges], worst, strict=True)
    ]


def delete_rows(run: RunRecord, windows: dict[int, tuple[int, int]]) -> list[dict[str, Any]]:
    """The slowest call of each interval in which a delete by age ended."""
    deletes = {
        o["name"].split("/", 1)[1] for o in run.plan.get("operations", ()) if o["name"].startswith("retain/")
    }
    names = {
        o["name"]
        for o in run.plan.get("operations", ())
        if o["kind"] == "execute" and "table" in o and run.plan["tables"][o["table"]]["stream"] in deletes
    }
    start_ns = min((start for start, _ in windows.values()), default=0)
    return [
        {"t": round((h["t_ns"] - start_ns) / 1e9, 4), "y": h["max_ns"] / 1e6, "series": h["op"]}
        for h in run.rows("hist")
        if h["kind"] == "latency" and h["segment"] in windows and h["op"] in names
    ]
