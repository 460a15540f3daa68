"""Rows in files of chunks, `chunks` of a table: planned, written and proven in both orders, asked for by key."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.errors import UsageError
from inrush.plan.planned import PlannedRun, StudyPlan
from inrush.run.call import StudyCall
from inrush.run.prepare import prepare
from inrush.study.shipped import SHIPPED
from inrush.targets.deployment import Deployment
from tests.engines.border import Ran
from tests.engines.border import run as made

ROWS = 5_000
FILES = 40
STUDY = f"""
schema = 1
title = "Chunks"
question = "Does the order of rows matter?"
expect = "It does."
workload = "w.toml"
engines = ["sqlite", "duckdb"]
sizes = {{ files = {FILES}, run_rows = 10 }}
layout = "pk"
schedule = {{ mode = "closed", at_least_s = 0 }}
repeats = {{ count = 1, order = "as_written", pilot = false }}
"""
WRITING = f"""
kind = "fixed_volume"
factors.row_order = ["key", "random"]
[roles.writers]
operation = "insert"
table = "secondary_index"
sessions = 2
batch_rows = 300
rows = {{ total = {ROWS} }}
"""
ASKING = f"""
kind = "mixed"
load = {{ rows = {ROWS} }}
[roles.users]
operation = "lookup"
calls = 300
[roles.others]
operation = "lookup_bigint"
calls = 300
"""
WORKLOAD = (SHIPPED / "bulkindex" / "workload.toml").read_text()


def planned_of(
    tmp_path: Path, roles: str, *changes: str, workload: str = WORKLOAD, head: str = ""
) -> StudyPlan:
    (tmp_path / "w.toml").write_text(workload)
    (tmp_path / "s.toml").write_text(STUDY + head + roles)
    return prepare(StudyCall(str(tmp_path / "s.toml"), overrides=changes)).plan


def ran(run: PlannedRun, folder: Path) -> Ran:
    engine = run.plan["target"]["engine"]
    return made(Deployment(server(engine), Target(engine, "")), run.plan, folder)


def of_engine(plan: StudyPlan, engine: str) -> list[PlannedRun]:
    return [r for r in plan.runs if r.labels["engine"] == engine]


def rows_of(run: PlannedRun, table: int = 0) -> list[dict[str, Any]]:
    """As the core makes them, in their order."""
    text = json.dumps(run.plan["tables"][table])
    stream = _core.generate(text, run.plan["seed"], run.plan["epoch_ns"], 0, ROWS)
    return pa.RecordBatchReader.from_stream(stream).read_all().to_pylist()


def test_rows_lie_in_files_of_one_chunk_and_follow_one_another_file_by_file(tmp_path: Path) -> None:
    run = of_engine(planned_of(tmp_path, ASKING), "sqlite")[0]
    plan = run.plan
    for at, table in enumerate(plan["tables"]):
        first = _core.file_rows(json.dumps(table), plan["seed"], plan["epoch_ns"])
        assert len(first) == FILES + 1 and (first[0], first[-1]) == (0, ROWS)
        rows = rows_of(run, at)
        chunks = [{row["chunk_id"] for row in rows[low:high]} for low, high in pairwise(first)]
        assert all(len(found) == 1 for found in chunks)
        names = [str(*found) for found in chunks]
        assert names == sorted(set(names)), "as `ls` lists the files"
        assert len({row["source_id"] for row in rows}) == ROWS
        sizes = [high - low for low, high in pairwise(first)]
        assert 2 < max(sizes) / (ROWS / FILES) < 4, "the largest file of a survey lies at a pole"


def test_files_of_one_size_have_keys_of_the_same_kind(tmp_path: Path) -> None:
    roles = WRITING.replace('"secondary_index"', '"secondary_index_equal"')
    plan = of_engine(planned_of(tmp_path, roles), "sqlite")[0].plan
    first = _core.file_rows(json.dumps(plan["tables"][0]), plan["seed"], plan["epoch_ns"])
    assert {high - low for low, high in pairwise(first)} == {ROWS // FILES}


def test_a_table_without_chunks_has_no_files() -> None:
    source = {"kind": "generated", "series": 1, "period_ns": 1}
    table = {"name": "t", "stream": "t", "columns": [], "source": source}
    with pytest.raises(_core.CoreFailure, match="its rows lie in no files"):
        _core.file_rows(json.dumps(table), 1, 0)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_rows_of_both_orders_are_written_and_proven_with_one_digest(engine: str, tmp_path: Path) -> None:
    digests = set()
    runs = of_engine(planned_of(tmp_path, WRITING), engine)
    assert len(runs) == 2 and rows_of(runs[0]) != rows_of(runs[1])
    for n, run in enumerate(runs):
        found = ran(run, tmp_path / str(n))
        assert found.last["event"] == "finished" and found.broken() == []
        digests |= {p["found"] for p in found.tables["proofs"] if p["item"].startswith("read_back")}
        assert any(p["item"] == "rows" and p["found"] == str(ROWS) for p in found.tables["proofs"])
    assert len(digests) == 1, digests


def outcomes(found: Ran, role: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in found.tables["failures"]:
        if row["role"] == role:
            counts[row["outcome"]] += row["count"]
    return counts


@pytest.mark.parametrize("order", ["", 'row_order = "random"\n'])
def test_look_ups_by_text_and_by_number_get_exactly_their_rows(order: str, tmp_path: Path) -> None:
    found = ran(of_engine(planned_of(tmp_path, ASKING, head=order), "sqlite")[0], tmp_path / "run")
    assert found.last["event"] == "finished" and found.broken() == []
    for role in ("users", "others"):
        assert outcomes(found, role) == {} and found.totals(role)["ok"] == 300


def test_a_changed_row_and_a_lost_one_are_seen_by_look_ups(tmp_path: Path) -> None:
    """Of texts half of the rows are changed, of numbers half are lost."""
    run = of_engine(planned_of(tmp_path, ASKING), "sqlite")[0]
    plan = json.loads(json.dumps(run.plan))
    texts, numbers = (next(t["name"] for t in plan["tables"] if t["stream"] == s) for s in TABLES)
    create = next(s for s in plan["segments"] if s["kind"] == "control")
    create["statements"] += [
        f"CREATE TRIGGER changed AFTER INSERT ON {texts} WHEN NEW.sub_chunk_id < 78 BEGIN "
        f"UPDATE {texts} SET chunk_id = chunk_id + 1 WHERE source_id = NEW.source_id; END",
        f"CREATE TRIGGER lost AFTER INSERT ON {numbers} WHEN NEW.sub_chunk_id < 78 BEGIN "
        f"DELETE FROM {numbers} WHERE source_id = NEW.source_id; END",
    ]
    found = made(Deployment(server("sqlite"), Target("sqlite", "")), plan, tmp_path / "run")
    for role, outcome in (("users", "wrong"), ("others", "missing")):
        assert outcomes(found, role).keys() == {outcome}
        assert 100 < outcomes(found, role)[outcome] < 200


TABLES = ("secondary_index", "secondary_index_bigint")


def test_every_mistake_of_chunks_is_said_at_once(tmp_path: Path) -> None:
    wrong = """chunks = { files = 146_333, run_rows = "rum_rows", profile = "flat", too = 1 }
