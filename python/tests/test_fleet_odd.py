"""Workers that are other than they should be, and a scheduler that inrush did not start: seen, named, refused."""

from __future__ import annotations

import copy
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.fleet import local
from inrush.fleet.local import started
from inrush.machine.secret_files import self_signed, write_secret
from inrush.results.store import Results
from tests.needed import need_distributed
from tests.strategies import ENVIRONMENT
from tests.terminal import Inrush
from tests.test_fleet_run import Fleet, failure, fleet, measuring, none_left, running, shared

need_distributed()
STUDY = ("run", "keylookup-clients", "null", "--scale", "xs", "--quiet", "-P", "repeats.count=1")


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """Its worker 002 is odd in what the file `odd` says."""
    monkeypatch.setattr(local, "NODE", (sys.executable, "-m", "tests.odd_node"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    with started(2) as found:
        yield Fleet(found.address, found.folder)


def say(at: Fleet, what: str) -> None:
    (at.folder / "odd").write_text(what)


@pytest.mark.ci
def test_a_clock_that_is_set_in_a_run_ends_it_and_the_worker_is_named(odd: Fleet, tmp_path: Path) -> None:
    with running(odd, tmp_path, shared(60)) as worker:
        measuring(worker)
        at = time.monotonic()
        say(odd, "clock")
        failed = failure(worker, at)
        assert "client process 2 of 2" in failed["message"], failed
        assert "its clock cannot be" in failed["message"]
    assert none_left(odd, 3.0)


@pytest.mark.slow
def test_a_clock_that_lies_from_the_start_is_found_where_the_kernel_is_ours(
    odd: Fleet, tmp_path: Path
) -> None:
    say(odd, "clock")
    with running(odd, tmp_path, shared(1)) as worker:
        failed = failure(worker, time.monotonic(), 60.0)
    assert "its clock is +" in failed["message"] and "though it runs on this kernel" in failed["message"]


@pytest.mark.slow
def test_a_word_that_does_not_arrive_fails_the_run_and_no_process_waits_for_it(
    odd: Fleet, tmp_path: Path
) -> None:
    say(odd, "deaf")
    with running(odd, tmp_path, shared(1)) as worker:
        failed = failure(worker, time.monotonic(), 60.0)
    assert failed["message"].startswith("client process 2 of 2 (worker tls://")
    assert "gave no answer for 1.6 s" in failed["message"]
    assert none_left(odd, 3.0)


def test_a_worker_with_other_sources_is_refused_by_name_before_anything_runs(
    odd: Fleet, inrush: Inrush, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(odd, "sources")
    configured(odd.certificate, monkeypatch)
    said = inrush(*STUDY, "-P", "factors.clients=[2]", "--fleet", odd.address)
    assert said.code == 2 and "its Python sources is 0ther" in said.err, said.err
    assert said.err.count("worker tls://") == 1, "the other one is as it should be"
    assert not list(inrush.store.studies())


@pytest.mark.slow
def test_a_scheduler_that_runs_already_is_asked_how_many_workers_it_has(
    inrush: Inrush, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fleet() as at:
        configured(at.certificate, monkeypatch)
        said = inrush(*STUDY, "-P", "factors.clients=[1,2]", "--fleet", at.address)
        assert said.code in (0, 3), said.err
        (study,) = inrush.store.studies()
        counts = {run.doc["clients"]["count"] for run in Results(study.path).runs}
        assert counts == {1, 2} and study.doc["call"]["fleet"] == at.address


def test_no_scheduler_is_one_line(inrush: Inrush) -> None:
    said = inrush(*STUDY, "--fleet", "tcp://127.0.0.1:9", "--fleet-insecure", "--fleet-wait", "0")
    assert said.code == 1 and said.err.startswith(
        "inrush: tcp://127.0.0.1:9: no scheduler of Dask answers there"
    )
    assert len(said.err.splitlines()) == 1, said.err


@pytest.mark.slow
def test_kill_9_of_inrush_leaves_no_node_of_its_fleet(tmp_path: Path) -> None:
    env = {**ENVIRONMENT, "INRUSH_RESULTS": str(tmp_path / "results"), "TMPDIR": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "inrush",
        *STUDY,
        "-P",
        "factors.clients=[2]",
        "-P",
        "schedule.measure_s=60",
    ]
    parent = subprocess.Popen([*command, "--fleet", "local:2"], env=env, cwd=tmp_path)
    with parent:
        try:
            wait(lambda: len(driving(tmp_path)) == 2, 60.0)
            assert len(nodes(tmp_path)) >= 3
        finally:
            parent.send_signal(signal.SIGKILL)
    wait(lambda: not nodes(tmp_path) and not driving(tmp_path), 4.0)
    (left,) = tmp_path.glob(f"{local.PREFIX}*")
    assert not (left / "variables").exists(), "all workers had read it"
    local.remove_left(tmp_path)
    assert not left.exists(), "the next fleet removes what is left"


@pytest.mark.slow
def test_a_study_on_a_fleet_that_was_killed_resumes_with_the_runs_that_are_left(
    inrush: Inrush, tmp_path: Path
) -> None:
    env = {**ENVIRONMENT, "INRUSH_RESULTS": str(inrush.store.root), "TMPDIR": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "inrush",
        *STUDY,
        "-P",
        "factors.clients=[1,2]",
        "-P",
        "schedule.measure_s=1",
    ]
    parent = subprocess.Popen([*command, "--fleet", "local:2"], env=env, cwd=tmp_path)
    with parent:
        try:
            wait(
                lambda: len(list(inrush.store.root.glob("*/*/run.json"))) == 1 and len(driving(tmp_path)) > 0,
                90.0,
            )
        finally:
            parent.send_signal(signal.SIGKILL)
    (study,) = inrush.store.studies()
    kept = {path: path.read_bytes() for path in study.path.glob("*/run.json")}
    said = inrush("run", "--resume", study.name, "--quiet")
    assert said.code in (0, 3), said.err
    (study,) = inrush.store.studies()
    assert study.doc["status"] == "done" and study.doc["call"]["fleet"] == "local:2"
    assert len(kept) == 1 and all(path.read_bytes() == text for path, text in kept.items())
    assert {run.doc["clients"]["count"] for run in Results(study.path).runs} == {1, 2}


def driving(below: Path) -> list[int]:
    return with_words(below, b"drive")


def nodes(below: Path) -> list[int]:
    return with_words(below, b"node")


def with_words(below: Path, word: bytes) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if word in words and any(str(below).encode() in w for w in words):
            found.append(int(entry.parent.name))
    return found


def wait(until: Any, within_s: float) -> None:
    end = time.monotonic() + within_s
    while not until():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.05)


@pytest.mark.slow  # A machine that stands still for 1.6 s beside other tests has lost its worker, as docs/fleet.md says.
def test_a_scheduler_with_tls_is_spoken_to_under_its_certificate_alone(
    inrush: Inrush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates(tmp_path, monkeypatch)
    said = tmp_path / "scheduler.json"
    scheduler = local.node(
        tmp_path, "scheduler.log",
        ["scheduler", "--protocol", "tls", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show",
         "--scheduler-file", str(said)], {},
    )  # fmt: skip
    held = [scheduler]
    try:
        wait(lambda: local.address_of(said), 60.0)
        address = local.address_of(said)
        assert address.startswith("tls://")
        held.append(local.node(
            tmp_path, "worker.log",
            ["worker", address, "--nworkers", "1", "--nthreads", "1", "--no-nanny", "--no-dashboard",
             "--memory-limit", "0", "--local-directory", str(tmp_path)], {},
        ))  # fmt: skip
        wait(lambda: "Registered to" in (tmp_path / "worker.log").read_text(), 60.0)
        ran = inrush(*STUDY, "-P", "factors.clients=[1]", "--fleet", address)
        assert ran.code in (0, 3), ran.err
        in_clear = inrush(
            *STUDY, "--fleet", address.replace("tls://", "tcp://"), "--fleet-insecure", "--fleet-wait", "0"
        )
        assert in_clear.code == 1 and "no scheduler of Dask answers there" in in_clear.err
    finally:
        for one in reversed(held):
            one.kill()
            one.close()


def certificates(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One certificate for all roles, which is its own authority; named as Dask's configuration names it."""
    certificate = folder / "certificate.pem"
    write_secret(certificate, "".join(self_signed(["127.0.0.1"])))
    configured(certificate, monkeypatch)


def configured(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's settings of this process and of those that it starts: what it reads once, when it is imported, too."""
    import dask
    import distributed.security  # its settings are there then

    variables = local.tls_variables(certificate)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    # In its place: every function of Dask's configuration knows the dictionary itself.
    settings = dask.config.config[distributed.__name__]
    own = copy.deepcopy(settings["comm"])
    dask.config.update(own, dask.config.collect_env(variables)["distributed"]["comm"])
    monkeypatch.setitem(settings, "comm", own)
