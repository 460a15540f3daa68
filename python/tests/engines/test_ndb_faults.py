"""What can happen to a MySQL Cluster while it is measured: each is one line or figures that tell it, and no row is lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from inrush.analysis.verdicts import Outcome
from inrush.border.events import Event
from inrush.engines import server
from inrush.engines.base.instance import Instance, Stop, Target
from inrush.engines.servers import life
from inrush.guards.analyse import measured_run
from inrush.plan.plan import plan_study
from inrush.results.store import Results, Store
from inrush.run.listener import Silent
from inrush.run.run import StudyEnd, run_study
from inrush.stats.measures import study_record
from inrush.stats.run_figures import figures_of_run
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from tests.test_by_key_run import WORKLOAD

from .servers import SETTINGS, need, own_server
from .test_outage import small_disk

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

RATE_PER_S, MEASURE_S, ROWS = 200, 8.0, 4_000
#: Readers and all kinds of changes beside each other, on the rows that are read.
STUDY = """
schema = 1
title = "By key"
question = "Is every row right?"
expect = "Every row is."
workload = "workload.toml"
kind = "timed"
engines = ["ndb"]
layout = "pk"
load = { rows = ROWS }
schedule = { SCHEDULE, limit_s = 120 }
record = { interval_s = 0.1 }
factors.depth = [8]
repeats = { count = 1, order = "as_written", pilot = false }
[roles]
"""
ROLES = """
readers = { operations = { look = 1, look_new = 1 }, sessions = 2, depth = "@depth" }
putters = { operation = "put", depth = "@depth" }
takers = { operation = "take", depth = "@depth" }
changers = { operation = "change", sessions = 2, depth = "@depth" }
"""
CHANGERS = """
changers = { operation = "change", sessions = 2, depth = "@depth" }
"""
END = """
[answer]
kind = "curve"
of = "changers.latency_p50_s"
along = "depth"
"""
PACED = f'mode = "constant", rate_per_s = {RATE_PER_S}, warm_s = 0.3, measure_s = {MEASURE_S}, retry_s = 30'


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Deployment]]:
    """A cluster of the test's own, with settings of its own, because it will be mistreated."""
    need("ndb")
    started: list[Instance] = []

    def begin(**settings: str) -> Deployment:
        instance = own_server("ndb").start(folder / "ndb", {**SETTINGS["ndb"], **settings})
        started.append(instance)
        return Deployment(server("ndb"), Target("ndb", instance.url, {}, instance))

    yield begin
    for instance in started:
        own_server("ndb").stop(instance, Stop.KILL)
    assert not life.working_in(folder)


class At(Silent):
    """Does something once, so long after the measured phase began."""

    def __init__(self, after_s: float, what: Callable[[], object]) -> None:
        self.after_s, self.what = after_s, what
        self.began_s: float | None = None
        self.done_s: float | None = None

    def event(self, event: Event) -> None:
        if event["event"] != "progress" or event.get("phase") != "measure" or self.done_s:
            return
        self.began_s = self.began_s or time.monotonic()
        if time.monotonic() - self.began_s >= self.after_s:
            self.done_s = time.monotonic()
            self.what()


def ran(
    deployment: Deployment, folder: Path, listener: Silent, roles: str = ROLES, schedule: str = PACED, rows: int = ROWS,
    frame: str = STUDY, tables: str = WORKLOAD,
) -> tuple[StudyEnd, Results]:  # fmt: skip
    workload = tables.replace("rows = 1_300", f"rows = {2 * rows}").replace("rows = 300", f"rows = {rows}")
    (folder / "workload.toml").write_text(workload.replace("rows = 500", f"rows = {rows}"))
    study = frame.replace("ROWS", str(rows)).replace("SCHEDULE", schedule) + roles + END
    (folder / "study.toml").write_text(study)
    planned = plan_study(load_study(str(folder / "study.toml")), {"ndb": server("ndb")})
    results = Store(folder / "results").new_study("faults", {})
    outcome = run_study([next(iter(planned.block(1)))], results, {"ndb": deployment}, listener)
    return outcome, Results(results.path)


