"""All shards of a load are asked at once: in their order, with their password, and with the error of any."""

from __future__ import annotations

import os
import random
import threading
import time
from typing import Any, ClassVar

import pytest

from inrush.load.ledgers import AT_ONCE, Ledgers
from inrush.targets.passwords import environment

PASSWORD = "INRUSH_TEST_PASSWORD"
SHARDS = 4


class Shards:
    """Answers a count with the number of the shard; `together`: only once all of them are asked."""

    secrets: ClassVar[dict[str, str]] = {PASSWORD: "x"}

    def __init__(self, together: bool = False, fails: int | None = None) -> None:
        self.barrier = threading.Barrier(SHARDS) if together else None
        self.fails = fails

    def ask(self, target: dict[str, Any], statement: str, limit_s: float) -> list[list[Any]]:
        with environment(self.secrets):
            time.sleep(random.random() * 0.005)
            if self.barrier is not None:
                self.barrier.wait(timeout=20)
            if os.environ.get(PASSWORD) != "x":
                raise RuntimeError("no password")
            if target["number"] == self.fails:
                raise RuntimeError("the shard is away")
            return [[target["number"]]]


def ledgers(shards: Shards, count: int = SHARDS) -> Ledgers:
    targets = [(f"shard {k}", {"number": k}) for k in range(count)]
    return Ledgers(shards, targets, "ledger", "t")  # type: ignore[arg-type]


def test_all_shards_are_asked_before_any_has_answered_and_come_in_their_order() -> None:
    assert ledgers(Shards(together=True)).counts("t") == list(range(SHARDS))


def test_the_password_stands_until_the_last_shard_has_answered_and_is_gone_then() -> None:
    of = ledgers(Shards())
    for _ in range(50):
        assert of.counts("t") == list(range(SHARDS))
    assert PASSWORD not in os.environ


def test_an_error_of_one_shard_is_the_whole_questions() -> None:
    with pytest.raises(RuntimeError, match="the shard is away"):
        ledgers(Shards(fails=2)).counts("t")
    assert PASSWORD not in os.environ


def test_more_shards_than_a_load_server_takes_at_once_are_asked_in_turns() -> None:
    asked, most = 0, 0
    lock = threading.Lock()

    class Counting(Shards):
        def ask(self, target: dict[str, Any], statement: str, limit_s: float) -> list[list[Any]]:
            nonlocal asked, most
            with lock:
                asked += 1
                most = max(most, asked)
            time.sleep(0.05)  # longer than 100 threads take to start
            with lock:
                asked -= 1
            return [[target["number"]]]

    assert ledgers(Counting(), 100).counts("t") == list(range(100))
    assert 1 < most <= AT_ONCE
