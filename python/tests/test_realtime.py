"""A client that comes first: its threads are of the first-in-first-out class, others' are not, and who cannot is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from inrush.agent.realtime import OPTION, client_problems, kernel_problems, unable
from inrush.run.call import StudyCall

#: An agent whose work is to say how it, a thread of it and this very process are scheduled.
PROGRAM = """
import json, os, sys, threading
from inrush.agent import drive, program

def work(document, parent):
    seen = [os.sched_getscheduler(0)]
    other = threading.Thread(target=lambda: seen.append(os.sched_getscheduler(threading.get_native_id())))
    other.start()
    other.join()
    print(json.dumps([*seen, os.sched_getscheduler(os.getppid())]))
    return 0

drive.work = work
sys.exit(program.main())
"""


def scheduled(**how: bool) -> list[int]:
    """Policies of the worker's first thread, of another, and of its parent."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps({"does": "drive", **how}) + "\n",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "INRUSH_PARENT": str(os.getpid())},
    )
    found: list[int] = json.loads(done.stdout)
    return found


PERMITTED = pytest.mark.skipif(unable() is not None, reason=f"{OPTION}: {unable()}")


@PERMITTED
def test_all_threads_of_the_worker_come_first_and_nobody_else() -> None:
    assert scheduled(realtime=True) == [os.SCHED_FIFO, os.SCHED_FIFO, os.SCHED_OTHER]
    assert scheduled() == [os.SCHED_OTHER] * 3
    assert os.sched_getscheduler(0) == os.SCHED_OTHER, "trying it left this process changed"


def test_what_is_measured_never_comes_first() -> None:
    alone: Any = {"segments": []}
    (inside,) = client_problems(["duckdb", "postgresql", "sqlite"], [alone])
    assert "duckdb, sqlite runs inside of the client" in str(inside)
    assert not list(client_problems(["postgresql"], [alone]))
    of, several = client_problems(["postgresql"], [{**alone, "loads": {}}, {**alone, "share": {}}])
    assert "processes of a pipeline" in str(of) and "several client processes" in str(several)


def test_without_the_privilege_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", forbidden)
    (problem,) = kernel_problems()
    assert "does not allow it" in str(problem)


def test_the_command_that_makes_a_study_again_names_it() -> None:
    call = StudyCall("telemetry-keepup", start=("postgresql",), realtime=True)
    assert call.command() == "inrush run telemetry-keepup --start postgresql --realtime"
    assert StudyCall(**call.document()).realtime
