"""What a killed inrush left: `engines status` names it, `engines stop` ends it, and nothing else. A sleeper is the server."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Release
from inrush.engines.ndb import release as ndb_release
from inrush.engines.ndb import sql as ndb_sql
from inrush.engines.servers import life, origin
from inrush.errors import TargetError
from inrush.targets import instances, leftovers
from inrush.targets.deployment import lifecycle_of

ENGINE, HOME = "postgresql", "cluster"
#: Starts a sleeper and is gone: what it says are the ids of both. A test that was started in the background ignores Ctrl-C, and
#: the sleeper would too.
KILLED = (
    "import os, signal, subprocess; none = subprocess.DEVNULL; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "print(os.getpid(), subprocess.Popen(['sleep', '60'], stdin=none, stdout=none, stderr=none).pid)"
)


@pytest.fixture
def left(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """The folder in which `run --start` had its server, which still runs, and the server's process."""
    folder = tmp_path / ENGINE
    (folder / HOME).mkdir(parents=True)
    (folder / HOME / "PG_VERSION").write_text("18\n")
    said = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=folder / HOME, capture_output=True, text=True, check=True
    )
    by, pid = map(int, said.stdout.split())
    recorded(folder, pid, by=by, by_began="long ago")
    yield folder, pid
    subprocess.run(["kill", "-9", str(pid)], check=False, capture_output=True)


def recorded(folder: Path, pid: int, **more: object) -> None:
    origin.write(folder, pid, 5_000, version="18.6")
    doc = json.loads((folder / origin.FILE).read_text())
    (folder / origin.FILE).write_text(json.dumps({**doc, **more}))


def test_status_names_what_a_killed_inrush_left_and_what_ends_it(
    left: tuple[Path, int], tmp_path: Path
) -> None:
    _, pid = left
    notes: list[str] = []
    (row,) = instances.status([ENGINE], tmp_path, notes.append).rows
    assert (row["running"], row["pid"]) == (True, pid)
    (note,) = notes
    assert f"process {pid} at {row['url']} was left by an inrush that was killed" in note
    assert f"`inrush engines stop {ENGINE}` ends it" in note


@pytest.mark.parametrize("known", [True, False])
def test_its_version_is_that_of_its_programs_or_not_known_whatever_its_data_say(
    left: tuple[Path, int], tmp_path: Path, known: bool
) -> None:
    folder, _ = left
    if not known:  # as an inrush before recorded it
        (folder / origin.FILE).write_text(json.dumps({**origin.read(folder), "version": None}))
    for _ in range(2):
        listing = instances.status([ENGINE], tmp_path, lambda _: None)
        (row,) = listing.rows
        assert (row["version"], row["running"]) == ("18.6" if known else None, True)
        assert [*listing.lines[1].split()][:3] == [ENGINE, "-", "18.6" if known else "-"]
        (folder / HOME / "PG_VERSION").unlink(missing_ok=True)
    assert lifecycle_of(server(ENGINE)).made_by(folder / HOME) == ""  # type: ignore[attr-defined]


def test_no_program_of_the_current_folder_is_run_to_say_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder may be another user's, and `mysqld --help` is asked whether it has the engine of NDB."""
    trap = tmp_path / ndb_release.SQL_FOLDER / "bin" / ndb_release.SQL_PROGRAM
    trap.parent.mkdir(parents=True)
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    trap.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INRUSH_ENGINES", str(tmp_path / "none"))
    ndb_sql.program(Release("ndb", "", Path()))
    instances.status(["ndb"], tmp_path / "data", lambda _: None)
    assert not (tmp_path / "ran").exists()


def test_stop_ends_it_and_status_has_none_then(left: tuple[Path, int], tmp_path: Path) -> None:
    _, pid = left
    (row,) = instances.stop([ENGINE], tmp_path, print).rows
    assert not row["running"] and life.started_at(pid) is None
    notes: list[str] = []
    assert [r["running"] for r in instances.status([ENGINE], tmp_path, notes.append).rows] == [False]
    assert notes == []


def test_a_disk_that_is_full_keeps_no_record_of_a_server_that_has_ended(
    left: tuple[Path, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, pid = left
    assert origin.running(folder) == {"": pid}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(origin.private, "write", full)
    origin.remove(folder)
    assert origin.read(folder) == {}


def test_the_server_of_an_inrush_that_lives_is_not_called_left(
    left: tuple[Path, int], tmp_path: Path
) -> None:
    """By the process of the test, which is another than this one where it matters."""
    folder, pid = left
    recorded(folder, pid)
    assert leftovers.leftovers(server(ENGINE), tmp_path) == []
    assert life.started_at(pid) is not None
    notes: list[str] = []
    (row,) = instances.status([ENGINE], tmp_path, notes.append).rows
    assert (row["running"], row["role"], row["pid"]) == (True, "of a study", pid)
    assert [note.partition(" at ")[0] for note in notes] == [f"{ENGINE}: a study runs on the server"]
    recorded(folder, pid, by=1, by_began=life.started_at(1))
    with pytest.raises(TargetError, match=r"a server of another inrush \(process 1\) runs there"):
        origin.end_leftover(folder, folder / HOME, signal.SIGTERM, 5.0)
    assert life.started_at(pid) is not None


def test_a_process_that_has_the_servers_id_by_now_is_not_it(left: tuple[Path, int], tmp_path: Path) -> None:
    folder, pid = left
    doc = origin.read(folder)
    (folder / origin.FILE).write_text(json.dumps({**doc, "began": doc["began"] - 1}))
    assert leftovers.leftovers(server(ENGINE), tmp_path) == []
    with pytest.raises(TargetError, match=f"process {pid} works there and was not started by inrush"):
        origin.end_leftover(folder, folder / HOME, signal.SIGTERM, 5.0)
    assert life.started_at(pid) is not None


def test_an_id_that_another_process_has_by_now_is_no_inrush_that_lives(
    left: tuple[Path, int], tmp_path: Path
) -> None:
    folder, pid = left
    recorded(folder, pid, by=1, by_began=(life.started_at(1) or 0) - 1)
    assert [i.pid for i in leftovers.leftovers(server(ENGINE), tmp_path)] == [pid]


def test_a_server_that_this_process_started_before_is_ended_by_its_next_start(left: tuple[Path, int]) -> None:
    folder, pid = left
    recorded(folder, pid)
    origin.end_leftover(folder, folder / HOME, signal.SIGTERM, 5.0)
    assert life.started_at(pid) is None
