"""What listens of all that inrush starts without a database server, and what another user of the machine gets from it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from inrush.report.live.access import TOKEN, TOKEN_FILE
from tests import listening, stranger
from tests.listening import assert_nothing_secret_is_read, beyond_loopback
from tests.strategies import ENVIRONMENT

LIMIT_S = 60.0


@contextmanager
def begun(
    folder: Path, *words: str
) -> Iterator[tuple[subprocess.Popen[str], Callable[[str], re.Match[str]]]]:
    """A command of inrush in a process of its own, and a line of what it says that matches."""
    results = {"INRUSH_RESULTS": str(folder / "results"), "TMPDIR": str(folder)}
    env = {key: value for key, value in ENVIRONMENT.items() if key not in (TOKEN, TOKEN_FILE)}
    with subprocess.Popen(
        [sys.executable, "-m", "inrush.cli", *words], env={**env, **results}, cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip

        def line(pattern: str) -> re.Match[str]:
            assert process.stdout is not None
            for text in process.stdout:
                if found := re.search(pattern, text):
                    return found
            raise AssertionError(f"it ended and never said {pattern}")

        try:
            yield process, line
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=LIMIT_S)


def test_sockets_of_every_kind_are_found_and_what_is_beyond_loopback_is_said() -> None:
    kinds = (
        (socket.AF_INET, socket.SOCK_STREAM, "0.0.0.0", True),
        (socket.AF_INET6, socket.SOCK_STREAM, "::", True),
        (socket.AF_INET, socket.SOCK_DGRAM, "0.0.0.0", True),
        (socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1", False),
        (socket.AF_INET6, socket.SOCK_STREAM, "::1", False),
    )
    for family, kind, host, beyond in kinds:
        with socket.socket(family, kind) as one:
            one.bind((host, 0))
            if kind == socket.SOCK_STREAM:
                one.listen()
            port = one.getsockname()[1]
            (found,) = [s for s in listening.of_processes(listening.family(os.getpid())) if s.port == port]
            assert (found.address, found.is_beyond_loopback) == (host, beyond)
    assert port not in {s.port for s in listening.of_process(os.getpid())}


def test_another_user_sees_no_live_page_and_the_printed_address_does(tmp_path: Path) -> None:
    words = ("run", "quickstart", "sqlite", "-P", "repeats.count=1", "--live", "--live-stay")
    paths = ["/", "/snapshot.json", "/metrics", "/themes.json", "/login"]
    with begun(tmp_path, *words) as (process, line):
        port, token = line(r"live: http://127\.0\.0\.1:(\d+)/login\?token=(\S+)").groups()
        sockets = listening.of_processes(listening.at_work(process.pid, tmp_path))
        assert beyond_loopback(sockets) == [] and int(port) in {s.port for s in sockets}
        got = stranger.ask("http", port=int(port), paths=[*paths, "/login?token=not-the-token-of-it"])
        assert {of.split()[0] for of in got} == {"127.0.0.1"}
        assert not any(re.search("quickstart|inrush_rows|writers", text) for text in got.values()), got
        codes = {of.split()[1]: text.split()[1] for of, text in got.items()}
        assert {codes[path] for path in paths} == {"303", "401", "200"} and codes["/"] == "303"
        assert codes["/login"] == "200" and codes["/login?token=not-the-token-of-it"] == "403"
        # And with it: what was refused is there.
        got = stranger.ask("http", port=int(port), paths=["/snapshot.json"], token=token)
        assert "quickstart" in got["127.0.0.1 /snapshot.json"]
        assert_nothing_secret_is_read(listening.family(process.pid), [token])


def test_a_load_server_listens_on_loopback_alone_and_tells_another_user_nothing(tmp_path: Path) -> None:
    words = ("load-server", "--json", "--into", f"sqlite://{tmp_path}/t.sqlite")
    with begun(tmp_path, *words) as (process, line):
        address = line(r'"address": "(127\.0\.0\.1:\d+)"').group(1)
        token_file = Path(line(r'"token_file": "([^"]+)"').group(1))
        sockets = [s for s in listening.of_processes(listening.family(process.pid)) if s.kind != "unix"]
        assert beyond_loopback(sockets) == [] and [f"127.0.0.1:{s.port}" for s in sockets] == [address]
        assert stranger.ask("load_server", address=address) == ""
        token = token_file.read_text().strip()
        assert "sqlite" in stranger.ask("load_server", address=address, token=token)
        assert token_file.stat().st_mode & 0o777 == 0o600
        assert_nothing_secret_is_read(listening.family(process.pid), [token], [token_file])
