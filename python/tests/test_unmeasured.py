"""Studies of which no run can measure what is asked: refused when planned, INVALID where it shows at the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from inrush.analysis.points import Analysis
from inrush.errors import UsageError
from inrush.report.report import closing_lines, verdict_line
from inrush.run.call import StudyCall
from inrush.run.prepare import prepare
from tests import extracting, synthetic

ASKED = {"kind": "comparison", "of": "cold.rows_per_s", "along": "row_order", "per": ["engine"]}


def test_a_study_whose_answer_no_point_can_measure_is_refused_when_planned() -> None:
    """InfluxDB hands no extract over: its runs loaded rows, read nothing and ended as valid."""
    with pytest.raises(UsageError) as refused:
        prepare(StudyCall("archive-extract", start=("influxdb",), scale="xs"))
    said = str(refused.value)
    assert "answer.of" in said and "long_cold.latency_p50_s" in said
    assert "influxdb: step long_cold is left out" in said


def test_one_engine_that_measures_it_is_enough(tmp_path: Path) -> None:
    study = extracting.STUDY.replace('["sqlite", "duckdb"]', '["sqlite", "influxdb"]')
    assert extracting.planned(extracting.write_study(tmp_path, study)).runs


@pytest.mark.parametrize(
    "of", ["warm.statements", "warm.rows_per_second", "chill.rows_per_s", "load.pages_asked"]
)
def test_a_step_that_runs_needs_the_figure_at_the_end(of: str) -> None:
    """What only a run can show is an answer that is INVALID, and not one that is plainly valid."""
    runs = [
        synthetic.figured("duckdb", {"row_order": order}, block, 0, {"load.rows_per_s": 1e6})
        for order in ("key", "time")
        for block in (1, 2)
    ]
    analysis = synthetic.analysis_with(runs, {"answer": {**ASKED, "of": of}})
    assert not analysis.valid
    said = verdict_line(analysis)
    assert said.startswith("INVALID: answer measured: ") and of in said
    first, *table = closing_lines(analysis)
    assert first.startswith("No answer")
    assert "not measured" in " ".join(table) and "no runs" not in " ".join(table)


def nothing_but_a_pilot() -> Analysis:
    runs = [synthetic.figured("duckdb", {"row_order": "key"}, 0, 0, {"load.rows_per_s": 1e6})]
    return synthetic.analysis_with(runs, {"answer": {**ASKED, "of": "load.rows_per_s"}})


def test_a_pilot_alone_and_an_answer_that_was_measured_are_no_fault() -> None:
    assert nothing_but_a_pilot().valid
    runs = [synthetic.figured("duckdb", {"row_order": "key"}, b, 0, {"cold.rows_per_s": 1e6}) for b in (1, 2)]
    analysis = synthetic.analysis_with(runs, {"answer": ASKED})
    assert analysis.valid
    broken = replace(analysis, runs=[])
    assert broken.valid
