"""The worker: events out, commands in, and an end that is always noticed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import pytest

from inrush.agent.process import AGENT, Process, death_message, end_leftover
from inrush.agent.program import WORK
from inrush.border.events import Event
from inrush.border.words import Document, Does

FAKE_WORKER = (sys.executable, str(Path(__file__).with_name("fake_core.py")))
Worker = Process[Event]
FINISHED = {"event": "finished", "ended_by": "work"}


@contextlib.contextmanager
def worker(
    tmp_path: Path, script: list[Any], environment: Mapping[str, str] | None = None
) -> Iterator[Worker]:
    (tmp_path / "parts").mkdir(exist_ok=True)
    document: Document = {
        "does": "drive", "plan": {"labels": {"script": script}}, "parts": str(tmp_path / "parts"),
    }  # fmt: skip
    started: Worker = Process(document, tmp_path / "worker.log", environment, command=FAKE_WORKER)
    try:
        yield started
    finally:
        started.kill()
        started.close()


def next_event(worker: Worker) -> Event:
    event = worker.event(timeout_s=30)
    assert event is not None, "no event within 30 s"
    return event


def until_ended(worker: Worker) -> list[Event]:
    events = [next_event(worker)]
    while events[-1]["event"] != "ended":
        events.append(next_event(worker))
    return events[:-1]


def gone(pid: int, limit_s: float = 120) -> bool:
    """Waits until a process is gone or a zombie."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_events_arrive_in_order_and_the_code_is_zero(tmp_path: Path) -> None:
    said = [{"event": "segment", "index": i} for i in range(200)]
    with worker(tmp_path, [*said, FINISHED]) as w:
        assert until_ended(w) == [*said, FINISHED]
        assert w.close() == 0


def test_a_paused_run_waits_for_resume(tmp_path: Path) -> None:
    with worker(tmp_path, ["pause", FINISHED]) as w:
        assert next_event(w)["event"] == "paused"
        assert w.event(timeout_s=0.3) is None
        w.send({"do": "resume", "processes": {"server": [7, 8]}, "threads": {"9": "ldm"}})
        assert until_ended(w) == [
            {"event": "note", "text": "resumed with {'server': [7, 8]}, {9: 'ldm'}"},
            FINISHED,
        ]


def test_a_password_is_known_to_the_process_and_in_nothing_that_it_was_started_with(tmp_path: Path) -> None:
    secret = "a-secret-of-the-test-7761"
    with worker(tmp_path, ["secret", "pause"], {"INRUSH_TEST_SECRET": secret}) as w:
        assert next_event(w) == {"event": "note", "text": secret}
        started = Path(f"/proc/{w.pid}")
        assert secret not in started.joinpath("environ").read_text() + started.joinpath("cmdline").read_text()


def test_stop_is_an_orderly_end(tmp_path: Path) -> None:
    with worker(tmp_path, [{"event": "segment", "index": 0}, "hang", FINISHED]) as w:
        next_event(w)
        w.send({"do": "stop"})
        assert until_ended(w) == [{"event": "finished", "ended_by": "stop"}]
        assert w.close() == 0


def test_a_failure_of_the_core_is_an_event_and_no_traceback(tmp_path: Path) -> None:
    with worker(tmp_path, ["fail"]) as w:
        (event,) = until_ended(w)
        assert event["kind"] == "target" and "refused" in event["message"]
        assert w.close() == 1
    assert (tmp_path / "worker.log").read_text() == ""


def test_a_crash_names_the_signal_and_shows_the_end_of_the_log(tmp_path: Path) -> None:
    with worker(tmp_path, ["crash"]) as w:
        assert until_ended(w) == []
        code = w.close()
    message = death_message(code, tmp_path / "worker.log")
    assert "SIGSEGV" in message and "worker.log" in message and "fake_core.py" in message


def test_a_kill_of_a_process_that_just_ended_is_none() -> None:
    """Another thread has waited for it, and this one does not know yet."""
    document: Any = {"does": "drive"}
    ended: Worker = Process(document, None, command=("true",))
    os.waitpid(ended.pid, 0)
    ended.kill()
    ended.close()


