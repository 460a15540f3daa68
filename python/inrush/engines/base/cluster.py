"""The part of a twin that knows several servers of its kind as one: shards behind a coordinator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from inrush.border.load import Rule
from inrush.engines.base.instance import Instance

#: PostgreSQL's, and of shards that no coordinator knows.
HASH_PARTITIONS: Rule = {"kind": "hash_partitions"}


@dataclass(frozen=True)
class ShardedTable:
    """A coordinator's table: where its parts lie, in their order, and by which columns rows are placed."""

    #: With passwords, where the coordinator knows them.
    urls: tuple[str, ...]
    key: tuple[str, ...]
    rule: Rule
    #: As the loader shall call the table on the shards.
    name: str


class Cluster(ABC):
    """What is asked of a coordinator, and what makes one."""

    #: It knows its shards by its configuration alone, which names no passwords: theirs is its own.
    configured: ClassVar[bool] = False

    @abstractmethod
    def ask_shards(self) -> str:
        """A query on a coordinator about the shards that it knows."""

    @abstractmethod
    def shard_urls(self, rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
        """Their addresses, of the rows of `ask_shards`; empty: it is no coordinator."""

    @abstractmethod
    def ask_table(self, schema: str, table: str) -> str:
        """A query on a coordinator about one of its tables; no row: there is none."""

    @abstractmethod
    def sharded_table(self, name: str, rows: Sequence[Sequence[Any]]) -> ShardedTable | None:
        """Where its parts lie, of the rows of `ask_table`; None: here. Raises UsageError."""

    @abstractmethod
    def know_shards(self, urls: Sequence[str], passwords: Mapping[str, str]) -> Sequence[str]:
        """Statements that make shards known to their coordinator."""

    @abstractmethod
    def spread_table(
        self, name: str, columns: Sequence[tuple[str, str]], key: Sequence[str], urls: Sequence[str]
    ) -> Sequence[str]:
        """Statements that make the coordinator's table the whole of the shards' tables of that name."""

    def leading(self, settings: Mapping[str, str], shards: Sequence[Instance]) -> Mapping[str, str]:
        """Settings of a coordinator of these shards, which inrush started and which run."""
        return settings

    def rule(self, kinds: Sequence[str], shards: int) -> Rule:
        """How a new table's rows are placed on shards. kinds: types of its key's columns."""
        return HASH_PARTITIONS
