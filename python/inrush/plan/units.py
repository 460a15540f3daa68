"""Units as the core counts them."""

from __future__ import annotations

NS = 1_000_000_000


def ns(seconds: float) -> int:
    return round(seconds * NS)
