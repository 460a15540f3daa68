"""Running a study: every run once, whole, whatever ends the process that makes them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inrush.border.events import Event
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import NotCold, Stop, Target
from inrush.errors import CoreError, Interrupted, TargetError, UsageError
from inrush.machine import host
from inrush.plan.planned import PlannedRun
from inrush.results.store import Results, SealedRun, Store, StudyFolder, unsealed_runs
from inrush.run.ahead import Look
from inrush.run.listener import Silent
from inrush.run.one import disk_after
from inrush.run.run import GIVE_UP_AFTER, StudyEnd, run_study
from inrush.targets.deployment import Deployment, at_deployment
from inrush.targets.passwords import split_password
from tests.fake_server import FakeServer
from tests.test_worker import FAKE_WORKER

FINISHED = {"event": "finished", "ended_by": "work"}


@dataclass(frozen=True)
class Planned:
    order: int
    script: list[Any]
    block: int = 0
    engine: str = "fake"
    hash: str = "0123456789abcdef"
    labels: dict[str, Any] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        return f"b{self.block:02d}-{self.order:03d}-{self.hash[:8]}"

    @property
    def point(self) -> str:
        return f"{self.engine} {self.order}"

    @property
    def plan(self) -> dict[str, Any]:
        return {
            "target": {"engine": self.engine, "url": "", "options": {}},
            "tables": [],
            "operations": [],
            "segments": [],
            "watch": {"every_ns": 0, "processes": {}, "data_dir": ""},
            "labels": {"script": self.script, **self.labels},
        }


class Diary(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.begins: list[int] = []

    def begun(self, n: int, of: int, run: object) -> None:
        self.begins.append(n)

    def note(self, message: str) -> None:
        self.notes.append(message)


def begin(tmp_path: Path) -> StudyFolder:
    return Store(tmp_path / "results").new_study("batch", {"begun_unix_ns": time.time_ns()})


def deployment(server: FakeServer | None = None) -> Deployment:
    return Deployment(server or FakeServer(), Target("fake", "fake://localhost:1"))


def make(
    folder: StudyFolder, runs: Sequence[Planned], listener: Silent | None = None, **options: Any
) -> StudyEnd:
    options.setdefault("deployments", {"fake": deployment()})
    options.setdefault("environment", lambda _: {"cpu_model": "a test's"})
    return run_study(
        runs, folder, options.pop("deployments"), listener or Silent(), worker=FAKE_WORKER, **options
    )


@pytest.mark.parametrize("ended", ["failed", "interrupted"])
def test_a_study_that_goes_on_is_no_longer_as_it_had_ended(tmp_path: Path, ended: str) -> None:
    """One that is killed then has no other word than one that is killed at first."""
    folder, found = begin(tmp_path), list[str]()
    folder.write({"status": ended})

    class Looking(Silent):
        def begun(self, n: int, of: int, run: PlannedRun) -> None:
            found.append(str(StudyFolder(folder.path).doc["status"]))

    make(folder, [Planned(0, ["table", FINISHED])], Looking())
    assert found == ["running"] and StudyFolder(folder.path).doc["status"] == "done"


def test_every_planned_run_is_sealed_in_order_with_its_tables(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    runs = [Planned(i, ["table", FINISHED], labels={"factors": {"batch_rows": i}}) for i in range(3)]
    outcome = make(folder, runs)
    assert outcome.done == 3 and not outcome.failed
    results = Results(folder.path)
    assert [r.id for r in results.runs] == [r.run_id for r in runs]
    for i, run in enumerate(results.runs):
        assert run.doc["status"] == "done" and run.doc["ended_by"] == "work"
        assert run.labels == {"factors": {"batch_rows": i}}
        assert run.table("repetitions").num_rows == 2
        assert run.env == {"cpu_model": "a test's"}
    assert results.study["status"] == "done"
    assert unsealed_runs(results.path) == [] and list(folder.data_path.iterdir()) == []


def test_a_study_that_is_done_is_not_run_again(tmp_path: Path) -> None:
    folder, diary = begin(tmp_path), Diary()
    runs = [Planned(i, [FINISHED]) for i in range(2)]
    make(folder, runs)
    assert make(folder, runs, diary).done == 2
    assert diary.begins == []


def test_a_crash_of_the_worker_is_a_failed_run_with_the_signal_and_the_others_go_on(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    outcome = make(folder, [Planned(0, ["table", "crash"]), Planned(1, [FINISHED])])
    assert outcome.done == 1 and "SIGSEGV" in next(iter(outcome.failed.values()))
    crashed = Results(folder.path).runs[0]
    assert crashed.doc["failure"]["kind"] == "crash" and crashed.table("repetitions").num_rows == 2


def test_a_failed_run_is_done_again_on_resume(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    assert make(folder, [Planned(0, ["fail"])]).failed
    assert make(folder, [Planned(0, [FINISHED])]).done == 1
    assert [r.doc["status"] for r in Results(folder.path).runs] == ["done"]


def test_an_engine_that_keeps_failing_is_given_up_and_the_rest_is_said(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    runs = [Planned(i, ["fail"]) for i in range(GIVE_UP_AFTER + 2)] + [
        Planned(99, [FINISHED], engine="other")
    ]
    outcome = make(folder, runs, deployments={"fake": deployment(), "other": deployment()})
    assert len(outcome.failed) == GIVE_UP_AFTER and len(outcome.stopped) == 2 and outcome.done == 1
    assert all("in a row" in entry["reason"] for entry in Results(folder.path).study["stopped"])


def test_a_run_whose_pause_could_not_be_cold_says_so_in_its_result(tmp_path: Path) -> None:
    server, folder, diary = FakeServer(), begin(tmp_path), Diary()
    server.lifecycle.cold = NotCold("dropping caches needs root")
    make(folder, [Planned(0, ["pause", FINISHED])], diary, deployments={"fake": deployment(server)})
    (action,) = Results(folder.path).runs[0].doc["actions"]
    assert (action["action"], action["ok"], action["why"]) == (
        "make_cold",
        False,
        "dropping caches needs root",
    )
    assert server.lifecycle.diary == ["make_cold"] and diary.notes == [
        "make_cold: dropping caches needs root"
    ]


def test_an_unknown_action_is_part_of_the_result_and_no_crash(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    paused = {"event": "paused", "index": 1, "action": "dance"}
    make(folder, [Planned(0, [paused, FINISHED])])
    (action,) = Results(folder.path).runs[0].doc["actions"]
    assert action["ok"] is False and "make_cold" in action["why"]


def test_stop_rules_leave_runs_out_and_say_why(tmp_path: Path) -> None:
    folder = begin(tmp_path)

    def skip(run: object, sealed: Sequence[SealedRun]) -> str | None:
        return "a smaller batch took 90 s" if len(sealed) >= 2 else None

    outcome = make(folder, [Planned(i, [FINISHED]) for i in range(4)], skip=skip)
    assert outcome.done == 2
    stopped = Results(folder.path).study["stopped"]
    assert [s["point"] for s in stopped] == ["fake 2", "fake 3"]
    assert {s["reason"] for s in stopped} == {"a smaller batch took 90 s"}


def test_a_run_that_was_passed_over_is_looked_at_again_when_others_of_its_block_were_made(
    tmp_path: Path,
) -> None:
    folder, diary = begin(tmp_path), Diary()
    runs = [Planned(i, [FINISHED], labels={"point": f"fake {i}"}) for i in range(4)]

    def skip(run: Any, sealed: Sequence[SealedRun]) -> str | None:
        """The first is wanted once the third is there, the second never."""
        wanted = {0: any(r.id == runs[2].run_id for r in sealed), 1: False}
        return None if wanted.get(runs.index(run), True) else "not now"

    outcome = make(folder, runs, diary, skip=skip, look=lambda run: Look.BLOCK)
    assert outcome.done == 3
    made = sorted(Results(folder.path).runs, key=lambda r: r.doc["begun_unix_ns"])
    assert [r.id for r in made] == [runs[i].run_id for i in (2, 3, 0)]
    assert diary.begins == [3, 4, 4], "it counts once"
    assert [s["point"] for s in Results(folder.path).study["stopped"]] == ["fake 1"]
    # Without a second look it is left out for good.
    assert make(begin(tmp_path / "once"), runs, skip=skip).done == 2


class CtrlC(Silent):
    """Presses Ctrl-C when the worker has said that a segment begins."""

    def __init__(self, times: int) -> None:
        self.left = times

    def event(self, event: Event) -> None:
        while self.left and event["event"] == "segment":
            self.left -= 1
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_ends_the_run_uncounted_and_resume_makes_it_whole(tmp_path: Path, times: int) -> None:
    folder = begin(tmp_path)
    runs = [
        Planned(0, [FINISHED]),
        Planned(1, [{"event": "segment"}, "hang", FINISHED]),
        Planned(2, [FINISHED]),
    ]
    with pytest.raises(Interrupted, match="--resume"):
        make(folder, runs, CtrlC(times))
    assert Results(folder.path).study["status"] == "interrupted"
    assert [r.id for r in Results(folder.path).runs] == [runs[0].run_id]
    whole = [Planned(r.order, ["table", FINISHED]) for r in runs]
    assert make(folder, whole).done == 3
    assert [r.doc["status"] for r in Results(folder.path).runs] == ["done"] * 3


def test_signal_handlers_are_as_before_when_a_study_has_ended(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    make(begin(tmp_path), [Planned(0, [FINISHED])])
    assert signal.getsignal(signal.SIGINT) is before


def test_a_folder_does_not_go_on_with_other_plans(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    make(folder, [Planned(0, [FINISHED])])
    with pytest.raises(UsageError, match="without --resume"):
        make(folder, [Planned(0, [FINISHED], hash="another plan's hash")])


def test_a_disk_that_cannot_be_written_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = begin(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "repetitions.parquet.tmp")

    monkeypatch.setattr("inrush.results.store.sealing._to_parquet", full)
    with pytest.raises(CoreError, match=r"No space left on device.*--resume"):
        make(folder, [Planned(0, ["table", FINISHED])])
    monkeypatch.undo()
    assert make(folder, [Planned(0, ["table", FINISHED])]).done == 1


KILLED = """
import sys
sys.path[:0] = [{tests!r}, {package!r}]
from pathlib import Path
from inrush.results.store import StudyFolder
from tests.test_run import Planned, make, killed_runs
make(StudyFolder(Path({folder!r})), killed_runs())
"""


def killed_runs() -> list[Planned]:
    steps = [{"event": "segment", "index": i} for i in range(30)]
    return [Planned(i, [*steps, "table", *steps, FINISHED]) for i in range(12)]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_kill_9_at_random_points_leaves_every_run_once_after_resume(tmp_path: Path, whole: bool) -> None:
    """Sealed runs are never touched again; the one in hand is redone; nothing is counted twice."""
    folder = begin(tmp_path)
    package = str(Path(__file__).parents[1])
    program = KILLED.format(tests=package, package=package, folder=str(folder.path))
    rng = random.Random(20)
    seals: dict[str, int] = {}

    def remember() -> None:
        for path in folder.path.glob("*/run.json"):
            seen = seals.setdefault(path.parent.name, path.stat().st_mtime_ns)
            assert path.stat().st_mtime_ns == seen, f"{path} was written again after it was sealed"

    kills = 0
    for _ in range(20 if whole else 10):
        with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as inrush:
            with contextlib.suppress(subprocess.TimeoutExpired):
                inrush.wait(rng.uniform(0.05, 1.2))
            kills += inrush.poll() is None
            inrush.kill()
            assert inrush.stderr is not None and "Error" not in (said := inrush.stderr.read()), said
        remember()
    assert kills >= 3, "the machine was so fast that hardly anything was killed; more runs are needed"
    outcome = make(folder, killed_runs())
    remember()
    runs = Results(folder.path).runs
    assert outcome.done == 12 and [r.id for r in runs] == [r.run_id for r in killed_runs()]
    assert all(
        r.doc["status"] == "done" and r.table("repetitions").num_rows == 2 and not r.damage() for r in runs
    )
    assert unsealed_runs(folder.path) == []


def test_half_a_table_of_a_killed_run_is_set_aside_not_counted(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    run = Planned(0, ["table", FINISHED])
    opened = folder.open_run(run.run_id, run.plan, {})
    (opened.parts / "repetitions.arrows").write_bytes(b"half a table")
    make(folder, [run])
    assert (
        folder.path / "quarantine" / f"{run.run_id}.1" / "parts" / "repetitions.arrows"
    ).read_bytes() == b"half a table"
    assert Results(folder.path).runs[0].table("repetitions").num_rows == 2


def test_a_plan_at_its_site_differs_in_address_processes_and_data_alone(tmp_path: Path) -> None:
    plan = Planned(0, [FINISHED]).plan
    placed = at_deployment(plan, deployment(), tmp_path)
    assert placed["target"] == {"engine": "fake", "url": "fake://localhost:1", "options": {}}
    assert placed["watch"] == {"every_ns": 0, "processes": {}, "data_dir": str(tmp_path)}
    same = plan.keys() - {"target", "watch"}
    assert placed.keys() == plan.keys() and {k: dict(placed)[k] for k in same} == {k: plan[k] for k in same}
    assert plan["target"]["url"] == ""


def test_facts_of_the_disk_are_of_where_the_engine_keeps_its_files(tmp_path: Path) -> None:
    """A server of ours on storage of its own, one in our process, and one that is somewhere."""

    class Embedded(FakeServer):
        embedded = True

    there = tmp_path / "other storage" / "fake"
    ours = FakeServer()
    instance = ours.lifecycle.start(there, {})
    deployments = {
        "ours": Deployment(ours, Target("fake", instance.url, {}, instance)),
        "embedded": Deployment(Embedded(), Target("fake", "")),
        "theirs": deployment(),
    }
    looked: list[Path] = []

    def environment(place: Path) -> dict[str, Any]:
        looked.append(place)
        return {"cpu_model": "a test's", "data_dir": str(place), "disk_fsync_per_s": 1.0}

    folder = begin(tmp_path)
    runs = [Planned(2 * i + k, [FINISHED], engine=e) for i, e in enumerate(deployments) for k in range(2)]
    make(folder, runs, deployments=deployments, environment=environment)
    found = {r.plan["target"]["engine"]: dict(r.env) for r in Results(folder.path).runs}
    assert looked == [there, folder.data_path]
    assert found == {
        "ours": {"cpu_model": "a test's", "data_dir": str(there), "disk_fsync_per_s": 1.0},
        "embedded": {"cpu_model": "a test's", "data_dir": str(folder.data_path), "disk_fsync_per_s": 1.0},
        "theirs": {"cpu_model": "a test's"},
    }


@pytest.mark.parametrize(
    ("filesystem", "survives"), [("ext4", Survives.POWER_LOSS), ("tmpfs", Survives.PROCESS_CRASH)]
)
def test_nothing_in_memory_survives_a_loss_of_power_whatever_the_server_says(
    filesystem: str, survives: Survives, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Durable(FakeServer):
        def durability(self, settings: Mapping[str, str]) -> Durability:
            return Durability(Survives.POWER_LOSS, because=settings)

    monkeypatch.setattr(host, "mount_of", lambda _: host.Mount("", "/", filesystem, ""))
    server = Durable()
    instance = server.lifecycle.start(tmp_path, {})
    ours = Deployment(server, Target("fake", instance.url, {}, instance)).durability(
        {"fsync": "on"}, tmp_path
    )
    assert ours.survives is survives
    assert ours.because == {"fsync": "on"} | ({} if filesystem == "ext4" else {"filesystem": "tmpfs"})
    # Where a server that we did not start keeps its rows is not known: its settings are what there is.
    theirs = Deployment(server, Target("fake", "fake://localhost:1")).durability({"fsync": "on"}, tmp_path)
    assert theirs.survives is Survives.POWER_LOSS


def test_a_server_of_the_users_is_never_restarted() -> None:
    with pytest.raises(TargetError, match="--start fake"):
        deployment().restart(Stop.CLEAN)


def test_an_instance_of_ours_is_restarted_at_its_data(tmp_path: Path) -> None:
    server = FakeServer()
    instance = server.lifecycle.start(tmp_path, {"a": "b"})
    place = Deployment(server, Target("fake", instance.url, {}, instance))
    place.restart(Stop.KILL)
    assert server.lifecycle.diary == ["start", "stop kill", "start"]
    assert place.target.instance is not None and place.target.instance.settings == {"a": "b"}


@pytest.mark.parametrize(
    ("url", "shown", "variable"),
    [
        (
            "postgresql://u:s%40crt@h:5/db?connect_timeout=1",
            "postgresql://u@h:5/db?connect_timeout=1",
            {"PGPASSWORD": "s@crt"},
        ),
        (
            "postgresql://u:secret@%2FVar%2Frun:5/db?sslmode=disable",
            "postgresql://u@%2FVar%2Frun:5/db?sslmode=disable",
            {"PGPASSWORD": "secret"},
        ),
        (
            "postgresql://u:secret@:5/db?host=/Var/run",
            "postgresql://u@:5/db?host=/Var/run",
            {"PGPASSWORD": "secret"},
        ),
        ("mysql://u:secret@[::1]:3306/db", "mysql://u@[::1]:3306/db", {"MYSQL_PWD": "secret"}),
        ("postgresql://h/db?user=u&password=secret", "postgresql://h/db?user=u", {"PGPASSWORD": "secret"}),
    ],
)
def test_a_password_leaves_the_url_for_the_environment(
    url: str, shown: str, variable: dict[str, str]
) -> None:
    found, environment, warning = split_password(url)
    assert (found, environment) == (shown, variable)
    assert warning is not None and "secret" not in warning and next(iter(variable)) in warning


@pytest.mark.parametrize("url", ["postgresql://u@h:5/db", "duckdb:///tmp/a b.duckdb", "sqlite:///x", "null"])
def test_a_url_without_password_stays_as_it_is(url: str) -> None:
    assert split_password(url) == (url, {}, None)


def test_no_password_is_ever_written(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    place = Deployment(FakeServer(), Target("fake", "fake://h"), {"PGPASSWORD": "topsecret"})
    make(folder, [Planned(0, ["table", FINISHED])], deployments={"fake": place})
    assert "topsecret" not in repr(place)
    for path in folder.path.rglob("*"):
        assert not path.is_file() or b"topsecret" not in path.read_bytes(), path
    assert json.loads((folder.path / "study.json").read_text())["status"] == "done"


@pytest.mark.parametrize(("fsyncs_per_s", "probed"), [(1e12, False), (1e-3, True)])
def test_a_disk_that_was_outrun_is_probed_again_after_the_run(
    tmp_path: Path, fsyncs_per_s: float, probed: bool
) -> None:
    """A probe of a busy disk would condemn a sound run."""
    repetitions = pa.table({"role": ["w"], "start_ns": [0], "end_ns": [10**9], "ops": [100], "bytes": [100]})
    plan = {
        "operations": [{"name": "i", "kind": "insert"}],
        "segments": [{"roles": [{"name": "w", "operations": [{"operation": "i"}]}]}],
    }
    env = {"disk_fsync_per_s": fsyncs_per_s, "disk_write_bytes_per_s": 1e12}
    found = disk_after(plan, repetitions, env, tmp_path)
    assert bool(found) == probed
    assert disk_after(plan, repetitions, {}, tmp_path) == {}
