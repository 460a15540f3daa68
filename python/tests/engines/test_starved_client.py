"""A client that is kept from running while it measures: stopped, held to a quota, niced below a hog, on one core with a hog.

Closed roles lose throughput and paced ones time; both are invalid, and the figure is named. An undisturbed one is not.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.analysis.verdicts import Outcome, Verdict
from inrush.border.events import Event
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.guards.analyse import measured_run
from inrush.load.pipeline.cpu_quota import threads_of
from inrush.machine import cgroup
from inrush.plan.plan import plan_study
from inrush.plan.planned import PlannedRun
from inrush.results.store import Results, Store
from inrush.run.listener import Silent
from inrush.run.run import run_study
from inrush.stats.measures import study_record
from inrush.stats.run_figures import figures_of_run
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from tests.test_paced import STUDY, children
from tests.undisturbed import first_served

#: Its calls take 8 ms: a host that takes the processor for tens of microseconds moves none of them by 5 %, as it does those of SQLite.
SLOW = 'options.simulated = { service_ns = 8_000_000, distribution = "fixed", servers = 2 }'
#: What an interfered run is invalid in.
FIGURE = {"closed": "readers.ops_per_s", "constant": "readers.latency_p99_s"}
SCHEDULES = {"closed": 'mode = "closed"', "constant": 'mode = "constant", rate_per_s = 200'}
STOPPED_S, OF_S = 0.14, 0.28
QUOTA_CORES = 0.08


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """140 ms of every 280."""
    ended = threading.Event()

    def stop_again() -> None:
        with contextlib.suppress(ProcessLookupError):
            while not ended.wait(OF_S - STOPPED_S):
                os.kill(pid, signal.SIGSTOP)
                time.sleep(STOPPED_S)
                os.kill(pid, signal.SIGCONT)

    stopper = threading.Thread(target=stop_again)
    stopper.start()
    try:
        yield
    finally:
        ended.set()
        stopper.join()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def beside_hogs(pid: int, nice: int) -> Iterator[None]:
    """On one core with eight programs that compute without end: less is left than a client needs that waits for a server.

    Each in a session of its own: a kernel may share out its processors by sessions.
    """
    core = max(os.sched_getaffinity(0))
    computes = [sys.executable, "-c", "while True: pass"]
    hogs = [subprocess.Popen(computes, start_new_session=True) for _ in range(8)]
    try:
        for one in (*(hog.pid for hog in hogs), *threads_of(pid)):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(one, {core})
        for thread in threads_of(pid) if nice else ():
            with contextlib.suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, thread, nice)
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


HOW: dict[str, Callable[[int], contextlib.AbstractContextManager[None]]] = {
    "undisturbed": lambda pid: contextlib.nullcontext(),
    "stopped": stopped,
    "niced": lambda pid: beside_hogs(pid, 10),
    "pinned": lambda pid: beside_hogs(pid, 0),
}


class Hinderer(Silent):
    """Does it to the worker from when its measured phase has begun until it has ended."""

    def __init__(self, how: str) -> None:
        self.how, self.done, self.held = how, False, contextlib.ExitStack()

    def event(self, event: Event) -> None:
        if event["event"] == "progress" and event.get("phase") == "measure" and not self.done:
            self.done = True
            (pid,) = children(os.getpid())
            self.held.enter_context(HOW[self.how](pid))
        if event["event"] == "segment":
            self.held.close()


def planned(engine: str, mode: str, folder: Path) -> PlannedRun:
    study = folder / "lookups.toml"
    engines = f'["{engine}"]' + f"\n{SLOW}" * (engine == "simulated")
    text = STUDY.replace('["sqlite"]', engines).replace(
        'mode = "constant", rate_per_s = 200', SCHEDULES[mode]
    )
    study.write_text(text)
    overrides = ["schedule.measure_s=3.0", "repeats.pilot=false"]
    found = plan_study(load_study(str(study), overrides=overrides), {engine: server(engine)})
    return next(iter(found.block(1)))


def measured(
    engine: str, mode: str, how: str, request: Any, folder: Path
) -> tuple[Verdict, dict[str, float]]:
    own = server(engine)
    target = Target(engine, "") if own.embedded else request.getfixturevalue(engine)
    results, hinderer = Store(folder / "results").new_study("lookups", {}), Hinderer(how)
    with hinderer.held:
        outcome = run_study(
            [planned(engine, mode, folder)], results, {engine: Deployment(own, target)}, hinderer
        )
    assert outcome.done == 1 and hinderer.done, outcome
    (run,) = study_record(Results(results.path)).runs
    figures = figures_of_run(run)
    (verdict,) = [v for v in measured_run(run).verdicts if v.guard == "client on time"]
    return verdict, figures


CASES = [
    (engine, mode, how)
    for engine in ("sqlite", "postgresql")
    for mode in SCHEDULES
    for how in HOW
    if how != "undisturbed"
]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "mode", "how"), CASES)
def test_a_client_that_is_kept_from_running_is_invalid_in_what_that_moves(
    engine: str, mode: str, how: str, request: pytest.FixtureRequest, folder: Path
) -> None:
    verdict, figures = measured(engine, mode, how, request, folder)
    assert verdict.outcome is Outcome.INVALID and verdict.breaks(FIGURE[mode]), (verdict, figures)
    assert not verdict.breaks("readers.ops"), "what was counted stands"


@pytest.mark.slow
@pytest.mark.parametrize("mode", SCHEDULES)
def test_a_client_that_nothing_keeps_from_running_is_not(
    mode: str, request: pytest.FixtureRequest, folder: Path
) -> None:
    """Else a verdict that is always INVALID would pass above. One run of five is enough: a host may take the processor too."""
    found: list[Verdict] = []
    while len(found) < 5 and all(v.breaks(FIGURE[mode]) for v in found):
        with first_served():
            found.append(measured("simulated", mode, "undisturbed", request, folder)[0])
    assert not found[-1].breaks(FIGURE[mode]), found


@contextlib.contextmanager
def quota() -> Iterator[cgroup.Group]:
    """A group of ours that this process and what it starts are in. Fails where none can be had: it must be seen to work."""
    before = own_group()
    group = cgroup.made(f"inrush-test-{os.getpid()}", {"cpu": 1024.0})
    try:
        group.join(os.getpid())
        yield group
    finally:
        for procs, pid in ((before, p) for p in group.members()):
            with contextlib.suppress(OSError):
                procs.write_text(str(pid))
        group.remove()


def own_group() -> Path:
    """Where this process is now, by the controller of processors."""
    version = cgroup.version_of()
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if (version == 2 and not controllers) or (version == 1 and "cpu" in controllers.split(",")):
            mount = cgroup.CGROUPS / "cpu" if version == 1 else cgroup.CGROUPS
            return mount / path.strip("/") / "cgroup.procs"
    raise AssertionError("no controller of processors")


@contextlib.contextmanager
def held_to(group: cgroup.Group, cores: float) -> Iterator[None]:
    def limit(to: float) -> None:
        for path, value in cgroup.entries(group, {"cpu": to}, ""):
            path.write_text(value)

    limit(cores)
    try:
        yield
    finally:
        limit(1024.0)


@pytest.mark.slow
@pytest.mark.parametrize("mode", SCHEDULES)
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_client_that_uses_up_its_quota_is_invalid_and_its_periods_are_said(
    engine: str, mode: str, request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not server(engine).embedded:
        request.getfixturevalue(engine)  # started outside of the group
    try:
        with quota() as group:
            monkeypatch.setitem(HOW, "throttled", lambda pid: held_to(group, QUOTA_CORES))
            verdict, figures = measured(engine, mode, "throttled", request, folder)
    except PermissionError as e:
        pytest.fail(f"no cgroup of ours here, and so a quota is not shown to be seen: {e}. Run as root")
    assert verdict.outcome is Outcome.INVALID and verdict.breaks(FIGURE[mode]), (verdict, figures)
    assert "its quota of CPU was used up in" in verdict.sentence, verdict
