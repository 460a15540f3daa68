"""Ends of a load one after the other, each in a process of its own: `python -m inrush.pipeline.host`.

A line of stdin is an end's plan, or a word for the one at work; what that says goes to our stdout, and when it has
gone, so do we say. A host lives as long as its run: the CPU of ends that come and go is in its account.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

from inrush.agent.worker import die_with_parent, say
from inrush.load.process import END


def main() -> int:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lines = iter(sys.stdin.readline, "")
    for line in lines:
        if line.startswith("{"):
            code = hosted(line, lines)
            say(sys.stdout, json.dumps({"event": "left", "code": code}))
    return 0


def hosted(plan: str, lines: Iterator[str]) -> int:
    """One end from its plan to its exit code. A load server works until a message stops it."""
    with subprocess.Popen(
        END, stdin=subprocess.PIPE, text=True, env={**os.environ, "INRUSH_PARENT": str(os.getpid())}
    ) as end:
        assert end.stdin is not None
        end.stdin.write(plan)
        end.stdin.flush()
        if json.loads(plan)["role"] == "server":
            end.stdin.write(next(lines, "stop\n"))
            end.stdin.flush()
        return end.wait()


if __name__ == "__main__":
    sys.exit(main())
