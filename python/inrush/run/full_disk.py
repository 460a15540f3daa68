"""A disk that is full is what a run ended with, whatever its server says of it: some say nothing and wait."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from inrush.border.events import Event
from inrush.guards.disk import MAKE_ROOM

#: Full: less is free than this (PostgreSQL takes 16 MB at a time for its log), or than this share of the file system, whichever is more;
#: of a large one no more than a server writes at once.
LEFT_BYTES = 16 << 20
LEFT_SHARE = 0.01
MOST_LEFT_BYTES = 512 << 20
#: How servers and kernels say it; MySQL names the table in between.
WORDS = re.compile(
    r"no space left|disk is full|disk full|not enough space|table '?[^']*'? is full", re.IGNORECASE
)
REMEDY = f"{MAKE_ROOM}, or take fewer rows"


class Hears(Protocol):
    def event(self, event: Event) -> None: ...
    def note(self, message: str) -> None: ...


class DiskWatch:
    """Between a run and its listener: looks at the disk with every event, some times a second.

    What fills a disk is often gone when a run has ended: rows are rolled back, tables dropped.
    """

    def __init__(self, place: Path | None, listener: Hears) -> None:
        """place: where the engine's files lie; None of a server that is not ours, which may lie on another machine."""
        self.place, self.listener = place, listener
        self.least_free: int | None = None
        self.total = 0

    def event(self, event: Event) -> None:
        self.look()
        self.listener.event(event)

    def note(self, message: str) -> None:
        self.listener.note(message)

    def look(self) -> None:
        if self.place is None:
            return
        try:
            found = shutil.disk_usage(self.place)
        except OSError:
            return  # not there yet, or no longer
        self.total = found.total
        self.least_free = found.free if self.least_free is None else min(found.free, self.least_free)

    @property
    def full(self) -> str | None:
        """One clause about the least that was free; None while there was room."""
        if self.least_free is None or self.least_free >= room_needed(self.total):
            return None
        least_mb, total_mb = self.least_free / 1e6, self.total / 1e6
        return f"the disk of {self.place} was full: {least_mb:,.1f} MB of {total_mb:,.0f} MB were free"


def free_clause(place: Path) -> str:
    """How much is free on the disk of a file, or of the nearest folder above that is there."""
    there = next((p for p in (place, *place.parents) if p.exists()), None)
    if there is None:
        return ""
    found = shutil.disk_usage(there)
    return f" ({found.free:,} bytes of the {found.total:,} of its disk are free)"


def room_needed(total: int) -> float:
    """Bytes that must be free on a file system of so many."""
    return max(LEFT_BYTES, min(LEFT_SHARE * total, MOST_LEFT_BYTES))


def explained(
    failure: dict[str, Any] | None,
    disk: DiskWatch,
    segments: Iterable[Mapping[str, Any]],
    failures: Iterable[Mapping[str, Any]],
) -> dict[str, Any] | None:
    """The failure of a run with the full disk as its reason, where that is so.

    segments, failures: rows of these tables. A run without a failure, with segments that ended as planned, had room enough.
    """
    messages = [str(row["first_message"]) for row in failures]
    if failure is None:
        cut = [str(s["label"]) for s in segments if s["ended_by"] == "limit"]
        why = next((message for message in messages if says_full(message)), None) or disk.full
        if not cut or why is None:
            return None
        return {"kind": "target", "message": f"{cut[0]} was cut by its limit: {why}; {REMEDY}"}
    if says_full(failure["message"]):
        if MAKE_ROOM in failure["message"]:  # it says whose disk
            return failure
        return {**failure, "message": f"{failure['message']}; {REMEDY}"}
    if disk.full is None:
        return failure
    return {**failure, "message": f"{failure['message']}; {disk.full}; {REMEDY}"}


def says_full(message: str) -> bool:
    return WORDS.search(message) is not None
