"""`inrush load-server`: who is let in, by which certificate, what the others are told."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from inrush.engines.base.instance import Target
from inrush.errors import InrushError, UsageError
from inrush.load.call import Call
from inrush.load.check import Loaded
from inrush.load.run import load
from inrush.load.serve import Serving, serve
from tests.engines.certificates import make_certificate
from tests.engines.servers import control
from tests.engines.test_load import count, rows_file, silent

#: Another address of this machine, where nobody listens by accident.
ELSEWHERE = "127.0.0.2"
TOKEN = "0123456789abcdef"
LIMIT_S = 120.0


def own_address() -> str:
    """By which others would reach this machine; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but the loopback ones")
        return str(probe.getsockname()[0])


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return path


@contextmanager
def serving(tmp_path: Path, into: str, *words: str) -> Iterator[dict[str, Any]]:
    """The command in a process of its own: what it says about itself."""
    command = [sys.executable, "-m", "inrush.cli", "load-server", "--json", "--into", into, *words]
    environment = {**os.environ, "INRUSH_RESULTS": str(tmp_path / "results")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            text = ""
            while not text.endswith("}\n"):
                line = process.stdout.readline()
                assert line, "it ended without listening"
                text += line
            yield {**json.loads(text), "pid": process.pid}
        finally:
            process.terminate()
            assert process.wait(60) == 0, "asked to end, it ends in order"


@pytest.fixture
def table(postgresql: Target) -> Iterator[str]:
    name = f"remote_{random.randrange(1 << 40):x}"
    yield name
    control(postgresql, f"DROP TABLE IF EXISTS {name}")


def loaded(folder: Path, table: str, file: Path, shown: dict[str, Any], **words: Any) -> Loaded:
    words = {"token_file": shown["token_file"], "server": shown["address"], **words}
    return load(Call((str(file),), table, create=True, chunk_rows=500, **words), folder, silent, silent)


def refusal(attempt: Callable[[], Any]) -> str:
    with pytest.raises(InrushError) as failed:
        attempt()
    message = str(failed.value)
    assert "\n" not in message
    return message


def test_two_clients_at_once_load_through_tls_from_another_address(
    postgresql: Target, table: str, token: Path, tmp_path: Path
) -> None:
    files = [rows_file(tmp_path / f"{n}.csv", n * 3_000, 3_000, bad=n) for n in range(2)]
    words = ("--listen", f"{own_address()}:0", "--token-file", str(token), "--self-signed")
    with serving(tmp_path, postgresql.url, *words) as shown:
        ways: list[dict[str, Any]] = [{"fingerprint": shown["fingerprint"]}, {"ca": shown["certificate"]}]
        # The table is there before both of them look for it.
        control(postgresql, f"CREATE TABLE {table} (id bigint, at timestamptz, dev int, v float8, name text)")
        done: list[Loaded] = []

        def work(n: int) -> None:
            done.append(loaded(tmp_path / f"loads{n}", table, files[n], shown, **ways[n]))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT_S)
        # Two that end at the same moment may each see the other still storing.
        assert all(d.proven or "another import is storing" in d.why for d in done), [d.why for d in done]
        assert sorted((d.rows_stored, d.rejected) for d in done) == [(3_000, 0), (3_000, 1)]
        assert count(postgresql, table) == (6_000, 6_000, 6_000 * 5_999 // 2)
        again = loaded(tmp_path / "loads0", table, files[0], shown, **ways[0])
        assert (again.rows_stored, again.rows_before, again.proven) == (0, 3_000, True)


def test_on_loopback_a_token_is_enough_and_a_wrong_one_is_not(
    postgresql: Target, table: str, tmp_path: Path
) -> None:
    file = rows_file(tmp_path / "a.csv", 0, 1_000)
    with serving(tmp_path, postgresql.url, "--listen", f"{ELSEWHERE}:0") as shown:
        assert shown["address"].startswith(ELSEWHERE) and shown["fingerprint"] is None
        wrong = tmp_path / "wrong"
        wrong.write_text("f" * 16)
        said = refusal(lambda: loaded(tmp_path, table, file, shown, token_file=str(wrong)))
        assert "the token is not the load server's" in said
        said = refusal(lambda: loaded(tmp_path, table, file, shown, fingerprint="0" * 64))
        assert "TLS handshake" in said
        assert loaded(tmp_path, table, file, shown).rows_stored == 1_000
    assert count(postgresql, table)[0] == 1_000


def test_another_certificate_and_no_tls_are_refused_in_one_line(
    postgresql: Target, table: str, token: Path, tmp_path: Path
) -> None:
    file = rows_file(tmp_path / "a.csv", 0, 10)
    words = ("--listen", f"{ELSEWHERE}:0", "--token-file", str(token), "--self-signed")
    with serving(tmp_path, postgresql.url, *words) as shown:
        said = refusal(lambda: loaded(tmp_path, table, file, shown))
        assert "speaks TLS only" in said and "--fingerprint" in said
        said = refusal(lambda: loaded(tmp_path, table, file, shown, fingerprint="0" * 64))
        assert "not the one" in said
        untrusted = make_certificate(tmp_path, "stranger")
        said = refusal(lambda: loaded(tmp_path, table, file, shown, ca=str(untrusted)))
        assert "certificate" in said and "--ca" in said
        port = shown["address"].rpartition(":")[2]
        elsewhere = {**shown, "address": f"127.0.0.3:{port}"}
        said = refusal(lambda: loaded(tmp_path, table, file, elsewhere, ca=shown["certificate"]))
        assert "nothing listens" in said
        # Other programs read the certificate too.
        text = subprocess.run(
            ["openssl", "x509", "-in", shown["certificate"], "-noout", "-text"],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        assert f"IP Address:{ELSEWHERE}" in text and "CA:FALSE" in text
        assert loaded(tmp_path, table, file, shown, ca=shown["certificate"]).rows_stored == 10
    assert count(postgresql, table)[0] == 10


def frame(message: dict[str, Any]) -> bytes:
    head = json.dumps(message).encode()
    return b"\x01" + len(head).to_bytes(4, "little") + bytes(4) + head


def heard(connection: socket.socket) -> dict[str, Any]:
    start = connection.recv(9, socket.MSG_WAITALL)
    head = connection.recv(int.from_bytes(start[1:5], "little"), socket.MSG_WAITALL)
    said: dict[str, Any] = json.loads(head)
    return said


def test_a_client_of_another_version_is_told_so(postgresql: Target, tmp_path: Path) -> None:
    with serving(tmp_path, postgresql.url) as shown:
        host, _, port = shown["address"].rpartition(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(frame({"says": "hello", "version": 99, "token": TOKEN}))
            said = heard(connection)
        assert said["says"] == "failed"
        assert "the client speaks version 99" in said["message"] and "update" in said["message"]


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (frame({"says": "failed", "message": "the client speaks version 2, the load server 3: update"}), "update"),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "no load server of inrush"),
        (b"", "closed the connection"),
    ],
)  # fmt: skip
def test_a_server_of_another_version_or_kind_is_one_clear_line(
    answers: bytes, says: str, token: Path, tmp_path: Path
) -> None:
    file = rows_file(tmp_path / "a.csv", 0, 10)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answers)
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(10)
                while connection.recv(65_536):
                    pass

        thread = threading.Thread(target=answer)
        thread.start()
        shown = {"address": f"127.0.0.1:{listener.getsockname()[1]}", "token_file": str(token)}
        said = refusal(lambda: loaded(tmp_path, "t", file, shown))
        thread.join(LIMIT_S)
    assert says in said


