"""Input files of unequal sizes: a pipeline loads the files that its table lies in by itself."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from inrush import _core
from inrush.border.pipeline import InputFiles
from inrush.engines import server
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.load.pipeline import inputs
from inrush.load.pipeline.environment import OneHost
from inrush.load.pipeline.loading import RunLoad
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.results.store import Results
from inrush.run.prepare import generators
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.study.files import key_of_cut
from inrush.study.reading import load_study
from inrush.study.shipped import SHIPPED
from inrush.study.study import Known
from tests.steps import run_study_file

FILES, MEAN_ROWS, ROW_BYTES = 8, 300, 30
ROWS = FILES * MEAN_ROWS
HEAD = f"""
schema = 1
title = "Files of a survey"
question = "How fast do files of unequal sizes come in?"
expect = "As fast as equal ones."
workload = "w.toml"
engines = ["sqlite", "duckdb"]
sizes = {{ files = {FILES}, run_rows = 20 }}
repeats = {{ count = 1, seed = 1, pilot = false }}
"""
PIPELINE = f"""
kind = "pipeline"
answer = {{ kind = "comparison", of = "pipelines.bytes_per_s" }}
[pipeline]
table = "secondary_index"
row_bytes = {ROW_BYTES}
file_bytes = {MEAN_ROWS * ROW_BYTES}
pipelines = 2
chunk_rows = 100
"""
STEPS = f"""
kind = "steps"
answer = {{ kind = "comparison", of = "load.rows_per_s" }}
[[steps]]
name = "load"
do = "load"
table = "secondary_index"
rows = {{ total = {ROWS} }}
pipeline = {{ pipelines = 2, chunk_rows = 100 }}
"""
WORKLOAD = (SHIPPED / "bulkindex" / "workload.toml").read_text()
WITHOUT_CHUNKS = """
[tables.plain]
series = 10
period_s = 1
identity = ["id"]
columns = [{ name = "id", type = "i64", gen = "sequence", start = 1, step = 1 }]
"""


def written(folder: Path, work: str, *changes: tuple[str, str]) -> Path:
    text = HEAD + work
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "w.toml").write_text(WORKLOAD + WITHOUT_CHUNKS)
    path = folder / "s.toml"
    path.write_text(text)
    return path


def planned(folder: Path, work: str, *changes: tuple[str, str]) -> StudyPlan:
    study = load_study(str(written(folder, work, *changes)), known=Known(generators=generators()))
    return plan_study(study, {engine: server(engine) for engine in study.engines})


def refused(folder: Path, work: str, *changes: tuple[str, str]) -> str:
    with pytest.raises(UsageError) as found:
        planned(folder, work, *changes)
    return str(found.value)


def files_of_plan(plan: Any) -> InputFiles:
    (load,) = plan["loads"].values()
    return cast("InputFiles", load["inputs"])


def profile_of(plan: Any) -> list[int]:
    """Rows of each file, as the core says it."""
    table = json.dumps(files_of_plan(plan)["table"])
    return [end - first for first, end in pairwise(_core.file_rows(table, plan["seed"], plan["epoch_ns"]))]


@pytest.mark.parametrize("work", [PIPELINE, STEPS])
def test_every_file_of_the_profile_is_loaded_and_proven(tmp_path: Path, work: str) -> None:
    runs = [
        each.run
        for each in analyse(study_record(Results(run_study_file(written(tmp_path, work), tmp_path)))).runs
    ]
    assert {run.engine for run in runs} == {"sqlite", "duckdb"}
    for run in runs:
        profile = profile_of(run.plan)
        assert sum(profile) == ROWS and max(profile) > 2 * min(profile)
        check(run, profile)


def check(run: RunRecord, profile: list[int]) -> None:
    files = sorted(run.rows("files"), key=lambda row: row["file"])
    assert [row["rows"] for row in files] == profile
    # A key of 16 characters, two numbers, two commas and a line end.
    assert all(21 <= row["bytes"] / row["rows"] <= 28 for row in files)
    proofs = {row["item"]: row["holds"] for row in run.rows("proofs")}
    assert proofs["read_back"] and all(proofs.values()), proofs
    (whole,) = run.rows("repetitions")
    total = sum(row["bytes"] for row in files)
    assert (whole["rows"], whole["bytes"], whole["ops"], whole["unsent"]) == (ROWS, total, FILES, 0)
    role = whole["role"]
    measured = [row for row in run.rows("intervals") if row["role"] == role]
    assert [sum(row[key] for row in measured) for key in ("rows", "bytes", "ops")] == [ROWS, total, FILES]
    held = {row["name"]: row["value"] for row in run.rows("counters")}
    assert int(held["inputs_bytes"]) == total


def test_planned_rows_and_bytes_are_those_of_all_files(tmp_path: Path) -> None:
    plan = planned(tmp_path, PIPELINE)
    for point in plan.planned.values():
        of = files_of_plan(point.plan)
        assert (of["files"], of["rows"], point.rows) == (FILES, ROWS, ROWS)
        assert point.bytes == ROWS * ROW_BYTES
        (role,) = next(s for s in point.plan["segments"] if s.get("phase") == "measure")["roles"]
        assert role["work"] == {"kind": "calls", "count": FILES}
    one_row_more = (f"total = {ROWS}", f"total = {ROWS + 1}")
    sizes = [
        [(p.rows, p.dumped_bytes) for p in planned(tmp_path, STEPS, *changes).planned.values()]
        for changes in ((), (one_row_more,))
    ]
    for (rows, size), (more_rows, more) in zip(*sizes, strict=True):
        assert (rows, more_rows) == (ROWS, ROWS + 1)
        assert 0 < more - size < 2 * size / ROWS, "of the rows that there are, and no file is rounded up"


def test_files_are_left_out_or_those_of_the_table(tmp_path: Path) -> None:
    by_itself = "secondary_index lies in 8 files by itself (chunks); remove it"
    keys = "pipelines = 2\nchunk_rows"
    other = (keys, f"files = {{ total = 9 }}\n{keys}")
    each = (keys, f"files = {{ per_session = 4 }}\n{keys}")
    assert by_itself in refused(tmp_path, PIPELINE, other)
    assert by_itself in refused(tmp_path, PIPELINE, each)
    assert by_itself in refused(tmp_path, STEPS, ("pipelines = 2", "files = 1, pipelines = 2"))
    assert "a file has a row at least" in refused(tmp_path, STEPS, (f"total = {ROWS}", "total = 7"))
    same = [
        [run.plan for run in planned(tmp_path, work, *changes).runs]
        for work, said in ((PIPELINE, (keys, f"files = {{ total = 8 }}\n{keys}")), (STEPS, ("pipelines = 2", "files = 8, pipelines = 2")))
        for changes in ((), (said,))
    ]  # fmt: skip
    assert same[0] == same[1] and same[2] == same[3]


def test_a_table_without_files_needs_their_number(tmp_path: Path) -> None:
    said = refused(tmp_path, PIPELINE, ('table = "secondary_index"', 'table = "plain"'))
    assert "pipeline.files" in said and "every table without chunks says how many there are" in said
    one = ("pipelines = 2", "pipelines = 1")
    (point, _) = planned(
        tmp_path, STEPS, ('table = "secondary_index"', 'table = "plain"'), one
    ).planned.values()
    assert files_of_plan(point.plan)["files"] == 1


def test_fewer_files_than_pipelines_leave_the_point_out(tmp_path: Path) -> None:
    plan = planned(tmp_path, PIPELINE, ("pipelines = 2", "pipelines = 9"))
    assert {m.reason for m in plan.unsupported} == {"8 files do not keep 9 pipelines at work"}


def test_files_of_another_profile_lie_in_another_folder(tmp_path: Path) -> None:
    """Of as many files and rows; and so do equal files of the same rows."""
    equal = ('"secondary_index"', '"secondary_index_equal"')
    longer = ("run_rows = 20", "run_rows = 21")
    fewer = (
        (f"files = {FILES}", "files = 4"),
        (f"file_bytes = {MEAN_ROWS * ROW_BYTES}", f"file_bytes = {2 * MEAN_ROWS * ROW_BYTES}"),
    )
    keys = []
    for changes in ((), (equal,), (longer,), fewer):
        for run in planned(tmp_path, PIPELINE, *changes).runs:
            keys.append(key_of_cut(files_of_plan(run.plan), run.plan["seed"], run.plan["epoch_ns"]))
    of = files_of_plan(run.plan)
    keys.append(
        key_of_cut({**of, "rows_per_file": of["rows"] // of["files"]}, run.plan["seed"], run.plan["epoch_ns"])
    )
    assert len(set(keys)) == 5, "one for both engines, each time"
    same = files_of_plan(planned(tmp_path, PIPELINE, equal).runs[0].plan)
    stream = {"stream": files_of_plan(planned(tmp_path, PIPELINE).runs[0].plan)["table"]["stream"]}
    assert key_of_cut({**same, "table": {**same["table"], **stream}}, 1, 0) not in keys  # type: ignore[typeddict-item]


def test_files_are_made_once_and_hold_the_rows_of_the_profile(tmp_path: Path) -> None:
    plan = planned(tmp_path, PIPELINE).runs[0].plan
    of: InputFiles = {**files_of_plan(plan), "folder": str(tmp_path / "inputs")}
    made = inputs.made(of, plan["seed"], plan["epoch_ns"], lambda *_: None)
    assert [len(path.read_text().splitlines()) for path in made] == profile_of(plan)
    keys = [line.split(",")[0] for path in made for line in path.read_text().splitlines()]
    assert len(set(keys)) == ROWS, "no row is in two files"
    before = [path.stat().st_mtime_ns for path in made]
    assert inputs.made(of, plan["seed"], plan["epoch_ns"], lambda *_: None) == made
    assert [path.stat().st_mtime_ns for path in made] == before
    texts = [path.read_text() for path in made]
    for n in (2, 3, 6):
        made[n].unlink()
    inputs.made(of, plan["seed"], plan["epoch_ns"], lambda *_: None)
    assert [path.read_text() for path in made] == texts, "those that were gone, and as they were"
    kept = [n for n in range(FILES) if made[n].stat().st_mtime_ns == before[n]]
    assert kept == [0, 1, 4, 5, 7]


def test_files_whose_end_no_worker_heard_have_their_own_rows(tmp_path: Path) -> None:
    """A load that goes on: the ledger has two files whole, and the journal of the killed worker has no end of them."""
    plan = (
        planned(tmp_path, STEPS, ("chunk_rows = 100 }", "chunk_rows = 100 }\nresumable = true")).runs[0].plan
    )
    earlier = tmp_path / "parts"
    earlier.mkdir()
    (earlier / "load.journal").write_text("")
    here = OneHost(plan, "load", tmp_path / "work")
    load = RunLoad(plan, "load", tmp_path, lambda _: None, here)
    load.earlier = [earlier]
    for n in range(FILES):
        here.paths.append(tmp_path / f"{n}.csv")
        here.paths[n].write_text("x" * n)
    load.reached = cast("Any", SimpleNamespace(whole=bytearray([1, 0, 0, 0, 0, 1, 0, 0])))
    profile = profile_of(plan)
    assert profile[0] != profile[5]
    assert load.heard_before()["unheard"] == [(0, profile[0], 0), (5, profile[5], 5)]
    load.journal.close()
