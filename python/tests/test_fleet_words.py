"""Words to a client process on a worker: what they name must mean there what it means here."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from tests.needed import need_distributed

need_distributed()

from inrush.fleet.place import RemoteClient  # noqa: E402

RESUME = {"do": "resume", "processes": {"server": [7]}, "threads": {}}


@pytest.mark.parametrize(
    ("shared", "word", "heard"),
    [
        (True, RESUME, RESUME),
        # Process 7 is another one there.
        (False, RESUME, {"do": "resume"}),
        (False, {"do": "stop"}, {"do": "stop"}),
        (False, {"do": "go", "at_ns": 5}, {"do": "go", "at_ns": 5}),
    ],
)
def test_process_ids_of_this_machine_are_said_to_workers_that_share_them(
    shared: bool, word: Mapping[str, object], heard: Mapping[str, object]
) -> None:
    client: Any = RemoteClient.__new__(RemoteClient)
    client.place, client.worker, client.words = (
        SimpleNamespace(shares=lambda *_: shared),
        "w",
        queue.SimpleQueue(),
    )
    client.send(word)
    assert client.words.get_nowait() == heard
