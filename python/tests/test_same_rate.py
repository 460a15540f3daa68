"""A rate of a run is one figure: the line of progress, the answer and the table of steps have the same rows over the same time."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from inrush.analysis.points import Analysis
from inrush.guards.analyse import analyse
from inrush.report.live.run_lines import found_line, run_figure
from inrush.report.step_table import RATED_S, columns_of, steps_table
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.stats.quantity import show
from tests.steps import STUDY, run_study_file, write_study


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steps")
    study = STUDY.replace('engines = ["sqlite", "duckdb"]', 'engines = ["sqlite"]')
    return run_study_file(write_study(folder, study), folder)


@pytest.fixture(scope="module")
def finished(results: Path) -> Analysis:
    return analyse(study_record(Results(results)))


@pytest.mark.parametrize("of", ["load.rows_per_s", "indexed.latency_p50_s", "index.duration_s"])
def test_the_line_of_a_run_has_the_answers_figure_of_this_run_with_its_name(
    results: Path, finished: Analysis, of: str
) -> None:
    sealed = next(run for run in Results(results).runs if run.table("proofs").num_rows)
    figures = next(m.figures for m in finished.runs if m.run.run_id == sealed.id)
    line = found_line(sealed, {"of": of})
    assert line.startswith(f"{show(figures[of], of)} (")
    assert of.split(".")[0] in line and line.endswith("proofs hold")


def test_a_run_of_steps_without_an_answer_has_no_rate_of_all_of_them(results: Path) -> None:
    sealed = next(run for run in Results(results).runs if run.table("proofs").num_rows)
    assert re.fullmatch(r"(\d+) of \1 proofs hold", found_line(sealed))


def test_rows_of_steps_one_after_the_other_are_in_no_common_rate() -> None:
    figures = {"load.rows_per_s": 100.0, "load.makespan_s": 2.0, "reload.rows_per_s": 50.0, "reload.makespan_s": 4.0,
               "load.ops": 1.0, "reload.ops": 1.0}  # fmt: skip
    assert (
        run_figure(figures, "load.rows_per_s", {"load", "reload"}, in_steps=True)
        == "100 rows/s (rate of load)"
    )
    assert run_figure(figures, None, {"load", "reload"}, in_steps=True) == ""


def test_the_time_of_a_fixed_job_is_said_as_its_rate_as_in_the_sentence() -> None:
    figures = {"writers.makespan_s": 2.0, "writers.rows_per_s": 5_000.0, "writers.ops": 10.0}
    assert run_figure(figures, "writers.makespan_s", {"writers"}, in_steps=False) == "5.00 k rows/s"
    beside = {**figures, "readers.ops": 1.0}
    assert (
        run_figure(beside, "writers.makespan_s", {"writers"}, in_steps=False)
        == "5.00 k rows/s (rate of writers)"
    )
    assert run_figure(beside, "readers.latency_p99_s", {"writers"}, in_steps=False) == "5.00 k rows/s", (
        "the answer's figure was not measured: what is written stands for it"
    )
    assert run_figure(figures, "writers.keeps_up", {"writers"}, in_steps=False) == "5.00 k rows/s"


def test_rows_by_the_time_beside_them_are_the_rate_of_the_table(finished: Analysis) -> None:
    names = ["point", "step", "kind", *columns_of(finished)]
    rows = {}
    for row in re.findall(r"<tr>(<td.*?)</tr>", steps_table(finished)):
        cells = [html.unescape(re.sub("<[^>]+>", "", c)) for c in re.findall(r"<td.*?</td>", row)]
        rows[cells[1]] = dict(zip(names, cells, strict=True))
    assert {"load", "bare", "cold"} <= set(rows)
    figures = next(m.figures for m in finished.runs if m.counts)
    for step in ("load", "bare", "cold"):
        took_s = figures[f"{step}.rows"] / figures[f"{step}.rows_per_s"]
        assert rows[step][RATED_S] == show(took_s, "x.rated_s") != "–"
        assert rows[step]["rows"] == show(figures[f"{step}.rows"], f"{step}.rows")
        assert took_s <= figures[f"{step}.duration_s"]
    assert rows["index"][RATED_S] == "–"
