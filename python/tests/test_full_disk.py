"""A run that ended on a full disk says so, and no other one does."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from inrush.results.store.files import write_json
from inrush.run import full_disk
from inrush.run.listener import Silent


class Usage(NamedTuple):
    total: int
    used: int
    free: int


LOST = {"kind": "target", "message": "connection lost and not back after 5 s"}
CUT = [{"label": "create", "ended_by": "work"}, {"label": "measure", "ended_by": "limit"}]
WHOLE = [{"label": "measure", "ended_by": "work"}]
REFUSED = [{"first_message": "HTTP 500: write wal: no space left on device"}]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A disk of 1 GB that had so many bytes free at each event of a run."""

    def watch(*free: int, place: Path | None = Path("/data")) -> full_disk.DiskWatch:
        disk = full_disk.DiskWatch(place, Silent())
        for free_bytes in free:
            usage = Usage(10**9, 10**9 - free_bytes, free_bytes)
            monkeypatch.setattr(full_disk.shutil, "disk_usage", lambda _, usage=usage: usage)
            disk.event({"event": "progress"})
        return disk

    return watch


def test_a_failure_on_a_full_disk_names_the_disk_and_keeps_its_own_words(watched: Any) -> None:
    disk = watched(10**8, 3 * 10**6, 9 * 10**8)  # what filled it was rolled back before the run had ended
    found = full_disk.explained(dict(LOST), disk, CUT, [])
    assert found is not None and found["kind"] == "target"
    assert found["message"].startswith(LOST["message"])
    assert "the disk of /data was full: 3.0 MB of 1,000 MB were free; make room" in found["message"]


def test_a_segment_that_was_cut_on_a_full_disk_is_a_failure(watched: Any) -> None:
    found = full_disk.explained(None, watched(0), CUT, [])
    assert (
        found is not None and "measure was cut by its limit: the disk of /data was full" in found["message"]
    )
    # A server that is not ours says it itself, or it is not known.
    found = full_disk.explained(None, watched(0, place=None), CUT, REFUSED)
    assert found is not None and "limit: HTTP 500: write wal: no space left on device" in found["message"]
    assert full_disk.explained(None, watched(0, place=None), CUT, []) is None


def test_what_is_no_full_disk_stays_as_it_was(watched: Any) -> None:
    room = 10**8
    assert full_disk.explained(None, watched(0), WHOLE, REFUSED) is None, (
        "it ended as planned: there was room"
    )
    assert full_disk.explained(None, watched(room), CUT, []) is None, "something else held it up"
    assert full_disk.explained(dict(LOST), watched(room), CUT, []) == LOST, "something else ended it"
    said = {"kind": "statement", "message": "could not extend file: No space left on device"}
    for disk in (watched(0), watched(0, place=None)):  # it says so itself, and not what to do
        found = full_disk.explained(dict(said), disk, CUT, [])
        assert found == {**said, "message": f"{said['message']}; {full_disk.REMEDY}"}
        said_where = {**said, "message": f"{said['message']}; make room in /scratch there"}
        assert full_disk.explained(dict(said_where), disk, CUT, []) == said_where, "it says what to do"


def test_a_folder_that_is_gone_is_not_called_full(tmp_path: Path) -> None:
    disk = full_disk.DiskWatch(tmp_path / "gone", Silent())
    disk.look()
    assert disk.full is None


@pytest.mark.parametrize(
    "message",
    [
        "could not extend file: No space left on device",
        "The table 'port_errors' is full",
        "(1114) The table '#sql-1f_9' is full",
        "database or disk is full",
        "Cannot reserve 1.00 MiB, not enough space",
    ],
)
def test_what_servers_say_of_a_full_disk_is_known(message: str) -> None:
    assert full_disk.says_full(message)
    assert not full_disk.says_full("connection lost; the queue is full of hope")


def test_a_large_disk_with_gigabytes_free_is_not_full() -> None:
    assert full_disk.room_needed(200 << 20) == full_disk.LEFT_BYTES
    assert full_disk.room_needed(10**10) == 10**8
    assert full_disk.room_needed(2 * 10**12) < 10**9


def test_a_file_of_results_that_has_no_room_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space") as said:
        write_json(tmp_path / "study.json", {})
    assert said.value.filename == str(tmp_path / "study.json")
    assert list(tmp_path.iterdir()) == []
