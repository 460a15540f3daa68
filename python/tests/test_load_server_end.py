"""`inrush load-server` is asked to end: at whatever moment, it ends in order and with exit code 0."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inrush.agent.stopping import Stopping
from inrush.errors import Interrupted
from inrush.load.process import End
from inrush.load.serve import ServerAddress, Serving, follow, serve

LIMIT_S = 60


def ask(number: int = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


def served(folder: Path, ready: Callable[[ServerAddress], None]) -> list[ServerAddress]:
    shown: list[ServerAddress] = []

    def showing(address: ServerAddress) -> None:
        shown.append(address)
        ready(address)

    serve(Serving("127.0.0.1:0", into=f"sqlite://{folder}/t.sqlite"), folder / "own", lambda _: None, showing)
    return shown


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_load_server_that_is_asked_to_end_while_it_prints_its_address_ends_in_order(
    number: int, tmp_path: Path
) -> None:
    before = signal.getsignal(number)
    [shown] = served(tmp_path, lambda _: ask(number))
    assert shown.address.startswith("127.0.0.1:")
    assert signal.getsignal(number) is before


def test_a_load_server_that_is_asked_to_end_before_it_listens_ends_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = End.begin

    def asked(end: End, document: dict[str, Any], log: Path) -> None:
        begin(end, document, log)
        ask()

    monkeypatch.setattr(End, "begin", asked)
    served(tmp_path, lambda _: None)


def test_a_load_server_that_is_asked_to_end_once_it_waits_for_clients_ends_in_order(tmp_path: Path) -> None:
    timer = threading.Timer(0.3, ask)
    served(tmp_path, lambda _: timer.start())
    timer.join(LIMIT_S)


class Deaf:
    """An end of a load that heeds nothing."""

    def __init__(self) -> None:
        self.asked = 0

    def ask_to_end(self) -> None:
        self.asked += 1

    def next(self, timeout_s: float) -> None:
        ask()


def test_a_second_request_ends_a_load_server_at_once() -> None:
    deaf: Any = Deaf()
    with Stopping() as stopping, pytest.raises(Interrupted, match="at once"):
        follow(deaf, stopping, lambda _: None, lambda _: None)
    assert deaf.asked == 1
