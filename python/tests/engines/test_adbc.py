"""Engine `adbc` through drivers that are not DuckDB's: any driver is reachable, and its rows are proven."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.engines import server
from inrush.engines.base import Instance, Target
from inrush.plan.plan import plan_study
from inrush.run.site import Site
from inrush.study.study import load_study

from .border import run

#: What every SQL database and every driver keeps as it is.
WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.plain]
series = 100
period_s = 1
columns = [
  { name = "number", type = "i64", gen = "uniform", from = -9223372036854775808, to = 9223372036854775807 },
  { name = "middle", type = "i32", gen = "uniform", from = -2147483648, to = 2147483647, null_share = 0.1 },
  { name = "guid", type = "u64", gen = "pattern", prefix = "b8599f03" },
  { name = "level", type = "f64", gen = "uniform", from = -1000, to = 1000, bits = 20, null_share = 0.1 },
  { name = "label", type = "text", gen = "text", min_bytes = 0, max_bytes = 20, null_share = 0.1 },
]
[operations.insert]
kind = "insert"
[operations.how_many]
kind = "query"
table = "plain"
holds = ["count_bounds"]
sql.default = "SELECT COUNT(*) AS n FROM {plain}"
"""
STUDY = """
schema = 1
title = "Any driver"
question = "Does it store rows?"
expect = "Yes."
workload = "workload.toml"
kind = "fixed_volume"
engines = ["adbc"]
factors.batch_rows = [500]
schedule = { mode = "closed", at_least_s = 0, limit_s = 60 }
[roles.writers]
operation = "insert"
table = "plain"
batch_rows = "@batch_rows"
rows = { total = 5_000 }
[roles.readers]
operation = "how_many"
until = "writers"
[repeats]
count = 1
[answer]
kind = "best"
of = "writers.makespan_s"
along = "batch_rows"
"""


def options(driver: str, folder: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    if driver == "sqlite":
        import adbc_driver_sqlite

        return {"driver": adbc_driver_sqlite._driver_path(), "adbc.uri": str(folder / "any.sqlite")}
    import adbc_driver_postgresql

    instance: Instance = request.getfixturevalue("postgresql")
    return {"driver": adbc_driver_postgresql._driver_path(), "adbc.uri": instance.url}


@pytest.mark.parametrize("driver", ["sqlite", "postgresql"])
def test_rows_through_any_driver_are_stored_and_proven(
    driver: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    (folder / "workload.toml").write_text(WORKLOAD)
    (folder / "study.toml").write_text(STUDY)
    twin = server("adbc")
    plan = plan_study(load_study(str(folder / "study.toml")), {"adbc": twin}).block(1)[0].plan
    site = Site(twin, Target("adbc", "adbc:", options(driver, folder, request)))
    ran = run(site, plan, folder / "run")
    assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last
    assert {p["item"] for p in ran.tables["proofs"]} >= {"rows", "read_back"} and not ran.broken()
    assert (ran.shot("writers")["rows"], ran.shot("writers")["errors"]) == (5_000, 0)
    # The SQLite driver has no busy timeout: a reader that meets the writer is told so, and counted.
    assert all("locked" in f["first_message"] for f in ran.tables["failures"]), ran.tables["failures"]
