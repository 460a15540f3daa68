"""Event sources of a role: rows that come one by one at a rate, and stand in one queue until a session has a full batch.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from inrush.study.document import Node, Reader, given
from inrush.study.forms import MAX_ROWS, Factors, FromFactor, Ref, count, read_number

#: Rows a second that sources may give.
MOST_PER_S = 1e9
#: Seconds that sources may go on.
MOST_FOR_S = 1e6


@dataclass(frozen=True)
class Events(Generic[Ref]):
    """Rows of a role, equally spaced. A batch is due when its last row has come."""

    per_s: float | Ref
    for_s: float
    #: Rows that may wait to be sent, never fewer than ten batches: with more of them the role ends. None: any number.
    queue_rows: int | Ref | None = None


def parse_events(node: Node, factors: Factors) -> Events[FromFactor]:
    readers: dict[str, Reader] = {
        "per_s": lambda rate: read_number(rate, factors, MOST_PER_S),
        "for_s": plain_seconds,
        "queue_rows": count(factors, 1, MAX_ROWS),
    }
    fields = node.fields(readers, required=("per_s", "for_s"))
    return Events(**given(fields, readers, per_s=1.0, for_s=1.0))


def plain_seconds(node: Node) -> float:
    found = node.number(above=True)
    if found > MOST_FOR_S:
        node.problem(f"above 0 up to {MOST_FOR_S:g} seconds")
        return 1.0
    return found
