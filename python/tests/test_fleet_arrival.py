"""Workers of a fleet come when their host, queue or image lets them: they are waited for, and one that does not come is missed."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from inrush.errors import TargetError
from inrush.fleet import arrival, local
from inrush.fleet.arrival import await_workers, connected
from inrush.fleet.link import Link as OpenLink
from inrush.fleet.link import Lost, Unreached
from inrush.fleet.open import workers_of
from inrush.fleet.waiting import WaitingTime
from inrush.results.store import Results
from tests.needed import need_distributed
from tests.terminal import Inrush
from tests.test_fleet_odd import STUDY, certificates, wait

need_distributed()


class Nodes:
    """A scheduler on a port that is known before it is there, and workers that come when the test says."""

    def __init__(self, folder: Path, held: contextlib.ExitStack) -> None:
        self.folder, self.held = folder, held
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"

    def start(self, log: str, *words: str) -> Path:
        node = local.node(self.folder, log, words, {})
        self.held.callback(node.close)
        self.held.callback(node.kill)
        return self.folder / log

    def scheduler(self, *more: str) -> Path:
        return self.start(
            "scheduler.log", "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show",
            *more,
        )  # fmt: skip

    def worker(self, name: str) -> Path:
        return self.start(
            f"{name}.log", "worker", self.address, "--nworkers", "1", "--nthreads", "1", "--no-nanny",
            "--no-dashboard", "--memory-limit", "0", "--name", name, "--local-directory", str(self.folder),
        )  # fmt: skip

    def joined(self, name: str) -> None:
        log = self.worker(name)
        wait(lambda: "Registered to" in log.read_text(), 60.0)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    with contextlib.ExitStack() as held:
        yield Nodes(tmp_path, held)


def clients(inrush: Inrush) -> set[int]:
    (study,) = inrush.store.studies()
    return {run.doc["clients"]["count"] for run in Results(study.path).runs}


@pytest.mark.slow
def test_a_study_that_says_how_many_waits_for_a_scheduler_and_workers_that_come_one_by_one(
    inrush: Inrush, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, one_seen, workers = threading.Event(), threading.Event(), OpenLink.workers

    def looked(link: OpenLink) -> Mapping[str, Mapping[str, Any]]:
        there = workers(link)
        if len(there) == 1:
            one_seen.set()
        return there

    monkeypatch.setattr(OpenLink, "workers", looked)

    def come() -> None:
        time.sleep(1.0)
        nodes.scheduler()
        nodes.joined("first")
        one_seen.wait(60)
        nodes.joined("second")
        over.wait(300)  # they end with the thread that started them

    coming = threading.Thread(target=come)
    coming.start()
    try:
        words = [word for word in STUDY if word != "--quiet"]
        said = inrush(
            *words,
            "-P",
            "factors.clients=[2]",
            "--fleet-insecure",
            "--fleet",
            nodes.address,
            "--fleet-wait",
            "120",
        )
    finally:
        over.set()
        coming.join()
    assert said.code in (0, 3), said.err
    assert clients(inrush) == {2}
    assert "fleet: 1 of 2 workers is there" in said.err, said.err


def test_fewer_workers_than_are_waited_for_are_named_and_nothing_has_run(
    inrush: Inrush, nodes: Nodes
) -> None:
    nodes.scheduler()
    nodes.joined("first")
    said = inrush(
        *STUDY, "-P", "factors.clients=[2]", "--fleet-insecure", "--fleet", nodes.address, "--fleet-wait", "1"
    )
    assert said.code == 2, said.err
    assert "1 of 2 workers came in 1 s" in said.err and "first on 127.0.0.1" in said.err, said.err
    assert "--fleet-wait" in said.err and not list(inrush.store.studies())


@pytest.mark.slow
def test_where_no_number_is_said_the_scheduler_is_waited_for_too(inrush: Inrush, nodes: Nodes) -> None:
    over, words = (
        threading.Event(),
        ("run", "keylookup-threads", "null", "--scale", "xs", "--fleet-insecure", "--fleet", nodes.address),
    )
    said = inrush(*words, "--fleet-wait", "0", "--quiet")
    assert said.code == 1 and "no scheduler" in said.err, said.err

    def come() -> None:
        # Later than what one that is there may take.
        time.sleep(11.0)
        nodes.scheduler()
        over.wait(300)

    coming = threading.Thread(target=come)
    coming.start()
    try:
        said = inrush(*words, "--fleet-wait", "120")
    finally:
        over.set()
        coming.join()
    assert said.code == 1 and "has no worker" in said.err, said.err
    assert "waited for up to 120 s" in said.out + said.err, said.err


def test_a_scheduler_without_a_worker_asks_how_many_are_to_come(inrush: Inrush, nodes: Nodes) -> None:
    nodes.scheduler()
    said = inrush(
        "run",
        "keylookup-threads",
        "null",
        "--scale",
        "xs",
        "--quiet",
        "--fleet-insecure",
        "--fleet",
        nodes.address,
    )
    assert said.code == 1 and "has no worker" in said.err and "-P clients=N" in said.err, said.err
    assert not list(inrush.store.studies())


def test_what_a_call_says_is_planned_without_a_scheduler(inrush: Inrush, nodes: Nodes) -> None:
    words = (
        "plan",
        "keylookup-threads",
        "null",
        "--scale",
        "xs",
        "--fleet-insecure",
        "--fleet",
        nodes.address,
    )
    said = inrush(*words, "-P", "clients=3", "--json")
    assert said.code == 0, said.err
    assert {run["share"]["of"] for run in said.json["runs"]} == {3}


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf"])
def test_a_time_to_wait_is_a_time(inrush: Inrush, seconds: str) -> None:
    said = inrush(*STUDY, "--fleet", "local:2", "--fleet-wait", seconds)
    assert said.code == 2 and "--fleet-wait" in said.err, said.err


class Link:
    """Says one number of workers after the other."""

    address = "tcp://h:1"

    def __init__(self, *counts: int) -> None:
        self.counts = [*counts]

    def workers(self) -> dict[str, dict[str, Any]]:
        count = self.counts.pop(0) if len(self.counts) > 1 else self.counts[0]
        if count < 0:
            raise Lost("the scheduler tcp://h:1 is gone")
        return {f"tcp://{n}:1": {"name": f"n{n}", "host": f"10.0.0.{n}"} for n in range(count)}


def awaited(link: Link, wanted: int, wait_s: float) -> list[str]:
    said: list[str] = []
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds

    await_workers(link, wanted, WaitingTime(wait_s, lambda: now[0]), said.append, pause)
    return said


def test_what_was_waited_for_the_scheduler_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """30 s are over when it answers, once for the number of workers and once for the study: 30 of 60 are left, and then none."""
    now, asked = [0.0], list[float]()

    def link(address: str, connect_s: float) -> Link:
        asked.append(connect_s)
        now[0] += min(connect_s, 30.0)
        if connect_s < 30.0:
            raise Unreached("no scheduler answers")
        return Link(1)

    def pause(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(arrival, "Link", link)
    waiting = WaitingTime(60.0, lambda: now[0])
    said: list[str] = []
    # Of 60 s 10 are for one that is there; then it is said, and waited for.
    connected("tcp://h:1", waiting, said.append)
    assert asked == [10.0, 50.0] and waiting.left_s == pytest.approx(20.0) and "up to 60 s" in said[0]
    # What is done between two waits is none.
    now[0] += 1_000.0
    with pytest.raises(TargetError, match="0 of 3 workers came in 60 s"):
        await_workers(Link(0), 3, waiting, said.append, pause)
    assert waiting.left_s == 0.0 and now[0] == pytest.approx(1_060.0, abs=1.0)
    assert "up to 20 s" in said[1]


def test_a_scheduler_that_is_asked_for_its_workers_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[WaitingTime] = []

    class Closed(Link):
        def close(self) -> None:
            pass

    def late(address: str, waiting: WaitingTime, note: Any) -> Link:
        waited.append(waiting)
        return Closed(2)

    monkeypatch.setattr(arrival, "connected", late)
    waiting = WaitingTime(7.0)
    assert workers_of("tcp://127.0.0.1:1", True, waiting)() == 2 and waited == [waiting]


def test_each_that_comes_is_said_once_and_nothing_of_those_that_are_there() -> None:
    assert awaited(Link(3), 3, 60) == [] == awaited(Link(5), 3, 0)
    assert awaited(Link(0, 0, 1, 1, 2, 3), 3, 60) == [
        "fleet: 0 of 3 workers are there; those that are missing are waited for up to 60 s",
        "fleet: 1 of 3 workers is there",
        "fleet: 2 of 3 workers are there",
    ]


def test_who_came_is_named_to_find_who_did_not() -> None:
    with pytest.raises(TargetError) as info:
        awaited(Link(2), 3, 60)
    assert str(info.value) == (
        "tcp://h:1: 2 of 3 workers came in 60 s, one for each client process (n0 on 10.0.0.0, n1 on 10.0.0.1); look at "
        "the log of the one that is missing, wait longer with --fleet-wait, or say `-P clients=2`"
    )
    with pytest.raises(
        TargetError, match="0 of 3 workers came in 60 s, one for each client process; look at the logs"
    ):
        awaited(Link(0), 3, 60)


def test_a_scheduler_that_goes_meanwhile_ends_the_wait() -> None:
    with pytest.raises(TargetError, match="is gone"):
        awaited(Link(1, -1), 3, 60)


def test_certificates_that_are_not_named_or_of_another_fleet_are_said_at_once(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TargetError, match="no certificates are configured here; DASK_DISTRIBUTED__COMM__TLS"):
        connected(nodes.address.replace("tcp", "tls"), WaitingTime(60.0), print)
    fleets_of = (nodes.folder / "mine", nodes.folder / "theirs")
    for folder in fleets_of:
        folder.mkdir()
        certificates(folder, monkeypatch)
    ca = "distributed.comm.tls.ca-file"
    import dask

    with dask.config.set({ca: str(fleets_of[0] / "certificate.pem")}):
        monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CA_FILE", str(fleets_of[1] / "certificate.pem"))
        log = nodes.scheduler("--protocol", "tls")
        wait(lambda: "Scheduler at" in log.read_text(), 60.0)
        with pytest.raises(TargetError, match=r"CERTIFICATE_VERIFY_FAILED.*DASK_DISTRIBUTED__COMM__TLS"):
            connected(nodes.address.replace("tcp", "tls"), WaitingTime(60.0), print)
