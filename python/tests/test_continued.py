"""What results say of loads that are planned: the laws of claims take the place of usual rates in `inrush plan`."""

from __future__ import annotations

from typing import Any

import pytest

from inrush.analysis.points import Analysis
from inrush.engines import server
from inrush.errors import UsageError
from inrush.model.growth import Store
from inrush.plan.cost import cost
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.predict import continued as module
from inrush.predict.continued import continued
from inrush.predict.growth import Growth
from inrush.predict.training import Trained, Training
from inrush.report.plan_text import plan_lines
from inrush.study.study import load_study

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
    found: Any = type("Found", (), {"study": {"id": "survey-1"}})()
    return found  # type: ignore[no-any-return]


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
