"""Counts of faults are figures: 0 is measured, a limit on them is crossed though their run enters no other figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.analysis.deciding import crossed
from inrush.analysis.expected import RIGHT, WRONG, expectation_marks
from inrush.analysis.points import Analysis
from inrush.guards.analyse import analyse
from inrush.stats.record import StudyRecord
from tests import extracting, synthetic

RULE = {"kind": "at_most", "of": "warm.wrong"}
DOC = {
    "expect": "No answer is wrong.",
    "expected": [{"claim": "no extract is wrong", "values": {"all": 0}, "rule": RULE}],
    "accept": {"warm.wrong": 0, "cold.wrong": 0},
    "answer": {"kind": "comparison", "of": "warm.rows_per_s"},
}


def analysed(runs: object) -> Analysis:
    return analyse(StudyRecord({**synthetic.STUDY, **DOC}, list(runs)))  # type: ignore[call-overload]


@pytest.mark.slow
def test_an_extract_that_is_right_has_no_wrong_answer_and_that_is_judged(tmp_path: Path) -> None:
    """It was "not judged: no point measured it", although every call was compared row by row."""
    runs = extracting.run_study_file(extracting.write_study(tmp_path), tmp_path)
    analysis = analysed(runs.values())
    assert all(m.figures["warm.wrong"] == m.figures["cold.wrong"] == 0 for m in analysis.runs)
    assert [m.word for m in expectation_marks(analysis)] == [RIGHT]
    assert not crossed(analysis)


@pytest.mark.ci
def test_a_wrong_extract_crosses_its_limit_and_the_expectation_is_wrong(tmp_path: Path) -> None:
    runs = extracting.run_study_file(extracting.write_study(tmp_path), tmp_path, ["answer_swap:100"])
    analysis = analysed(runs.values())
    assert not analysis.valid, "a wrong answer hides every time of its run, as ever"
    assert any("warm.wrong" in said for said in crossed(analysis))
    assert any("cold.wrong" in said for said in crossed(analysis))
    assert WRONG in [m.word for m in expectation_marks(analysis)]


@pytest.mark.parametrize("figure", ["wrong", "errors", "late", "unsent", "failed_share"])
def test_no_fault_at_all_is_a_figure_of_every_count(figure: str) -> None:
    runs = [synthetic.figured("duckdb", {}, b, 0, {f"warm.{figure}": 0.0}) for b in (1, 2, 3)]
    asked = [{"claim": "none", "values": {"all": 0}, "rule": {"kind": "at_most", "of": f"warm.{figure}"}}]
    analysis = synthetic.analysis_with(runs, {"expect": "None.", "expected": asked})
    assert [m.word for m in expectation_marks(analysis)] == [RIGHT]
