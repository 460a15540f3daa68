"""The client itself stands still for a second of a paced run: its calls count from when they were due, and its run for
nothing."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from inrush.analysis.verdicts import Outcome
from inrush.border.events import Event
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.guards.analyse import measured_run
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

from .servers import each_kind

ENGINES = ("sqlite", "postgresql", "timescaledb", "mysql", "mariadb", "clickhouse", "influxdb")
RATE_PER_S, MEASURE_S, STOPPED_S = 200, 4.0, 1.0


class Stopper(Silent):
    """Stops the worker once, a second after its measured phase began, for a second."""

    def __init__(self) -> None:
        self.stopped: list[int] = []
        self.began_s: float | None = None

    def event(self, event: Event) -> None:
        if event["event"] != "progress" or event.get("phase") != "measure" or self.stopped:
            return
        self.began_s = self.began_s or time.monotonic()
        if time.monotonic() - self.began_s < 1:
            return
        self.stopped = sorted(children(os.getpid()))
        for pid in self.stopped:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        for pid in self.stopped:
            os.kill(pid, signal.SIGCONT)


def planned(engine: str, folder: Path) -> PlannedRun:
    study = folder / "lookups.toml"
    study.write_text(STUDY.replace('["sqlite"]', f'["{engine}"]'))
    overrides = [f"schedule.measure_s={MEASURE_S}", "repeats.pilot=false"]
    found = plan_study(load_study(str(study), overrides=overrides), {engine: server(engine)})
    return next(iter(found.block(1)))


@pytest.mark.ci
@pytest.mark.parametrize("engine", each_kind(ENGINES, {*ENGINES} - {"sqlite", "postgresql"}))
def test_a_client_stopped_for_a_second_tells_it_in_p99_and_is_invalid(
    engine: str, request: pytest.FixtureRequest, folder: Path
) -> None:
    own = server(engine)
    target = Target(engine, "") if own.embedded else request.getfixturevalue(engine)
    results, stopper = Store(folder / "results").new_study("lookups", {}), Stopper()
    outcome = run_study([planned(engine, folder)], results, {engine: Deployment(own, target)}, stopper)
    assert outcome.done == 1 and len(stopper.stopped) == 1, (outcome, stopper.stopped)
    (run,) = study_record(Results(results.path)).runs
    figures = figures_of_run(run)
    assert figures["readers.ops"] + figures.get("readers.unsent", 0) == RATE_PER_S * MEASURE_S
    # A quarter of the calls were due in that second: from their due the slowest hundredth waited nearly all of it,
    # from when they were sent only those that were on their way.
    assert figures["readers.latency_p99_s"] >= 0.85 * STOPPED_S
    assert figures["readers.service_p99_s"] < 0.5 * STOPPED_S
    (verdict,) = [v for v in measured_run(run).verdicts if v.guard == "client on time"]
    assert verdict.outcome is Outcome.INVALID and "stood still" in verdict.sentence, verdict
