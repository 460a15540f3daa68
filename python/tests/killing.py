"""`inrush run` in a process of its own, and kills of what works in it, at a row of its load."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
#: Processes of a run. One more, `database`, is the server that inrush started for it.
VICTIMS = ("inrush", "worker", "client", "server")
#: A busy machine takes long to start a few processes.
LIMIT_S = 120.0


def inrush(results: Path, *words: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "NO_COLOR": "1", "INRUSH_RESULTS": str(results)}
    return subprocess.Popen(
        [sys.executable, "-m", "inrush.cli", *words],
        env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def stored(results: Path, since_ns: int, step: str = "load") -> int:
    """Rows that are stored by the journal of the worker that was started since; -1 while its files are not due."""
    rows = before = -1
    for path in results.glob(f"*/b*/parts/{step}.journal"):
        with contextlib.suppress(OSError):
            for text in path.read_text().splitlines():
                with contextlib.suppress(json.JSONDecodeError):
                    line = json.loads(text)
                    if line["said"] == "go" and line["zero_unix_ns"] > since_ns:
                        rows = before = line["rows"]
                    elif line["said"] == "look" and before >= 0:
                        rows = before + line["rows"]
    return rows


def killed(
    results: Path, words: Sequence[str], victim: str, at: int, when: Callable[[], bool] = lambda: True
) -> str:
    """Runs inrush until so many rows are stored, then kills one of its processes; what it said. when: and this is true."""
    began_ns = time.time_ns()
    with inrush(results, *words) as process:
        until = time.monotonic() + LIMIT_S
        while process.poll() is None and (stored(results, began_ns) < at or not when()):
            assert time.monotonic() < until, f"the load did not come to row {at}"
            time.sleep(0.01)
        assert process.poll() is None, f"it ended before row {at}: {process.communicate()[0]}"
        for pid in [process.pid] if victim == "inrush" else processes(results, victim):
            os.kill(pid, signal.SIGKILL)
        said, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode != 0
    return said


def processes(results: Path, victim: str) -> list[int]:
    """Of a run below `results`: its worker, or an end by the log that it writes; a database by the record beside its data."""
    if victim == "database":
        return [int(json.loads(path.read_text())["pid"]) for path in results.parent.glob("*/*/instance.json")]
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if victim == "worker":
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"inrush.agent.program" in words and any(str(results).encode() in w for w in words):
                    found.append(int(entry.name))
            else:
                log = str((entry / "fd" / "2").readlink())
                if log.startswith(str(results)) and Path(log).name.startswith(f"{victim}-"):
                    found.append(int(entry.name))
    assert found, f"no {victim} at work"
    return found


def finished(results: Path, *words: str) -> tuple[int, str]:
    with inrush(results, *words) as process:
        said, _ = process.communicate(timeout=LIMIT_S)
    return process.returncode, said
