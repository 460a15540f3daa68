"""One pipeline run in a process of its own: `python -m inrush.pipeline.worker PLAN.json PARTS_DIR`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TextIO

from inrush.pipeline import drive
from inrush.worker.worker import Lines, main, say


def work(plan_json: str, parts_dir: str, commands: TextIO, events: TextIO) -> int:
    """0: done; 1: failed, and an event says how."""
    words = Lines(commands.fileno()).ready
    return drive.work(json.loads(plan_json), Path(parts_dir), words, lambda e: say(events, json.dumps(e)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], work))
