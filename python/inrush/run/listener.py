"""What hears of a study while it runs."""

from __future__ import annotations

from typing import Protocol

from inrush.border.events import Event
from inrush.plan.planned import PlannedRun
from inrush.results.store import Doc


class Listener(Protocol):
    """What is called as a study runs: the terminal, or `Silent`."""

    def begun(self, n: int, of: int, run: PlannedRun) -> None: ...
    def event(self, event: Event) -> None: ...
    def ended(self, run: PlannedRun, doc: Doc) -> None: ...
    def note(self, message: str) -> None: ...


class Silent:
    """A listener that shows nothing: only the result counts."""

    def begun(self, n: int, of: int, run: PlannedRun) -> None: ...
    def event(self, event: Event) -> None: ...
    def ended(self, run: PlannedRun, doc: Doc) -> None: ...
    def note(self, message: str) -> None: ...
