"""Units as the core counts them."""

from __future__ import annotations

NS = 1_000_000_000


def ns(seconds: float) -> int:
    return round(seconds * NS)


#: A load that is not measured uses batches that every engine takes well.
LOAD_BATCH_ROWS = 10_000
