"""What a worker's events come to while its run goes on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from inrush.run.follow import follow


def test_a_run_that_is_being_ended_for_a_failure_says_so_before_it_has_failed() -> None:
    events: list[Any] = [
        {"event": "failing", "message": "client 1: gone"},
        {"event": "failed", "kind": "load", "message": "client 1: gone"},
        {"event": "ended"},
    ]
    heard: list[str] = []
    worker: Any = SimpleNamespace(event=lambda _: events.pop(0))
    listener: Any = SimpleNamespace(note=heard.append, event=lambda event: heard.append(event["event"]))
    stopping: Any = SimpleNamespace(asked=0)
    patience: Any = SimpleNamespace(over=lambda _: None, saw=lambda *_: None)
    ended = follow(worker, None, None, listener, stopping, patience)  # type: ignore[arg-type]
    assert heard == ["the run fails: client 1: gone", "failing", "failed"]
    assert ended.failure == {"kind": "load", "message": "client 1: gone"} and ended.by is None
