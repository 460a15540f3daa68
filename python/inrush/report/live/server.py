"""The live page's server: a thread of the process that directs a study, and never of one that measures.

While a run goes on, that process waits for words of its worker and needs no interpreter; the thread has it then. Between
two runs both share it. Its priority is lower than that of sessions, servers and the study itself (`nice`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import Collection
from pathlib import Path

import uvicorn

from inrush.report.live import connections
from inrush.report.live.access import Access, Address
from inrush.report.live.app import Served, application
from inrush.report.live.hub import Hub
from inrush.report.live.view import View

#: Of Linux's 19, unless the study itself has a higher one.
NICE = 10
#: How long readers may take to fetch the report, when the study has ended.
LEAVING_S = 5.0


class LiveServer:
    """Serves from its making on until `end`."""

    def __init__(
        self,
        view: View,
        address: Address,
        access: Access,
        listening: socket.socket,
        charts: str,
        themes: str,
    ) -> None:
        """listening: bound to the address."""
        self.view, self.socket = view, listening
        self.hub = Hub(view)
        self.served = Served(self.hub, access, charts, themes)
        self.url = address.url(listening.getsockname()[1])
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._server = uvicorn.Server(
            uvicorn.Config(
                application(self.served), http=connections.Bounded, loop="asyncio", ws="none", lifespan="off", log_config=None,
                access_log=False, log_level="critical", server_header=False, timeout_graceful_shutdown=2,
                timeout_keep_alive=30,
            )
        )  # fmt: skip
        self._thread = threading.Thread(target=self._run, name="live page", daemon=True)
        self._thread.start()
        self._ready.wait()

    def end(self, report: Path | None, stay: bool = False) -> None:
        """The last look goes out; readers fetch the report, or what there is, and the server ends.

        stay: it serves the report until Ctrl-C.
        """
        self.served.report = report if report is not None and report.is_file() else None
        self._loop.call_soon_threadsafe(self.hub.end, self.served.report is not None)
        if stay:
            try:
                while self._thread.is_alive():
                    self._thread.join(0.5)
            except KeyboardInterrupt:
                pass
        else:
            self._let_readers_go()
        self._server.should_exit = True
        self._thread.join(LEAVING_S)

    def _let_readers_go(self) -> None:
        """A browser that has heard the last look asks for the report within a moment."""
        until = time.monotonic() + LEAVING_S
        if not self.hub.had_readers:
            return
        time.sleep(SETTLE_S)
        while time.monotonic() < until and (self.hub.readers or self.busy):
            time.sleep(0.05)

    @property
    def busy(self) -> bool:
        """Answers that are on their way."""
        return bool(self._server.server_state.tasks)

    @property
    def connections(self) -> Collection[object]:
        return self._server.server_state.connections

    def _run(self) -> None:
        try:
            asyncio.set_event_loop(self._loop)
            comes_last()
            self._loop.run_until_complete(self._serve())
        finally:
            self._ready.set()
            self._loop.close()
            self.socket.close()

    async def _serve(self) -> None:
        beats = asyncio.ensure_future(self.hub.beat())
        self._loop.call_soon(self._ready.set)
        try:
            await self._server.serve(sockets=[self.socket])
        finally:
            self.hub.end()
            await beats


def comes_last() -> None:
    """Of this thread alone. A system that does not let it have another priority leaves it as it is."""
    of = threading.get_native_id()
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, of, max(NICE, os.getpriority(os.PRIO_PROCESS, of)))


#: A browser that has had the last look has asked for the report by then.
SETTLE_S = 0.7
