"""One end of a load, client or load server, in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inrush.agent.process import Process, death_message
from inrush.border.load import LoadPlan
from inrush.errors import CoreError, InrushError, Interrupted, from_core

Doc = dict[str, Any]
OnEvent = Callable[[Doc], None]

#: So long rows that are on their way may take to be stored with their lines of the ledger, once a load has failed.
SETTLE_S = 30.0


def failure(event: Doc, role: str | None, process: Process[Doc], log: Path | None) -> InrushError | None:
    """What an event says of an end that failed, or that is gone without a word."""
    if event["event"] == "failed":
        return from_core(event["kind"], event["message"])
    if event["event"] == "ended":
        return CoreError(f"load {role}: {death_message(process.close(), log)}")
    return None


class End:
    """One end of the load in its process; ended in every case.

    document: its plan; None starts the interpreter ahead of it, and `begin` hands it over.
    """

    def __init__(self, document: LoadPlan | None, log: Path, environment: Mapping[str, str]) -> None:
        self.role: str | None = None
        self.log = log
        self._process: Process[Doc] = Process({"does": "end"}, log, environment)
        if document is not None:
            self.begin(document, log)

    def begin(self, document: LoadPlan, log: Path) -> None:
        """Its plan, and where its words go from here on."""
        self.role = document["role"]
        self.log = self.log.rename(log)
        self._process.send({"do": "load", "plan": document})

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> End:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.close()
        if self.role is None:
            self.log.unlink()

    def kill(self) -> None:
        """Ends it now: what a lost machine does."""
        self._process.kill()

    def next(self, timeout_s: float) -> Doc | None:
        """Its next event, whatever it is."""
        return self._process.event(timeout_s)

    def wait_for(self, what: str, on_event: OnEvent, other: End | None = None) -> Doc:
        """The event `what`. Raises what this end, or the other one meanwhile, failed with."""
        try:
            while True:
                event = self._process.event(0.05)
                if event is not None:
                    if event["event"] == what:
                        return event
                    self.heard(event, on_event)
                if other is not None:
                    other.look(on_event)
        except KeyboardInterrupt:
            self._process.send({"do": "stop"})
            raise Interrupted(
                "interrupted; what was acknowledged is stored, and the same command goes on from there"
            ) from None

    def look(self, on_event: OnEvent) -> None:
        """What has happened meanwhile."""
        while (event := self._process.event(0.0)) is not None:
            self.heard(event, on_event)

    def stop(self, on_event: OnEvent) -> Doc:
        """An orderly end: its last word."""
        self.ask_to_end()
        return self.wait_for("finished", on_event)

    def ask_to_end(self) -> None:
        """In order; `finished` is its last event."""
        self._process.send({"do": "stop"})

    def settle(self, limit_s: float = SETTLE_S) -> None:
        """An orderly end of a load that has failed: what is on its way is stored or refused, whatever is said of it."""
        self.ask_to_end()
        until = time.monotonic() + limit_s
        while (left_s := until - time.monotonic()) > 0:
            event = self._process.event(left_s)
            if event is not None and event["event"] in ("finished", "failed", "ended"):
                return

    def heard(self, event: Doc, on_event: OnEvent) -> None:
        """Passes an event on. Raises what this end failed with."""
        if (failed := failure(event, self.role, self._process, self.log)) is not None:
            raise failed
        on_event({**event, "role": self.role})
