"""A step with several roles at once: planned, refused, run on embedded engines, and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from inrush.analysis.points import Analysis, roles
from inrush.engines import server
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.guards.steps import of_steps
from inrush.plan.plan import plan_study
from inrush.report.step_table import steps_at, steps_table
from inrush.report.steps import step_bars
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.stats.steps import step_windows
from inrush.study.reading import load_study
from tests.steps import WORKLOAD, run_study_file
from tests.undisturbed import undisturbed

OTHER = """
[tables.log]
series = "series"
period_s = 1
identity = ["id", "time"]
columns = [
  { name = "id", type = "i32", gen = "cycle", from = 1, to = 100 },
  { name = "time", type = "time_ms", gen = "sweep_time" },
]
[operations.insert]
kind = "insert"
[operations.logged]
kind = "query"
table = "log"
params = { id = { gen = "of_series", column = "id" } }
sql.default = "SELECT id, time FROM {log} WHERE id = :id"
[operations.by_number]
kind = "query"
table = "log"
params = { id = { gen = "key", column = "id" }, time = { gen = "key", column = "time" } }
sql.default = "SELECT id, time FROM {log} WHERE id = :id AND time = :time"
"""
HEAD = """
schema = 1
title = "Beside users"
question = "What do users cost a load?"
expect = "Little."
workload = "work.toml"
kind = "steps"
engines = ["sqlite", "duckdb"]
repeats = { count = 1, seed = 1, pilot = false }
record = { watch_s = 0.1 }
answer = { kind = "comparison", of = "mixed.writers.rows_per_s" }
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = 5_000 }
"""
MIXED = """
[[steps]]
name = "mixed"
do = "roles"
[steps.roles.writers]
operation = "insert"
table = "log"
rows = { total = 20_000 }
batch_rows = 500
[steps.roles.users]
operation = "one"
until = "writers"
[steps.roles.askers]
operation = "logged"
calls = 7
schedule = { mode = "closed", think_s = 0.002 }
"""
AFTER = """
[[steps]]
name = "after"
do = "read"
operation = "logged"
calls = 5
"""
ENGINES = ("sqlite", "duckdb")


def study_file(folder: Path, *parts: str) -> Path:
    (folder / "work.toml").write_text(WORKLOAD + OTHER)
    path = folder / "mix.toml"
    path.write_text("".join((HEAD, *parts)))
    return path


def problems(folder: Path, *parts: str) -> list[str]:
    with pytest.raises(UsageError) as caught:
        load_study(str(study_file(folder, *parts)))
    return [f"{p.key}: {p.remedy}" for p in caught.value.problems]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("roles")
    with undisturbed():
        return analyse(study_record(Results(run_study_file(study_file(folder, MIXED, AFTER), folder))))


def run_on(analysis: Analysis, engine: str) -> RunRecord:
    return next(m.run for m in analysis.runs if m.run.engine == engine and m.run.block > 0)


def figures(analysis: Analysis, engine: str) -> Mapping[str, float]:
    return next(m.figures for m in analysis.runs if m.run.engine == engine and m.run.block > 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_each_role_of_a_step_has_figures_of_its_own(finished: Analysis, engine: str) -> None:
    found = figures(finished, engine)
    assert found["mixed.writers.rows"] == 20_000
    assert found["mixed.writers.ok"] == 40
    assert found["mixed.askers.ok"] == 7
    assert found["mixed.users.ok"] > 0
    assert found["mixed.users.latency_p50_s"] > 0
    assert "mixed.rows" not in found, "rows that were written and rows of answers have no sum"
    start_ns, end_ns = step_windows(run_on(finished, engine))["mixed"]
    assert found["mixed.duration_s"] == (end_ns - start_ns) / 1e9
    assert found["mixed.writers.makespan_s"] <= found["mixed.duration_s"]
    assert found["mixed.grown_bytes"] > 0
    assert 0 < found["mixed.writers.instrument_share"] < 1, (
        "of the run on the null engine that did the same work"
    )
    assert found["after.ok"] == 5
    assert found["load.rows"] == 5_000


@pytest.mark.parametrize("engine", ENGINES)
def test_every_row_of_both_tables_is_proven_and_every_figure_counts(finished: Analysis, engine: str) -> None:
    verdicts = next(m.verdicts for m in finished.runs if m.run.engine == engine and m.run.block > 0)
    assert {v.guard: v.outcome.value for v in verdicts}["rows proven"] == "pass"
    assert {p["table"] for p in run_on(finished, engine).rows("proofs")} == {
        t["name"] for t in run_on(finished, engine).plan["tables"]
    }
    assert not [v.sentence for v in verdicts if v.outcome.value == "invalid"]


def test_roles_stand_behind_their_step_in_the_table_and_the_step_in_the_time_line(finished: Analysis) -> None:
    (point, *_) = finished.points
    assert list(steps_at(finished, point).items()) == [
        ("load", "load"), ("mixed", "roles"), ("mixed.writers", "role"), ("mixed.users", "role"),
        ("mixed.askers", "role"), ("after", "read"),
    ]  # fmt: skip
    assert "mixed.writers" in steps_table(finished)
    assert [bar["step"] for bar in step_bars(run_on(finished, "sqlite"))] == ["load", "mixed", "after"]
    assert roles(finished)[:2] == ["load", "mixed.writers"]


def test_an_invalid_step_takes_the_figures_of_its_roles_with_it() -> None:
    held = {"load.rows": 1.0, "mixed.duration_s": 1.0, "mixed.users.ok": 1.0, "mixed.writers/log.ok": 1.0}
    assert of_steps(held, ["mixed"]) == ["mixed.duration_s", "mixed.users.ok", "mixed.writers/log.ok"]


def test_every_mistake_of_a_step_of_roles_is_said(tmp_path: Path) -> None:
    endless = MIXED.replace('until = "writers"\n', "")
    assert problems(tmp_path, endless) == [
        "steps[1].roles.users: it has no end; write its calls, until = a role, or seconds of the step"
    ]
    number = MIXED[: MIXED.index("[steps.roles.askers]")] + "[steps.roles]\naskers = 7\n"
    assert "steps[1].roles.askers: " in "\n".join(problems(tmp_path, number))
    (said,) = problems(tmp_path, MIXED.replace('"logged"', '"by_number"'))
    assert said.endswith("mixed.writers only writes; read them in a later step")
    unloaded = MIXED.replace(
        '[steps.roles.writers]\noperation = "insert"\ntable = "log"\nrows = { total = 20_000 }\nbatch_rows = 500\n',
        "",
    )
    said = "\n".join(problems(tmp_path, unloaded.replace('until = "writers"', "calls = 1")))
    assert "it needs rows of log, which no step before it loads" in said
    assert "unknown role" in said, "the answer's"
    (said,) = problems(tmp_path, MIXED + AFTER.replace('do = "read"', 'do = "load"').replace('operation = "logged"\ncalls = 5', 'table = "log"\nrows = { total = 5 }'))  # fmt: skip
    assert "mixed.writers loads this table already" in said


def test_an_answer_asks_for_a_figure_of_a_role_and_not_of_all(tmp_path: Path) -> None:
    path = study_file(tmp_path, MIXED)
    path.write_text(path.read_text().replace("mixed.writers.rows_per_s", "mixed.rows_per_s"))
    with pytest.raises(UsageError) as caught:
        load_study(str(path))
    (problem,) = caught.value.problems
    assert (
        "step mixed has several roles: name one of mixed.writers, mixed.users, mixed.askers" in problem.remedy
    )


def test_seconds_end_the_readers_that_have_no_other_end(tmp_path: Path) -> None:
    endless = MIXED.replace('until = "writers"\n', "").replace('do = "roles"', 'do = "roles"\nseconds = 2')
    study = load_study(str(study_file(tmp_path, endless)), engines=["sqlite"])
    plan = plan_study(study, {"sqlite": server("sqlite")}).runs[0].plan
    (drive,) = (s for s in plan["segments"] if s["kind"] == "drive" and s["label"] == "mixed")
    found = {role["name"]: role for role in drive["roles"]}
    assert found["mixed.users"]["until"] == {"kind": "time", "ns": 2_000_000_000}
    assert found["mixed.askers"]["work"] == {"kind": "calls", "count": 7}


def test_a_role_may_call_maintenance_that_is_one_statement(tmp_path: Path) -> None:
    study = load_study(str(study_file(tmp_path, MIXED.replace('"logged"', '"endless"'))), engines=["sqlite"])
    plan = plan_study(study, {"sqlite": server("sqlite")}).runs[0].plan
    (called,) = (o for o in plan["operations"] if o["name"] == "endless")
    assert called["kind"] == "execute" and called["text"].startswith("CREATE TABLE slow AS")
    several = load_study(str(study_file(tmp_path, MIXED.replace('"logged"', '"index"'))), engines=["sqlite"])
    (absent,) = plan_study(several, {"sqlite": server("sqlite")}).unsupported
    assert "index is several statements for sqlite" in absent.reason
