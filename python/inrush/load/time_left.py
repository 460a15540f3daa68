"""How far a load of files is by what its client says, and how long the rest will take. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Doc = dict[str, Any]
OnEvent = Callable[[Doc], None]


def with_time_left(on_event: OnEvent, total_bytes: int) -> OnEvent:
    """Adds `stored_bytes` and `left_s` to the client's progress. The client reads ahead of what is stored."""

    def on_progress(event: Doc) -> None:
        if event["event"] == "progress" and event["role"] == "client":
            done = done_bytes(event)
            event = {**event, "stored_bytes": stored_bytes(event)}
            if done:
                left = total_bytes - event.get("bytes_before", 0) - done
                event["left_s"] = max(0.0, left) * event["seconds"] / done
        on_event(event)

    return on_progress


def stored_bytes(event: Doc) -> float:
    """Bytes of the files behind the rows that this command stored, as far as all rows are alike. Pure."""
    return bytes_of(event, event["rows_stored"])


def done_bytes(event: Doc) -> float:
    """The same with the rows that another command stored."""
    return bytes_of(event, event["rows_stored"] + event["rows_of_others"])


def bytes_of(event: Doc, stored: float) -> float:
    rows = event["rows_sent"] + event["rejected"]
    return float(event["bytes"]) * min(1.0, (stored + event["rejected"]) / rows) if rows else 0.0
