"""What a question asks for beside the figure that its answer compares: said of every engine, in the same rows, or why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inrush.analysis.answer import answer
from inrush.analysis.asked import NO_VALUE, asked_sentence, cell, least_to_most
from inrush.analysis.overview import overview
from inrush.analysis.points import Analysis, Measured
from inrush.analysis.sentence import sentence
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.report.asked import NONE, asked_cells, asked_table
from inrush.report.report import closing_lines
from inrush.results.histogram import Histogram
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.stats.quantity import show
from inrush.stats.record import StudyRecord
from inrush.study.reading import load_study
from tests import synthetic
from tests.steps import STUDY, run_study_file, write_study

ASKED = ["index.duration_s", "*.wrong", "*.rows"]
WITH_ASKED = STUDY.replace(
    'of = "indexed.latency_p50_s" }',
    f'of = "indexed.latency_p50_s", asked = {ASKED[:1]} }}'.replace("'", '"'),
)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> StudyRecord:
    folder = tmp_path_factory.mktemp("asked")
    return study_record(Results(run_study_file(write_study(folder, WITH_ASKED), folder)))


def asking(record: StudyRecord, *figures: str, lacking: dict[str, str] | None = None) -> Analysis:
    """lacking: steps that DuckDB leaves out, with the reason of each."""
    study = {**record.study, "answer": {**record.study["answer"], "asked": list(figures)}}
    found = analyse(replace(record, study=study))
    return replace(found, runs=[without(m, lacking) if m.run.engine == "duckdb" else m for m in found.runs])


def without(of: Measured, steps: dict[str, str] | None) -> Measured:
    if not steps:
        return of
    labels = {**of.run.labels, "steps_left_out": steps}
    run = replace(of.run, summary={**of.run.summary, "labels": labels})
    figures = {name: value for name, value in of.figures.items() if name.split(".")[0] not in steps}
    return replace(of, run=run, figures=figures)


def figures_at(analysis: Analysis, engine: str) -> dict[str, float]:
    return dict(next(m.figures for m in analysis.runs if m.counts and m.run.engine == engine))


def test_the_first_sentence_says_what_is_asked_before_what_is_compared(record: StudyRecord) -> None:
    analysis = asking(record, "index.duration_s")
    first = closing_lines(analysis)[0]
    took = show(figures_at(analysis, "sqlite")["index.duration_s"], "index.duration_s")
    assert f"SQLite: duration of index {took}." in first
    assert first.index("duration of index") < first.index("latency")
    assert record.study["answer"]["asked"] == ["index.duration_s"], "the file's own"
    assert asked_sentence(asking(record)) == ""


def test_every_engine_has_the_same_rows_and_what_one_has_not_has_a_reason(record: StudyRecord) -> None:
    analysis = asking(record, "index.duration_s", "load.rows", lacking={"index": "it builds none"})
    header, rows, notes = asked_cells(analysis)
    assert header[0] == "figure" and set(header[1:]) == {"SQLite", "DuckDB"}
    duckdb, sqlite = header.index("DuckDB"), header.index("SQLite")
    assert [row[0] for row in rows] == ["duration of index", "rows of load"]
    assert rows[0][duckdb] == NONE != rows[0][sqlite] and NONE not in rows[1]
    assert notes == ["– DuckDB goes without index: it builds none."]
    assert "DuckDB goes without index: it builds none." in asked_sentence(analysis)
    assert notes[0] in closing_lines(analysis) and notes[0] in asked_table(analysis)


def test_many_points_stand_below_each_other(record: StudyRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = asking(record, "index.duration_s")
    upright, (line,), _ = asked_cells(analysis)
    monkeypatch.setattr("inrush.report.asked.MOST_COLUMNS", 1)
    header, rows, _ = asked_cells(analysis)
    assert header == ["point", "duration of index"]
    assert dict(rows) == dict(zip(upright[1:], line[1:], strict=True)), "the same cells"


def test_of_many_points_a_sentence_says_the_least_and_the_most() -> None:
    truth = {("duckdb", batch): 2.0 + abs(batch - 40) / 10 for batch in (50, 10, 40, 20, 30)}
    asked = {"answer": {**synthetic.STUDY["answer"], "asked": ["writers.makespan_s", "writers.rows"]}}
    analysis = synthetic.trial(truth, spread=0.0, doc=asked)
    assert "makespan of writers 2.00 s (40) to 5.00 s (10)" in asked_sentence(analysis).replace(
        "batch_rows ", ""
    )
    header, rows, _ = asked_cells(analysis)
    assert [name.split()[-1] for name in header[1:]] == ["10", "20", "30", "40", "50"], (header, rows)


def test_of_few_points_and_many_figures_a_sentence_says_the_least_and_the_most_too() -> None:
    figures = ["writers.makespan_s", "writers.rows", "writers.rows_per_s", "writers.errors", "writers.bytes"]

    def said(*asked: str) -> str:
        doc = {"answer": {**synthetic.STUDY["answer"], "asked": [*asked]}}
        return asked_sentence(
            synthetic.trial({("duckdb", n): float(n) for n in (1, 2, 4)}, spread=0.0, doc=doc)
        )

    assert " at batch_rows 2" in said(*figures[:4]) and "(batch_rows" not in said(*figures[:4])
    assert " at batch_rows 2" not in said(*figures) and "(batch_rows 1) to " in said(*figures)


def test_a_figure_of_many_steps_is_their_smallest_and_largest_or_one_for_all(record: StudyRecord) -> None:
    analysis = asking(record, "*.wrong")
    (point,) = {m.point for m in analysis.runs if m.counts and m.run.engine == "sqlite"}
    assert cell(analysis, point, "*.wrong") == "0 in all 4"
    assert cell(analysis, point, "*.rows") == "2,000 (bare) to 20,000 (load), of 4"
    assert cell(analysis, point, "none_*.rows") == ""


def test_a_figure_that_a_guard_makes_invalid_is_marked(
    record: StudyRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysis = asking(record, "index.duration_s", "*.rows")
    (point,) = {m.point for m in analysis.runs if m.counts and m.run.engine == "sqlite"}

    def broken(_: Analysis, figure: str, __: Any) -> list[Any]:
        return [("", None)] if figure in ("index.duration_s", "load.rows") else []

    monkeypatch.setattr(Analysis, "broken", broken)
    assert cell(analysis, point, "index.duration_s").endswith(" INVALID")
    assert cell(analysis, point, "*.rows").endswith("in 3 of 4 (INVALID in 1 of them)")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("lod_*.rows_per_s", "no step is named lod_*"),
        ("load.rows_per_hour", "rows_per_hour"),
        ("l*.rows_per_hour", "rows_per_hour"),
        ("nothing.rows", "nothing"),
    ],
)
def test_a_figure_that_no_step_has_is_refused(tmp_path: Path, asked: str, said: str) -> None:
    path = write_study(tmp_path, WITH_ASKED.replace("index.duration_s", asked))
    with pytest.raises(UsageError, match=r"answer\.asked") as refused:
        load_study(str(path), None)
    assert said in str(refused.value)


def test_the_reads_in_the_table_of_engines_are_those_that_are_asked_about(record: StudyRecord) -> None:
    analysis = analyse(record)
    seen = overview(analysis, answer(analysis))
    assert seen is not None and seen.read is not None
    assert seen.read.startswith("indexed."), "not of `bare`, which comes first"


def test_a_value_that_an_engine_alone_was_measured_at_is_not_said_to_be_the_best_of_several() -> None:
    apart = analyse(synthetic.study({("duckdb", 10): 1.0, ("sqlite", 20): 2.0}))
    said = sentence(apart, answer(apart))
    assert said.count("(no other batch_rows was measured)") == 2
    both = analyse(synthetic.study({("duckdb", 10): 1.0, ("duckdb", 20): 2.0}))
    assert "no other" not in sentence(both, answer(both))


def test_a_percentile_is_that_of_all_calls_and_none_where_they_are_too_few(record: StudyRecord) -> None:
    analysis = asking(record, "indexed.latency_p50_s", "indexed.latency_p99_s")
    point = next(m.point for m in analysis.runs if m.run.engine == "sqlite")
    held = analysis.latencies[point, "indexed"]
    merged = show(held.quantile_ns(0.5) / 1e9, "indexed.latency_p50_s")
    assert cell(analysis, point, "indexed.latency_p50_s") == merged
    few = replace(analysis)
    key = (point, "indexed")
    few.__dict__["latencies"] = {**analysis.latencies, key: first_calls(held, 99)}
    assert cell(few, point, "indexed.latency_p99_s") == NO_VALUE
    few.__dict__["latencies"] = {**analysis.latencies, key: first_calls(held, 100)}
    assert cell(few, point, "indexed.latency_p99_s") != NO_VALUE
    assert f"latency p99 of indexed {NO_VALUE}" in asked_sentence(analysis), "as DuckDB has it here"


def first_calls(of: Histogram, count: int) -> Histogram:
    """So many calls, all in the first bucket that it has."""
    return replace(of, bucket=of.bucket[:1], count=np.array([count], dtype=of.count.dtype), failed=0)


def test_of_many_points_without_a_difference_that_is_shown_a_sentence_says_one_value() -> None:
    asked = {"answer": {**synthetic.STUDY["answer"], "asked": ["writers.makespan_s", "writers.rows"]}}
    truth = {("duckdb", batch): 2.0 + batch / 1e6 for batch in (10, 20, 30, 40, 50)}
    analysis = synthetic.trial(truth, spread=0.0, doc=asked)
    said = asked_sentence(analysis)
    assert "makespan of writers 2.00 s at all 5 points" in said and " to " not in said, said
    (first, *_) = analysis.points
    assert least_to_most(analysis, [first], "writers.makespan_s") == "2.00 s at batch_rows 10"
    assert least_to_most(analysis, [first], "writers.nothing") == ""