def of_cluster(deployment: Deployment) -> Instance:
    assert deployment.target.instance is not None
    return deployment.target.instance


def kill(deployment: Deployment, name: str) -> None:
    os.kill(of_cluster(deployment).processes[name], signal.SIGKILL)


def has_arbitrator(deployment: Deployment) -> None:
    """Before there is one, a node that is left alone ends too: it cannot know which of the two is alone."""
    log, until_s = of_cluster(deployment).data / "node_1.log", time.monotonic() + 60
    while "Started arbitrator node" not in log.read_text():
        assert time.monotonic() < until_s
        time.sleep(0.1)


def outcomes(sealed: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in sealed.tables["failures"].to_pylist():
        found[row["outcome"]] = found.get(row["outcome"], 0) + row["count"]
    return found


def one_line(outcome: StudyEnd) -> str:
    """Why its one run has failed."""
    (message,) = outcome.failed.values()
    assert outcome.done == 0 and "\n" not in message.strip() and "panicked" not in message, message
    return message


def verdicts(sealed: Any, figures: Mapping[str, float]) -> dict[str, Outcome]:
    return {verdict.guard: verdict.outcome for verdict in measured_run(sealed).verdicts}


def answered(sealed: Any, roles: Sequence[str]) -> dict[float, int]:
    """Calls of these roles that ended ok, by interval of the measured phase."""
    (window,) = (s for s in sealed.tables["segments"].to_pylist() if s["phase"] == "measure")
    found: dict[float, int] = {}
    for row in sealed.tables["intervals"].to_pylist():
        if row["segment"] == window["segment"] and row["role"] in roles:
            at_s = round((row["t_ns"] - window["start_ns"]) / 1e9, 1)
            found[at_s] = found.get(at_s, 0) + row["ops"] - row["errors"]
    return found


#: Role -> its sessions.
SESSIONS = {"readers": 2, "putters": 1, "takers": 1, "changers": 2}
DEPTH = 8


@pytest.mark.parametrize("node", ["node_1", "node_2"])
def test_a_data_node_killed_in_a_paced_run_costs_calls_under_way_and_a_wait_and_no_row(
    start: Callable[..., Deployment], folder: Path, node: str
) -> None:
    own = start()
    has_arbitrator(own)
    killer = At(2.0, lambda: kill(own, node))
    outcome, results = ran(own, folder, killer)
    assert (outcome.done, outcome.failed) == (1, {}) and killer.done_s
    (sealed,) = study_record(results).runs
    figures, lost = figures_of_run(sealed), outcomes(sealed)
    assert set(lost) == {"lost"} and 1 <= lost["lost"] <= DEPTH * sum(SESSIONS.values()), lost
    found = verdicts(sealed, figures)
    assert found["rows proven"] is found["answers right"] is Outcome.PASS, found
    assert not [v for v in measured_run(sealed).verdicts if v.hides], "its figures are there"
    for role in SESSIONS:
        # What was due while it was found out that the node is gone waited for it, and was sent.
        assert figures[f"{role}.ops"] + figures[f"{role}.unsent"] == RATE_PER_S * MEASURE_S
        assert figures[f"{role}.errors"] >= 1 and figures[f"{role}.late"] >= 1
        assert figures[f"{role}.wait_p999_s"] > 3 * figures[f"{role}.wait_p50_s"]
    # It is back at its rate. Intervals are up to 0.4 s long, so the wait, and not one of them, says how long that took.
    by_interval = answered(sealed, list(SESSIONS))
    last = [count for at_s, count in by_interval.items() if MEASURE_S - 3 <= at_s < MEASURE_S - 0.2]
    assert sum(last) > 0.9 * RATE_PER_S * len(SESSIONS) * 2.2, by_interval


def test_a_run_goes_on_without_its_management_server_and_the_next_one_says_that_it_is_gone(
    start: Callable[..., Deployment], folder: Path
) -> None:
    own = start()
    has_arbitrator(own)
    killer = At(1.0, lambda: kill(own, "management"))
    outcome, results = ran(own, folder, killer)
    assert (outcome.done, outcome.failed) == (1, {}) and killer.done_s
    (sealed,) = study_record(results).runs
    figures = figures_of_run(sealed)
    found = verdicts(sealed, figures)
    assert outcomes(sealed) == {} and figures["readers.ok"] == RATE_PER_S * MEASURE_S
    assert found["rows proven"] is found["answers right"] is Outcome.PASS, found
    began_s = time.monotonic()
    again, _ = ran(own, folder, Silent())
    took_s = time.monotonic() - began_s
    port = of_cluster(own).port
    assert one_line(again).endswith(
        f"nothing listens on port {port}; is the server running, and is the port right?"
    )
    assert took_s < 20, took_s


def test_more_connections_than_slots_are_one_line_within_seconds(
    start: Callable[..., Deployment], folder: Path
) -> None:
    own = start(api_slots="2")
    own.target.options["connections"] = "4"
    began_s = time.monotonic()
    outcome, _ = ran(own, folder, Silent())
    took_s = time.monotonic() - began_s
    message = one_line(outcome)
    assert "No free node id" in message and "every API slot is taken: use fewer `connections`" in message
    print(f"{took_s:.1f} s")
    assert took_s < 25, took_s


CLOSED = 'mode = "closed", warm_s = 0.2, measure_s = 6, retry_s = 60'


def test_a_redo_log_that_is_full_is_overload_and_never_work(
    start: Callable[..., Deployment], folder: Path
) -> None:
    """Rows of 2 kB, and checkpoints that write too slowly to free what they are."""
    slow = dict.fromkeys(
        ("MinDiskWriteSpeed", "MaxDiskWriteSpeed", "MaxDiskWriteSpeedOtherNodeRestart"), "1M"
    )
    own = start(NoOfFragmentLogFiles="3", FragmentLogFileSize="4M", **slow)
    deep = STUDY.replace("depth = [8]", "depth = [64]")
    wide = WORKLOAD.replace("min_bytes = 3, max_bytes = 9", "min_bytes = 2_000, max_bytes = 2_000")
    outcome, results = ran(own, folder, Silent(), CHANGERS, CLOSED, 10_000, deep, wide)
    assert (outcome.done, outcome.failed) == (1, {})
    (sealed,) = study_record(results).runs
    figures = figures_of_run(sealed)
    assert set(outcomes(sealed)) == {"overloaded"}, outcomes(sealed)
    said = {row["first_message"] for row in sealed.tables["failures"].to_pylist()}
    assert all("(410)" in text and "NoOfFragmentLogFiles" in text for text in said), said
    # Far more than ends a session of any other failure.
    assert figures["changers.errors"] > 3_000 and figures["changers.failed_share"] > 0.2, figures
    assert figures["changers.ops_per_s"] == pytest.approx(
        figures["changers.ok"] / figures["changers.makespan_s"]
    )
    (note,) = (v for v in measured_run(sealed).verdicts if v.guard == "errors not counted as fast")
    assert note.outcome is Outcome.NOTE and "change overloaded, REDO log files overloaded" in note.sentence
    assert verdicts(sealed, figures)["rows proven"] is Outcome.PASS


def test_memory_that_is_full_is_one_line_that_names_its_setting(
    start: Callable[..., Deployment], folder: Path
) -> None:
    own = start(DataMemory="8M")
    outcome, _ = ran(own, folder, Silent(), rows=1_000_000)
    message = one_line(outcome)
    assert "rows were stored: Out of memory in Ndb Kernel" in message and "increase DataMemory" in message
    assert message.endswith("; its table is not the planned one"), message


#: MB of a file system that a cluster begins on, and what is left of it when it is written to.
AMPLE_MB, ROOM_MB = 1024, 24


def test_a_full_disk_below_the_data_nodes_is_one_line_and_no_work(folder: Path) -> None:
    """Rows of 2 kB are changed: the redo log grows to its size, for which there is no room."""
    need("ndb")
    with small_disk(folder / "small", AMPLE_MB) as disk:
        instance = own_server("ndb").start(disk / "ndb", SETTINGS["ndb"])
        own = Deployment(server("ndb"), Target("ndb", instance.url, {}, instance))
        running = list(instance.pids)

        def shrink() -> None:
            size = shutil.disk_usage(disk).used + (ROOM_MB << 20)
            subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)

        wide = WORKLOAD.replace("min_bytes = 3, max_bytes = 9", "min_bytes = 2_000, max_bytes = 2_000")
        schedule = 'mode = "constant", rate_per_s = 3_000, warm_s = 0.3, measure_s = 40, retry_s = 3'
        began_s = time.monotonic()
        try:
            outcome, results = ran(own, folder, At(0.5, shrink), CHANGERS, schedule, 5_000, tables=wide)
        finally:
            own_server("ndb").stop(instance, Stop.KILL)
        print(f"{time.monotonic() - began_s:.0f} s: {outcome.failed}")
        message = one_line(outcome)
        assert f"the disk of {instance.data} was full" in message, message
        assert message.endswith("; make room, or take fewer rows"), message
        (failed,) = study_record(results).runs
        assert set(outcomes(failed)) <= {"lost", "overloaded"}, outcomes(failed)
        assert not [pid for pid in running if life.started_at(pid)]


