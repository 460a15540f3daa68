"""A run by several client processes: what it is when all goes well, and that nothing is left over when it does not."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from inrush.agent.place import DOCUMENT
from inrush.agent.process import Process
from inrush.border.events import Event
from inrush.engines import server
from inrush.machine.own_programs import START
from inrush.plan.plan import plan_study
from inrush.results.parts import read
from inrush.run.one import done_by
from inrush.study.reading import load_study

PACKAGE = Path(__file__).parents[1]
Worker = Process[Event]
PROCESSES = 3
#: A busy machine takes long to start a few processes; ending them takes it no time.
LIMIT_S, ENDS_S = 120.0, 2.0


def plan(measure_s: float = 0.5, calls: int | None = None, **segment: Any) -> dict[str, Any]:
    """Look-ups by key of an engine that answers in known times; `calls`: so many, and not for a time."""
    study = load_study(
        "keylookup-clients",
        "xs",
        overrides=[f"factors.clients=[{PROCESSES}]", f"schedule.measure_s={measure_s}"],
        engines=["null"],
    )
    planned: Any = plan_study(study, {"null": server("null")}).runs[-1].plan
    planned = json.loads(json.dumps(planned))
    # A simulated server is one of each process: none has the rows of the others.
    planned["target"] |= {"engine": "simulated", "url": "simulated:", "options": {"service_ns": "100000"}}
    for operation in planned["operations"]:
        operation["holds"] = []
    for one in planned["segments"]:
        if one["label"] == "measure":
            one |= segment
            for role in one["roles"] if calls else ():
                role |= {"work": {"kind": "calls", "count": calls}, "until": {"kind": "work"}}
    return planned  # type: ignore[no-any-return]


@contextlib.contextmanager
def running(
    tmp_path: Path, plan: dict[str, Any], environment: Mapping[str, str] | None = None
) -> Iterator[Worker]:
    parts = tmp_path / "parts"
    parts.mkdir()
    does = done_by(plan)  # type: ignore[arg-type]
    worker = Worker({"does": does, "plan": plan, "parts": str(parts)}, tmp_path / "worker.log", environment)
    try:
        yield worker
    finally:
        worker.kill()
        worker.close()


def heard(worker: Worker, until: str) -> list[dict[str, Any]]:
    """Events up to the first of this kind."""
    events: list[dict[str, Any]] = []
    end = time.monotonic() + LIMIT_S
    while not events or events[-1]["event"] != until:
        assert time.monotonic() < end, f"no {until}: {events[-3:]}"
        event: Any = worker.event(1.0)
        if event is not None:
            events.append(event)
            assert event["event"] != "ended" or until == "ended", events
    return events


def workers(below: Path) -> list[int]:
    """Processes that work on a run below a folder, its coordinator among them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = entry.read_bytes().split(b"\0")
            dead = (entry.parent / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
            if not dead and any(str(below).encode() in w for w in words) and START.encode() in words:
                found.append(int(entry.parent.name))
    return found


def gone(below: Path, within_s: float) -> list[int]:
    """Waits until no process works there; those that are left."""
    end = time.monotonic() + within_s
    while (left := workers(below)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def measuring(worker: Worker) -> None:
    """Returns while sessions of all processes are measured."""
    while heard(worker, "progress")[-1]["phase"] != "measure":
        pass


def test_the_processes_make_one_run(tmp_path: Path) -> None:
    with running(tmp_path, plan()) as worker:
        events = heard(worker, "ended")
        assert worker.close() == 0, events
    assert [e["ended_by"] for e in events if e["event"] == "finished"] == ["time"] or events[-2][
        "event"
    ] == "finished"
    assert not any(e["event"] in ("barrier", "began") for e in events), "these are between the processes"
    parts = tmp_path / "parts"
    (repetition,) = [
        r for table in read("repetitions", parts) for r in table.to_pylist()
        if r["segment"] == measured(parts)["segment"]
    ]  # fmt: skip
    assert repetition["sessions"] == 2 * PROCESSES and repetition["ok"] == repetition["ops"] > 0
    sessions = [
        s for t in read("sessions", parts) for s in t.to_pylist() if s["segment"] == repetition["segment"]
    ]
    assert [s["session"] for s in sessions] == [*range(2 * PROCESSES)]
    assert all(s["ops"] > 0 for s in sessions), "each process has worked"
    roles = {r for t in read("resources", parts) for r in t["role"].to_pylist()}
    assert {"client", "client/1", "client/2", "client/3", "host"} <= roles
    assert not list(parts.glob("process-*")) and not list(parts.glob("plan-*"))


def measured(parts: Path) -> dict[str, Any]:
    (found,) = [s for t in read("segments", parts) for s in t.to_pylist() if s["phase"] == "measure"]
    return dict(found)


@pytest.mark.ci
def test_all_start_at_one_instant_and_how_late_they_were_is_written_down(tmp_path: Path) -> None:
    with running(tmp_path, plan()) as worker:
        events = heard(worker, "ended")
    starts = json.loads((tmp_path / "parts" / DOCUMENT).read_text())["clients"]["starts"]
    assert len(starts) == 3, "warm, measure, cool"
    for start in starts:
        late = start["first_session_late_ns"]
        assert len(late) == PROCESSES and None not in late
        assert start["spread_ns"] == max(late) - min(late)
        # One that began when it heard the word, and not at the instant, would be some 100 ms off.
        assert all(last >= first for first, last in zip(late, start["last_session_late_ns"], strict=True))
    assert min(start["spread_ns"] for start in starts) < 50_000_000, starts
    said = [e["text"] for e in events if e["event"] == "note"]
    is_late = any(ns > 1_000_000 for start in starts for ns in start["first_session_late_ns"])
    assert any("later than 1 ms" in text for text in said) == is_late
    # Intervals of all begin together: there is one row for each, and none between.
    intervals = [i for t in read("intervals", tmp_path / "parts") for i in t.to_pylist()]
    times = [i["t_ns"] for i in intervals if i["segment"] == measured(tmp_path / "parts")["segment"]]
    assert len(times) == len(set(times)) <= 2


@pytest.mark.slow
def test_the_work_of_a_segment_begins_with_its_first_repetition(tmp_path: Path) -> None:
    """A fleet of one worker has a start like those of many; what its process used is counted from there."""
    study = load_study(
        "quickstart", "xs", overrides=["batch_rows=1000", "schedule.at_least_s=1"], engines=["null"]
    )
    alone: Any = next(run.plan for run in plan_study(study, {"null": server("null")}).runs)
    alone = json.loads(json.dumps(alone)) | {"share": {"index": 0, "of": 1}}
    with running(tmp_path, alone) as worker:
        heard(worker, "ended")
        assert worker.close() == 0
    segments = {s["segment"]: s for t in read("segments", tmp_path / "parts") for s in t.to_pylist()}
    repeated = [r for t in read("repetitions", tmp_path / "parts") for r in t.to_pylist()]
    assert max(r["repetition"] for r in repeated) > 1, "its volume is written again"
    for one in repeated:
        segment = segments[one["segment"]]
        assert segment["start_ns"] <= one["start_ns"] <= segment["end_ns"]


@pytest.mark.ci
def test_calls_that_are_counted_are_made_once_by_all_together(tmp_path: Path) -> None:
    with running(tmp_path, plan(calls=1_000)) as worker:
        heard(worker, "ended")
        assert worker.close() == 0
    repetitions = [r for t in read("repetitions", tmp_path / "parts") for r in t.to_pylist()]
    index = measured(tmp_path / "parts")["segment"]
    assert [r["ops"] for r in repetitions if r["segment"] == index] == [1_000]


@pytest.mark.ci
def test_a_process_that_dies_fails_the_run_and_ends_the_others(tmp_path: Path) -> None:
    with running(tmp_path, plan(measure_s=60)) as worker:
        measuring(worker)
        victim = next(
            pid for pid in workers(tmp_path) if b"process-2" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
        killed_at = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        failed = heard(worker, "failed")[-1]
        assert time.monotonic() - killed_at < ENDS_S
        assert failed["kind"] == "crash"
        assert failed["message"].startswith("client process 2 of 3 was killed by SIGKILL")
        heard(worker, "ended")
        assert worker.close() == 1
    assert gone(tmp_path, ENDS_S) == []
    labels = [label for t in read("segments", tmp_path / "parts") for label in t["label"].to_pylist()]
    assert "warm" in labels, "what there is of its tables is kept"


def test_a_process_that_fails_says_which_it_is_and_why(tmp_path: Path) -> None:
    broken = plan()
    broken["target"]["options"]["service_ns"] = "no number"
    with running(tmp_path, broken) as worker:
        failed = heard(worker, "failed")[-1]
        assert "client process " in failed["message"] and "service_ns" in failed["message"]
        heard(worker, "ended")
        assert worker.close() == 1
    assert gone(tmp_path, ENDS_S) == []


@pytest.mark.slow
def test_a_stop_ends_all_in_order(tmp_path: Path) -> None:
    with running(tmp_path, plan(measure_s=60)) as worker:
        measuring(worker)
        worker.send({"do": "stop"})
        events = heard(worker, "ended")
        assert worker.close() == 0
    assert [e["ended_by"] for e in events if e["event"] == "finished"] == ["stop"]
    assert gone(tmp_path, ENDS_S) == []


def test_a_password_is_in_nothing_that_a_process_was_started_with(tmp_path: Path) -> None:
    secret = "a-secret-of-the-test-7762"
    with running(tmp_path, plan(measure_s=60), {"PGPASSWORD": secret}) as worker:
        measuring(worker)
        at_work = workers(tmp_path)
        assert len(at_work) == PROCESSES + 1
        assert not [pid for pid in at_work if secret in Path(f"/proc/{pid}/environ").read_text()]


@pytest.mark.ci
def test_kill_9_of_the_parent_leaves_no_process(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from tests.test_clients_run import plan, running
held = running(Path({str(tmp_path)!r}), plan(measure_s=60))
worker = held.__enter__()
while True:
    event = worker.event(1.0)
    if event and event["event"] == "progress" and event["phase"] == "measure":
        print("measuring", flush=True)
"""
    env = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    parent = subprocess.Popen([sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None and parent.stdout.readline() == "measuring\n"
        assert len(workers(tmp_path)) == PROCESSES + 1
        parent.kill()
    assert gone(tmp_path, ENDS_S) == []


@pytest.mark.parametrize("processes", [1, 2])
def test_one_process_plans_as_ever(processes: int) -> None:
    study = load_study("keylookup-clients", "xs", [f"factors.clients=[{processes}]"], ["null"])
    planned = plan_study(study, {"null": server("null")}).runs[-1].plan
    assert ("share" in planned) == (processes > 1)
    assert done_by(planned) == ("share_out" if processes > 1 else "drive")
