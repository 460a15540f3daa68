"""Ctrl-C and SIGTERM as a count that a loop looks at, so that neither interrupts a statement in its middle."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from functools import partial
from types import FrameType


class Stopping:
    """Counts Ctrl-C and SIGTERM. 1: end in order; 2: end now."""

    def __init__(self) -> None:
        self.asked = 0
        self._restore = ExitStack()

    def __enter__(self) -> Stopping:
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.signal(number, self._count)
            self._restore.callback(partial(signal.signal, number, before))
        return self

    def __exit__(self, *_: object) -> None:
        self._restore.close()

    def _count(self, _number: int, _frame: FrameType | None) -> None:
        self.asked += 1