def test_a_cluster_of_a_killed_inrush_is_named_stopped_and_started_again(folder: Path) -> None:
    need("ndb")
    (folder / "workload.toml").write_text(WORKLOAD)
    study = STUDY.replace("ROWS", "1_000").replace("SCHEDULE", PACED) + CHANGERS + END
    (folder / "study.toml").write_text(study.replace(f"measure_s = {MEASURE_S}", "measure_s = 60"))
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1", "INRUSH_RESULTS": str(folder / "results"),
    }  # fmt: skip
    word = ",".join(["ndb", *(f"{name}={value}" for name, value in SETTINGS["ndb"].items())])
    data, inrush = folder / "data", [sys.executable, "-m", "inrush.cli"]
    run = ("run", str(folder / "study.toml"), "--start", word, "--data", str(data), "--quiet")

    def said(*words: str) -> tuple[int, str]:
        done = subprocess.run([*inrush, *words], env=environment, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout + done.stderr

    with subprocess.Popen([*inrush, *run], env=environment, stderr=subprocess.PIPE, text=True) as first:
        until_s = time.monotonic() + 120
        while not list((folder / "results").glob("*/b*/parts/intervals.arrows")):
            assert first.poll() is None and time.monotonic() < until_s, first.communicate()
            time.sleep(0.1)
        first.kill()
        first.communicate()
    left = life.working_in(data)
    assert len(left) == 3, left
    code, status = said("engines", "status", "ndb", "--data", str(data))
    assert code == 0 and all(f"  {pid}  " in status for pid in left), status
    assert "was left by an inrush that was killed; `inrush engines stop ndb` ends it" in status
    code, stopped = said("engines", "stop", "ndb", "--data", str(data))
    assert code == 0 and not life.working_in(data) and not [pid for pid in left if life.started_at(pid)], (
        stopped
    )
    (folder / "study.toml").write_text(study.replace(f"measure_s = {MEASURE_S}", "measure_s = 1"))
    code, again = said(*run)
    assert code in (0, 3) and "ndb" in again, again
    assert not life.working_in(data)
