"""Loads from files on workers: each loads its own, all together those of one process, and a lost worker leaves none elsewhere."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inrush.results.parts import read
from tests.needed import need_distributed
from tests.test_clients_run import heard
from tests.test_fleet_files import AS_MADE, CHUNKS, ROWS, planned, simulated

need_distributed()

from tests.test_fleet_run import WORKERS, Fleet, failure, none_left, one, running  # noqa: E402

__all__ = ["one"]
LIMIT_S = 60.0


def left(at: Fleet) -> list[Path]:
    """What is in the folders of its workers, of runs."""
    return [path for path in at.folder.rglob("inrush-*") if path.is_dir()]


def folder_of(at: Fleet, worker: bytes) -> Path:
    """Where a client process of a worker works."""
    (node,) = at.pids(worker)
    for pid in at.clients():
        if int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]) == node:
            return Path(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[-2].decode()).parent
    raise AssertionError(f"no process of {worker!r}")


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.tsv") if path.stat().st_size]


def rows(name: str, parts: Path) -> list[dict[str, Any]]:
    return [row for table in read(name, parts) for row in table.to_pylist()]


@pytest.mark.ci
def test_each_worker_loads_its_own_files_and_they_go_with_the_run(one: Fleet, tmp_path: Path) -> None:
    plan = simulated(planned(WORKERS))
    with running(one, tmp_path, plan) as worker:
        events = heard(worker, "ended")
        assert worker.close() == 0, events
    parts = tmp_path / "run" / "parts"
    loaded = rows("files", parts)
    assert sorted(f["file"] for f in loaded) == [*range(CHUNKS)] and sum(f["rows"] for f in loaded) == ROWS
    made = [w["files"] for w in json.loads((parts / "processes.json").read_text())["clients"]["workers"]]
    assert [of["files"] for of in made] == [7, 6] and all(of["took_s"] > 0 for of in made)
    assert sum(of["bytes"] for of in made) == sum(f["bytes"] for f in loaded) > 0
    assert not left(one) and none_left(one, LIMIT_S)


@pytest.mark.parametrize("when", ["made", "loaded"])
@pytest.mark.slow
def test_a_worker_that_dies_while_files_are_made_or_loaded_leaves_none_with_the_living(
    one: Fleet, tmp_path: Path, when: str
) -> None:
    many = ("steps.load.rows.total=8_000_000", "sizes.files=800", "sizes.run_rows=1_000")
    plan = simulated(planned(WORKERS, AS_MADE, *(many if when == "made" else ())))
    plan["target"]["options"]["service_ns"] = "4000000000"
    with running(one, tmp_path, plan) as worker:
        if when == "made":
            assert heard(worker, "segment")[-1]["label"] == "inputs"
            folders = [folder_of(one, b"001"), folder_of(one, b"002")]
            until(lambda: all(map(files, folders)))
        else:
            while heard(worker, "progress")[-1]["label"] != "load":
                pass
            folders = [folder_of(one, b"001"), folder_of(one, b"002")]
        assert all(map(files, folders)) and (when == "loaded" or len(files(folders[1])) < 400), (
            "it has not all yet"
        )
        (victim,), at = one.pids(b"002"), time.monotonic()
        os.kill(victim, signal.SIGKILL)
        failed = failure(worker, at, LIMIT_S)  # how soon is asked elsewhere: here all cores make files
        assert failed["kind"] == "fleet" and "client process 2 of 2 (worker tls://" in failed["message"]
        heard(worker, "ended")
        assert worker.close() == 1
        assert none_left(one, LIMIT_S)
        until(lambda: not folders[0].exists())
        assert left(one) == [folders[1]], "what a worker that was killed had stays there"


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)
