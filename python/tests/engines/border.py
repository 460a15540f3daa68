"""A plan run in this process, through the border, and what came out of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from inrush import _core
from inrush.results.histogram import Histogram, of_table
from inrush.results.store import whole_batches
from inrush.targets.deployment import Deployment, at_deployment

ENDS = ("finished", "failed")


@dataclass
class Ran:
    plan: Mapping[str, Any]
    events: list[dict[str, Any]]
    tables: dict[str, list[dict[str, Any]]]
    histograms: dict[tuple[str, str], Histogram]

    @property
    def last(self) -> dict[str, Any]:
        return self.events[-1]

    def broken(self) -> list[dict[str, Any]]:
        return [p for p in self.tables["proofs"] if not p["holds"]]

    def totals(self, role: str) -> dict[str, Any]:
        return next(s for s in self.tables["repetitions"] if s["role"] == role)

    def quantile_ns(self, role: str, kind: str, q: float) -> int:
        """Over all operations of a role."""
        return self.histograms[role, kind].quantile_ns(q)


def run(
    deployment: Deployment,
    plan: Mapping[str, Any],
    folder: Path,
    faults: list[str] | None = None,
    at_event: Callable[[Mapping[str, Any]], object] = lambda event: None,
) -> Ran:
    """The whole plan to its end. `at_event` sees every event while the run goes on: where tests break things.

    A pause goes on when `at_event` has seen it.
    """
    placed = at_deployment(plan, deployment, folder)
    placed["target"] = {**placed["target"], "faults": faults or []}
    parts = folder / "parts"
    parts.mkdir(parents=True)
    handle = _core.start(json.dumps(placed), str(parts))
    events: list[dict[str, Any]] = []
    while not events or events[-1]["event"] not in ENDS:
        for event in map(json.loads, handle.poll(60.0)):
            events.append(event)
            at_event(event)
            if event["event"] == "paused":
                handle.resume(deployment.target.processes)
    tables, histograms = {}, {}
    for path in parts.glob("*.arrows"):
        batches = list(whole_batches(path))
        tables[path.stem] = pa.Table.from_batches(batches).to_pylist() if batches else []
        if path.stem == "hist" and batches:
            histograms = of_table(pa.Table.from_batches(batches), ["role", "kind"])
    return Ran(placed, events, tables, histograms)
