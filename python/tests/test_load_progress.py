"""The line of a load that goes on: its rates are of what is stored, though the client reads ahead of it."""

from __future__ import annotations

from typing import Any

import pytest

from inrush.commands.load import progress_line
from inrush.load.time_left import with_time_left

#: 10,000,000 bytes of 100 a row are read, a fifth of their rows is stored.
EVENT = {
    "event": "progress", "role": "client", "seconds": 2.0, "bytes": 10_000_000, "rows_sent": 100_000, "rows_stored": 20_000,
    "rows_of_others": 0,
    "rejected": 0, "files_done": 0, "files": 1,
}  # fmt: skip


def seen(**changes: Any) -> dict[str, Any]:
    found: list[Any] = []
    with_time_left(found.append, 20_000_000)({**EVENT, **changes})
    return dict(found[0])


def test_bytes_and_time_left_are_of_the_rows_that_are_stored() -> None:
    event = seen()
    assert event["stored_bytes"] == 2_000_000 and event["left_s"] == pytest.approx(18.0)
    line = progress_line(event)
    assert "10.0 k rows/s" in line and "1.00 MB/s" in line and "18.0 s left" in line


def test_where_nothing_is_stored_no_time_is_promised() -> None:
    assert "left_s" not in seen(rows_stored=0) and seen(rows_sent=0, rows_stored=0)["stored_bytes"] == 0


def test_rejected_rows_are_done_and_all_that_is_read_is_the_most() -> None:
    assert seen(rows_stored=100_000)["left_s"] == pytest.approx(2.0)
    assert seen(rows_sent=50_000, rows_stored=0, rejected=50_000)["stored_bytes"] == 5_000_000
    assert seen(rows_stored=300_000)["stored_bytes"] == 10_000_000


def test_what_an_earlier_command_has_stored_is_not_left() -> None:
    assert seen(bytes_before=8_000_000)["left_s"] == pytest.approx(10.0)


def test_rows_that_another_command_stored_are_done_and_in_no_rate() -> None:
    event = seen(rows_stored=0, rows_of_others=50_000)
    assert event["stored_bytes"] == 0 and event["left_s"] == pytest.approx(6.0)
    line = progress_line(event)
    assert "0 rows stored, 0 rows/s, 0 B/s" in line
