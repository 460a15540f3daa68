"""What is said of an import that was begun before: that it goes on, or that nothing was left of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Doc = dict[str, Any]


class Resumed:
    """Which of both it is shows with the first row that is stored, or at the end without one."""

    def __init__(self, note: Callable[[str], None], import_id: str, rows: int) -> None:
        """rows: stored by earlier calls, as the ledger has them."""
        self.note = note
        self.import_id = import_id
        self.rows = rows
        self.said = False

    def watched(self, on_event: Callable[[Doc], None]) -> Callable[[Doc], None]:
        """The same events, after the note where one of them shows that the import goes on."""

        def event(doc: Doc) -> None:
            if doc["event"] == "progress" and doc["role"] == "client" and doc["rows_stored"]:
                self.goes_on()
            on_event(doc)

        return event

    def goes_on(self) -> None:
        if not self.said:
            self.said = True
            self.note(f"import {self.import_id} goes on: {self.rows:,} rows are stored already")

    def end(self, rows: int) -> None:
        """rows: stored since this call began."""
        if rows:
            self.goes_on()
        elif not self.said:
            self.note(f"import {self.import_id} is complete, with {self.rows:,} rows; nothing to load")
