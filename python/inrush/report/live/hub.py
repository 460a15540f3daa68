"""What readers of a live page are sent: one look a second, made once for all of them.

A reader is given what is newest when it is ready for it. One that is slow misses looks and no step of the charts; one that
takes nothing for long is let go. So neither many readers nor slow ones keep anything waiting, and nothing piles up.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from inrush.report.live.view import SeriesPlace, View

EVERY_S = 1.0
#: A reader that takes nothing for so long is let go.
SLOW_S = 20.0


@dataclass
class Beat:
    """One look. Steps are made once for all readers that are at the same place."""

    number: int
    snapshot: str
    steps_since: Callable[[SeriesPlace], tuple[SeriesPlace, list[dict[str, Any]]]]
    #: Nothing follows it: the study has ended. report: where the page was, there is the report.
    last: bool = False
    report: bool = False
    made: dict[SeriesPlace, tuple[SeriesPlace, bytes]] = field(default_factory=dict)

    def event(self, place: SeriesPlace) -> tuple[SeriesPlace, bytes]:
        """For a reader that is there: where it is afterwards, and a server-sent event."""
        if place not in self.made:
            now, rows = self.steps_since(place)
            begins = dumped(place.series != now.series)
            body = (
                f'{{"snapshot":{self.snapshot},"begins":{begins},"last":{dumped(self.last)},'
                f'"report":{dumped(self.report)},"steps":{dumped(rows)}}}'
            )
            lines = f"id: {now.series} {now.steps}\nevent: beat\ndata: {body}\n\n"
            self.made[place] = (now, lines.encode())
        return self.made[place]


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def place_of(last_event_id: str) -> SeriesPlace:
    """Where a reader was that has lost its connection, by the `id` of the last event that it got."""
    series, _, steps = last_event_id.rpartition(" ")
    return SeriesPlace(series, int(steps)) if series and steps.isdecimal() else SeriesPlace()


class Hub:
    """Lives in the server's loop; `View` is asked from there alone."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.newest: Beat | None = None
        self.looked_s = 0.0
        self.readers = 0
        self.had_readers = False
        self._news = asyncio.Condition()
        self._ends = asyncio.Event()
        self._report = False

    async def enter(self) -> None:
        """A reader has come. Looks are made only while there are any, so the newest may be old."""
        self.readers += 1
        self.had_readers = True
        if self.newest is None or (time.monotonic() - self.looked_s > EVERY_S and not self.ended):
            await self.look()

    def leave(self) -> None:
        self.readers -= 1

    async def beat(self) -> None:
        """A look every second, and a last one when the study has ended."""
        while not self._ends.is_set():
            if self.readers:
                await self.look()
            try:
                await asyncio.wait_for(self._ends.wait(), EVERY_S)
            except asyncio.TimeoutError:
                continue
        await self.look(last=True)

    async def look(self, last: bool = False) -> None:
        number = 1 if self.newest is None else self.newest.number + 1
        self.looked_s = time.monotonic()
        last = last or self.ended
        shown = dumped(self.view.look())
        beat = Beat(number, shown, self.view.steps_since, last, last and self._report)
        async with self._news:
            self.newest = beat
            self._news.notify_all()

    async def after(self, number: int) -> Beat:
        """The newest look, once it is another than this one."""
        async with self._news:
            await self._news.wait_for(lambda: self.newest is not None and self.newest.number != number)
        assert self.newest is not None, "waited for"
        return self.newest

    def end(self, report: bool = False) -> None:
        """report: it is there, in place of the page."""
        self._report = report
        self._ends.set()

    @property
    def ended(self) -> bool:
        return self._ends.is_set()
