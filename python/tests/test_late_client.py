"""A client that is really late by itself: niced below a busy machine, or 64 sessions on one core that is not theirs.

Its latencies are invalid and named; what was counted stands.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.test_paced import PACKAGE, STUDY

#: Held on one core beside something that computes without end; the first also gives way to everything.
STARVED = {"niced": ["nice", "-n", "5", "taskset", "-c", "0"], "one core": ["taskset", "-c", "0"]}
SESSIONS = {"niced": 2, "one core": 64}


@contextlib.contextmanager
def busy_core() -> Iterator[None]:
    """Two programs that compute on core 0 until the end."""
    hogs = [
        subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", "while True: pass"]) for _ in range(2)
    ]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def verdicts(tmp_path: Path, how: str) -> tuple[int, dict[str, Any]]:
    study = tmp_path / "lookups.toml"
    study.write_text(STUDY.replace("factors.sessions = [2]", f"factors.sessions = [{SESSIONS[how]}]"))
    environment = {
        **os.environ, "PYTHONPATH": str(PACKAGE), "NO_COLOR": "1", "INRUSH_RESULTS": str(tmp_path / "r"),
    }  # fmt: skip
    command = [*STARVED[how], sys.executable, "-m", "inrush.cli", "run", str(study), "--json"]
    with busy_core():
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=280, check=False
        )
    assert done.stdout.strip(), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.ci
@pytest.mark.parametrize("how", [pytest.param("niced", marks=pytest.mark.slow), "one core"])
def test_a_starved_client_is_invalid_in_the_latencies_that_it_names(tmp_path: Path, how: str) -> None:
    code, said = verdicts(tmp_path, how)
    assert code == 3, said
    (found,) = [v for v in said["verdicts"] if v["guard"] == "client on time" and v["outcome"] == "invalid"]
    assert "readers.latency_p99_s" in found["figures"] and "latency" in found["sentence"]
    assert "readers.ops" not in found["figures"], "what was counted stands"
