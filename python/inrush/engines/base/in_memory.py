"""The part of a twin that answers without a server: a database in memory, which answers of others are compared with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any


class CannotAnswer(Exception):
    """A query that it refuses, with the reason in its own words."""


class InMemory(ABC):
    """An empty database in this process, off the clock."""

    @abstractmethod
    def execute(self, statement: str) -> None: ...

    @abstractmethod
    def insert(self, table: str, types: Sequence[str], rows: Any) -> None:
        """rows: a `pyarrow.RecordBatchReader`. types: logical types of its columns."""

    @abstractmethod
    def ask(self, text: str, values: Sequence[Any], types: Sequence[str] = ()) -> list[Sequence[Any]]:
        """types: logical types of the values; without them integers are unsigned and times milliseconds.

        Raises CannotAnswer.
        """


def microseconds(at: datetime) -> int:
    """Since 1970 UTC; a time without a zone is of UTC."""
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    at = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
    return (at - epoch) // (datetime.resolution)
