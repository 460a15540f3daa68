"""The built core with sessions that spin: they look at no limit and no stop, and their process is ended by its parent."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from inrush.agent.patience import Graces
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.errors import Interrupted
from inrush.plan.plan import plan_study
from inrush.plan.planned import PlannedRun
from inrush.results.store import Results, Store, StudyFolder
from inrush.run.run import StudyEnd, run_study
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from tests.test_client_overhead import BURN
from tests.test_paced import children
from tests.test_run import Diary
from tests.test_worker import gone

LIMIT_S = 2.0
#: A batch of a thousand rows spins for an hour.
HOUR_A_BATCH = 3_600_000_000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Watched(Diary):
    """Sees the worker while its sessions are at work: its id and the CPU that it used."""

    def __init__(self, stop: bool) -> None:
        super().__init__()
        self.stop = stop
        self.pids: set[int] = set()
        self.cpu_s: list[float] = []
        self.stopped_s = 0.0

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] != "progress":
            return
        self.pids |= children(os.getpid())
        self.cpu_s += [cpu_s(pid) for pid in self.pids]
        if self.stop and not self.stopped_s and len(self.cpu_s) >= 2:
            self.stopped_s = time.monotonic()
            os.kill(os.getpid(), signal.SIGTERM)


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def spinning(tmp_path: Path) -> PlannedRun:
    path = tmp_path / "spin.toml"
    path.write_text(BURN.format(burn_ns=HOUR_A_BATCH))
    overrides = ["repeats.pilot=false", f"schedule.limit_s={LIMIT_S}"]
    study = load_study(str(path), overrides=overrides)
    return next(iter(plan_study(study, {"simulated": server("simulated")}).block(1)))


def make(tmp_path: Path, watched: Watched, graces: Graces) -> tuple[StudyEnd, StudyFolder]:
    folder = Store(tmp_path / "results").new_study("spin", {})
    deployments = {"simulated": Deployment(server("simulated"), Target("simulated", ""))}
    return run_study([spinning(tmp_path)], folder, deployments, watched, graces=graces), folder


def spun_and_is_gone(watched: Watched) -> None:
    (pid,) = watched.pids
    assert watched.cpu_s[-1] - watched.cpu_s[0] > 0.1, f"it did not spin: {watched.cpu_s}"
    assert gone(pid, limit_s=5)


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers find the package that is under test."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))


@pytest.mark.ci
def test_a_core_whose_session_spins_is_ended_after_its_limit_and_the_grace_time(tmp_path: Path) -> None:
    watched, began_s = Watched(stop=False), time.monotonic()
    outcome, folder = make(tmp_path, watched, Graces(limit_s=1.0))
    assert time.monotonic() - began_s < 30, "twelve seconds later the core says by itself that it cannot end"
    (message,) = outcome.failed.values()
    assert (
        "still ran 1 s after the limit of segment measure, 2 s (schedule.limit_s); inrush ended it" in message
    )
    assert Results(folder.path).runs[0].doc["failure"]["kind"] == "deadline"
    spun_and_is_gone(watched)


@pytest.mark.slow
def test_a_core_whose_session_spins_is_ended_after_a_stop_and_the_grace_time(tmp_path: Path) -> None:
    watched = Watched(stop=True)
    with pytest.raises(Interrupted, match="--resume"):
        make(tmp_path, watched, Graces(stop_s=1.0, limit_s=1000.0))
    assert 1.0 <= time.monotonic() - watched.stopped_s < 20
    assert any("still ran 1 s after it was asked to stop" in note for note in watched.notes), watched.notes
    spun_and_is_gone(watched)


@pytest.mark.slow
def test_without_the_parents_patience_the_core_says_itself_that_it_cannot_end(tmp_path: Path) -> None:
    """What the grace times are longer than: the core's own end of a session that spins."""
    watched = Watched(stop=False)
    outcome, _ = make(tmp_path, watched, Graces(limit_s=1000.0, end_s=1.0))
    (message,) = outcome.failed.values()
    assert "a call of writers that was cancelled" in message
    assert any("1 s after it said `failed`" in note for note in watched.notes), watched.notes
    spun_and_is_gone(watched)
