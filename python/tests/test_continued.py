"""What results say of loads that are planned: the laws of claims take the place of usual rates in `inrush plan`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inrush.analysis.points import Analysis
from inrush.commands import plan as command
from inrush.engines import server
from inrush.errors import UsageError
from inrush.model.growth import Store
from inrush.plan.cost import Continued, cost
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.predict import continued as module
from inrush.predict.continued import alike, asked, continued
from inrush.predict.growth import Growth
from inrush.predict.training import Trained, Training
from inrush.report.plan_text import plan_lines
from inrush.results.schema import RESULT_SCHEMA
from inrush.results.store import Store as Folder
from inrush.run.call import Prepared, StudyCall
from inrush.stats.record import RunRecord, StudyRecord
from inrush.study.reading import load_study
from inrush.targets.deployments import NamedTargets

HOUR = 3600.0
WHOLE = 7_337_642_955


def planned(*overrides: str) -> StudyPlan:
    engines = ["mysql", "mariadb"]
    study = load_study("bulkindex-survey", "full", overrides, engines)
    return plan_study(study, {engine: server(engine) for engine in engines})


def training(figure: str, what: Any, each: float) -> Training:
    """MySQL's loads of ten to eighty million rows, `each` a row."""
    rows = (10e6, 20e6, 40e6, 80e6)
    runs = tuple(Trained(f"r{n:g}", n, n * each, {}) for n in rows)
    return Training((("engine", "mysql"),), "rows", figure, "rows", runs, (), growth=Growth(what, Store()))


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> Analysis:
    """Of MySQL alone: 20 µs and 193 bytes a row."""

    def trainings(_: object, along: object, figure: str) -> list[Training]:
        if figure == "load.duration_s":
            return [training(figure, "load", 20e-6)]
        if figure == "load.after_bytes":
            return [training(figure, "size", 193.0)]
        raise UsageError("no such figure")

    monkeypatch.setattr(module, "trainings", trainings)
    return Analysis(StudyRecord({"id": "survey-1"}, []), [], lambda _: [])


def test_a_load_far_beyond_results_is_forecast_by_their_law(results: Analysis) -> None:
    plan = planned()
    found = continued(results, plan)
    (point,) = found
    assert point.startswith("mysql")
    assert found[point].step_s["load"] == pytest.approx(WHOLE * 20e-6, rel=0.01)
    assert found[point].bytes == pytest.approx(1.416e12, rel=0.01)
    (said,) = found[point].said
    assert "load takes 40 h" in said and "continued from up to 80,000,000 of survey-1" in said
    total = cost(plan, continued=found, memory_bytes={"mysql": 16e9, "mariadb": 16e9})
    assert total.seconds > 40 * HOUR and total.peak_bytes == pytest.approx(1.416e12, rel=0.01)
    assert said in plan_lines(plan, forecast=total)
    # Of MariaDB there are no results.
    assert total.is_least and [w.split(" ")[0] for w in total.warnings] == ["mariadb"]


def test_a_load_that_was_measured_takes_as_long_again(results: Analysis) -> None:
    found = continued(results, planned("rows=[40_000_000]"))
    (point,) = found.values()
    assert point.step_s["load"] == pytest.approx(800) and point.bytes == pytest.approx(40e6 * 193)
    assert "as measured in survey-1" in point.said[0]


def test_a_law_that_cuts_at_the_steps_limit_is_warned_of(results: Analysis) -> None:
    plan = planned("steps.load.limit_s=21_600")
    total = cost(plan, continued=continued(results, plan))
    assert any("step load takes about 40 h" in w and "cuts it after 6 h" in w for w in total.warnings), (
        total.warnings
    )


@pytest.mark.parametrize(
    ("then", "same"),
    [
        ((), True),
        (("rows=[10_000_000]",), True),
        (("layout=none",), False),
        (("options.mysql={'set.unique_checks'='0'}",), False),
        (("steps.load.sessions=3",), False),
    ],
)
def test_only_runs_of_the_same_options_and_load_say_how_long_one_takes(
    then: tuple[str, ...], same: bool
) -> None:
    """Rows that survive less, or come by more sessions, take another time."""
    was, plan = planned(*then), planned()
    runs: Any = [SimpleNamespace(run=RunRecord(r.run_id, r.plan, {}, {"labels": r.labels})) for r in was.runs]
    kept = {m.run.engine for m in alike(runs, plan)}
    assert ("mysql" in kept) is same
    assert asked("mysql", {"start": {"innodb_flush_log_at_trx_commit": "0"}}, {}) != asked("mysql", {}, {})
    assert asked("mysql", {"batch_rows": {"load": 10}}, {"load": True}) != asked("mysql", {}, {"load": True})


