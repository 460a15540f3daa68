"""A paced, timed study as a user runs it: valid when left alone, invalid when the client itself was stopped."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parents[1]
STUDY = """
schema = 1
title = "Look-ups at a rate"
question = "How long does a look-up take at 200 a second?"
expect = "Under a millisecond."
workload = "telemetry"
kind = "timed"
engines = ["sqlite"]
sizes = { ports = 200 }
load = { rows = 2_000 }
factors.sessions = [2]
schedule = { mode = "constant", rate_per_s = 200, warm_s = 0.3, measure_s = 3, limit_s = 60 }
record = { interval_s = 0.5 }
[roles.readers]
operation = "pc_count"
sessions = "@sessions"
[repeats]
count = 1
[answer]
kind = "curve"
of = "readers.latency_p50_s"
along = "sessions"
per = ["engine"]
"""


def run(tmp_path: Path, stop_client: bool) -> tuple[int, dict[str, Any]]:
    study = tmp_path / "lookups.toml"
    study.write_text(STUDY)
    environment = {
        **os.environ,
        "PYTHONPATH": str(PACKAGE),
        "NO_COLOR": "1",
        "INRUSH_RESULTS": str(tmp_path / "r"),
    }
    command = [sys.executable, "-m", "inrush.cli", "run", str(study), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        ended = threading.Event()
        stopper = threading.Thread(target=stop_each_worker, args=(process.pid, ended))
        if stop_client:
            stopper.start()
        out, err = process.communicate(timeout=280)
        ended.set()
        if stop_client:
            stopper.join()
    assert out.strip(), err
    return process.returncode, json.loads(out)


def stop_each_worker(parent: int, ended: threading.Event) -> None:
    """Every worker is stopped again and again for 0.4 s: whenever it measures, one of the stops falls into it."""
    while not ended.wait(0.5):
        for pid in children(parent):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.4)
                os.kill(pid, signal.SIGCONT)


def children(parent: int) -> set[int]:
    shown = subprocess.run(
        ["pgrep", "-f", "-P", str(parent), "inrush.agent.program"],
        capture_output=True,
        text=True,
        check=False,
    )
    return {int(pid) for pid in shown.stdout.split()}


@pytest.mark.ci
def test_a_paced_study_left_alone_offers_everything_and_is_not_blamed(tmp_path: Path) -> None:
    code, said = run(tmp_path, stop_client=False)
    found = {v["guard"]: v for v in said["verdicts"]}
    assert found["keeps the rate"]["outcome"] == "pass", said
    assert code in (0, 3)


@pytest.mark.ci
def test_a_client_that_was_stopped_makes_its_run_invalid_and_the_code_3(tmp_path: Path) -> None:
    code, said = run(tmp_path, stop_client=True)
    late = [v for v in said["verdicts"] if v["guard"] == "client on time"]
    assert late and late[0]["outcome"] == "invalid", said
    assert (code, said["valid"]) == (3, False)
