"""Passwords: the warning where one travels in clear, and files that other users can read."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

#: An address of this machine by a name that is not recognised as one: what is sent to it counts as leaving.
ELSEWHERE = "127.1"

ASK = """
import json, sys
from inrush import _core
for _ in range(3):
    try:
        _core.control(json.dumps({"engine": sys.argv[1], "url": sys.argv[2]}), "SELECT 1", 5.0)
    except _core.CoreFailure as failure:
        print(failure)
"""


def refusing(answer: bytes) -> int:
    """A port where each connection is answered so and closed."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                connection.sendall(answer)
                connection.recv(65536)

    threading.Thread(target=serve, daemon=True).start()
    port: int = listener.getsockname()[1]
    return port


def asked(engine: str, url: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", ASK, engine, url],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=True,
    )
    assert "hidden" not in done.stdout + done.stderr
    return done


HTTP_REFUSAL = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#: PostgreSQL's request for the password as it is.
CLEAR_PASSWORD = b"R\0\0\0\x08\0\0\0\x03"


@pytest.mark.parametrize("engine", ["clickhouse", "influxdb"])
def test_a_password_that_can_be_read_on_its_way_is_warned_about_once(engine: str) -> None:
    port = refusing(HTTP_REFUSAL)
    done = asked(engine, f"{engine}://me:hidden@{ELSEWHERE}:{port}/")
    assert done.stderr.count("the password goes to 127.1 in clear") == 1
    assert "secure=true" in done.stderr


@pytest.mark.parametrize("engine", ["clickhouse", "influxdb"])
def test_nothing_is_said_on_this_machine_or_without_a_password(engine: str) -> None:
    port = refusing(HTTP_REFUSAL)
    assert asked(engine, f"{engine}://me:hidden@127.0.0.1:{port}/").stderr == ""
    assert asked(engine, f"{engine}://me@{ELSEWHERE}:{port}/").stderr == ""


def test_a_postgresql_that_asks_for_the_password_as_it_is_is_warned_about() -> None:
    port = refusing(CLEAR_PASSWORD)
    done = asked("postgresql", f"postgresql://me:hidden@{ELSEWHERE}:{port}/d?sslmode=disable")
    assert done.stderr.count("the password goes to 127.1 in clear") == 1
    assert "scram-sha-256" in done.stderr
    assert asked("postgresql", f"postgresql://me:hidden@127.0.0.1:{port}/d").stderr == ""


@pytest.mark.parametrize(
    ("engine", "name", "text"),
    [("postgresql", ".pgpass", "*:*:*:*:hidden\n"), ("mysql", ".my.cnf", "[client]\npassword=hidden\n")],
)
def test_a_file_with_passwords_that_others_can_read_is_named_and_not_used(
    tmp_path: Path, engine: str, name: str, text: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    file.chmod(0o640)
    captures = Path(__file__).parents[3] / "rust/engines/tests/captures"
    answer = CLEAR_PASSWORD if engine == "postgresql" else (captures / "mysql-log-in.bin").read_bytes()
    # A server of PostgreSQL's waits for the client's first word, one of MySQL's does not.
    port = refusing(answer) if engine == "postgresql" else speaking(answer)
    url = f"{engine}://me@127.0.0.1:{port}/d"
    environment = {"HOME": str(tmp_path), "PGPASSFILE": str(file), "PGPASSWORD": "", "MYSQL_PWD": ""}
    for variable in ("PGPASSWORD", "MYSQL_PWD"):
        environment.pop(variable)
    said = asked(engine, url, **environment).stderr
    assert f"{file} is not used" in said and "chmod 600" in said
    file.chmod(0o600)
    assert "is not used" not in asked(engine, url, **environment).stderr


def speaking(answer: bytes) -> int:
    """A port where each connection is told so at once, and closed when it has answered."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass

    threading.Thread(target=serve, daemon=True).start()
    port: int = listener.getsockname()[1]
    return port
