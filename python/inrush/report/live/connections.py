"""Connections to the live page: those that ask for nothing are closed, and there are never many.

The process that directs a study holds them. It opens files and starts programs, for which descriptors must be left. Other
users of the machine reach the port too: where there are too many, the oldest one that has not shown the token goes.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from asyncio import Transport

#: A request has so long, twice at most, to be there as a whole; so has the next one on the same connection.
LOOK_S = 5.0
#: Readers of events, and fetches of what the page is made of.
MOST = 256
#: In the state of a request: the connection that it came by.
CONNECTION = "connection"


def most() -> int:
    """Of the descriptors that this process may have, a quarter."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(1, min(MOST, soft // 4))


class Bounded(H11Protocol):
    """Of uvicorn, whose own limits begin with the first answer."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.app_state = {CONNECTION: self}
        #: Whether a request by it had the token.
        self.is_known = False
        self._began_s = self.loop.time()
        self._look: asyncio.TimerHandle | None = None
        #: Of the request that was not there as a whole at the last look; before the first one there is none.
        self._awaited: object = self

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._look = self.loop.call_later(LOOK_S, self._is_asked)
        if len(self.connections) > most():
            self._make_room()

    def _make_room(self) -> None:
        """Closes this one only where all others are known."""
        unknown = (one for one in self.connections if isinstance(one, Bounded) and not one.is_known)
        oldest = min(unknown, key=lambda one: one._began_s)
        self.connections.discard(oldest)  # the loop says that it is lost after more of them may have come
        oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def _is_asked(self) -> None:
        """Closes it where what was awaited at the last look is awaited still."""
        waits = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if waits and self._awaited is self.cycle:
            self.transport.abort()
            return
        self._awaited = self.cycle if waits else self
        self._look = self.loop.call_later(LOOK_S, self._is_asked)


def let_in(state: Mapping[str, Any]) -> None:
    """A request with this state had the token."""
    if isinstance(by := state.get(CONNECTION), Bounded):
        by.is_known = True
