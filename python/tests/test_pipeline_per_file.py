"""A load server and a client of its own for each file: all rows come through, and one that is killed ends the run."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inrush.load.pipeline import run
from inrush.load.pipeline.environment import OneHost
from tests.test_pipeline import placed
from tests.test_pipeline_hosts import rows

LIMIT_S = 60.0


def ran(folder: Path, *overrides: str) -> tuple[int, list[Mapping[str, Any]], Path]:
    plan: Any = placed("sqlite", folder, "pipelines=1", "pipeline.process_per_file=true", *overrides)
    parts, said = folder / "parts", list[Mapping[str, Any]]()
    parts.mkdir()
    code = run.made(plan, parts, list, said.append, lambda role, work: OneHost(plan, role, work))
    return code, said, parts


def test_every_file_is_loaded_once_and_proven(tmp_path: Path) -> None:
    code, said, parts = ran(tmp_path, "pipeline.pipeline_bytes_per_s=0")
    assert code == 0, said
    files = rows(parts, "files")
    assert [row["file"] for row in files] == [0, 1] and {row["pipeline"] for row in files} == {0}
    assert all(row["start_ns"] < row["sent_ns"] <= row["end_ns"] for row in files)
    assert files[0]["end_ns"] <= files[1]["start_ns"], "one after the other"
    assert all(row["holds"] for row in rows(parts, "proofs"))


@pytest.mark.parametrize("role", ["client", "server"])
def test_an_end_that_is_killed_is_said_and_not_waited_for(role: str, tmp_path: Path) -> None:
    """It is a child of the process that starts one after the other."""
    killed: list[int] = []

    def kill() -> None:
        end = time.monotonic() + LIMIT_S
        while not killed and time.monotonic() < end:
            time.sleep(0.05)
            for pid in children_of(logging_to(tmp_path, f"{role}-0.log")):
                # Both are there when the client has begun to send.
                if children_of(logging_to(tmp_path, "client-0.log")):
                    time.sleep(0.3)
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    slow = ("pipeline.shard_rows_per_s=200", "pipeline.chunk_rows=50", "pipeline.flush_rows=50")
    code, said, _ = ran(tmp_path, *slow)
    thread.join()
    (failed,) = [event for event in said if event["event"] == "failed"]
    assert killed and code == 1
    if role == "client":
        assert "load client of file 0: the process was killed by SIGKILL" in failed["message"]


def logging_to(below: Path, name: str) -> list[int]:
    """Processes whose log has that name; of a host of ends and the end below it both."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            log = (entry / "fd" / "2").readlink()
            if log.name == name and below in log.parents:
                found.append(int(entry.name))
    return found


def children_of(of: list[int]) -> list[int]:
    """Those among them whose parent is one of them, too."""
    found = []
    for pid in of:
        with contextlib.suppress(OSError):
            if int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]) in of:
                found.append(pid)
    return found
