"""A network that holds back one send of a client: the first that has certain words arrives later."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit


class Holding:
    """Between a client and its server. The first send with these words waits before it is passed on."""

    def __init__(self, url: str, words: bytes, seconds: float) -> None:
        parts = urlsplit(url)
        assert parts.hostname and parts.port
        self._server, self._words, self._seconds = (parts.hostname, parts.port), words, seconds
        #: Set as soon as it is held back.
        self.holds = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = url.replace(f"{parts.hostname}:{parts.port}", f"127.0.0.1:{port}")
        self._open: list[socket.socket] = []

    def __enter__(self) -> Holding:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        closed(self._listener, *self._open)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._open += [client, server]
                for source, into, held in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._carry, args=(source, into, held), daemon=True).start()

    def _carry(self, source: socket.socket, into: socket.socket, held: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if held and self._words in data and not self.holds.is_set():
                    self.holds.set()
                    time.sleep(self._seconds)
                into.sendall(data)
        closed(source, into)


def closed(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
