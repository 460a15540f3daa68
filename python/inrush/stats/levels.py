"""From which value on doubling brings little: the rule that chooses a file size. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from inrush.stats.files import gain_per_doubling
from inrush.stats.stats import paired_ratio

#: A doubling that gains less is not worth it.
LEAST_GAIN = 0.05
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Doubling:
    """From one value to a larger one: what a doubling between them gains, and the most it does at 95 % confidence."""

    small: float
    large: float
    gain: float
    at_most: float

    @property
    def is_little(self) -> bool:
        return self.at_most < LEAST_GAIN


@dataclass(frozen=True)
class Levels:
    #: The smallest value from which no larger one gains 5 % a doubling; None: every one still does, or may.
    chosen: float | None
    #: To the next larger value, in order.
    steps: Sequence[Doubling]


def levels_off(by_value: Mapping[float, Mapping[int, float]]) -> Levels:
    """by_value: value -> block -> rate. A value counts as large enough only when every larger one shows it:
    one flat step may be chance, or a plateau before a further rise."""
    values = sorted(by_value)
    steps = {(a, b): step(by_value, a, b) for i, a in enumerate(values) for b in values[i + 1 :]}
    enough = [
        a
        for i, a in enumerate(values[:-1])
        if all((s := steps[a, b]) is not None and s.is_little for b in values[i + 1 :])
    ]
    nearest = [steps[a, b] for a, b in pairwise(values)]
    return Levels(enough[0] if enough else None, [s for s in nearest if s is not None])


def step(by_value: Mapping[float, Mapping[int, float]], small: float, large: float) -> Doubling | None:
    """None for fewer than two blocks that have both, and where a rate is 0: nothing is so many times that."""
    shared = sorted(set(by_value[small]) & set(by_value[large]))
    if len(shared) < 2 or not all(by_value[v][b] > 0 for v in (small, large) for b in shared):
        return None
    # The upper bound of a two-sided 90 % interval is exceeded with 5 %.
    ratio = paired_ratio(
        [by_value[large][b] for b in shared], [by_value[small][b] for b in shared], 2 * CONFIDENCE - 1
    )
    return Doubling(
        small,
        large,
        gain_per_doubling(ratio.value, small, large),
        gain_per_doubling(ratio.high, small, large),
    )
