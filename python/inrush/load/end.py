"""One end of a load in a process of its own: `python -m inrush.load.end`, its plan as the first line of stdin.

The plan holds the token, so that it is no argument, which others could read. Events leave as JSON lines on stdout;
the word `stop` comes on stdin. The process dies with its parent.
"""

from __future__ import annotations

import json
import signal
import sys

from inrush.agent.worker import Lines, die_with_parent, say

POLL_S = 0.05


def main() -> int:
    """0: finished; 1: failed, and an event says how."""
    from inrush import _core

    die_with_parent()
    # Ctrl-C reaches the whole terminal; the parent decides and says `stop`.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lines = Lines(sys.stdin.fileno())
    plan, *words = lines.wait() or [""]
    try:
        load = _core.start_load(plan)
    except _core.CoreFailure as failure:
        kind, message = failure.args
        say(sys.stdout, json.dumps({"event": "failed", "kind": kind, "message": message}))
        return 1
    failed = False
    while True:
        done = load.done()  # asked before the poll: what the core said last is still read
        for event in load.poll(0.0 if done else POLL_S):
            failed = failed or json.loads(event)["event"] == "failed"
            say(sys.stdout, event)
        if done:
            return 1 if failed else 0
        words += lines.ready()
        if "stop" in words:
            load.stop()
        words.clear()


if __name__ == "__main__":
    sys.exit(main())
