"""Several figures of one measurement: its rounds are made once, whichever comparisons look at them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial


class Rounds:
    """`figure(k)` gives the k-th figure of one round after the other; the first who asks for a round makes it."""

    def __init__(self, measure: Callable[[], tuple[float, ...]]) -> None:
        self.measure = measure
        self.made: list[tuple[float, ...]] = []
        self.seen: dict[int, int] = {}

    def figure(self, which: int) -> Callable[[], float]:
        return partial(self._next, which)

    def _next(self, which: int) -> float:
        n = self.seen.get(which, 0)
        self.seen[which] = n + 1
        if n == len(self.made):
            self.made.append(self.measure())
        return self.made[n][which]
