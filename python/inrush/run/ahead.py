"""Which planned run is looked at next. Pure.

Runs come in order, block by block. Of a search, a run that need not be made now may be wanted by what later runs show; it
is looked at again when its block ends, or when any block does, as long as others were made meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import Enum

from inrush.plan.planned import PlannedRun


class Look(Enum):
    """When a run that need not be made is looked at again."""

    NEVER = "never"
    #: At the end of its block.
    BLOCK = "block"
    #: At the end of every block.
    BLOCKS = "blocks"


class Ahead:
    def __init__(self, runs: Sequence[PlannedRun]) -> None:
        self._ahead = deque(runs)
        self.of = len(runs)
        #: Runs that were looked at; one that is looked at again counts once.
        self.n = 0
        self._block: int | None = None
        #: So many of those ahead are looked at again.
        self._again = 0
        self._left: dict[Look, list[PlannedRun]] = {Look.BLOCK: [], Look.BLOCKS: []}
        self._made = False

    def add(self, runs: Sequence[PlannedRun]) -> None:
        self._ahead.extend(runs)
        self.of += len(runs)

    def next(self) -> PlannedRun | None:
        """None: every run is settled."""
        if not self._again and (not self._ahead or self._ahead[0].block != self._block):
            self._end_block()
        if not self._ahead:
            return None
        run = self._ahead.popleft()
        if self._again:
            self._again -= 1
        else:
            self._block, self.n = run.block, self.n + 1
        return run

    def _end_block(self) -> None:
        if self._made:
            once_more = [*self._left[Look.BLOCKS], *self._left[Look.BLOCK]]
            self._again = len(once_more)
            self._ahead.extendleft(reversed(once_more))
            self._left[Look.BLOCKS] = []
        self._left[Look.BLOCK], self._made = [], False

    def left_out(self, run: PlannedRun, look: Look = Look.NEVER) -> None:
        """It need not be made, by what is known now."""
        if look is not Look.NEVER:
            self._left[look].append(run)

    def made(self) -> None:
        """The run that came last was made just now."""
        self._made = True
