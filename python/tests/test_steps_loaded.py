"""Load steps that client and load server of `inrush load` do: planned, run on embedded engines, cut, and killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inrush.analysis.analyse import analyse
from inrush.analysis.points import Analysis
from inrush.engines import server
from inrush.engines.instance import Target
from inrush.errors import StudyInvalid
from inrush.guards.verdicts import Outcome, Verdict
from inrush.plan.plan import plan_study
from inrush.results.store import Results, Store
from inrush.run.listener import Silent
from inrush.run.run import StudyEnd, run_study
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.stats.steps import of_step, step_windows
from inrush.study.study import load_study
from inrush.targets.deployment import Deployment
from inrush.worker.process import Event
from tests.steps import WORKLOAD, run_study_file

ENGINES = ("sqlite", "duckdb")
ROWS = 40_000
RANGE = """
[operations.all]
kind = "extract"
table = "events"
range = { rows = 300 }
params.from = { gen = "range", end = "from" }
params.to = { gen = "range", end = "to" }
params.id = { gen = "range", column = "id" }
returns = ["id", "time", "value"]
sql.default = "SELECT id, time, value FROM {events} WHERE id = :id AND time >= :from AND time < :to ORDER BY time"
"""
STUDY = """
schema = 1
title = "Files, then reads"
question = "How fast does the loader fill the table that is read then?"
expect = "As fast as a pipeline does."
workload = "work.toml"
kind = "steps"
engines = ["sqlite", "duckdb"]
repeats = { count = 1, seed = 1, pilot = false }
record = { watch_s = 0.1, interval_s = 0.1 }
answer = { kind = "comparison", of = "load.rows_per_s" }
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = 40_000 }
pipeline = { files = 3, pipelines = 2, chunk_rows = 1_000, flush_rows = 5_000 }
[[steps]]
name = "read"
do = "read"
operation = "one"
calls = 10
[[steps]]
name = "out"
do = "extract"
operation = "all"
calls = 3
"""


def write_study(folder: Path, *changes: tuple[str, str]) -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "work.toml").write_text(WORKLOAD + RANGE)
    path = folder / "loaded.toml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """load by the loader → read → extract, once on each engine."""
    folder = tmp_path_factory.mktemp("loaded")
    return analyse(study_record(Results(run_study_file(write_study(folder), folder))))


def of(analysis: Analysis, engine: str) -> tuple[RunRecord, Mapping[str, float]]:
    return next((m.run, m.figures) for m in analysis.runs if m.run.engine == engine)


def verdict(analysis: Analysis, engine: str, guard: str) -> Verdict:
    found = next(m.verdicts for m in analysis.runs if m.run.engine == engine)
    return next(v for v in found if v.guard == guard)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_the_loader_put_in_are_read_and_extracted_in_the_same_run(
    finished: Analysis, engine: str
) -> None:
    run, figures = of(finished, engine)
    for v in next(m.verdicts for m in finished.runs if m.run.engine == engine):
        print(v)
    print(figures)
    assert list(step_windows(run)) == ["load", "read", "out"]
    assert figures["load.rows"] == ROWS
