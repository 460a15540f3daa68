"""One run by several client processes: `python -m inrush.agent.shared_worker PLAN.json PARTS_DIR`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TextIO

from inrush.agent import shared_run
from inrush.agent.worker import Lines, main, say


def work(plan_json: str, parts_dir: str, commands: TextIO, events: TextIO) -> int:
    """0: done; 1: failed, and an event says how."""
    plan, words = json.loads(plan_json), Lines(commands.fileno()).ready
    return shared_run.work(plan, Path(parts_dir), words, lambda e: say(events, json.dumps(e)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], work))
