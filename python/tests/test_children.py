"""Processes that inrush starts and that end, or do not, in another way than by its own hand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inrush.engines.servers import life
from tests.strategies import ENVIRONMENT

USER = life.User(None, None)


def wait_for_zombie(pid: int) -> None:
    until = time.monotonic() + 30
    while life.started_at(pid) is not None:
        assert time.monotonic() < until, "the process does not end"
        time.sleep(0.01)


def test_a_server_that_ended_by_itself_leaves_no_zombie_behind(tmp_path: Path) -> None:
    process = life.launch(USER, ["true"], tmp_path, tmp_path / "log")
    wait_for_zombie(process.pid)
    assert life.end(process.pid, signal.SIGTERM, tmp_path, 5.0)
    assert process.returncode == 0
    assert not Path(f"/proc/{process.pid}").exists()


def test_what_runs_is_known_until_it_is_ended(tmp_path: Path) -> None:
    process = life.launch(USER, ["sleep", "600"], tmp_path, tmp_path / "log")
    try:
        assert process.pid in life.running_children()
    finally:
        assert life.end(process.pid, signal.SIGTERM, tmp_path, 5.0)
    assert process.pid not in life.running_children()


def test_a_command_that_leaves_its_server_running_ends_without_a_warning(tmp_path: Path) -> None:
    program = (
        "from inrush.engines.servers import life; from pathlib import Path\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "print(life.launch(life.User(None, None), ['sleep', '600'], folder, folder / 'log').pid)"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    os.kill(int(done.stdout), signal.SIGKILL)
    assert done.stderr == ""


def test_a_server_runs_only_once_it_was_admitted(tmp_path: Path) -> None:
    """What it started before would be outside of its limits."""
    begun, seen = tmp_path / "begun", []

    def admit(pid: int) -> None:
        time.sleep(0.2)
        seen.append((pid, begun.exists()))

    command = ["sh", "-c", 'echo "$$ $(cat | wc -c)" > begun']
    process = life.launch(USER, command, tmp_path, tmp_path / "log", admit)
    assert process.wait(30) == 0
    assert seen == [(process.pid, False)]
    assert begun.read_text().split() == [str(process.pid), "0"], "the same process, with nothing to read"


def test_a_server_that_could_not_be_admitted_never_runs(tmp_path: Path) -> None:
    pids = []

    def refuse(pid: int) -> None:
        pids.append(pid)
        raise OSError("no such group")

    with pytest.raises(OSError, match="no such group"):
        life.launch(USER, ["touch", "begun"], tmp_path, tmp_path / "log", refuse)
    wait_for_zombie(pids[0])
    assert not (tmp_path / "begun").exists()
