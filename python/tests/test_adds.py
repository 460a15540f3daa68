"""Loads that add rows to a table: planned, run on embedded engines, and losses that the proof and the answers find."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.plan.chunks import files_between, first_rows
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from inrush.study.reading import load_study
from inrush.workload import Chunks
from tests.steps import run_study_file

OLD, NEW, FILES = 3_000, 500, 20
WORKLOAD = r"""
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.keys]
chunks = { files = 20, run_rows = 50 }
identity = ["k"]
layouts = { pk = ["identity"] }
columns = [
  { name = "k", type = "i64", gen = "chunk", part = "key" },
  { name = "chunk", type = "i32", gen = "chunk", part = "chunk_id" },
  { name = "v", type = "i32", gen = "uniform", from = 0, to = 155 },
]
[tables.events]
series = 100
period_s = 1
identity = ["id", "time"]
columns = [
  { name = "id", type = "i32", gen = "cycle", from = 1, to = 100 },
  { name = "time", type = "time_ms", gen = "sweep_time" },
  { name = "v", type = "i64", gen = "uniform", from = 0, to = 99 },
]
[operations.look]
kind = "query"
table = "keys"
params.k = { gen = "key", column = "k" }
holds = ["asked"]
returns = ["k", "chunk", "v"]
sql.default = "SELECT k, chunk, v FROM {keys} WHERE k = :k"
[operations.look_many]
kind = "query"
table = "keys"
params.ks = { gen = "key", column = "k", list = true }
holds = ["asked"]
returns = ["k", "chunk", "v"]
sql.default = "SELECT k, chunk, v FROM {keys} WHERE k IN (:ks)"
[operations.look_event]
kind = "query"
table = "events"
params = { id = { gen = "key", column = "id" }, time = { gen = "key", column = "time" } }
holds = ["asked"]
returns = ["id", "time", "v"]
sql.default = "SELECT id, time, v FROM {events} WHERE id = :id AND time = :time"
[operations.span]
kind = "extract"
table = "events"
range = { time = "time", share = 0.5 }
params = { id = { gen = "range", column = "id" }, a = { gen = "range", end = "from" }, b = { gen = "range", end = "to" } }
returns = ["id", "time", "v"]
sql.default = "SELECT id, time, v FROM {events} WHERE id = :id AND time >= :a AND time < :b ORDER BY time"
[operations.damage]
kind = "maintain"
table = "keys"
sql.default = "DELETE FROM {table} WHERE k = -1"
"""
STUDY = """
schema = 1
title = "More rows"
question = "What do more rows cost?"
expect = "As much as the first ones."
workload = "work.toml"
kind = "steps"
engines = ["sqlite", "duckdb"]
repeats = { count = 1, seed = 1, pilot = false }
answer = { kind = "comparison", of = "more.rows_per_s" }
layout = "pk"
[[steps]]
name = "load"
do = "load"
table = "keys"
rows = { total = 3_000 }
sessions = 2
files = {}
[[steps]]
name = "old"
do = "read"
operation = "look"
calls = 300
[[steps]]
name = "hurt"
do = "statement"
operation = "damage"
[[steps]]
name = "more"
do = "load"
table = "keys"
rows = { total = 500 }
adds = true
files = {}
[[steps]]
name = "hurt_more"
do = "statement"
operation = "damage"
[[steps]]
name = "all"
do = "read"
operation = "look"
sessions = 2
calls = 900
[[steps]]
name = "listed"
do = "read"
operation = "look_many"
keys_per_call = 50
calls = 200
"""
#: By sessions, of a table without files.
EVENTS = (
    ('table = "keys"\nrows = { total = 3_000 }\nsessions = 2\nfiles = {}', 'table = "events"\nrows = { total = 3_000 }\nsessions = 2'),
    ('table = "keys"\nrows = { total = 500 }\nadds = true\nfiles = {}', 'table = "events"\nrows = { total = 500 }\nadds = true\nbatch_rows = 100'),
    ('operation = "look"\ncalls', 'operation = "look_event"\ncalls'),
    ('operation = "look"\nsessions', 'operation = "look_event"\nsessions'),
)  # fmt: skip
WITHOUT_LIST = (
    '[[steps]]\nname = "listed"\ndo = "read"\noperation = "look_many"\nkeys_per_call = 50\ncalls = 200\n',
    "",
)


def hurt(step: str) -> tuple[str, str]:
    return f'[[steps]]\nname = "{step}"\ndo = "statement"\noperation = "damage"\n', ""


def written(folder: Path, *changes: tuple[str, str], workload: str = WORKLOAD) -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (folder / "work.toml").write_text(workload)
    path = folder / "more.toml"
    path.write_text(text)
    return path


def planned(path: Path, *engines: str) -> StudyPlan:
    study = load_study(str(path), engines=engines or None)
    return plan_study(study, {engine: server(engine) for engine in study.engines})


def problems(path: Path, *engines: str) -> str:
    with pytest.raises(UsageError) as refused:
        planned(path, *engines)
    return str(refused.value)


def run(path: Path, folder: Path) -> list[RunRecord]:
    return [each.run for each in analyse(study_record(Results(run_study_file(path, folder)))).runs]


def wrong_answers(record: RunRecord) -> dict[str, int]:
    """Role -> answers that broke their promise."""
    found: dict[str, int] = {}
    for row in record.rows("repetitions"):
        found[row["role"]] = found.get(row["role"], 0) + row["errors"]
    return {role: n for role, n in found.items() if n}


def proofs(record: RunRecord) -> dict[str, bool]:
    return {row["item"]: row["holds"] for row in record.rows("proofs")}


@pytest.mark.parametrize("by", [pytest.param("files", marks=pytest.mark.slow), "sessions"])
def test_rows_are_added_behind_the_first_ones_and_all_are_proven_and_found(tmp_path: Path, by: str) -> None:
    changes = (
        ()
        if by == "files"
        else (*EVENTS, WITHOUT_LIST, hurt("hurt"), hurt("hurt_more"), ('layout = "pk"\n', ""))
    )
    runs = run(written(tmp_path, *changes), tmp_path)
    assert {r.engine for r in runs} == {"sqlite", "duckdb"}
    for record in runs:
        assert proofs(record)["read_back"] and all(proofs(record).values()), proofs(record)
        assert not wrong_answers(record)
        rows = {row["role"]: row["rows"] for row in record.rows("repetitions")}
        assert (rows["load"], rows["more"]) == (OLD, NEW)
        assert (rows["old"], rows["all"]) == (300, 900)
        assert proof_rows(record) == OLD + NEW
        # What stands in the table behind both loads.
        of = figures_of_run(record)
        if by == "files":
            assert of["hurt.bytes_per_row"] == of["hurt.after_bytes"] / OLD
            assert of["hurt_more.bytes_per_row"] == of["hurt_more.after_bytes"] / (OLD + NEW)
        if by == "files" and record.engine == "duckdb":
            files_are_those_of_the_table(record)


def proof_rows(record: RunRecord) -> int:
    """That every proof at the end asked for."""
    (rows,) = {p["rows"] for s in record.plan["segments"] if s["kind"] == "proof" for p in s["proofs"]}
    return int(rows)


def files_are_those_of_the_table(record: RunRecord) -> None:
    """One of them is in two parts, one in each load."""
    found = {
        role: [f["rows"] for f in record.rows("files") if f["role"] == role] for role in ("load", "more")
    }
    cuts = first_rows(Chunks(FILES, "survey", 50), OLD + NEW)
    assert OLD not in cuts
    own = sorted({*cuts, OLD})
    of_files = [end - first for first, end in itertools.pairwise(own)]
    assert len(found["load"]) + len(found["more"]) == FILES + 1 == len(of_files)
    assert sorted(found["load"] + found["more"]) == sorted(of_files)
    assert (sum(found["load"]), sum(found["more"])) == (OLD, NEW)
    # Runs of a part of a file are not known.
    parts = [f for f in record.rows("files") if f["runs"] == 0]
    assert [f["role"] for f in parts] == ["load", "more"]
    assert sum(f["rows"] for f in parts) in [end - first for first, end in itertools.pairwise(cuts)]


@pytest.mark.parametrize("profile", ["survey", "equal"])
def test_every_file_is_in_one_load_or_in_parts_in_two(profile: str) -> None:
    chunks, rows = Chunks(7, profile, 10), 1_003
    cuts = first_rows(chunks, rows)
    assert (cuts[0], cuts[-1]) == (0, rows)
    for end in range(1, rows):
        both = files_between(chunks, rows, 0, end) + files_between(chunks, rows, end, rows)
        assert both == (7 if end in cuts else 8), end


KEEP = "CREATE TABLE old AS SELECT k FROM {table}"
A_NEW_ROW = "(SELECT MIN(k) FROM {table} WHERE k NOT IN (SELECT k FROM old))"
LOSSES = {
    "an old row is deleted between": (["DELETE FROM {table} WHERE k = (SELECT MIN(k) FROM {table})"], []),
    "a new row is deleted": ([KEEP], [f"DELETE FROM {{table}} WHERE k = {A_NEW_ROW}"]),
    "a value of an old row is changed between": (["UPDATE {table} SET v = v + 1 WHERE k = (SELECT MAX(k) FROM {table})"], []),
    "a value of a new row is changed": ([KEEP], [f"UPDATE {{table}} SET v = v + 1 WHERE k = {A_NEW_ROW}"]),
}  # fmt: skip


def damaging(between: Sequence[str], behind: Sequence[str]) -> str:
    """The workload with statements that do harm between the loads, and behind both."""
    own = '\n[operations.{name}]\nkind = "maintain"\ntable = "keys"\nsql.default = {sql}\n'
    harmless = ["DELETE FROM {table} WHERE k = -1"]
    parts = (("damage_old", between), ("damage_new", behind))
    return WORKLOAD + "".join(own.format(name=name, sql=list(sql) or harmless) for name, sql in parts)


def harmed(folder: Path, between: Sequence[str], behind: Sequence[str]) -> Path:
    changes = (
        ('name = "hurt"\ndo = "statement"\noperation = "damage"', 'name = "hurt"\ndo = "statement"\noperation = "damage_old"'),
        ('name = "hurt_more"\ndo = "statement"\noperation = "damage"', 'name = "hurt_more"\ndo = "statement"\noperation = "damage_new"'),
    )  # fmt: skip
    return written(folder, *changes, workload=damaging(between, behind))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.slow
def test_a_loss_in_the_rows_of_either_load_is_found(tmp_path: Path, loss: str) -> None:
    runs = run(harmed(tmp_path, *LOSSES[loss]), tmp_path)
    assert {r.engine for r in runs} == {"sqlite", "duckdb"}
    for record in runs:
        found = proofs(record)
        assert found and not found["read_back"], (record.engine, found)
        # Of 200 lists of 50 some name the row.
        assert wrong_answers(record).get("listed", 0) > 0, record.engine


@pytest.mark.slow
def test_a_row_that_a_file_of_the_second_load_leaves_out_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import inrush.run.one as one

    def emptied(plan: Any, folder: Path) -> Any:
        placed = real(plan, folder)
        for of in [of for segment in placed["segments"] for of in segment.get("inputs", ())]:
            if of.get("first_row"):
                # Files that are there are kept, unless it is noted how they were made.
                Path(of["folder"]).mkdir(parents=True, exist_ok=True)
                (Path(of["folder"]) / f"{of['name']}.made").unlink(missing_ok=True)
                (Path(of["folder"]) / f"{of['name']}-000001.tsv").write_text("")
        return placed

    real: Callable[[Any, Path], Any] = one.at_inputs
    monkeypatch.setattr(one, "at_inputs", emptied)
    for record in run(written(tmp_path), tmp_path):
        assert not proofs(record)["rows"], proofs(record)


@pytest.mark.slow
def test_every_answer_is_looked_at_in_every_read(tmp_path: Path) -> None:
    """All rows have another value: no call has a right answer, before and behind the second load, single and in lists."""
    every = ["UPDATE {table} SET v = v + 1"]
    changes = ('[[steps]]\nname = "old"', '[[steps]]\nname = "hurt_first"\ndo = "statement"\noperation = "damage_old"\n[[steps]]\nname = "old"')  # fmt: skip
    path = harmed(tmp_path, every, every)
    path.write_text(path.read_text().replace(*changes))
    for record in run(path, tmp_path):
        assert wrong_answers(record) == {"old": 300, "all": 900, "listed": 200}, record.engine


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([("adds = true\n", "")], "load loads this table already; a table is loaded once, or again from a dump. For the rows behind"),
        ([("rows = { total = 3_000 }\n", "rows = { total = 3_000 }\nadds = true\n")], "no step before it loads keys, so there are no rows"),
        ([("adds = true\nfiles = {}", "adds = true\npipeline = {}")], "proves its rows by a ledger that only it fills; remove pipeline"),
        ([("sessions = 2\nfiles = {}", "pipeline = {}")], "load fills it by the loader, whose ledger proves all of its rows"),
        ([("adds = true", "adds = 1")], "adds"),
        ([('name = "load"', 'name = "sorted"\ndo = "sort"\n[[steps]]\nname = "load"'), ("files = {}", 'files = { sorted = "sorted" }')],
         "load and more name it, and it sorts the files of one load; write a step for each"),
        ([hurt("hurt"), ('name = "more"', 'name = "out"\ndo = "dump"\ntable = "keys"\nby = "key"\n[[steps]]\nname = "more"')], "out dumps it"),
        ([('name = "all"', 'name = "out"\ndo = "dump"\ntable = "keys"\nby = "key"\n[[steps]]\nname = "all"')], "more adds rows to this table"),
        ([('name = "old"\ndo = "read"\noperation = "look"', 'name = "old"\ndo = "read"\noperation = "look"\nkeys = { rows = 3_200 }')],
         "keys of 3,200 rows of keys, which has 3,000 then"),
        ([('layout = "pk"', 'layout = "pk"\nrow_order = "random"')], "look draws keys of the first rows of keys, and in this order they are not known; ask after more"),
        ([*EVENTS, WITHOUT_LIST, hurt("hurt"), hurt("hurt_more"), ('do = "read"\noperation = "look_event"\ncalls', 'do = "extract"\noperation = "span"\ncalls')],
         "span asks for a range of all rows of events, and more adds some of them; ask after more"),
    ],
)  # fmt: skip
def test_what_adding_cannot_mean_is_said(tmp_path: Path, changes: list[tuple[str, str]], said: str) -> None:
    assert said in problems(written(tmp_path, *changes)), problems(written(tmp_path, *changes))


@pytest.mark.slow
def test_files_of_more_rows_are_sorted_by_their_own_step(tmp_path: Path) -> None:
    sort = ('name = "more"', 'name = "sorted"\ndo = "sort"\n[[steps]]\nname = "more"')
    by = ("adds = true\nfiles = {}", 'adds = true\nfiles = { sorted = "sorted" }')
    for record in run(written(tmp_path, sort, by), tmp_path):
        assert proofs(record)["read_back"] and all(proofs(record).values()), proofs(record)


def test_a_range_behind_the_last_load_is_of_all_rows(tmp_path: Path) -> None:
    behind = (
        'do = "read"\noperation = "look_event"\nsessions',
        'do = "extract"\noperation = "span"\nsessions',
    )
    plan = planned(
        written(
            tmp_path, *EVENTS, WITHOUT_LIST, hurt("hurt"), hurt("hurt_more"), behind, ('layout = "pk"\n', "")
        )
    )
    ranges = {
        o["range"]["rows"]
        for r in plan.all_runs
        if r.labels["engine"] != "null"
        for o in r.plan["operations"]
        if "range" in o
    }
    assert ranges == {OLD + NEW}


def test_a_pipelined_read_is_left_out_with_its_reason_where_sessions_have_one_call(tmp_path: Path) -> None:
    deep = ('operation = "look"\nsessions = 2\n', 'operation = "look"\nsessions = 2\ndepth = 8\n')
    plan = planned(written(tmp_path, deep), "sqlite", "postgresql", "mysql")
    steps = {
        r.labels["engine"]: (r.labels.get("steps_left_out"), [role["depth"] for s in r.plan["segments"] for role in s.get("roles", ())])
        for r in plan.all_runs
        if not str(r.labels["engine"]).startswith("null")
    }  # fmt: skip
    reason = {"all": "a session of SQLite has one call in flight, and the step asks for 8"}
    assert steps["sqlite"] == (reason, [1, 1, 1, 1])
    assert steps["postgresql"] == steps["mysql"] == (None, [1, 1, 1, 8, 1])
