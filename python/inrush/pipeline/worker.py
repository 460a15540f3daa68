"""One pipeline run in a process of its own: `python -m inrush.pipeline.worker PLAN.json PARTS_DIR`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from inrush.agent.worker import Lines, main, say
from inrush.pipeline import drive, step_run
from inrush.study.pipeline import KIND as PIPELINE
from inrush.study.step_kinds import KIND as STEPS

#: Kind of a plan -> what makes its run.
WORK: Mapping[str, Callable[..., int]] = {PIPELINE: drive.work, STEPS: step_run.work}


def work(plan_json: str, parts_dir: str, commands: TextIO, events: TextIO) -> int:
    """0: done; 1: failed, and an event says how."""
    plan, words = json.loads(plan_json), Lines(commands.fileno()).ready
    return WORK[plan["kind"]](plan, Path(parts_dir), words, lambda e: say(events, json.dumps(e)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], work))
