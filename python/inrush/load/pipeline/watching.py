"""The core's watch on another host than the run's: a run of its own that waits in a pause until the load is done."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inrush.agent.drive import said
from inrush.errors import CoreError


class Watching:
    def __init__(self, plan: Mapping[str, Any], processes: Mapping[str, Sequence[int]], folder: Path) -> None:
        """plan: of the run; processes: role -> those that are watched."""
        from inrush import _core

        folder.mkdir(parents=True, exist_ok=True)
        self._run = _core.start(
            json.dumps({
                "version": plan["version"], "run_id": plan["run_id"], "study": plan["study"], "seed": plan["seed"],
                "epoch_ns": plan["epoch_ns"], "target": {"engine": "null", "url": "", "options": {}}, "tables": [],
                "operations": [], "segments": [{"kind": "pause", "label": "measure", "action": "load"}],
                "record": {"interval_ns": plan["record"]["interval_ns"], "flush_ns": plan["record"]["interval_ns"]},
                "watch": {**plan["watch"], "processes": {k: v for k, v in processes.items() if v}},
            }),
            str(folder),
        )  # fmt: skip
        #: CLOCK_MONOTONIC at the run's time zero, to a millisecond or two: `start` begins its clock last.
        self.zero_ns = time.monotonic_ns()

    def until_paused(self) -> None:
        for texts in said(self._run):
            for event in map(json.loads, texts):
                if event["event"] == "paused":
                    return
                if event["event"] == "failed":
                    raise CoreError(event["message"])

    def end(self) -> None:
        """A last sample, and the tables."""
        self._run.resume()
        for _ in said(self._run):
            pass
