"""A study whose runs failed on a full disk says so before everything else: on the terminal, in `inrush show` and on the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from inrush.analysis.answer import answer
from inrush.guards.analyse import analyse
from inrush.report.first_sentence import first_sentence
from inrush.report.report import closing_lines, write_report
from inrush.run.full_disk import explained
from inrush.stats.record import StudyRecord
from tests import synthetic
from tests.test_full_disk import CUT, LOST, REFUSED, watched

watched = watched  # the fixture

TRUTH = {("duckdb", 200): 2.0, ("sqlite", 200): 3.0}


def failed(record: StudyRecord, message: str, n: int) -> StudyRecord:
    """The first n runs failed with this message."""
    failure = {"kind": "target", "message": message}
    runs = [
        replace(r, summary={**r.summary, "status": "failed", "failure": failure}) if k < n else r
        for k, r in enumerate(record.runs)
    ]
    return replace(record, runs=runs, study={**record.study, "status": "failed"})


@pytest.mark.parametrize("how", ["watched", "said by the server"])
def test_the_first_sentence_says_how_many_runs_failed_on_a_full_disk(
    how: str, tmp_path: Path, watched: object
) -> None:
    disk = watched(0) if how == "watched" else watched(0, place=None)  # type: ignore[operator]
    found = explained(dict(LOST), disk, CUT, []) if how == "watched" else explained(None, disk, CUT, REFUSED)
    assert found is not None
    record = failed(synthetic.study(TRUTH, blocks=3, resources=False), found["message"], 3)
    analysis = analyse(record)
    first = first_sentence(analysis, answer(analysis))
    assert first.startswith("3 of 8 runs failed because the disk was full. ")
    assert "DuckDB stores" in first, "what the others measured stands"
    lines = closing_lines(record)
    assert lines[0] == first
    assert lines[-1] == f"next: make room on the disk; then: inrush run --resume {record.study['id']}"
    page = tmp_path / "report.html"
    write_report(record, page)
    assert f'<p class="said">{first[:40]}' in page.read_text()


def test_a_study_of_which_every_run_failed_says_it_too(tmp_path: Path) -> None:
    record = synthetic.study(TRUTH, blocks=1, resources=False)
    every = failed(
        record, "the disk of /data was full: 0.0 MB of 1 MB were free; make room, or take fewer rows", 4
    )
    first = closing_lines(every)[0]
    assert first == "4 of 4 runs failed because the disk was full. No answer: no counted run measured it."
    page = tmp_path / "report.html"
    write_report(every, page)
    assert f'<p class="said">{first}' in page.read_text()


def test_runs_that_failed_for_another_reason_are_not_said_to_have_met_a_full_disk() -> None:
    record = failed(synthetic.study(TRUTH, blocks=3, resources=False), "killed by signal 9", 3)
    analysis = analyse(record)
    assert "disk" not in first_sentence(analysis, answer(analysis))