def test_laws_are_made_of_those_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made_of: list[list[Any]] = []

    def trainings(analysis: Analysis, along: object, figure: str) -> list[Training]:
        made_of.append([m.run.engine for m in analysis.runs])
        raise UsageError("no such figure")

    monkeypatch.setattr(module, "trainings", trainings)
    was = planned("options.mysql={'set.unique_checks'='0'}")
    runs: Any = [SimpleNamespace(run=RunRecord(r.run_id, r.plan, {}, {"labels": r.labels})) for r in was.runs]
    continued(Analysis(StudyRecord({"id": "survey-1"}, []), runs, lambda _: []), planned())
    assert {*made_of[0]} == {"mariadb"}, "MySQL had another option"


CALL = StudyCall("bulkindex-survey", start=("mysql", "mariadb"))


@pytest.mark.parametrize(
    ("then", "engines"),
    [
        (CALL, {"mysql", "mariadb"}),
        (replace(CALL, scale="s", seed=7, targets=("duckdb",)), {"mysql", "mariadb"}),
        (replace(CALL, start=("mysql,innodb_flush_log_at_trx_commit=0", "mariadb")), {"mariadb"}),
        (replace(CALL, start=("mariadb",), targets=("mysql://u@other/d",)), {"mariadb"}),
        (replace(CALL, start=("mysql",)), {"mysql"}),
        (replace(CALL, limits=("mysql.write_bytes_per_s=20M",)), {"mariadb"}),
        (replace(CALL, data="/slow"), set()),
        (replace(CALL, fleet="local:2"), set()),
    ],
)
def test_only_results_of_an_engine_that_stood_alike_say_how_long_a_load_takes(
    then: StudyCall, engines: set[str]
) -> None:
    assert {
        e for e in ("mysql", "mariadb") if then.deploys(e) and then.deploys(e) == CALL.deploys(e)
    } == engines


def test_each_engine_is_continued_from_the_newest_results_in_which_it_stood_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = replace(CALL, start=("mysql,innodb_flush_log_at_trx_commit=0", "mariadb"))
    for name, call in (("survey-1", CALL), ("survey-2", changed)):
        doc = {
            "schema": RESULT_SCHEMA,
            "study": "bulkindex-survey",
            "status": "done",
            "call": call.document(),
        }
        (tmp_path / name).mkdir()
        (tmp_path / name / "study.json").write_text(json.dumps(doc))
    plan = planned()

    def by_results(of: str, plan: StudyPlan) -> dict[str, Continued]:
        return {p.id: Continued({}, said=(of,)) for p in plan.points}

    monkeypatch.setattr("inrush.stats.measures.study_record", lambda results: results.path.name)
    monkeypatch.setattr("inrush.guards.analyse.analyse", lambda record: record)
    monkeypatch.setattr(module, "continued", by_results)
    store: Any = Folder(tmp_path)
    known = command.continued(store, Prepared(CALL, plan, NamedTargets(())))
    assert {p.engine: known[p.id].said for p in plan.points} == {
        "mysql": ("survey-1",),
        "mariadb": ("survey-2",),
    }


@pytest.mark.parametrize("damage", ["study.json", "run.json", "plan.json"])
def test_results_that_cannot_be_read_are_named_and_the_plan_is_made(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    doc = {"schema": RESULT_SCHEMA, "study": "bulkindex-survey", "status": "done", "call": CALL.document()}
    run = tmp_path / "survey-1" / "run-1"
    run.mkdir(parents=True)
    for path in (run.parent / "study.json", run / "run.json", run / "plan.json"):
        path.write_text("{" if path.name == damage else json.dumps(doc))
    store: Any = Folder(tmp_path)
    assert command.continued(store, Prepared(CALL, planned(), NamedTargets(()))) == {}
    assert "survey-1" in capsys.readouterr().err
