"""A small study with steps, and how it is run."""

from __future__ import annotations

import time
from pathlib import Path

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan.plan import plan_study
from inrush.results.store import Store
from inrush.run.listener import Silent
from inrush.run.run import run_study
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment

WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
sizes = { series = 100 }
[tables.events]
series = "series"
period_s = 1
identity = ["id", "time"]
columns = [
  { name = "id", type = "i32", gen = "cycle", from = 1, to = 100 },
  { name = "time", type = "time_ms", gen = "sweep_time" },
  { name = "value", type = "i64", gen = "uniform", from = 0, to = 99 },
]
[operations.one]
kind = "query"
table = "events"
params = { id = { gen = "of_series", column = "id" } }
holds = ["rows_regenerate"]
returns = ["id", "time", "value"]
sql.default = "SELECT id, time, value FROM {events} WHERE id = :id"
[operations.index]
kind = "maintain"
table = "events"
sql.default = ["CREATE INDEX by_id ON {events} (id)", "ANALYZE"]
[operations.endless]
kind = "maintain"
table = "events"
sql.default = '''
CREATE TABLE slow AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 1000000000) SELECT count(*) AS n
FROM r'''
"""
STUDY = """
schema = 1
title = "Index"
question = "What does an index gain?"
expect = "Look-ups that read fewer pages."
workload = "work.toml"
kind = "steps"
engines = ["sqlite", "duckdb"]
repeats = { count = 1, seed = 1, pilot = false }
record = { watch_s = 0.1 }
answer = { kind = "comparison", of = "indexed.latency_p50_s" }
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = 20_000 }
[[steps]]
name = "bare"
do = "read"
operation = "one"
calls = 10
[[steps]]
name = "index"
do = "statement"
operation = "index"
[[steps]]
name = "rest"
do = "settle"
seconds = 0.2
[[steps]]
name = "indexed"
do = "read"
operation = "one"
calls = 10
after = "index"
[[steps]]
name = "chill"
do = "cold"
[[steps]]
name = "cold"
do = "read"
operation = "one"
calls = 10
"""


def write_study(folder: Path, study: str = STUDY) -> Path:
    (folder / "work.toml").write_text(WORKLOAD)
    path = folder / "stepped.toml"
    path.write_text(study)
    return path


def run_study_file(path: Path, folder: Path, scale: str | None = None) -> Path:
    """Runs it on its embedded engines, each run in a worker of its own -> the folder of its results."""
    study = load_study(str(path), scale)
    plan = plan_study(study, {engine: server(engine) for engine in study.engines})
    document = {**plan.document(), "begun_unix_ns": time.time_ns()}
    results = Store(folder / "results").new_study(study.name, document)
    deployments = {e: Deployment(server(e), Target(e, "")) for e in (*study.engines, "null")}
    end = run_study(plan.all_runs, results, deployments, Silent())
    assert not end.failed, end.failed
    return results.path
