"""What an acknowledged row survives: the normal form of durability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum


class Survives(Enum):
    """Ordered."""

    NOTHING = 0
    PROCESS_CRASH = 1
    POWER_LOSS = 2


@dataclass(frozen=True)
class Durability:
    survives: Survives
    #: Longest time an acknowledged row can be lost for, where the engine bounds it (e.g. flush every second).
    window_s: float = 0.0
    #: The settings that say so, as read back from the server.
    because: Mapping[str, str] = field(default_factory=dict)

    @property
    def strength(self) -> tuple[int, float]:
        """Ordered as what they promise. A window of none is no bound, but where nothing is lost at all."""
        bounded = self.window_s > 0 or self.survives is Survives.POWER_LOSS
        return self.survives.value, -self.window_s if bounded else float("-inf")


def weakest(found: Iterable[Durability]) -> Durability:
    """Of equal ones the first."""
    return min(found, key=lambda one: one.strength)
