"""How long a fleet is waited for, in all."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator


class WaitingTime:
    """How long all that comes is waited for, together: for the scheduler when it is asked how many workers there are, for the
    scheduler again, and for the workers. What is done between two waits takes nothing of it."""

    def __init__(self, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit_s, self.left_s, self.clock = limit_s, limit_s, clock

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        began = self.clock()
        try:
            yield
        finally:
            self.left_s = max(0.0, self.left_s - (self.clock() - began))
