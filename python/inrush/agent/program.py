"""The program of every process that a run or a load consists of: `python -m inrush.agent.program [DOES [FOLDER]]`.

Its first line of stdin is a `Document` (`border/words`), which says what it does. The words of its command line repeat some of
that for `ps`, and for whoever looks for what a killed inrush has left. It dies with its parent, so that no load goes on that
nobody records. A crash in the core, its allocator and its caches end with it.
"""

from __future__ import annotations

import faulthandler
import json
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from inrush.agent.parent import Lines, Parent, die_with_parent, take

if TYPE_CHECKING:
    from inrush.border.words import Document, Does

#: The module whose `work(document, parent)` does it and gives the exit code. A process imports what it does and no more: an end
#: of a load begins with each file.
WORK: Mapping[Does, str] = {
    "drive": "inrush.agent.drive",
    "make_and_drive": "inrush.fleet.session",
    "share_out": "inrush.agent.shared_run",
    "fleet": "inrush.fleet.run",
    "loads": "inrush.load.pipeline.run",
    "part": "inrush.load.pipeline.part",
    "end": "inrush.agent.end",
    "ends": "inrush.agent.ends",
    "node": "inrush.fleet.node",
}


def main() -> int:
    """0: done; 1: failed, and an event says how; 2: its parent did not say what to do."""
    die_with_parent()
    # Ctrl-C reaches the whole terminal; the parent decides and says `stop`.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A crash in the core leaves the stack in the log, where the parent looks for it.
    faulthandler.enable()
    lines = Lines(sys.stdin.fileno())
    document = read(lines.first())
    if document is None:
        print(
            f"usage: a line of stdin says what to do: one of {', '.join(WORK)} (inrush run starts it)",
            file=sys.stderr,
        )
        return 2
    take(document.get("environment", {}))
    if document.get("realtime"):
        from inrush.agent.realtime import come_first

        come_first()  # before the core's threads, which inherit it
    return done(document, Parent(lines, sys.stdout, document.get("leash_s")))


def read(line: str) -> Document | None:
    try:
        document: Document = json.loads(line)
        return document if document["does"] in WORK else None
    except (ValueError, TypeError, KeyError):
        return None


def done(document: Document, parent: Parent) -> int:
    from inrush import _core

    try:
        code: int = import_module(WORK[document["does"]]).work(document, parent)
    except _core.CoreFailure as failure:
        kind, message = failure.args
        parent.say({"event": "failed", "kind": kind, "message": message})
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
