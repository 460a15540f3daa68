"""A small study with extracts, and how it is run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan.plan import plan_study
from inrush.results.store import Results, Store
from inrush.run.listener import Silent
from inrush.run.run import run_study
from inrush.stats.measures import study_record
from inrush.stats.run_figures import figures_of_run
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment

SERIES = 20
#: A column of each type, but for what identifies a row.
ALL_TYPES = """\
  { name = "b", type = "bool", gen = "flag", true_ppm = 400_000, null_share = 0.1 },
  { name = "i", type = "i16", gen = "uniform", from = -9, to = 9, null_share = 0.1 },
  { name = "j", type = "i64", gen = "uniform", from = -9_000_000_000, to = 9_000_000_000, null_share = 0.1 },
  { name = "u", type = "u64", gen = "uniform", from = 0, to = 9_000_000_000, null_share = 0.1 },
  { name = "f", type = "f32", gen = "uniform", from = -99, to = 99, null_share = 0.1 },
  { name = "d", type = "f64", gen = "uniform", from = -999, to = 999, null_share = 0.1 },
  { name = "ms", type = "time_ms", gen = "sweep_time" },
  { name = "s", type = "text", gen = "text", min_bytes = 0, max_bytes = 20, null_share = 0.1 },
  { name = "m", type = "decimal(24, 8)", gen = "decimal", null_share = 0.1 },
  { name = "lf", type = "list_f64", gen = "array", min_items = 0, max_items = 5, of = { gen = "uniform", from = 0, to = 9 } },
  { name = "li", type = "list_i64", gen = "array", min_items = 0, max_items = 5, of = { gen = "uniform", from = 0, to = 9 } },
  { name = "lu", type = "list_u64", gen = "array", min_items = 0, max_items = 5, of = { gen = "categorical", values = [18446744073709551615, 0] } },
  { name = "lg", type = "list_f32", gen = "array", min_items = 0, max_items = 5, of = { gen = "uniform", from = -99, to = 99 }, null_share = 0.1 },
  { name = "lt", type = "list_text", gen = "array", min_items = 0, max_items = 5, of = { gen = "text", min_bytes = 0, max_bytes = 9, alphabet = "aZ09 ,;'\\"\\\\\\t\\n%_[]" } },
  { name = "bl", type = "blob", gen = "bytes", min_bytes = 0, max_bytes = 300, null_share = 0.1 },
  { name = "e", type = "enum", gen = "categorical", values = ["ON", "OFF", "Zürich"], null_share = 0.1 },
  { name = "day", type = "date", gen = "between", from = "1970-01-01", to = "2105-12-31", null_share = 0.1 },
  { name = "doc", type = "json", gen = "document", max_items = 8, max_chars = 40, null_share = 0.1 },
  { name = "flags", type = "bit(12)", gen = "bits", null_share = 0.1 },
  { name = "whole", type = "bit(64)", gen = "bits" },
  { name = "tiny", type = "u8", gen = "uniform", from = 0, to = 255, null_share = 0.1 },
  { name = "short", type = "u16", gen = "uniform", from = 0, to = 65_535, null_share = 0.1 },
  { name = "middle", type = "u32", gen = "uniform", from = 0, to = 4_294_967_295, null_share = 0.1 },
  { name = "who", type = "uuid", gen = "uuid", null_share = 0.1 },
  { name = "lb", type = "list_bool", gen = "array", min_items = 0, max_items = 5, of = { gen = "flag", true_ppm = 400_000 } },
  { name = "lh", type = "list_i16", gen = "array", min_items = 0, max_items = 5, of = { gen = "uniform", from = -32_768, to = 32_767 } },
  { name = "lw", type = "list_i32", gen = "array", min_items = 0, max_items = 5, of = { gen = "uniform", from = -9, to = 2_147_483_647 } },
  { name = "l8", type = "list_u8", gen = "array", min_items = 0, max_items = 5, of = { gen = "uniform", from = 0, to = 255 } },
  { name = "l16", type = "list_u16", gen = "array", min_items = 0, max_items = 5, of = { gen = "uniform", from = 0, to = 65_535 }, null_share = 0.1 },
  { name = "l32", type = "list_u32", gen = "array", min_items = 0, max_items = 5, of = { gen = "uniform", from = 0, to = 4_294_967_295 } },
"""
WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
sizes = { length = 300 }
[tables.values]
series = 20
period_s = 0.05
identity = ["id", "time"]
layouts = { none = [], pk = ["identity"] }
rates = { sigma = 1.2, pinned = 7, share = 0.3 }
columns = [
  { name = "id", type = "i32", gen = "cycle", from = 1, to = 20 },
  { name = "time", type = "time_us", gen = "sweep_time", jitter_ms = 5 },
  { name = "value", type = "f64", gen = "uniform", from = 0, to = 999, null_share = 0.1 },
  { name = "quality", type = "i16", gen = "uniform", from = -9, to = 9 },
  { name = "state", type = "text", gen = "text", min_bytes = 0, max_bytes = 20 },
]
[operations.all]
kind = "extract"
table = "values"
params.id = { gen = "range", column = "id" }
params.from = { gen = "range", end = "from" }
params.to = { gen = "range", end = "to" }
range = { rows = "length" }
returns = ["time", "value", "quality", "state"]
sql.default = '''
SELECT time, value, quality, state FROM {table} WHERE id = :id AND time >= :from AND time < :to ORDER BY time'''
"""
STUDY = """
schema = 1
title = "Ranges"
question = "How fast do rows of one series come out?"
expect = "Slower where the series lies scattered."
workload = "work.toml"
kind = "steps"
engines = ["sqlite", "duckdb"]
layout = "pk"
row_order = "random"
repeats = { count = 1, seed = 1, pilot = false }
record = { watch_s = 0.1 }
answer = { kind = "comparison", of = "warm.rows_per_s" }
[[steps]]
name = "load"
do = "load"
table = "values"
rows = { total = 20_000 }
[[steps]]
name = "warm"
do = "extract"
operation = "all"
calls = 12
[[steps]]
name = "chill"
do = "cold"
[[steps]]
name = "cold"
do = "extract"
operation = "all"
calls = 3
"""


def write_study(folder: Path, study: str = STUDY, workload: str = WORKLOAD) -> Path:
    (folder / "work.toml").write_text(workload)
    path = folder / "ranged.toml"
    path.write_text(study)
    return path


def planned(path: Path) -> Any:
    study = load_study(str(path))
    return plan_study(study, {engine: server(engine) for engine in study.engines})


def run_study_file(path: Path, folder: Path, faults: Sequence[str] = ()) -> dict[str, Any]:
    """Runs it on its embedded engines, which lie so -> engine -> its run."""
    study = load_study(str(path))
    plan = plan_study(study, {engine: server(engine) for engine in study.engines})
    for run in plan.all_runs:
        if faults and run.plan["target"]["engine"] != "null":
            run.plan["target"]["faults"] = list(faults)
    document = {**plan.document(), "begun_unix_ns": time.time_ns()}
    results = Store(folder / "results").new_study(study.name, document)
    deployments = {e: Deployment(server(e), Target(e, "")) for e in (*study.engines, "null")}
    run_study(plan.all_runs, results, deployments, Silent())
    record = study_record(Results(results.path))
    return {str(run.labels["engine"]): run for run in record.runs}


def figures(run: Any) -> dict[str, float]:
    return figures_of_run(run)
