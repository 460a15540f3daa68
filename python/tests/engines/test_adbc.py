"""Engine `adbc` through drivers that are not DuckDB's: any driver is reachable, and its rows are proven."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Instance, Target
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment

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

        return {
            "driver": adbc_driver_sqlite._driver_path(),
            "adbc.uri": str(folder / "any.sqlite"),
            # The driver itself does not wait: without this, reader and writer refuse each other.
            "on_open": "PRAGMA busy_timeout = 60000",
        }
    import adbc_driver_postgresql

    instance: Instance = request.getfixturevalue("postgresql")
    return {"driver": adbc_driver_postgresql._driver_path(), "adbc.uri": instance.url}


def placed(target: dict[str, str], folder: Path) -> tuple[Deployment, Mapping[str, Any]]:
    (folder / "workload.toml").write_text(WORKLOAD)
    (folder / "study.toml").write_text(STUDY)
    twin = server("adbc")
    plan = plan_study(load_study(str(folder / "study.toml")), {"adbc": twin}).block(1)[0].plan
    return Deployment(twin, Target("adbc", "adbc:", target)), plan


OTHER = """
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
for line in sys.stdin:
    print(json.dumps(db.execute(json.loads(line)).fetchall()), flush=True)
"""


@contextmanager
def other_process(path: Path) -> Iterator[Callable[[str], list[list[Any]]]]:
    """A connection in a process of its own: two copies of SQLite in one process do not see each other's locks."""
    argv = [sys.executable, "-c", OTHER, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        to, back = process.stdin, process.stdout

        def ask(statement: str) -> list[list[Any]]:
            print(json.dumps(statement), file=to, flush=True)
            rows: list[list[Any]] = json.loads(back.readline())
            return rows

        yield ask
        to.close()


@pytest.mark.parametrize("driver", ["sqlite", "postgresql"])
def test_rows_through_any_driver_are_stored_and_proven(
    driver: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    deployment, plan = placed(options(driver, folder, request), folder)
    ran = run(deployment, plan, folder / "run")
    assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last
    assert {p["item"] for p in ran.tables["proofs"]} >= {"rows", "read_back"} and not ran.broken()
    assert (ran.totals("writers")["rows"], ran.totals("writers")["errors"]) == (5_000, 0)
    assert not ran.tables["failures"], ran.tables["failures"]


def test_a_writer_that_meets_a_reader_is_in_conflict_and_leaves_nothing_half_done(
    folder: Path, request: pytest.FixtureRequest
) -> None:
    """SQLite's driver keeps its transaction open when COMMIT is refused: the next batch would be acknowledged
    inside of it and lost, and its lock would keep out even a new connection of the same session."""
    target = options("sqlite", folder, request)
    del target["on_open"]
    deployment, plan = placed(target, folder)
    at = next(k for k, s in enumerate(plan["segments"]) if s["kind"] == "drive")
    writers = [r for r in plan["segments"][at]["roles"] if r["name"] == "writers"]
    drive = {**plan["segments"][at], "roles": writers, "repeat": None}
    pauses = [{"kind": "pause", "label": name, "action": name} for name in ("lock", "unlock")]
    segments = [*plan["segments"][:at], pauses[0], drive, pauses[1], *plan["segments"][at + 1 :]]
    stored = []
    with other_process(folder / "any.sqlite") as ask:
        table = ""

        def at_event(event: Mapping[str, Any]) -> None:
            nonlocal table
            if event.get("action") == "lock":
                ask("BEGIN")
                ((table,),) = ask("SELECT name FROM sqlite_schema WHERE name LIKE '%plain'")
                ask(f'SELECT count(*) FROM "{table}"')
            elif event.get("action") == "unlock":
                ask("COMMIT")
                stored.extend(ask(f'SELECT count(*) FROM "{table}"'))

        ran = run(deployment, {**plan, "segments": segments}, folder / "run", at_event=at_event)
    assert ran.last["event"] == "finished", ran.last
    assert {f["outcome"] for f in ran.tables["failures"]} == {"conflict"}, ran.tables["failures"]
    assert (ran.totals("writers")["rows"], ran.totals("writers")["errors"], stored) == (0, 10, [[0]])


def test_a_control_statement_waits_for_a_lock_within_its_limit(
    folder: Path, request: pytest.FixtureRequest
) -> None:
    target = options("sqlite", folder, request)
    del target["on_open"]

    def control(limit_s: float) -> None:
        _core.control(
            json.dumps({"engine": "adbc", "url": "adbc:", "options": target}), "DELETE FROM t", limit_s
        )

    with other_process(folder / "any.sqlite") as ask:
        ask("CREATE TABLE t (a INTEGER)")
        ask("BEGIN EXCLUSIVE")
        with pytest.raises(_core.CoreFailure, match=r"not finished after 0\.2 s"):
            control(0.2)
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(control, 60.0)
            ask("COMMIT")
            waiting.result()
