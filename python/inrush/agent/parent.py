"""The program that started this one, as this one sees it: words from it, events to it, and the end of both with it."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from inrush.border.words import Word

PR_SET_PDEATHSIG = 1
#: Variables that this process was given by its document, and not when it was started. Its own processes get them likewise.
GIVEN: dict[str, str] = {}
#: What a pipe holds at most.
READ_BYTES = 1 << 16


class Parent:
    """Words and events are JSON objects, one a line. Several threads may say something."""

    def __init__(self, lines: Lines, events: TextIO, leash_s: float | None = None) -> None:
        """leash_s: this process ends when nothing was heard for so long: its parent may stand still, or have lost the way to us."""
        self.lines, self.events, self.leash_s = lines, events, leash_s
        self.heard_at = time.monotonic()
        self._one = threading.Lock()

    def words(self) -> list[Word]:
        """Those that have come, without waiting for one. That this process lives is answered here."""
        found = self.lines.ready()
        now = time.monotonic()
        if found:
            self.heard_at = now
        elif self.leash_s is not None and now - self.heard_at > self.leash_s:
            # Sessions are at work, and no parent would read an event: it is said in the log, which stays.
            sys.stderr.write(f"ended: nothing was heard for {now - self.heard_at:.1f} s\n")
            sys.stderr.flush()
            os._exit(1)
        words: list[Word] = [json.loads(line) for line in found]
        for word in words:
            if word["do"] == "alive":
                self.say({"event": "alive"})
        return [word for word in words if word["do"] != "alive"]

    def wait(self) -> list[Word]:
        """At least one word, however long it takes; none where no more come."""
        return [json.loads(line) for line in self.lines.wait()]

    def say(self, event: Mapping[str, object] | str) -> None:
        """An event, or its line as the core gives it."""
        line = event if isinstance(event, str) else json.dumps(event)
        with self._one:
            self.events.write(line + "\n")
            self.events.flush()


class Lines:
    """Whole lines of a pipe as they come. What follows a line in the same write is kept for the next call."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = bytearray()
        self._open = True
        self._held: list[str] = []

    def first(self) -> str:
        """One line, however long it takes; empty where the pipe ends before it."""
        line, *self._held = self.wait() or [""]
        return line

    def wait(self) -> list[str]:
        """At least one line, however long it takes; none where the pipe ends before it."""
        while not (found := self.ready()) and self._open:
            select.select([self._fd], [], [])
        return found

    def ready(self) -> list[str]:
        """Those that are there, without waiting for one."""
        held, self._held = self._held, []
        ended = False
        while self._open and select.select([self._fd], [], [], 0)[0]:
            chunk = os.read(self._fd, READ_BYTES)
            self._open = bool(chunk)
            self._rest += chunk
            ended = ended or b"\n" in chunk
        if not ended:  # a line of megabytes is looked through once
            return held
        *whole, self._rest = self._rest.split(b"\n")
        return held + [line.decode() for line in whole]


def take(variables: Mapping[str, str]) -> None:
    """What other programs can read of this process, does not have them."""
    GIVEN.update(variables)
    os.environ.update(variables)


def environment_of_child() -> dict[str, str]:
    """What a process of ours is started with."""
    return {**{k: v for k, v in os.environ.items() if k not in GIVEN}, "INRUSH_PARENT": str(os.getpid())}


def die_with_parent() -> None:
    """SIGKILL when the parent is gone: no process would read or seal what this run does.

    The parent may be gone already when we ask, so it gives its id, and we look.
    """
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    expected = os.environ.get("INRUSH_PARENT")
    if expected is not None and os.getppid() != int(expected):
        sys.exit(1)
