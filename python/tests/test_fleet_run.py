"""Runs whose client processes live on workers: real schedulers and workers of Dask on this machine, and real faults."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.border.words import Document, FleetOfRun
from inrush.engines import server
from inrush.fleet.local import LocalFleet, started, tls_variables
from inrush.plan.plan import plan_study
from inrush.results.parts import read
from inrush.study.reading import load_study
from tests.needed import need_distributed
from tests.test_clients_run import LIMIT_S, Worker, heard, measured, measuring, plan
from tests.undisturbed import first_served

need_distributed()
WORKERS = 2
#: From a fault to the failure of the run, s.
FAILS_S = 2.0
#: From the failure to the end of the run's own process, s: two calls without an answer, one after the other, take longer.
ENDS_S = 2.5


class Fleet(LocalFleet):
    def pids(self, word: bytes) -> list[int]:
        """Processes of this fleet with a word in their command line: nodes, and client processes on workers."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = entry.read_bytes().split(b"\0")
                dead = (entry.parent / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
                mine = any(str(self.folder).encode() in w for w in words)
                if not dead and mine and word in words:
                    found.append(int(entry.parent.name))
        return sorted(found)

    def clients(self) -> list[int]:
        return sorted(pid for does in (b"drive", b"make_and_drive", b"part") for pid in self.pids(does))


@contextlib.contextmanager
def fleet(workers: int = WORKERS) -> Iterator[Fleet]:
    """What ends within a time here is served before tests beside it."""
    with first_served(), started(workers) as found:
        yield Fleet(found.address, found.folder)


@pytest.fixture
def one() -> Iterator[Fleet]:
    with fleet() as found:
        yield found


def shared(measure_s: float = 0.5, calls: int | None = None, **more: Any) -> dict[str, Any]:
    return {**plan(measure_s, calls), "share": {"index": 0, "of": WORKERS}, **more}


@contextlib.contextmanager
def running(
    at: Fleet, tmp_path: Path, plan: dict[str, Any], name: str = "run", fleet_folder: str | None = None
) -> Iterator[Worker]:
    folder = tmp_path / name
    (folder / "parts").mkdir(parents=True)
    own = str(at.folder) if fleet_folder is None else fleet_folder
    on: FleetOfRun = {"scheduler": at.address, "folder": own, "workers": (), "homes": {}}
    document: Document = {"does": "fleet", "plan": plan, "parts": str(folder / "parts"), "fleet": on}
    worker = Worker(document, folder / "log")
    try:
        yield worker
    finally:
        worker.kill()
        worker.close()


def none_left(at: Fleet, within_s: float) -> bool:
    end = time.monotonic() + within_s
    while at.clients() and time.monotonic() < end:
        time.sleep(0.02)
    return not at.clients()


def failure(worker: Worker, since: float, within_s: float = FAILS_S) -> dict[str, Any]:
    failed = heard(worker, "failed")[-1]
    assert time.monotonic() - since < within_s, failed
    return failed


def over(worker: Worker) -> None:
    """Its process ends, without waiting for those that are lost."""
    since = time.monotonic()
    heard(worker, "ended")
    assert time.monotonic() - since < ENDS_S


def test_the_calls_are_those_of_one_process_and_each_is_made_once(one: Fleet, tmp_path: Path) -> None:
    with running(one, tmp_path, shared(calls=1_000)) as worker:
        events = heard(worker, "ended")
        assert worker.close() == 0, events
    parts = tmp_path / "run" / "parts"
    (repetition,) = [
        r for table in read("repetitions", parts) for r in table.to_pylist()
        if r["segment"] == measured(parts)["segment"]
    ]  # fmt: skip
    assert repetition["ops"] == repetition["ok"] == 1_000 and repetition["sessions"] == 2 * WORKERS
    intervals = [i for t in read("intervals", parts) for i in t.to_pylist()]
    mine = [i for i in intervals if i["segment"] == repetition["segment"]]
    assert sum(i["ops"] for i in mine) == 1_000
    assert len({i["t_ns"] for i in mine}) == len(mine), "one row for each interval of all workers"
    document = json.loads((parts / "processes.json").read_text())["clients"]
    workers = document["workers"]
    assert document["own"]["boot"] == workers[0]["boot"], "the fleet is on the machine of inrush"
    assert len({w["address"] for w in workers}) == WORKERS and len({w["pid"] for w in workers}) == WORKERS
    for w in workers:
        # Forty calls over loopback: the best one is no slower than this, also on a busy machine.
        assert 0 < w["clock"]["error_ns"] < 20_000_000
    assert all(abs(off) < 20_000_000 for s in document["starts"] for off in s["instant_off_ns"])
    assert len(document["starts"]) == 3 and all(
        None not in s["first_session_late_ns"] for s in document["starts"]
    )
    assert none_left(one, FAILS_S) and not list(one.folder.glob("*/inrush-*")), "nothing stays on a worker"


@pytest.mark.parametrize("how", [pytest.param(signal.SIGKILL, marks=pytest.mark.slow), signal.SIGSTOP])
def test_a_worker_that_dies_or_stands_still_ends_the_run_in_two_seconds(
    one: Fleet, tmp_path: Path, how: signal.Signals
) -> None:
    with running(one, tmp_path, shared(60)) as worker:
        measuring(worker)
        assert len(one.clients()) == WORKERS
        victim = one.pids(b"002")[0]
        at = time.monotonic()
        os.kill(victim, how)
        failed = failure(worker, at)
        assert failed["kind"] == "fleet" and failed["message"].startswith(
            "client process 2 of 2 (worker tls://"
        )
        over(worker)
        assert worker.close() == 1
        # That of the worker that stands still ends by its leash.
        assert none_left(one, 3.0)
    labels = [label for t in read("segments", tmp_path / "run" / "parts") for label in t["label"].to_pylist()]
    assert "warm" in labels, "what there is of its tables is kept"


@pytest.mark.ci
def test_a_client_process_that_hangs_is_found(one: Fleet, tmp_path: Path) -> None:
    with running(one, tmp_path, shared(60)) as worker:
        measuring(worker)
        at = time.monotonic()
        os.kill(one.clients()[0], signal.SIGSTOP)
        assert "hangs" in failure(worker, at, FAILS_S + 0.5)["message"]
        heard(worker, "ended")
    assert none_left(one, FAILS_S)


@pytest.mark.ci
def test_a_client_process_that_crashes_leaves_its_log_there_and_its_end_is_said(
    one: Fleet, tmp_path: Path
) -> None:
    with running(one, tmp_path, shared(60)) as worker:
        measuring(worker)
        at = time.monotonic()
        os.kill(one.clients()[0], signal.SIGKILL)
        failed = failure(worker, at)
        heard(worker, "ended")
    assert failed["kind"] == "crash" and f"on {socket.gethostname()})" in failed["message"]
    log = Path(failed["message"].rpartition("; its log there: ")[2])
    assert log.is_file() and log.parent.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(log.parent)
    assert none_left(one, 3.0)


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """Its port: it takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def on_postgresql(port: int) -> dict[str, Any]:
    study = load_study("keylookup-clients", "xs", overrides=["factors.clients=[2]"], engines=["postgresql"])
    planned: Any = plan_study(study, {"postgresql": server("postgresql")}).runs[-1].plan
    planned["target"] |= {"url": f"postgresql://me@127.0.0.1:{port}/d"}
    found: dict[str, Any] = json.loads(json.dumps(planned))
    return found


@pytest.mark.ci
def test_a_password_for_client_processes_is_in_no_file_and_no_environment_when_they_have_started(
    one: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "a-secret-of-the-test-5519"
    monkeypatch.setenv("PGPASSWORD", secret)  # the nodes were started without it
    with silent_server() as port, running(one, tmp_path, on_postgresql(port)) as worker:
        end = time.monotonic() + LIMIT_S
        while len(one.clients()) < WORKERS:
            assert time.monotonic() < end
            time.sleep(0.02)
        # That they have it, a server shows (engines/test_fleet); it came with their documents.
        assert not [pid for pid in one.clients() if secret.encode() in variables_of(pid)]
        os.kill(worker.pid, signal.SIGKILL)
        assert none_left(one, 3.0)
    for folder in (one.folder, tmp_path):
        for path in folder.rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes(), path


def variables_of(pid: int) -> list[bytes]:
    return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")


def test_workers_of_others_without_a_variable_are_refused_by_name(
    one: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(name: str) -> str:
        # As with a scheduler that inrush did not start: certificates by Dask's settings, and no file of variables.
        with running(one, tmp_path, on_postgresql(1), name, fleet_folder="") as worker:
            message: str = heard(worker, "failed")[-1]["message"]
            return message

    for variable, value in tls_variables(one.certificate).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("PGSSLMODE", "disable")
    assert said("mode").count("PGSSLMODE is not set in its environment, and here disable") == WORKERS
    monkeypatch.setenv("PGPASSWORD", "a-secret-of-the-test-5520")
    assert (found := said("password")).count("PGPASSWORD is not in its environment") == WORKERS
    assert "5520" not in found


@pytest.mark.ci
def test_a_scheduler_that_goes_ends_the_run_and_every_client_process(one: Fleet, tmp_path: Path) -> None:
    with running(one, tmp_path, shared(60)) as worker:
        measuring(worker)
        at = time.monotonic()
        os.kill(one.pids(b"scheduler")[0], signal.SIGKILL)
        assert failure(worker, at)["kind"] == "fleet"
        over(worker)
        assert none_left(one, 3.0)


@pytest.mark.ci
def test_kill_9_of_the_run_ends_its_client_processes_and_the_next_run_goes_on(
    one: Fleet, tmp_path: Path
) -> None:
    with running(one, tmp_path, shared(60), "first") as worker:
        measuring(worker)
        os.kill(worker.pid, signal.SIGKILL)
        assert none_left(one, 3.0), "nothing calls for them any more"
    with running(one, tmp_path, shared(calls=100), "second") as worker:
        heard(worker, "ended")
        assert worker.close() == 0


@pytest.mark.slow
def test_a_worker_that_is_at_work_for_another_run_is_refused_by_name(one: Fleet, tmp_path: Path) -> None:
    with running(one, tmp_path, shared(60), "first") as first:
        measuring(first)
        with running(one, tmp_path, shared(calls=10, run_id="0007"), "second") as second:
            failed = heard(second, "failed")[-1]
            assert "is at work for keylookup-clients" in failed["message"], failed
            heard(second, "ended")
        assert len(one.clients()) == WORKERS, "the first one goes on"


def test_too_few_workers_are_said(one: Fleet, tmp_path: Path) -> None:
    with running(one, tmp_path, {**plan(), "share": {"index": 0, "of": 3}}) as worker:
        failed = heard(worker, "failed")[-1]
    assert "has 2 workers, and a run of the study takes 3" in failed["message"]
