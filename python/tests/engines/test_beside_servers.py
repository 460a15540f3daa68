"""A statement beside roles on real servers: a lock stalls the writers for as long as it is held, and nobody without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from inrush.analysis.verdicts import Outcome
from inrush.engines import server
from inrush.engines.base.instance import Stop, Target
from inrush.targets.deployment import Deployment

from .servers import SETTINGS, need, own_server
from .test_steps_servers import analysed, run, verdict

WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
sizes = { series = 100 }
[tables.events]
series = "series"
period_s = 1
identity = ["id", "time"]
layouts = { pk = ["identity"] }
columns = [
  { name = "id", type = "i32", gen = "cycle", from = 1, to = 100 },
  { name = "time", type = "time_ms", gen = "sweep_time" },
  { name = "value", type = "i64", gen = "uniform", from = 0, to = 99 },
]
[operations.insert]
kind = "insert"
[operations.one]
kind = "query"
table = "events"
params = { id = { gen = "of_series", column = "id" } }
sql.default = "SELECT time, value FROM {events} WHERE id = :id ORDER BY time DESC LIMIT 10"
[operations.change]
kind = "maintain"
table = "events"
sql.default = "CHANGE"
"""
STUDY = """
schema = 1
title = "A change"
question = "How long do writers stand still?"
expect = "As long as a lock is held."
workload = "work.toml"
kind = "steps"
engines = ["ENGINE"]
layout = "pk"
repeats = { count = 1, seed = 1, pilot = false }
record = { interval_s = 0.1 }
answer = { kind = "comparison", of = "change.writers.stall_s" }
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = 300_000 }
[[steps]]
name = "change"
do = "alter"
operation = "change"
before_s = 2
seconds = 20
[steps.roles.writers]
operation = "insert"
table = "events"
rows = { total = 10_000 }
batch_rows = 10
sessions = 2
schedule = { mode = "constant", rate_per_s = 50 }
[steps.roles.users]
operation = "one"
sessions = 2
schedule = { mode = "constant", rate_per_s = 50 }
"""
#: Each takes a while of 300,000 rows: writers wait for it, and users do not.
LOCKED = {
    "postgresql": "CREATE INDEX by_digest ON {table} (md5(value::text), md5(id::text))",
    "mysql": "ALTER TABLE {table} ADD COLUMN checked INT, ALGORITHM=COPY",
}
#: The same where neither waits.
UNLOCKED = {
    "postgresql": "CREATE INDEX CONCURRENTLY by_digest ON {table} (md5(value::text), md5(id::text))",
    "mysql": "ALTER TABLE {table} ADD INDEX by_value (value), ALGORITHM=INPLACE, LOCK=NONE",
}


@pytest.fixture
def own(request: pytest.FixtureRequest, folder: Path) -> Iterator[Deployment]:
    engine: str = request.param
    need(engine)
    instance = own_server(engine).start(folder / engine, SETTINGS[engine])
    yield Deployment(server(engine), Target(engine, instance.url, {}, instance))
    own_server(engine).stop(instance, Stop.KILL)


def changed(own: Deployment, folder: Path, statement: str) -> Mapping[str, float]:
    """Figures of a run whose rows are all proven."""
    (folder / "work.toml").write_text(WORKLOAD.replace("CHANGE", statement))
    path = folder / "changed.toml"
    path.write_text(STUDY.replace("ENGINE", own.server.name))
    end, results = run(path, own)
    assert not end.failed, end.failed
    found = analysed(results)
    assert verdict(found, "rows proven").outcome is Outcome.PASS
    return found.runs[0].figures


@pytest.mark.ci
@pytest.mark.parametrize("own", ["postgresql", "mysql"], indirect=True)
def test_writers_stand_still_for_as_long_as_a_lock_is_held_and_users_do_not(
    own: Deployment, folder: Path
) -> None:
    found = changed(own, folder, LOCKED[own.server.name])
    took_s = found["change.statement_s"]
    assert 0.7 * took_s <= found["change.writers.stall_s"] <= took_s
    assert found.get("change.writers.kept_rate", 0.0) < 0.4
    assert found["change.users.stall_s"] < 0.7 * took_s
    assert found["change.writers.rows"] == 10_000, "what waited was stored afterwards"


@pytest.mark.slow
@pytest.mark.parametrize("own", ["postgresql", "mysql"], indirect=True)
def test_writers_go_on_where_no_lock_is_held(own: Deployment, folder: Path) -> None:
    found = changed(own, folder, UNLOCKED[own.server.name])
    assert found["change.writers.stall_s"] < 0.7 * found["change.statement_s"]
