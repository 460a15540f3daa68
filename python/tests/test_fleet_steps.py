"""Steps over a fleet: each begins on all workers together, ends with the last, and one that fails ends all."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from inrush.results.parts import read
from tests.needed import need_distributed
from tests.test_clients_run import heard
from tests.test_clients_steps import planned

need_distributed()

from tests.test_fleet_run import FAILS_S, WORKERS, Fleet, failure, none_left, one, running  # noqa: E402

__all__ = ["one"]
RESTED = """
[[steps]]
name = "rest"
do = "settle"
seconds = 0.3
[[steps]]
name = "again"
do = "read"
operation = "one"
seconds = 0.5
"""


def stepped(folder: Path, *overrides: str) -> dict[str, Any]:
    """On an engine that takes known times and keeps nothing."""
    from tests.test_clients_steps import STUDY

    found: dict[str, Any] = json.loads(
        json.dumps(planned(folder, f"clients={WORKERS}", *overrides, study=STUDY + RESTED, engine="null"))
    )
    found["target"] |= {"engine": "simulated", "url": "simulated:", "options": {"service_ns": "2000000"}}
    for operation in found["operations"]:
        operation["holds"] = []
    for segment in found["segments"]:
        segment.update({"proofs": []} if segment["kind"] == "proof" else {})
    return found


def test_each_step_begins_on_all_workers_together_and_those_of_one_process_keep_the_others_waiting(
    one: Fleet, tmp_path: Path
) -> None:
    plan = stepped(tmp_path)
    with running(one, tmp_path, plan) as worker:
        events = heard(worker, "ended")
        assert worker.close() == 0, events
    parts = tmp_path / "run" / "parts"

    def rows(name: str) -> list[dict[str, Any]]:
        return [row for table in read(name, parts) for row in table.to_pylist()]

    labels = [segment["label"] for segment in plan["segments"]]
    at = {label: labels.index(label) for label in ("load", "more", "look", "rest", "again")}
    repetitions = {r["segment"]: r for r in rows("repetitions")}
    assert repetitions[at["load"]]["rows"] == 1_000 and repetitions[at["more"]]["rows"] == 300
    assert repetitions[at["load"]]["sessions"] == 2 * WORKERS and repetitions[at["look"]]["ops"] == 56
    starts = {
        s["segment"]: s for s in json.loads((parts / "processes.json").read_text())["clients"]["starts"]
    }
    assert set(starts) == {at[label] for label in ("load", "more", "look", "again")}
    assert all(None not in s["first_session_late_ns"] for s in starts.values())
    segments = {s["segment"]: s for s in rows("segments")}
    for before, after in (("load", "more"), ("more", "look"), ("look", "rest"), ("rest", "again")):
        assert segments[at[before]]["end_ns"] <= segments[at[after]]["start_ns"], (before, after)
    assert segments[at["rest"]]["end_ns"] - segments[at["rest"]]["start_ns"] >= 300_000_000
    for label in ("load", "look", "again"):
        # From the common start to the last end, whosever that was.
        segment, repetition = segments[at[label]], repetitions[at[label]]
        assert segment["start_ns"] <= repetition["start_ns"] <= repetition["end_ns"] <= segment["end_ns"]
    assert none_left(one, FAILS_S)


def test_a_worker_that_dies_in_a_step_ends_the_run_and_the_tables_of_steps_before_are_kept(
    one: Fleet, tmp_path: Path
) -> None:
    with running(one, tmp_path, stepped(tmp_path, "steps.again.seconds=60")) as worker:
        while heard(worker, "progress")[-1]["label"] != "again":
            pass
        victim, at = one.pids(b"002")[0], time.monotonic()
        os.kill(victim, signal.SIGKILL)
        failed = failure(worker, at)
        assert failed["kind"] == "fleet" and "client process 2 of 2" in failed["message"]
        heard(worker, "ended")
        assert worker.close() == 1
        assert none_left(one, 3.0)
    kept = [r for t in read("repetitions", tmp_path / "run" / "parts") for r in t.to_pylist()]
    assert {r["role"]: r["rows"] for r in kept if r["role"] in ("load", "more")} == {
        "load": 1_000,
        "more": 300,
    }