def test_a_kill_names_memory_as_the_likely_reason(tmp_path: Path) -> None:
    assert "memory" in death_message(-9, tmp_path / "none.log")


def test_ctrl_c_in_the_terminal_does_not_reach_the_worker(tmp_path: Path) -> None:
    with worker(tmp_path, [{"event": "segment", "index": 0}, "hang"]) as w:
        next_event(w)
        os.kill(w.pid, 2)
        w.send({"do": "stop"})
        assert until_ended(w) == [{"event": "finished", "ended_by": "stop"}]


def test_a_worker_dies_with_its_parent(tmp_path: Path) -> None:
    """The parent is killed with -9 and can say nothing to anyone."""
    program = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from tests.test_worker import worker
held = worker(Path({str(tmp_path)!r}), [{{"event": "segment", "index": 0}}, "hang"])
w = held.__enter__()
w.event(30)
print(w.pid, flush=True)
time.sleep(60)
"""
    env = {**os.environ, "PYTHONPATH": f"{Path(__file__).parents[1]}:{os.environ.get('PYTHONPATH', '')}"}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=env) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    assert gone(pid)


def test_a_process_that_stands_still_before_it_has_read_its_document_keeps_nobody_waiting(
    tmp_path: Path,
) -> None:
    """A pipe takes 64 KB, the document is ten times that."""
    document: Any = {"does": "drive", "plan": {"labels": {"script": ["x" * 640_000]}}, "parts": str(tmp_path)}
    still: Worker = Process(document, None, command=("sh", "-c", "exec sleep 60"))
    still.send({"do": "stop"})
    assert still.event(timeout_s=0.1) is None
    still.kill()
    assert still.close() == -signal.SIGKILL


def test_a_process_whose_parent_was_gone_before_it_asked_ends(tmp_path: Path) -> None:
    program = "from inrush.agent.parent import die_with_parent; die_with_parent(); print('lives')"
    for parent, said in ((os.getpid(), "lives\n"), (1, "")):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "INRUSH_PARENT": str(parent)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.stdout, done.returncode) == (said, 0 if said else 1), done.stderr


def test_a_process_that_hears_nothing_ends_and_its_log_says_so() -> None:
    program = (
        "import sys, time; from inrush.agent.parent import Lines, Parent\n"
        "parent = Parent(Lines(0), sys.stdout, leash_s=0.2)\n"
        "while True: parent.words(); time.sleep(0.05)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as silent:
        assert silent.wait(20) == 1 and silent.stdout is not None and silent.stderr is not None
        assert re.fullmatch(rb"ended: nothing was heard for [0-9.]+ s\n", silent.stderr.read())
        assert silent.stdout.read() == b""


def test_a_leftover_is_found_by_what_it_writes_and_ended(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    sleeper = subprocess.Popen([*AGENT, "drive", str(parts)], stdin=subprocess.PIPE)
    other = subprocess.Popen([*AGENT, "drive", str(tmp_path)], stdin=subprocess.PIPE)
    try:
        for p in (sleeper, other):  # a program that was just started has no command line yet
            while not Path(f"/proc/{p.pid}/cmdline").read_bytes():
                time.sleep(0.01)
        assert end_leftover(parts) == [sleeper.pid]
        assert gone(sleeper.pid)
        assert other.poll() is None
    finally:
        for p in (sleeper, other):
            p.kill()
            p.communicate()


@pytest.mark.parametrize("line", ["", "run\n", "[]\n", "{}\n", '{"does": "dance"}\n'])
def test_a_line_that_does_not_say_what_to_do_is_a_usage_error(line: str) -> None:
    done = subprocess.run(FAKE_WORKER, input=line, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage" in done.stderr


def test_what_each_process_does_is_there() -> None:
    """Imported by name when it is asked for."""
    assert {*WORK} == {*get_args(Does)}
    for module in WORK.values():
        if not (module.startswith("inrush.fleet") and find_spec("distributed") is None):
            assert callable(import_module(module).work)
