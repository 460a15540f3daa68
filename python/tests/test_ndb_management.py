"""How the nodes of a cluster are ended by way of a management server that does not say that they have ended."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from inrush.engines.ndb import management

ENDED = "stop reply\nresult: Ok\nstopped: 2\n\n"


def status(*nodes: str) -> str:
    lines = [f"node.{k}.status: {state}" for k, state in enumerate(nodes, start=1)]
    return "\n".join(["node status", f"nodes: {len(nodes)}", *lines, "", ""])


class Fake:
    """A management server: what it says of its nodes each time it is asked, the last for ever; None is silence."""

    def __init__(self, states: Sequence[str | None], ended_after: int | None) -> None:
        self.states, self.ended_after = states, ended_after
        self.asked, self.told = 0, threading.Event()
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.door.getsockname()[1])
        self.open: list[socket.socket] = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.door.accept()
            except OSError:
                return
            self.open.append(connection)
            command = connection.recv(1 << 16).decode()
            answer = self.stop if command.startswith("stop all") else self.status
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def stop(self, connection: socket.socket) -> None:
        if self.ended_after is not None and self.told.wait(30):
            connection.sendall(ENDED.encode())

    def status(self, connection: socket.socket) -> None:
        said = self.states[min(self.asked, len(self.states) - 1)]
        self.asked += 1
        if said is not None:
            connection.sendall(said.encode())
        if self.asked == self.ended_after:
            self.told.set()

    def close(self) -> None:
        for one in (self.door, *self.open):
            one.close()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Fake]]:
    monkeypatch.setattr(management, "ASK_S", 0.1)
    made: list[Fake] = []

    def make(*states: str | None, ended_after: int | None = None) -> Fake:
        made.append(Fake(states, ended_after))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_nodes_that_nobody_hears_any_more_are_not_waited_for(fake: Callable[..., Fake]) -> None:
    there = fake(status("SHUTTING_DOWN", "NO_CONTACT"), status("NO_CONTACT", "NO_CONTACT"))
    begun_s = time.monotonic()
    assert not management.stop_nodes(there.port, 60)
    assert there.asked == 2 and time.monotonic() - begun_s < 30


def test_an_end_that_is_said_late_is_waited_for(fake: Callable[..., Fake]) -> None:
    assert management.stop_nodes(fake(status("SHUTTING_DOWN", "STARTED"), ended_after=3).port, 60)


def test_a_server_that_says_nothing_has_not_said_that_the_nodes_have_ended(
    fake: Callable[..., Fake],
) -> None:
    there = fake(None)
    begun_s = time.monotonic()
    assert not management.stop_nodes(there.port, 1)
    assert there.asked > 1 and time.monotonic() - begun_s >= 1
