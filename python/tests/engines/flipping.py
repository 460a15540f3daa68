"""A network that changes one bit of what a client sends."""

from __future__ import annotations

import random
import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

#: Sends of this size carry rows: statements and greetings are shorter.
LARGE = 2_000


class Flipping:
    """Between a client and its server. One bit of one large send is another one when it arrives."""

    def __init__(self, url: str, seed: int) -> None:
        parts = urlsplit(url)
        assert parts.hostname and parts.port
        self._server = (parts.hostname, parts.port)
        self._draw, self._lock = random.Random(seed), threading.Lock()
        #: Large sends that pass unharmed before it.
        self._spared = self._draw.randrange(6)
        self.flipped = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = url.replace(f"{parts.hostname}:{parts.port}", f"127.0.0.1:{port}")
        self._open: list[socket.socket] = []

    def __enter__(self) -> Flipping:
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
                server = socket.create_connection(self._server)
                self._open += [client, server]
                for source, into, sent in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._carry, args=(source, into, sent), daemon=True).start()

    def _carry(self, source: socket.socket, into: socket.socket, sent: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 14):
                into.sendall(self._changed(data) if sent and len(data) >= LARGE else data)
        for end in (source, into):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _changed(self, data: bytes) -> bytes:
        with self._lock:
            if self._spared > 0 or self.flipped:
                self._spared -= 1
                return data
            self.flipped += 1
            bit = self._draw.randrange(8 * len(data))
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        return bytes(changed)
