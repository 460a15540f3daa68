"""Runs with extracts on real embedded engines: their figures, and what is said of answers that are others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inrush.analysis.overview import reading_roles
from tests.extracting import STUDY, WORKLOAD, figures, run_study_file, write_study

ENGINES = ("sqlite", "duckdb")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("extracts")
    return run_study_file(write_study(folder), folder)


@pytest.mark.parametrize("engine", ENGINES)
def test_cold_and_warm_extracts_have_figures_of_their_own(finished: dict[str, Any], engine: str) -> None:
    found = figures(finished[engine])
    for step, calls in (("warm", 12), ("cold", 3)):
        assert (found[f"{step}.ok"], found[f"{step}.errors"]) == (calls, 0), finished[engine].rows("failures")
        # Jitter moves a row over an end now and then.
        assert found[f"{step}.rows"] == pytest.approx(300 * calls, rel=0.02)
        assert found[f"{step}.bytes"] > 20 * found[f"{step}.rows"]
        assert 0 < found[f"{step}.first_row_p50_s"] <= found[f"{step}.latency_p50_s"]
        # Between two calls the session makes the rows again: that is no time of the engine.
        busy_s = sum(s["busy_ns"] for s in finished[engine].rows("sessions") if s["role"] == step) / 1e9
        for name in ("rows", "bytes"):
            assert found[f"{step}.{name}_per_s"] == pytest.approx(found[f"{step}.{name}"] / busy_s)
        assert busy_s < found[f"{step}.makespan_s"]
    # The table of engines shows them as reads.
    assert set(reading_roles(finished[engine])) == {"warm", "cold"}


LIES = {
    "answer_drop:50": ("missing", "rows came of"),
    "answer_double:50": ("wrong", "are there"),
    "answer_swap:50": ("wrong", "the values of some are others"),
    "answer_turn:50": ("wrong", "is earlier than the one before it"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "lie", [pytest.param(lie, marks=[] if lie == "answer_swap:50" else pytest.mark.slow) for lie in LIES]
)
@pytest.mark.slow
def test_an_answer_that_is_another_has_no_latency(tmp_path: Path, engine: str, lie: str) -> None:
    text = STUDY.replace('"sqlite", "duckdb"', f'"{engine}"')
    run = run_study_file(write_study(tmp_path, text), tmp_path, [lie])[engine]
    outcome, why = LIES[lie]
    failures = [f for f in run.rows("failures") if f["role"] == "warm"]
    assert {(f["outcome"], f["count"]) for f in failures} == {(outcome, 12)}, failures
    assert why in failures[0]["first_message"]
    found = figures(run)
    assert (found["warm.ok"], found["warm.rows"]) == (0, 0)
    assert "warm.first_row_p50_s" not in found


@pytest.mark.ci
def test_rows_that_were_stored_as_others_are_found_by_the_answers(tmp_path: Path) -> None:
    text = STUDY.replace('"sqlite", "duckdb"', '"sqlite"').replace("calls = 12", "calls = 60")
    run = run_study_file(write_study(tmp_path, text), tmp_path, ["swap:400"])["sqlite"]
    failures = [f for f in run.rows("failures") if f["role"] == "warm"]
    assert {f["outcome"] for f in failures} == {"wrong"}
    assert 0 < sum(f["count"] for f in failures) < 60, "not every range has such a row"


def test_an_answer_in_another_order_is_wrong(tmp_path: Path) -> None:
    text = WORKLOAD.replace("ORDER BY time", "ORDER BY time DESC")
    study = STUDY.replace('"sqlite", "duckdb"', '"sqlite"')
    run = run_study_file(write_study(tmp_path, study, text), tmp_path)["sqlite"]
    failures = [f for f in run.rows("failures") if f["role"] == "warm"]
    assert [(f["outcome"], f["count"]) for f in failures] == [("wrong", 12)]
    assert "row 1 of the answer is earlier" in failures[0]["first_message"]


COUNTING = """
[operations.count]
kind = "query"
table = "values"
params.id = { gen = "range", column = "id" }
params.from = { gen = "range", end = "from" }
params.to = { gen = "range", end = "to" }
range = { rows = "length", series = 7 }
holds = ["oracle"]
sql.default = "SELECT COUNT(*) AS n, MIN(id) AS least, MAX(id) AS most FROM {table} WHERE id = :id AND time >= :from AND time < :to"
"""


@pytest.mark.slow
def test_a_query_of_a_range_meets_its_rows_and_is_compared_with_the_oracle(tmp_path: Path) -> None:
    study = STUDY.replace('do = "extract"\noperation = "all"', 'do = "read"\noperation = "count"')
    assert study.count('do = "read"') == 2
    for engine, run in run_study_file(write_study(tmp_path, study, WORKLOAD + COUNTING), tmp_path).items():
        found = figures(run)
        assert (found["warm.ok"], found["cold.ok"]) == (12, 3), engine
        # Not an extract: its rows are not its range's, and no row is the first of a stream.
        assert "warm.first_row_p50_s" not in found
        count, least, most = (int(cell["value"]) for cell in run.rows("answers"))
        # Jitter moves a row over an end now and then.
        assert (count, least, most) == (pytest.approx(300, abs=2), 8, 8), engine
        assert [(v["op"], v["holds"]) for v in run.summary["oracle"]] == [("count", True)]
