"""`[shards]`: how a study's sessions reach the shards of their engine, and how many these are. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from inrush.study.document import Node
from inrush.study.forms import Factors, FromFactor, Ref, read_count, read_form

#: Sessions are at the coordinator, or each at all shards: then a call goes to the shard of its key.
WAYS = COORDINATOR, STRAIGHT = ("coordinator", "straight")
#: Shards behind a coordinator.
MOST = 64


@dataclass(frozen=True)
class OverShards(Generic[Ref]):
    way: str | Ref = COORDINATOR
    #: None: all that are started.
    count: int | Ref | None = None


def parse_shards(node: Node | None, factors: Factors) -> OverShards[FromFactor] | None:
    if node is None:
        return None
    fields = node.fields(("way", "count"), ())
    way = (
        read_form(fields["way"], factors, lambda one: one.text(WAYS, "way"), COORDINATOR)
        if "way" in fields
        else COORDINATOR
    )
    count = read_count(fields["count"], factors, 1, MOST) if "count" in fields else None
    return OverShards(way or COORDINATOR, count)
