"""One run in a process of its own: `python -m inrush.agent.worker [--realtime] [--leash S] PLAN.json PARTS_DIR`.

A crashing engine, its allocator and its caches end with the run. Events leave as JSON lines on stdout,
commands (`resume` and the server's processes and threads as JSON, `start_at` and an instant, perhaps with what
other processes have written, `stop`, `alive`) come as lines on stdin; both ends are `run.py`'s. The process dies with its
parent, so that a killed inrush leaves no load behind without a record; with a leash also when no line came for so long.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from inrush import _core

#: Makes one run: the plan's JSON, the folder of its tables, commands in and events out -> exit code. With a leash it is the
#: one after these.
Work = Callable[..., int]

#: How long one poll of the core waits, s: the longest a command stays unread.
POLL_S = 0.1
PR_SET_PDEATHSIG = 1


def main(arguments: list[str], work: Work | None = None) -> int:
    """work: of a kind of runs that is not sessions of the core. 0: the core finished; 1: it failed and an event says how; 2: called wrongly."""
    realtime = arguments[:1] == ["--realtime"]
    arguments = arguments[realtime:]
    leash_s = float(arguments[1]) if arguments[:1] == ["--leash"] else None
    arguments = arguments[0 if leash_s is None else 2 :]
    if len(arguments) != 2:
        print(
            "usage: python -m inrush.agent.worker [--realtime] [--leash S] PLAN.json PARTS_DIR (inrush run starts it)",
            file=sys.stderr,
        )
        return 2
    die_with_parent()
    if realtime:
        from inrush.agent.realtime import come_first

        come_first()  # before the core's threads, which inherit it
    # Ctrl-C reaches the whole terminal; the parent decides and says `stop`.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A crash in the core leaves the stack in the log, where the parent looks for it.
    faulthandler.enable()
    work = work or sessions
    if leash_s is not None:
        work = partial(work, leash=Leash(leash_s))
    return work(Path(arguments[0]).read_text(), arguments[1], sys.stdin, sys.stdout)


class Leash:
    """Ends this process when its parent says nothing for so long: it may stand still, or have lost the way to us."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.heard_at = seconds, time.monotonic()

    def heard(self, lines: Sequence[str]) -> None:
        now = time.monotonic()
        if lines:
            self.heard_at = now
        elif now - self.heard_at > self.seconds:
            os._exit(1)  # sessions are at work, and no parent would read an event


def sessions(
    plan_json: str, parts_dir: str, commands: TextIO, events: TextIO, leash: Leash | None = None
) -> int:
    """Starts the core and carries events out and commands in until it is done."""
    return followed(plan_json, parts_dir, Lines(commands.fileno()), lambda event: say(events, event), leash)


def followed(
    plan_json: str,
    parts_dir: str,
    lines: Lines,
    hear: Callable[[str], None],
    leash: Leash | None = None,
    commands: Sequence[str] = (),
) -> int:
    """hear: takes each event. commands: that came before. 0: the core finished; 1: it failed, and an event says how."""
    from inrush import _core

    try:
        run = _core.start(plan_json, parts_dir)
    except _core.CoreFailure as failure:
        kind, message = failure.args
        hear(json.dumps({"event": "failed", "kind": kind, "message": message}))
        return 1
    failed = False
    for command in commands:
        obey(run, command)
    while True:
        done = run.done()  # asked before the poll: what the core said last is still read
        for event in run.poll(0.0 if done else POLL_S):
            failed = failed or json.loads(event)["event"] == "failed"
            hear(event)
        if done:
            return 1 if failed else 0
        for command in obeyed(lines, hear, leash):
            obey(run, command)


def obeyed(lines: Lines, hear: Callable[[str], None], leash: Leash | None = None) -> list[str]:
    """Commands that have come; that this process lives is answered, and its leash knows of them."""
    found = lines.ready()
    if leash is not None:
        leash.heard(found)
    for _ in range(found.count("alive")):
        hear('{"event": "alive"}')
    return [command for command in found if command != "alive"]


def obey(run: _core.Run, command: str) -> None:
    word, _, rest = command.partition(" ")
    if word == "resume":
        now = json.loads(rest) if rest else {}
        threads = {int(tid): name for tid, name in now.get("threads", {}).items()}
        run.resume(now.get("processes", {}), threads)
    elif word == "start_at":
        at_ns, _, others = rest.partition(" ")
        run.start_at(int(at_ns), others or None)
    elif command == "stop":
        run.stop()
    else:
        raise ValueError(f"unknown command {command!r}: resume, start_at or stop")


def say(events: TextIO, event: str) -> None:
    events.write(event + "\n")
    events.flush()


#: What a pipe holds at most.
READ_BYTES = 1 << 16


class Lines:
    """Whole lines of a pipe as they come. What follows a line in the same write is kept for the next call."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = bytearray()
        self._open = True

    def wait(self) -> list[str]:
        """At least one line, however long it takes; none where the pipe ends before it."""
        while self._open:
            select.select([self._fd], [], [])
            if found := self.ready():
                return found
        return []

    def ready(self) -> list[str]:
        """Those that are there, without waiting for one."""
        ended = False
        while self._open and select.select([self._fd], [], [], 0)[0]:
            chunk = os.read(self._fd, READ_BYTES)
            self._open = bool(chunk)
            self._rest += chunk
            ended = ended or b"\n" in chunk
        if not ended:  # a line of megabytes is looked through once
            return []
        *whole, self._rest = self._rest.split(b"\n")
        return [line.decode() for line in whole]


def die_with_parent() -> None:
    """SIGKILL when the parent is gone: no process would read or seal what this run does.

    The parent may be gone already when we ask, so it gives its id, and we look.
    """
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    expected = os.environ.get("INRUSH_PARENT")
    if expected is not None and os.getppid() != int(expected):
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