series = 4
period_s = 1
rates = { sigma = 1 }
partitions.mysql = { every_s = 3_600, count = 3 }
"""
    workload = WORKLOAD.replace('chunks = { files = "files", run_rows = "run_rows" }\n', wrong, 1)
    with pytest.raises(UsageError) as refused:
        planned_of(tmp_path, WRITING, workload=workload)
    said = {p.key.removeprefix("tables.secondary_index."): p.remedy for p in refused.value.problems}
    expected = {
        "chunks.files": "a sky has 146,332",
        "chunks.run_rows": "did you mean `run_rows`",
        "chunks.profile": "survey",
        "chunks.too": "unknown key",
        "series": "no events of series",
        "period_s": "no times",
        "rates": "no rates",
        "partitions.mysql": "has no time that is never NULL",
    }
    assert said.keys() == expected.keys()
    for key, text in expected.items():
        assert text in said[key], (key, said[key])


def test_chunks_of_a_table_that_files_feed_are_refused(tmp_path: Path) -> None:
    workload = (
        WORKLOAD
        + """
[tables.mine]
source = "files"
chunks = { files = 1 }
columns = [{ name = "a", type = "i32" }]
[tables.mine.files]
paths = ["a.csv"]
format = "csv"
"""
    )
    with pytest.raises(UsageError) as refused:
        planned_of(tmp_path, WRITING, workload=workload)
    said = {p.key: p.remedy for p in refused.value.problems}
    assert said.keys() == {f"tables.mine.{key}" for key in ("source", "files", "chunks.run_rows")}, said


@pytest.mark.parametrize("order", ["time", "7 files"])
def test_orders_by_time_are_refused(order: str, tmp_path: Path) -> None:
    roles = WRITING.replace('["key", "random"]', f'["key", "{order}"]')
    with pytest.raises(UsageError, match="have no time; write key or random"):
        planned_of(tmp_path, roles)


def test_samples_of_sweeps_are_refused(tmp_path: Path) -> None:
    roles = 'kind = "mixed"\n[roles.w]\noperation = "insert"\ntable = "secondary_index"\nsamples = { count = 3 }\n'
    with pytest.raises(UsageError, match="samples and deletes by age count sweeps"):
        planned_of(tmp_path, roles)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ('type = "time_ms", gen = "sweep_time"', "`sweep_time` needs times"),
        ('type = "i64", gen = "counter", increment = "poisson", mean_per_s = 1', "`counter` needs times"),
    ],
)
def test_generators_of_times_and_sweeps_are_refused(column: str, said: str, tmp_path: Path) -> None:
    workload = WORKLOAD.replace('type = "i32", gen = "uniform", from = 0, to = 155', column)
    with pytest.raises(UsageError, match=said):
        planned_of(tmp_path, WRITING, workload=workload)


def test_parts_of_chunks_in_a_table_without_them_are_refused(tmp_path: Path) -> None:
    workload = WORKLOAD.replace('chunks = { files = "files", run_rows = "run_rows" }\n', "", 1)
    with pytest.raises(UsageError, match=r"the table has no `chunks`"):
        planned_of(tmp_path, WRITING, workload=workload)


def test_sizes_of_chunks_are_set_by_the_command_line(tmp_path: Path) -> None:
    plan = of_engine(planned_of(tmp_path, WRITING, "files=7", "run_rows=99"), "sqlite")[0].plan
    assert plan["tables"][0]["source"] == {
        "kind": "generated",
        "series": 1,
        "period_ns": 10**9,
        "events": {
            "rows": ROWS,
            "order": {"by": "key"},
            "chunks": {"files": 7, "profile": "survey", "run_rows": 99},
        },
    }
