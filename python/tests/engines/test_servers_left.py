"""Servers of a test session that was killed are ended by the next one, and those of a session that runs are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .servers import PREFIX, end_those_left

#: Works in a folder until it is ended, as a server does.
SERVER = "import sys, time; open('log', 'w').flush(); print('up', flush=True); time.sleep(60)"


def serving(folder: Path) -> subprocess.Popen[str]:
    folder.mkdir()
    server = subprocess.Popen([sys.executable, "-c", SERVER], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None and server.stdout.readline() == "up\n"
    return server


def test_servers_of_a_killed_session_are_ended_and_those_of_one_that_runs_are_not(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as killed:
        pass
    ours = tmp_path / f"{PREFIX}{os.getpid()}-b"
    of_killed = tmp_path / f"{PREFIX}{killed.pid}-a"
    with serving(of_killed) as left, serving(ours) as kept:
        try:
            end_those_left(tmp_path)
            assert left.wait(10) == -9 and not of_killed.exists()
            assert kept.poll() is None and ours.exists()
        finally:
            left.kill()
            kept.kill()
