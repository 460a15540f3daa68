"""What ran is read from the runs themselves; what was expected is right, wrong or not judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.analysis.analyse import analyse, analysis_of
from inrush.analysis.expected import Mark, expectation_marks
from inrush.analysis.points import Analysis
from inrush.analysis.ran import due, ran_said
from inrush.errors import StudyInvalid
from inrush.guards.verdicts import invalid
from inrush.report.report import write_report
from inrush.stats.record import StudyRecord
from inrush.study.study import load_study
from tests import synthetic
from tests.test_conclusion import KEEPS_UP, SAMPLES, SPREAD, analysed, paced

#: Makespans of 4, 2 and 1 s at batches of 100, 200 and 400.
TRUTH = {("duckdb", b): 400.0 / b for b in (100, 200, 400)}


def studied(**published: Any) -> Analysis:
    claim = {"claim": "gain", "unit": "x", "source": "s", "hardware": "h", **published}
    record = synthetic.study(TRUTH, spread=0.01, resources=False, interval_s=10.0, rows=20_000)
    return analyse(replace(record, study={**record.study, "published": [claim]}))


def gain(value: float, **more: Any) -> dict[str, Any]:
    rule = {"kind": "speed_up", "of": synthetic.MAKESPAN, "along": "batch_rows", "from": 100, "to": 400}
    return {"values": {"duckdb": value}, "rule": rule, **more}


def words(analysis: Analysis) -> list[str]:
    return [mark.word for mark in expectation_marks(analysis)]


def test_a_claim_that_says_what_was_expected_marks_it_right_or_wrong() -> None:
    assert words(studied(**gain(4.0), expected=True)) == ["right"]
    assert words(studied(**gain(16.0), expected=True)) == ["wrong"]
    (mark,) = expectation_marks(studied(**gain(4.0), expected=True))
    assert mark.because.startswith("gain of duckdb: ") and "× [" in mark.because


def test_an_expectation_that_no_claim_judges_is_not_judged() -> None:
    none = [Mark("not judged", "no claim of the study says the same")]
    assert expectation_marks(studied(**gain(4.0))) == none
    assert expectation_marks(analyse(synthetic.study(TRUTH, blocks=2))) == none
    assert words(studied(**gain(4.0, values={"mysql": 4.0}), expected=True)) == ["not judged"]


def test_an_invalid_figure_makes_no_expectation_right() -> None:
    analysis = studied(**gain(4.0), expected=True)
    late = invalid("client on time", "late", figures=[synthetic.MAKESPAN])
    broken = analysis_of(analysis.record, [replace(m, verdicts=[*m.verdicts, late]) for m in analysis.runs])
    (mark,) = expectation_marks(broken)
    assert mark.word == "not judged" and "INVALID" in mark.because and "client on time" in mark.because


def test_the_report_says_what_ran_and_what_became_of_the_expectation(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    record = studied(**gain(16.0), expected=True).record
    write_report(replace(record, study={**record.study, "scale": "s"}), path)
    text = path.read_text(encoding="utf-8")
    assert "at scale s: writers: 1 session, 20,000 rows; 3 points, 5 runs each." in text
    assert '<span class="badge note">wrong</span> gain of duckdb' in text


def test_an_expectation_needs_a_claim_with_a_rule(tmp_path: Path) -> None:
    text = """
[[published]]
claim = "c"
unit = "u"
values = { all = 1 }
source = "s"
hardware = "h"
expected = true
"""
    found = load_study("telemetry-batch", scale="xs", engines=["sqlite"])
    own = tmp_path / "own.toml"
    own.write_text(Path(found.file).read_text(encoding="utf-8") + text)
    with pytest.raises(StudyInvalid, match="give the claim a `rule`"):
        load_study(str(own), scale="xs", engines=["sqlite"])
    assert [p.claim for p in found.published if p.expected] == ["price of one reader"]


def test_what_ran_is_read_from_the_runs_and_not_from_the_file() -> None:
    runs = [
        paced(engine, readers, block, [0.1] * SAMPLES)
        for block, _ in enumerate(SPREAD, start=1)
        for readers in (0, 4)
        for engine in ("mysql", "duckdb")
    ]
    analysis = analysed(runs, {"answer": KEEPS_UP, "title": "Keeping up with 9 rows a second"})
    assert ran_said(analysis) == (
        "writers: 4 sessions, 20,000 rows/s due, 800,000 rows; readers: 0 to 4 sessions; 4 points, 3 runs each"
    )


def test_a_paced_role_of_calls_says_their_rate_and_a_closed_one_has_none() -> None:
    calls = synthetic.run("sqlite", {}, 1, schedule="constant", lag_ns=[1000] * 50)
    assert due(calls, "writers") is None, "its plan has no batch"
    assert due(synthetic.run("sqlite"), "writers") is None
    study = {"title": "t"}
    assert ran_said(analyse(StudyRecord(study, [synthetic.run("sqlite")]))) == (
        "writers: 1 session, 50,000 rows; 1 point, 1 run"
    )
    assert ran_said(analysis_of(StudyRecord(study, []), [])) == ""
