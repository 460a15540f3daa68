"""Which planned run is looked at next. Pure.

Runs come in order, block by block. One that need not be made is looked at again when its block ends, as long as others of
the block were made meanwhile: what these showed may want it after all (a search whose bracket moved).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from inrush.plan.planned import PlannedRun


class Ahead:
    def __init__(self, runs: Sequence[PlannedRun]) -> None:
        self._ahead = deque(runs)
        self.of = len(runs)
        #: Of the block in hand.
        self._left_out: list[PlannedRun] = []
        self._made = False
        #: Runs that were made, or are left out for good.
        self.settled = 0

    def add(self, runs: Sequence[PlannedRun]) -> None:
        self._ahead.extend(runs)
        self.of += len(runs)

    def next(self) -> PlannedRun | None:
        """None: every run is settled."""
        if self._left_out and (not self._ahead or self._ahead[0].block != self._left_out[0].block):
            if self._made:
                self._ahead.extendleft(reversed(self._left_out))
            else:
                self.settled += len(self._left_out)
            self._left_out, self._made = [], False
        return self._ahead.popleft() if self._ahead else None

    def left_out(self, run: PlannedRun) -> None:
        """It need not be made, by what is known now."""
        self._left_out.append(run)

    def made(self) -> None:
        """The run that came last was made just now."""
        self.settled, self._made = self.settled + 1, True

    def was_made(self) -> None:
        """It had been made before this study went on: nothing new is known."""
        self.settled += 1
