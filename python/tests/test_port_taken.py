"""Between the choice of a port and a server that listens there, another user of the machine may listen: it gets no password."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.engines import ENGINES, life, ports, private, questdb_life, secret, server
from inrush.engines.instance import Release
from inrush.engines.own_server import OwnServer, ServerPlace

WITH_PASSWORD = [
    name for name in ENGINES if isinstance(own := server(name).lifecycle, OwnServer) and own.account
]


@contextlib.contextmanager
def somebody_else() -> Iterator[tuple[int, list[bytes]]]:
    """A port at which a program takes what it gets, and answers nothing."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connection.settimeout(0.2)
                    with connection, contextlib.suppress(OSError):
                        got.append(connection.recv(4096))

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield listener.getsockname()[1], got
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.mark.parametrize("engine", WITH_PASSWORD)
def test_a_server_of_somebody_else_at_the_port_is_sent_nothing(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = server(engine).lifecycle
    assert isinstance(own, OwnServer)
    monkeypatch.setattr(type(own), "command", lambda self, place: ["true"])
    home = private.folder(tmp_path / own.home)
    secret.make(tmp_path)
    with somebody_else() as (port, got):
        private.folder(home / "conf")
        private.write(questdb_life.config_file(home), f"{questdb_life.HTTP}=127.0.0.1:{port}\n")
        (home / "postmaster.pid").write_text("\n".join([*"1234567", "ready"]))
        place = ServerPlace(Release(engine, "1", tmp_path, ""), tmp_path, home, life.User(), port, {})
        assert not own.processes(place)[0].is_ready()
    assert got == []


def test_a_port_at_which_nothing_listens_is_nobodys_and_no_process_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "working_in", lambda folder: pytest.fail("looked at processes"))
    assert not ports.serves(life.free_port(), tmp_path)
