"""Where the time of a command goes: parts of one whole, none of them counted twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

#: Looking at the first rows of files; from the first row read to the last one stored; holding the table against them.
PARTS = ("sampling_s", "storing_s", "proof_s")


@dataclass
class Times:
    """From its making on."""

    began_s: float = field(default_factory=time.monotonic)
    spent_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))

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
        """With the rest of the whole: servers, tables and ledgers, the digests of the files, processes that start and end."""
        return {**self.spent_s, "rest_s": max(0.0, self.whole_s - sum(self.spent_s.values()))}
