"""The way from a client's host to the load server's: what it carries at most, and whether a load's senders wait for it.

Two looks that know nothing of each other. Before the clock bytes are sent as fast as they go: what comes is what the way
carries. While the load goes on the kernel of the sender is asked what its connections wait for.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from inrush.errors import CoreError
from inrush.machine.connections import Connection, connections

#: Bytes are sent for so long, over so many connections: one alone may be held by its own delay.
SEND_S, CONNECTIONS = 1.5, 4
#: What came in the first part of it is left out: a connection finds out how much it may send.
BEGIN_SHARE = 1 / 3
#: What came in less than this is no rate: a sender that began earlier than the others has let go.
LEAST_S = 0.5
BLOCK = 1 << 16
#: Until both ends have met, s.
MEET_S = 5.0
#: Between two looks at the connections of a load, s.
LOOK_S = 0.25
#: A look counts as held by the way if the sender was busy, and not for want of the receiver's room, for this share of it.
HELD_SHARE = 0.5


class Sink:
    """The receiver: listens on an address of this host, and takes what clients with the token send."""

    def __init__(self, host: str, token: str) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.token = token.encode()
        self.listener = socket.create_server((host, 0), family=family)
        self.port = int(self.listener.getsockname()[1])

    def bytes_per_s(self, senders: int) -> float:
        """Of `senders` connections together; 0: not known. Raises CoreError where they do not come."""
        came: list[tuple[float, int]] = []
        let_go_s = float("inf")
        with self.listener, contextlib.ExitStack() as held:
            self.listener.settimeout(MEET_S)
            with selectors.DefaultSelector() as watched:
                for _ in range(senders):
                    try:
                        connection = held.enter_context(self.known())
                    except OSError as e:
                        raise CoreError(f"no client came to measure the way ({e})") from None
                    watched.register(connection, selectors.EVENT_READ)
                end, total = time.monotonic() + SEND_S + MEET_S, 0
                while watched.get_map() and (left_s := end - time.monotonic()) > 0:
                    for key, _ in watched.select(left_s):
                        taken = received(key.fileobj)
                        if not taken:
                            watched.unregister(key.fileobj)
                            let_go_s = min(let_go_s, time.monotonic())
                        total += taken
                    came.append((time.monotonic(), total))
        return carried(came, let_go_s)

    def known(self) -> socket.socket:
        """The next connection that shows the token; others are closed."""
        while True:
            connection, _ = self.listener.accept()
            connection.settimeout(MEET_S)
            with contextlib.suppress(OSError):
                said = connection.recv(len(self.token), socket.MSG_WAITALL)
                if hmac.compare_digest(said, self.token):
                    connection.setblocking(False)
                    return connection
            connection.close()


def received(connection: object) -> int:
    """Of one that is ready; 0 where the sender has let go."""
    assert isinstance(connection, socket.socket)
    try:
        return len(connection.recv(1 << 20))
    except OSError:
        return 0


def carried(came: Sequence[tuple[float, int]], let_go_s: float) -> float:
    """Bytes a second of what came, (when, bytes so far), without the begin, and while all of the senders sent: let_go_s is
    when the first of them did no longer. 0 where that is too short to be a rate. Pure."""
    if len(came) < 2:
        return 0.0
    first_s = came[0][0]
    from_s, until_s = first_s + BEGIN_SHARE * SEND_S, min(first_s + SEND_S, let_go_s)
    inside = [(t, n) for t, n in came if from_s <= t <= until_s]
    if len(inside) < 2:
        return 0.0
    (begin_s, before), (end_s, after) = inside[0], inside[-1]
    return (after - before) / (end_s - begin_s) if end_s - begin_s >= LEAST_S else 0.0


def fill(host: str, port: int, token: str) -> None:
    """Sends for SEND_S as fast as it goes. Raises CoreError where the load server's host is not reached."""
    block = os.urandom(BLOCK)  # nothing on the way can press it
    with contextlib.ExitStack() as held, selectors.DefaultSelector() as watched:
        for _ in range(CONNECTIONS):
            try:
                connection = held.enter_context(socket.create_connection((host, port), MEET_S))
                connection.sendall(token.encode())
            except OSError as e:
                raise CoreError(f"{host}:{port} is not reached from here ({e})") from None
            # What is not sent at the end is of no use: it is not waited for.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.setblocking(False)
            watched.register(connection, selectors.EVENT_WRITE)
        end = time.monotonic() + SEND_S
        while (left_s := end - time.monotonic()) > 0:
            for key, _ in watched.select(left_s):
                with contextlib.suppress(BlockingIOError):
                    try:
                        key.fileobj.send(block)  # type: ignore[union-attr]
                    except ConnectionError:
                        return


@dataclass
class Held:
    """Of the connections of one client's host to the load server, over a load."""

    sent_bytes: int = 0
    #: At which a connection was there that had been there before.
    looks: int = 0
    #: Looks at which bytes waited to be sent, and the sender had been held by the way.
    held_looks: int = 0
    rtt_us: int = 0

    def add(self, before: Sequence[Connection], now: Sequence[Connection], span_us: float) -> None:
        """Two looks that follow each other."""
        known = {of.local_port: of for of in before}
        # Before it is there and after it has ended no connection can wait.
        self.looks += any(of.local_port in known for of in now)
        held = False
        for of in now:
            was = known.get(of.local_port)
            self.sent_bytes += of.bytes_acked - (was.bytes_acked if was else 0)
            self.rtt_us = min(self.rtt_us or of.rtt_us, of.rtt_us)
            held = held or (was is not None and held_by_way(was, of, span_us))
        self.held_looks += held


def held_by_way(was: Connection, now: Connection, span_us: float) -> bool:
    """Bytes wait to be sent, and not for the receiver, or for our own buffer: what is left is the way."""
    busy, receiver, buffer = (
        now.busy_us - was.busy_us, now.receiver_us - was.receiver_us, now.buffer_us - was.buffer_us,
    )  # fmt: skip
    return now.unsent_bytes > 0 and busy - receiver - buffer >= HELD_SHARE * span_us


class WayWatch:
    """Looks again and again until its end, on a thread of its own."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.found: Held | None = Held()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._look, name="way", daemon=True)
        self.thread.start()

    def _look(self) -> None:
        before, seen = connections(self.host, self.port), time.monotonic()
        while before is not None:
            ended = self.over.wait(LOOK_S)
            now, at = connections(self.host, self.port), time.monotonic()
            if now is None:
                break
            if self.found is not None and (now or before):
                self.found.add(before, now, (at - seen) * 1e6)
            before, seen = now, at
            if ended:
                return
        self.found = None

    def end(self) -> Held | None:
        """None where the kernel does not say."""
        self.over.set()
        self.thread.join()
        return self.found
