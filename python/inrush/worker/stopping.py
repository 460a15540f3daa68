"""Ctrl-C and SIGTERM as a count that a loop looks at, so that neither interrupts a statement in its middle."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any


class Stopping:
    """Counts Ctrl-C and SIGTERM. 1: end in order; 2: end now."""

    def __init__(self) -> None:
        self.asked = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stopping:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._count)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _count(self, _number: int, _frame: FrameType | None) -> None:
        self.asked += 1
