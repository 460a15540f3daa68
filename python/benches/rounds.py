"""Several figures of one measurement: its rounds are made once, whichever comparisons look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count


class Rounds:
    """`figure(k)` gives the k-th figure of one round after the other; a round is made when it is first asked for."""

    def __init__(self, measure: Callable[[], tuple[float, ...]]) -> None:
        self.measure = measure
        self.made: list[tuple[float, ...]] = []

    def figure(self, which: int) -> Callable[[], float]:
        return partial(self._of, which, count())

    def _of(self, which: int, seen: Iterator[int]) -> float:
        n = next(seen)
        if n == len(self.made):
            self.made.append(self.measure())
        return self.made[n][which]
