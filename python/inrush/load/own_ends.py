"""A load server and a client of its own for a file: as in the published measurement, where nothing is shared by files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from inrush.border.load import ClientPlan, LoadPlan, ServerPlan

Doc = dict[str, Any]


class OwnEnd(Protocol):
    """An end of the load in a process that is there for one file."""

    def begin(self, plan: LoadPlan) -> None:
        """Hands its plan over."""

    def until(self, event: str) -> Doc:
        """Its event of this name. Raises what it, or the other end meanwhile, failed with."""

    def ask_to_end(self) -> None:
        """In order; `finished` is its last event."""


def through_own_ends(
    server: OwnEnd, client: OwnEnd, server_plan: ServerPlan, client_plan: Callable[[Doc], ClientPlan]
) -> tuple[Doc, Doc]:
    """The last words of client and server. client_plan: by what the server said when it listened."""
    server.begin(server_plan)
    listening = server.until("listening")
    client.begin(client_plan(listening))
    read = client.until("finished")
    server.ask_to_end()
    return read, server.until("finished")
