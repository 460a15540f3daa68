"""`deadline_s` of an operation: calls that take longer are cancelled and counted as `timeout`, others are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.plan.plan import plan_study
from inrush.results.store import Results
from inrush.stats.measures import measured_windows, study_record
from inrush.study.reading import parse_study
from inrush.study.shipped import SHIPPED
from inrush.study.study import Study
from inrush.study.toml import read_toml
from tests.strategies import workload_tree

WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
sizes = { rows = 100 }
[tables.t]
series = "rows"
period_s = 1
identity = ["id", "at"]
layouts = { none = [] }
columns = [{ name = "id", type = "i32", gen = "cycle", from = 1, to = 100 }, { name = "at", type = "time_ms", gen = "sweep_time" }]
[operations.slow]
kind = "query"
deadline_s = 0.05
sql.default = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000000000) SELECT max(x) FROM c"
[operations.fast]
kind = "query"
deadline_s = 5
sql.default = "SELECT count(*) FROM {t}"
"""
STUDY = """
schema = 1
title = "Deadlines"
question = "What becomes of calls that take too long?"
expect = "They are cancelled."
workload = "workload.toml"
kind = "mixed"
engines = ["sqlite"]
layout = "none"
load = { rows = 100 }
schedule = { mode = "closed", measure_s = 1 }
factors.sessions = [1]
[roles.slow]
operation = "slow"
sessions = "@sessions"
[roles.fast]
operation = "fast"
[repeats]
count = 1
pilot = false
seed = 1
[answer]
kind = "curve"
of = "fast.ops_per_s"
along = "sessions"
per = ["engine"]
"""


@pytest.mark.ci
def test_calls_past_their_deadline_are_timeouts_and_others_are_answered(tmp_path: Path) -> None:
    (tmp_path / "workload.toml").write_text(WORKLOAD)
    (tmp_path / "study.toml").write_text(STUDY)
    environment = {**os.environ, "INRUSH_RESULTS": str(tmp_path / "results")}
    subprocess.run(
        [sys.executable, "-m", "inrush.cli", "run", "study.toml", "sqlite"], cwd=tmp_path, env=environment, timeout=120,
        check=False, capture_output=True,
    )  # fmt: skip
    (folder,) = (p for p in (tmp_path / "results").iterdir() if (p / "study.json").exists())
    (measured,) = analyse(study_record(Results(folder))).runs
    figures, run = measured.figures, measured.run
    assert figures["slow.failed_share"] == 1 and figures["slow.ops"] >= 2, "a call of minutes ended in time"
    assert figures["slow.latency_p50_s"] == float("inf")
    outcomes = {f["outcome"] for f in run.rows("failures") if f["segment"] in measured_windows(run)}
    assert outcomes == {"timeout"}
    assert figures["fast.failed_share"] == 0 and figures["fast.ops"] > 10


def looked_up(operations: dict[str, Any], calls: dict[str, int]) -> Study:
    tree = read_toml(SHIPPED / "telemetry" / "lookups.toml")
    del tree["scale"], tree["expected"]
    tree["factors"] = {"sessions": [1]}
    tree["roles"] = {"users": {"operations": calls, "sessions": "@sessions"}}
    tree["answer"] |= {"of": "users.ops_per_s", "along": "sessions"}
    workload = workload_tree()
    for name, changes in operations.items():
        workload["operations"][name] |= changes
    return parse_study(tree, workload, name="x", file="x.toml", workload_file="workload.toml")


def test_a_deadline_stands_in_the_plan_in_nanoseconds_and_is_none_without_a_word() -> None:
    study = looked_up({"pc_last": {"deadline_s": 0.25}}, {"pc_last": 1})
    plan = plan_study(study, {"sqlite": server("sqlite"), "duckdb": server("duckdb")})
    deadlines = {o["name"]: o["deadline_ns"] for o in plan.runs[0].plan["operations"]}
    assert deadlines["pc_last"] == 250_000_000
    assert {v for k, v in deadlines.items() if k != "pc_last"} <= {0}


def test_a_role_has_one_deadline_for_all_that_it_calls() -> None:
    study = looked_up({"pc_last": {"deadline_s": 0.25}}, {"pc_last": 1, "pc_top": 1})
    with pytest.raises(UsageError, match=r"roles\.users\.operations.*one deadline"):
        plan_study(study, {"sqlite": server("sqlite"), "duckdb": server("duckdb")})


@pytest.mark.parametrize("value", [0, -1, "soon", True])
def test_a_deadline_is_a_number_above_nothing(value: Any) -> None:
    with pytest.raises(UsageError, match="deadline_s"):
        looked_up({"pc_last": {"deadline_s": value}}, {"pc_last": 1})
