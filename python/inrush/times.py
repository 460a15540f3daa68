"""Where the time of a command goes: parts of one whole, none of them counted twice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Times:
    """Begins when it is made. parts: names of figures, as `sampling_s`; what no part covers is the rest."""

    def __init__(self, parts: Sequence[str]) -> None:
        self.began_s = time.monotonic()
        self.spent_s = dict.fromkeys(parts, 0.0)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began_s = time.monotonic()
        try:
            yield
        finally:
            self.spent_s[name] += time.monotonic() - began_s

    @property
    def whole_s(self) -> float:
        return time.monotonic() - self.began_s

    def parts(self) -> dict[str, float]:
        """Every part, and `rest_s`: what the whole took besides."""
        return {**self.spent_s, "rest_s": max(0.0, self.whole_s - sum(self.spent_s.values()))}
