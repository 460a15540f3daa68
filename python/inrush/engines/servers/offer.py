"""What a lifecycle offers to fetch: one release of a server's programs, wherever they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from inrush.engines.base.instance import Release


class Offer(Protocol):
    def release(self) -> Release:
        """The programs, fetched when they are not in the cache. Raises TargetError with a remedy."""

    def cached(self) -> Release | None:
        """The programs, where they are in the cache."""

    def program_in(self, folder: Path) -> Path:
        """The server's own, in the folder of its release."""
