"""A network that loses one answer: the server has done what it was asked for, and its client never hears of it."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

#: Sends of this size carry rows: statements are shorter.
LARGE = 8_000


class Losing:
    """Between a client and its server. The answer to the large send after the spared ones is lost with its connection."""

    def __init__(self, url: str, spared: int) -> None:
        parts = urlsplit(url)
        assert parts.hostname and parts.port
        self._server, self._spared = (parts.hostname, parts.port), spared
        self.lost = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = url.replace(f"{parts.hostname}:{parts.port}", f"127.0.0.1:{port}")
        self._open: list[socket.socket] = []

    def __enter__(self) -> Losing:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for end in (self._listener, *self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server, chosen = socket.create_connection(self._server), threading.Event()
                self._open += [client, server]
                threading.Thread(target=self._send, args=(client, server, chosen), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, client, chosen), daemon=True).start()

    def _send(self, client: socket.socket, server: socket.socket, chosen: threading.Event) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 14):
                if len(data) >= LARGE and not self.lost:
                    self._spared -= 1
                    if self._spared < 0:
                        chosen.set()
                server.sendall(data)
        closed(client, server)

    def _answer(self, server: socket.socket, client: socket.socket, chosen: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 14):
                if chosen.is_set() and not self.lost:
                    self.lost += 1
                    break
                client.sendall(data)
        closed(client, server)


def closed(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