def test_what_others_could_read_or_enter_is_refused_before_anything_listens(
    token: Path, tmp_path: Path
) -> None:
    file = rows_file(tmp_path / "a.csv", 0, 10)
    short = tmp_path / "short"
    short.write_text("secret")
    into = f"sqlite:///{tmp_path}/db"
    open_to_all = {"listen": "0.0.0.0:0", "into": into}

    def start(**words: Any) -> Callable[[], None]:
        return lambda: serve(
            Serving(**{"into": into, "listen": "127.0.0.1:0", **words}), tmp_path, silent, silent
        )

    def client(**words: Any) -> Callable[[], Any]:
        return lambda: load(Call((str(file),), "t", **words), tmp_path, silent, silent)

    far = {"server": "192.0.2.1:7000", "token_file": str(token)}
    cases: list[tuple[Callable[[], Any], str]] = [
        (start(**open_to_all, self_signed=True), "--token-file"),
        (start(**open_to_all, token_file=str(token)), "needs TLS"),
        (start(certificate="a.pem"), "belong together"),
        (start(certificate="a.pem", certificate_key="a.key", self_signed=True), "one of them"),
        (start(token_file=str(short)), "16 printable characters"),
        (start(listen="somewhere"), "HOST:PORT"),
        (client(**far), "needs TLS"),
        (client(server="127.0.0.1:7000"), "--token-file"),
        (client(**far, ca="a", fingerprint="b"), "one of them"),
        (client(**far, fingerprint="00", into=into), "leave them out"),
    ]
    for attempt, says in cases:
        with pytest.raises(UsageError, match=says):
            attempt()
