"""Steps of some values of a factor, figures over several steps, sorted files, and partitions by value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inrush.analysis.verdicts import invalid
from inrush.engines import server
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.guards.run import with_totals
from inrush.plan.plan import plan_study
from inrush.plan.step_segments import SORTED_BY
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.study.reading import load_study
from tests.steps import run_study_file
from tests.test_step_files import WORKLOAD, problems

ROWS = 3_000
STUDY = """
schema = 1
title = "Sorted or not"
question = "Does it pay to sort files first?"
expect = "For a large table."
workload = "work.toml"
kind = "steps"
engines = ["duckdb", "sqlite"]
factors.how = [{ name = "as_made", layout = "pk" }, { name = "sorted", layout = "pk" }, { name = "key_later", layout = "none" }]
layout = "@how.layout"
repeats = { count = 1, seed = 1, pilot = false }
totals.in_all = ["sort", "load", "key"]
answer = { kind = "comparison", of = "in_all.rows_per_s", along = "how", per = ["engine"] }
[[steps]]
name = "sort"
do = "sort"
only.how = ["sorted"]
[[steps]]
name = "load"
do = "load"
table = "idx"
rows = { total = 3_000 }
files = { way = "parsed", count = 7, sorted = "sort" }
[[steps]]
name = "key"
do = "statement"
operation = "key"
only.how = ["key_later"]
"""
KEY = """
[operations.key]
kind = "maintain"
table = "idx"
sql.default = "CREATE UNIQUE INDEX later ON {table} (k)"
"""


def written(folder: Path, *changes: tuple[str, str], workload: str = WORKLOAD + KEY) -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "work.toml").write_text(workload)
    path = folder / "totals.toml"
    path.write_text(text)
    return path


@pytest.mark.ci
def test_a_step_is_done_at_its_values_alone_and_totals_add_up_those_that_were(tmp_path: Path) -> None:
    found = analyse(study_record(Results(run_study_file(written(tmp_path), tmp_path))))
    assert len(found.runs) == 6
    steps = {"as_made": {"load"}, "sorted": {"sort", "load"}, "key_later": {"load", "key"}}
    for each in found.runs:
        how, figures = each.run.labels["factors"]["how"], each.figures
        ran = {name.partition(".")[0] for name in figures if name.endswith(".duration_s")} - {"in_all"}
        assert ran == steps[how]
        assert figures["in_all.duration_s"] == pytest.approx(
            sum(figures[f"{step}.duration_s"] for step in ran)
        )
        assert figures["in_all.rows"] == ROWS
        assert figures["in_all.rows_per_s"] == pytest.approx(ROWS / figures["in_all.duration_s"])
        assert all(row["holds"] for row in each.run.rows("proofs"))


@pytest.mark.slow
def test_a_total_falls_with_a_figure_of_one_of_its_steps(tmp_path: Path) -> None:
    path = written(tmp_path, ('["duckdb", "sqlite"]', '["sqlite"]'))
    found = analyse(study_record(Results(run_study_file(path, tmp_path))))
    each = next(each for each in found.runs if each.run.labels["factors"]["how"] == "sorted")
    of_sort = with_totals(invalid("x", "y", figures=["sort.duration_s"]), each.run, each.figures)
    assert of_sort.breaks("in_all.rows_per_s") and of_sort.breaks("in_all.duration_s")
    assert not of_sort.breaks("load.rows_per_s")
    assert not with_totals(invalid("x", "y", figures=["other.rows"]), each.run, each.figures).breaks(
        "in_all.rows"
    )


def test_files_that_were_sorted_are_loaded_in_the_order_of_the_key(tmp_path: Path) -> None:
    """DuckDB keeps rows in the order in which they came."""
    path = written(tmp_path, ('["duckdb", "sqlite"]', '["duckdb"]'), ("only.how = [\"sorted\"]\n", ""),
                   ('{ name = "key_later", layout = "none" }', '{ name = "unkeyed", layout = "none" }'), ("key_later", "unkeyed"),
                   ('do = "statement"\noperation = "key"', 'do = "dump"\ntable = "idx"\nby = "key"\nfolder = "out"'))  # fmt: skip
    study = load_study(str(path))
    plan = plan_study(study, {"duckdb": server("duckdb")})
    run = next(r for r in plan.runs if r.labels["factors"]["how"] == "unkeyed")
    (sort,) = (s for s in run.plan["segments"] if s["kind"] == "sort")
    (load,) = (s for s in run.plan["segments"] if s["kind"] == "drive" and s["label"] == "load")
    assert sort["to"] == load["roles"][0]["work"]["input"]
    assert sort["from"]["name"] != sort["to"]["name"] and sort["column"] == 0
    assert sort["to"]["sorted"] and "sorted" not in sort["from"], (
        "a file is one run of keys when it was sorted"
    )
    inputs = next(s for s in run.plan["segments"] if s["kind"] == "inputs")
    assert inputs["inputs"] == [sort["from"]]


@pytest.mark.parametrize(
    ("type_", "by"), [("i32", "number"), ("f64", "float"), ("date", None), ("text", None)]
)
def test_files_are_sorted_by_what_their_key_is(type_: str, by: str | None) -> None:
    """A date is no number, and a float may have an exponent."""
    assert SORTED_BY.get(type_) == by


def test_what_such_steps_cannot_mean_is_said(tmp_path: Path) -> None:
    said = problems(
        written(
            tmp_path,
            ('only.how = ["sorted"]', 'only.how = ["sorted", "shuffled"]'),
            ('only.how = ["key_later"]', 'only.why = ["key_later"]'),
            ('sorted = "sort"', 'sorted = "key"'),
            ("totals.in_all = [", 'totals.load = ["load"]\ntotals.in_all = ["before", '),
        )
    )
    for part in ("shuffled", "why", "before", "another one", "sorted"):
        assert part in said, said
    assert "no load of files is sorted by it" in problems(written(tmp_path, (', sorted = "sort"', "")))


def test_a_factor_may_choose_steps_and_nothing_else(tmp_path: Path) -> None:
    path = written(tmp_path, ("layout = \"@how.layout\"", 'layout = "pk"'), (', layout = "pk"', ""), (', layout = "none"', ""),
                   ('{ name = "as_made" }', '"as_made"'), ('{ name = "sorted" }', '"sorted"'), ('{ name = "key_later" }', '"key_later"'))  # fmt: skip
    assert [*load_study(str(path)).factors] == ["how"]
    # The command line may leave out the value that a step is of.
    study = load_study(str(path), overrides=("how=as_made",))
    (point,) = plan_study(study, {e: server(e) for e in ("duckdb",)} | {"sqlite": server("sqlite")}).runs[:1]
    assert [s["label"] for s in point.plan["segments"] if s["kind"] in ("sort", "statement")] == []


def test_tables_are_cut_by_the_values_of_a_column(tmp_path: Path) -> None:
    cut = WORKLOAD.replace(
        'identity = ["k"]', 'identity = ["k"]\npartitions.mysql = { column = "k", below = ["b", "it\'s"] }'
    )
    (tmp_path / "x").mkdir()
    path = written(tmp_path / "x", ('["duckdb", "sqlite"]', '["mysql"]'), workload=cut + KEY)
    plan = plan_study(load_study(str(path)), {"mysql": server("mysql")})
    made = json.dumps(plan.runs[0].plan["segments"][1])
    assert (
        "PARTITION BY RANGE COLUMNS(\\\"k\\\") (PARTITION p1 VALUES LESS THAN ('b'), PARTITION p2 VALUES LESS THAN ('it''s'), "
        in made
    )
    assert "PARTITION more VALUES LESS THAN (MAXVALUE))" in made
    for changed, why in (
        ('below = ["b", "a"]', "above the one before"),
        ('column = "part", below = [1]', "never NULL"),
        ('column = "chunk", below = [1]', "contains it"),
    ):
        wrong = cut.replace(
            'column = "k", below = ["b", "it\'s"]',
            changed if "column" in changed else f'column = "k", {changed}',
        )
        with pytest.raises(UsageError, match=why):
            path = written(tmp_path / "x", ('["duckdb", "sqlite"]', '["mysql"]'), workload=wrong + KEY)
            plan_study(load_study(str(path)), {"mysql": server("mysql")})
