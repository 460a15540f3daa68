"""Sessions over shards at one point: the dialect that they speak, what they cannot do there, and what the plan says of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from inrush.border import plan as border
from inrush.engines.base.plans import Unsupported
from inrush.engines.base.twin import Twin
from inrush.plan.roles import ActiveRole
from inrush.study.at_point import StudyAt
from inrush.study.by_key import alters
from inrush.study.forms import Plain
from inrush.study.shards import STRAIGHT

if TYPE_CHECKING:
    from inrush.plan.draft import Draft


def shards_of(study: StudyAt[Plain]) -> tuple[str, int] | None:
    """The way, and how many; None where sessions are on one server. 0: nothing says how many."""
    if study.shards is None:
        return None
    return study.shards.way, study.shards.count or 0


def over_shards(server: Twin, of: tuple[str, int] | None) -> Twin | Unsupported:
    """The engine as its sessions over shards see it; the same where they are on one server, or straight at the shards."""
    if of is None:
        return server
    way, count = of
    if not count:
        return Unsupported(f"nothing says how many shards there are; use --start {server.name},shards=N")
    coordinator = server.coordinator(count)
    return server if way == STRAIGHT and not isinstance(coordinator, Unsupported) else coordinator


def beyond_keys(study: StudyAt[Plain], roles: Sequence[ActiveRole]) -> Unsupported | None:
    """The first operation of these roles that has no shard: straight go rows that are stored, and calls by key."""
    operations = study.workload.operations
    for role in roles:
        for operation in map(operations.__getitem__, role.operations):
            if role.source or role.input is not None:
                what = f"role {role.name} loads files"
            elif operation.kind == "insert" or operation.does:
                continue
            else:
                what = f"operation {operation.name} is none"
            return Unsupported(
                f"{what}: straight to shards go rows and calls by key alone; take shards.way = coordinator"
            )
    return None


def held_together(study: StudyAt[Plain], roles: Sequence[ActiveRole]) -> Unsupported | None:
    """The first role of a coordinator whose calls change several rows in one transaction.

    Calls in flight together are one there. Two such hold rows on one shard each, wait for the other's, and no server sees
    both waits: they would wait for ever.
    """
    for role in roles:
        changing = [name for name in role.operations if alters(study.workload.operations[name])]
        if changing and role.depth > 1:
            return Unsupported(
                f"role {role.name} has {role.depth} calls of {changing[0]} in flight: through a coordinator they are one "
                "transaction over shards, and two of them can wait for each other for ever; take depth = 1, or shards.way = straight"
            )
    return None


def not_over_shards(study: StudyAt[Plain]) -> str:
    """What a study has that is of one server; empty: nothing."""
    if study.measure is None:
        return "its steps are done on one server"
    if any(table.partitions for table in study.workload.tables.values()):
        return "its tables are cut into partitions"
    return ""


def shards_document(draft: Draft, of: tuple[str, int]) -> border.ShardsPlan:
    """Addresses are filled in where it runs."""
    way, count = of
    document: border.ShardsPlan = {"urls": [""] * count}
    if way == STRAIGHT:
        document["keys"] = [list(key_of(draft, name)) for name in draft.tables]
    return document


def key_of(draft: Draft, table: str) -> Iterator[tuple[str, str]]:
    """Columns that place the rows of a table: those of its identity, each with its type in the database."""
    for column in draft.tables[table].identity:
        yield column, draft.plans[table].wire[column]


def without_key(draft: Draft) -> Unsupported | None:
    nameless = [name for name, table in draft.tables.items() if not table.identity]
    if nameless:
        return Unsupported(
            f"table {nameless[0]} has no identity, by which its rows would be placed on shards"
        )
    return None
