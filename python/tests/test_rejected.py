"""Rows of a user's files that were not stored stand wherever the study's figures stand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from inrush.analysis.rejected import reject_lines
from inrush.analysis.verdicts import Outcome, invalid
from inrush.guards.analyse import analyse, analysis_of
from inrush.guards.rows import MORE_THAN_LIMIT, rows_rejected
from inrush.report.live.run_lines import with_rejected
from inrush.report.page import page
from inrush.report.report import closing_lines, next_command
from inrush.report.summary import summary, summary_lines
from inrush.run.one import too_many_rejected
from inrush.stats.record import RunRecord, StudyRecord
from tests import synthetic

SENTENCE = "mine: 5 of 2,005 rows rejected, in every run; reject-mine.csv in the folder of a run has each with line and reason"


def fed(rejected: int, record: StudyRecord | None = None) -> StudyRecord:
    """A study whose rows come from files, so many of which did not fit."""
    made = record or synthetic.study({("duckdb", 1): 1.0, ("duckdb", 2): 2.0})
    counters = [
        {"segment": 2, "name": f"inrush.files.mine.rows_{what}", "value": str(n)}
        for what, n in (("read", 2000), ("rejected", rejected))
    ]
    runs = [
        replace(r, tables={**r.tables, "counters": synthetic.table("counters", counters)}, _rows={})
        for r in made.runs
    ]
    return replace(made, runs=runs)


def shown(record: StudyRecord) -> str:
    analysis = analyse(record)
    results = SimpleNamespace(study={**record.study, "status": "done"}, runs=record.runs)
    return "\n".join(summary_lines(results, analysis))  # type: ignore[arg-type]


def test_rejected_rows_stand_in_show_in_the_terminal_and_in_the_report() -> None:
    record = fed(5)
    analysis = analyse(record)
    assert reject_lines(analysis) == [SENTENCE]
    assert SENTENCE in shown(record)
    assert SENTENCE in "\n".join(closing_lines(record))
    drawn = page(analysis, None, [], {}, "")
    assert "Rejected rows" in drawn and SENTENCE in drawn and "0.25 %" in drawn
    assert summary(analysis)["rejected"] == {"mine": {"rejected": 5, "of": 2005}}


def test_a_study_that_stored_every_row_says_so_once_and_one_without_files_nothing() -> None:
    assert "rejected" not in shown(fed(0)) and "rejected" not in "\n".join(closing_lines(fed(0)))
    (verdict,) = [v for v in analyse(fed(0)).runs[0].verdicts if v.guard == "rows rejected"]
    assert verdict.outcome is Outcome.PASS
    generated = synthetic.study({("duckdb", 1): 1.0})
    assert rows_rejected(generated.runs[0], {}) is None
    assert "Rejected rows" not in page(analyse(generated), None, [], {}, "")


def test_runs_that_rejected_differently_are_told_by_their_least_and_most() -> None:
    record = fed(5)
    other = fed(9).runs[0]
    lines = reject_lines(analyse(replace(record, runs=[other, *record.runs[1:]])))
    assert lines[0].startswith("mine: 5 to 9 of 2,005 to 2,009 rows rejected")


def test_the_line_of_a_run_that_ended_tells_them() -> None:
    run: RunRecord = fed(5).runs[0]
    assert (
        with_rejected("431 k rows/s, 26 of 26 proofs hold", run)
        == "431 k rows/s, 26 of 26 proofs hold, 5 rows rejected"
    )
    assert with_rejected("431 k rows/s", fed(0).runs[0]) == "431 k rows/s"


def all_rejected(rejects: dict[str, str]) -> StudyRecord:
    made = fed(2000)
    none = [
        {"segment": 2, "name": f"inrush.files.mine.rows_{what}", "value": str(n)}
        for what, n in (("read", 0), ("rejected", 200))
    ]
    table = synthetic.table("counters", none)
    runs = [replace(r, tables={**r.tables, "counters": table}, rejects=rejects, _rows={}) for r in made.runs]
    return replace(made, runs=runs)


def test_a_study_of_which_every_row_was_rejected_is_invalid_and_names_the_first_reason() -> None:
    record = all_rejected({"mine": "a.csv, line 2: column id: not an integer"})
    analysis = analyse(record)
    assert not analysis.valid
    line = closing_lines(record)[-2]
    assert line.startswith(
        "INVALID: rows rejected: mine: all 200 rows rejected, the first is a.csv, line 2: column id: not an integer."
    )
    assert "No answer" in shown(record)


def test_the_first_reject_is_read_from_the_folder_of_the_run(tmp_path: Path) -> None:
    from inrush.results.store.reading import SealedRun

    head = "file,line,column,reason,text\n"
    (tmp_path / "reject-mine.csv").write_text(
        f'{head}a.csv,2,id,not an integer,"x0,1"\nb.csv,3,,too few fields,1\n'
    )
    (tmp_path / "reject-short.csv").write_text(f"{head}b.csv,3,,too few fields,1\n")
    (tmp_path / "rejects").mkdir()
    (tmp_path / "rejects" / "000001.csv").write_text(f"{head}c.csv,9,v,no number,z\n")
    assert SealedRun(tmp_path).first_rejects == {
        "mine": "a.csv, line 2: column id: not an integer",
        "short": "b.csv, line 3: too few fields",
        "pipelines": "c.csv, line 9: column v: no number",
    }


def test_files_of_a_pipeline_count_too() -> None:
    run = synthetic.run("duckdb")
    import pyarrow as pa

    files = pa.table({"role": ["pipelines"] * 2, "rows": [10, 20], "rejected": [1, 2]})
    run = replace(run, tables={**run.tables, "files": files}, _rows={})
    verdict = rows_rejected(run, {})
    assert (
        verdict is not None
        and verdict.outcome is Outcome.NOTE
        and "3 of 33 rows rejected" in verdict.sentence
    )


def test_a_run_that_ends_by_its_reject_limit_says_so_in_the_words_of_the_workload() -> None:
    core = "sqlite:///x: plan: 1100 rows rejected, more than reject_limit = 1000; the last is m.csv, line 3: not an integer"
    said = too_many_rejected({"kind": "plan", "message": core})
    assert said is not None and said["kind"] == "plan"
    assert said["message"].startswith(
        "1,100 rows of the files were rejected, and the workload's reject_limit takes 1,000; the"
    )
    assert "plan:" not in said["message"] and "Give the column another type" in said["message"]
    assert too_many_rejected(None) is None and too_many_rejected({"message": "x"}) == {"message": "x"}


@pytest.mark.parametrize(
    "verdict", [("rows rejected", "all"), ("ended as planned", f"11 rows, {MORE_THAN_LIMIT} 10")]
)
def test_what_follows_rows_that_do_not_fit_is_no_doctor(verdict: tuple[str, str]) -> None:
    found = analyse(synthetic.study({("duckdb", 100): 4.0}, blocks=2))
    broken = analysis_of(found.record, [replace(m, verdicts=[invalid(*verdict)]) for m in found.runs])
    assert next_command(broken, None).startswith("next: give the column another type in the workload file")
    other = analysis_of(found.record, [replace(m, verdicts=[invalid("other", "x")]) for m in found.runs])
    assert next_command(other, None) == "next: inrush doctor"
