"""Steps on servers that inrush started: every kind of them, a limit, and deaths of the worker, of inrush and of the server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Outcome, Verdict
from inrush.border.events import Event
from inrush.engines import server
from inrush.engines.base.instance import Stop, Target
from inrush.engines.servers import life, page_cache
from inrush.guards.analyse import analyse
from inrush.plan.plan import plan_study
from inrush.results.store import Results, Store, StudyFolder
from inrush.run.listener import Silent
from inrush.run.run import StudyEnd, run_study
from inrush.stats.measures import study_record
from inrush.study.reading import load_study
from inrush.study.study import Study
from inrush.targets import deployments
from inrush.targets.deployment import Deployment
from tests.steps import STUDY, WORKLOAD
from tests.undisturbed import first_served

from .servers import SETTINGS, each_kind, need, own_server

INDEX = {
    "postgresql": '["CREATE INDEX by_id ON {table} (id)", "ANALYZE {table}"]',
    "mysql": '["CREATE INDEX by_id ON {table} (id)", "ANALYZE TABLE {table}"]',
    "clickhouse": '"OPTIMIZE TABLE {table} FINAL"',
}
#: None of them ends in the time of its step. Those that write are undone by their cancel.
SLOW = {
    "postgresql": "UPDATE {table} SET value = value WHERE pg_sleep(0.01) IS NOT NULL",
    "mysql": "UPDATE {table} SET value = value + sleep(0.01)",
    "clickhouse": "SELECT count() FROM (SELECT number FROM system.numbers LIMIT 10000000000) "
    "CROSS JOIN (SELECT value FROM {table} LIMIT 100)",
}
#: Hears of its cancel and goes on.
DEAF = """DO $$ BEGIN LOOP BEGIN PERFORM pg_sleep(20); EXIT; EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$"""
ENGINES = ("postgresql", "mysql", "clickhouse")
CALLS = 300
ROWS = 100_000
STEPS = """
[[steps]]
name = "anew"
do = "restart"
[[steps]]
name = "last"
do = "read"
operation = "one"
calls = 10
"""


def study_on(engine: str, folder: Path, *changes: tuple[str, str]) -> Path:
    work = WORKLOAD.replace('sql.default = ["CREATE INDEX by_id ON {events} (id)", "ANALYZE"]',
                            f"sql.{engine} = {INDEX[engine]}")  # fmt: skip
    work += f"[operations.slow]\nkind = 'maintain'\ntable = 'events'\nsql.{engine} = '''{SLOW[engine]}'''\n"
    work += f"[operations.deaf]\nkind = 'maintain'\ntable = 'events'\nsql.postgresql = '''{DEAF}'''\n"
    (folder / "work.toml").write_text(work)
    text = STUDY.replace('["sqlite", "duckdb"]', f'["{engine}"]') + STEPS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "stepped.toml"
    path.write_text(text)
    return path


@pytest.fixture
def own(request: pytest.FixtureRequest, folder: Path) -> Iterator[Deployment]:
    """A server of the test's own: it is stopped, and started again, in the middle of a run."""
    engine: str = request.param
    need(engine)
    instance = own_server(engine).start(folder / engine, SETTINGS[engine])
    deployment = Deployment(server(engine), Target(engine, instance.url, {}, instance))
    yield deployment
    if (left := deployment.target.instance) is not None and life.working_in(left.data):
        own_server(engine).stop(left, Stop.KILL)
    assert not life.working_in(folder)


def run(
    path: Path, own: Deployment, results: StudyFolder | None = None, listener: Silent | None = None
) -> tuple[StudyEnd, StudyFolder]:
    return run_loaded(load_study(str(path)), path.parent, own, results, listener)


def run_loaded(
    study: Study,
    folder: Path,
    own: Deployment,
    results: StudyFolder | None = None,
    listener: Silent | None = None,
) -> tuple[StudyEnd, StudyFolder]:
    plan = plan_study(study, {engine: server(engine) for engine in study.engines})
    if results is None:
        document = {**plan.document(), "begun_unix_ns": time.time_ns()}
        results = Store(folder / "results").new_study(study.name, document)
    engine = own.server.name
    places = {engine: own, "null": Deployment(server("null"), Target("null", ""))}
    return run_study(plan.all_runs, results, places, listener or Silent()), results


def analysed(results: StudyFolder) -> Analysis:
    return analyse(study_record(Results(results.path)))


def verdict(analysis: Analysis, guard: str) -> Verdict:
    return next(v for v in analysis.runs[0].verdicts if v.guard == guard)


def leftovers(own: Deployment) -> list[str]:
    """Tables, schemas and databases that bear the name of a run."""
    asked = {
        "postgresql": "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'inrush%'",
        "mysql": "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'inrush%'",
        "clickhouse": "SELECT name FROM system.databases WHERE name LIKE 'inrush%'",
    }
    return [name for (name,) in own.ask(asked[own.server.name]) if name.startswith("inrush_")]


NEEDS_ROOT = pytest.mark.skipif(not page_cache.can_drop(), reason="dropping the kernel's caches needs root")


@NEEDS_ROOT
@pytest.mark.ci
@pytest.mark.parametrize("own", each_kind(ENGINES, {"mysql"}), indirect=True)
def test_every_kind_of_step_on_a_server_that_inrush_started(own: Deployment, folder: Path) -> None:
    # Ten calls, or the load of 20,000 rows, may be over before a busy machine has looked at them.
    longer = (("calls = 10", f"calls = {CALLS}"), ("total = 20_000", f"total = {ROWS}"))
    with first_served():
        end, results = run(study_on(own.server.name, folder, *longer), own)
    assert not end.failed
    found = analysed(results)
    figures = found.runs[0].figures
    steps = ("load", "bare", "index", "rest", "indexed", "chill", "cold", "anew", "last")
    for step in steps:
        assert figures[f"{step}.duration_s"] > 0
        assert {f"{step}.server_busy_cores", f"{step}.client_busy_cores"} <= set(figures), step
    assert figures["load.rows"] == ROWS
    assert [figures[f"{step}.latency_n"] for step in ("bare", "indexed", "cold", "last")] == [CALLS] * 4
    said = verdict(found, "cold was cold")
    assert said.outcome is Outcome.PASS and "server stopped" in said.sentence
    assert verdict(found, "rows proven").outcome is Outcome.PASS
    assert verdict(found, "ended as planned").outcome is Outcome.PASS
    # A statement's step is its statements: neither connecting nor the last answer of the sampler is in it.
    rows = found.runs[0].run.rows("steps")
    worked_s = sum(r["end_ns"] - r["start_ns"] for r in rows) / 1e9
    assert worked_s <= figures["index.duration_s"] < worked_s + 0.25
    assert figures["index.statements"] == len(rows)
    assert leftovers(own) == []


@pytest.mark.slow
@pytest.mark.parametrize("own", ENGINES, indirect=True)
def test_a_statement_past_its_limit_is_cancelled_and_the_table_is_as_before(
    own: Deployment, folder: Path
) -> None:
    cut = ('operation = "index"', 'operation = "slow"\nlimit_s = 1')
    end, results = run(study_on(own.server.name, folder, cut, without_cold()), own)
    assert not end.failed
    found = analysed(results)
    (row,) = found.runs[0].run.rows("steps")
    assert (row["ended_by"], "it was cancelled" in row["message"]) == ("limit", True), row
    assert 1 <= (row["end_ns"] - row["start_ns"]) / 1e9 < 5
    said = verdict(found, "ended as planned")
    assert said.outcome is Outcome.INVALID and "Step index was cancelled at its limit" in said.sentence
    assert said.breaks("indexed.latency_p50_s") and not said.breaks("bare.latency_p50_s")
    assert verdict(found, "rows proven").outcome is Outcome.PASS
    assert leftovers(own) == []


@pytest.mark.slow
@pytest.mark.parametrize("own", ("postgresql",), indirect=True)
def test_a_statement_that_goes_on_after_its_cancel_is_said_to(own: Deployment, folder: Path) -> None:
    cut = ('operation = "index"', 'operation = "deaf"\nlimit_s = 0.5')
    end, results = run(study_on("postgresql", folder, cut, without_cold()), own)
    assert not end.failed
    found = analysed(results)
    (row,) = found.runs[0].run.rows("steps")
    assert (row["ended_by"], "the server goes on with it" in row["message"]) == ("running", True), row
    assert "was to be cancelled at its limit and goes on" in verdict(found, "ended as planned").sentence


def without_cold() -> tuple[str, str]:
    return ('name = "chill"\ndo = "cold"', 'name = "chill"\ndo = "settle"\nseconds = 0.1')


class At(Silent):
    """Acts once, when a step has begun."""

    def __init__(self, step: str, own: Deployment) -> None:
        self.step, self.own, self.done = step, own, False

    def event(self, event: Event) -> None:
        if event["event"] != "segment" or event["label"] != self.step or event["kind"] == "probe":
            return
        if not self.done:
            self.done = True
            self.act()

    def act(self) -> None: ...


class KillServer(At):
    def act(self) -> None:
        assert self.own.target.instance is not None
        time.sleep(0.5)
        own_server(self.own.server.name).stop(self.own.target.instance, Stop.KILL)


class KillWorker(At):
    def act(self) -> None:
        os.kill(worker_of(os.getpid()), signal.SIGKILL)


def worker_of(parent: int) -> int:
    """The process of the run in hand."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        words = line.read_bytes().split(b"\0")
        if b"inrush.agent.program" in words and f"PPid:\t{parent}\n" in (line.parent / "status").read_text():
            return int(line.parent.name)
    raise AssertionError("no worker is at work")


@pytest.mark.ci
@pytest.mark.parametrize("own", ("postgresql",), indirect=True)
def test_a_server_that_dies_in_a_statement_is_one_clear_line(own: Deployment, folder: Path) -> None:
    path = study_on("postgresql", folder, ('operation = "index"', 'operation = "slow"'), without_cold())
    end, _ = run(path, own, listener=KillServer("index", own))
    (message,) = end.failed.values()
    assert "the connection was lost" in message and "is the server still running? see its log" in message
    assert "\n" not in message


@pytest.mark.slow
@pytest.mark.parametrize("own", ("postgresql",), indirect=True)
def test_the_exit_code_of_a_study_whose_server_died_is_that_of_a_workload_with_errors(
    own: Deployment, folder: Path
) -> None:
    rest = ('name = "anew"\ndo = "restart"', 'name = "anew"\ndo = "settle"\nseconds = 0.1')
    path = study_on("postgresql", folder, ('operation = "index"', 'operation = "slow"'), without_cold(), rest)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "INRUSH_RESULTS": str(folder / "r"),
    }
    words = [sys.executable, "-m", "inrush.cli", "run", str(path), own.target.url]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as inrush:
        try:
            busy = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'UPDATE%' AND state = 'active'"
            until_s = time.monotonic() + 120
            while not own.ask(busy):
                assert time.monotonic() < until_s and inrush.poll() is None, "the statement did not begin"
                time.sleep(0.2)
            assert own.target.instance is not None
            own_server("postgresql").stop(own.target.instance, Stop.KILL)
            said = inrush.communicate(timeout=120)[0].decode()
        finally:
            inrush.kill()
    assert inrush.returncode == 1, said
    assert "the connection was lost" in said, said


KINDS: Mapping[str, str] = {
    "load": "load", "bare": "read", "index": "statement", "rest": "settle", "chill": "cold", "anew": "restart"
}  # fmt: skip
#: What an inrush of its own does: the study, until it kills itself in a step.
SCRIPT = """
import os, signal, sys
from pathlib import Path
from tests.engines.test_steps_servers import At, begun, run
class KillInrush(At):
    def act(self):
        os.kill(os.getpid(), signal.SIGKILL)
own = begun(Path(sys.argv[1]))
run(Path(sys.argv[2]), own, listener=KillInrush(sys.argv[3], own))
"""


@NEEDS_ROOT
@pytest.mark.slow
@pytest.mark.parametrize("own", ("postgresql",), indirect=True)
def test_a_worker_that_is_killed_in_any_kind_of_step_costs_its_run_alone(
    own: Deployment, folder: Path
) -> None:
    for step in KINDS:
        place = folder / step
        place.mkdir()
        path = study_on("postgresql", place)
        end, results = run(path, own, listener=KillWorker(step, own))
        assert ["was killed by SIGKILL" in said for said in end.failed.values()] == [True], step
        assert leftovers(own) == [], step
        end, results = run(path, own, results)
        assert not end.failed, step
        whole(analysed(results), step)
        assert leftovers(own) == [], step


def begun(data: Path) -> Deployment:
    return deployments.started(server("postgresql"), data, SETTINGS["postgresql"], lambda _: None)


@NEEDS_ROOT
@pytest.mark.slow
def test_an_inrush_that_is_killed_in_any_kind_of_step_is_resumed_to_the_same_answer(folder: Path) -> None:
    """With its worker, which ends when it does, and with the server that it had stopped for a cold step."""
    need("postgresql")
    data = folder / "postgresql"
    try:
        for step in KINDS:
            place = folder / step
            place.mkdir()
            path = study_on("postgresql", place)
            words = [sys.executable, "-c", SCRIPT, str(data), str(path), step]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            died = subprocess.run(words, env=environment, check=False, capture_output=True, text=True)
            assert died.returncode == -signal.SIGKILL, (step, died.stderr)
            own = begun(data)
            end, results = run(path, own, Store(place / "results").latest())
            assert not end.failed, step
            whole(analysed(results), step)
            assert leftovers(own) == [], step
            deployments.stop(own)
    finally:
        for pid in life.working_in(data):
            os.kill(pid, signal.SIGKILL)


def whole(found: Analysis, step: str) -> None:
    """As if nothing had happened before."""
    assert len(found.runs) == 1, step
    assert found.runs[0].figures["load.rows"] == 20_000, step
    for guard in ("rows proven", "answers right", "ended as planned", "cold was cold"):
        assert verdict(found, guard).outcome is Outcome.PASS, (step, guard)


#: Writers of a second table beside readers of the first, both on several connections.
#: So many rows that the server is looked at while they come.
MIXED = """
[[steps]]
name = "mixed"
do = "roles"
[steps.roles.writers]
operation = "insert"
table = "log"
sessions = 4
rows = { total = 200_000 }
batch_rows = 500
[steps.roles.users]
operation = "one"
sessions = 2
until = "writers"
"""


@pytest.mark.parametrize("own", ["postgresql"], indirect=True)
def test_roles_of_a_step_work_at_the_same_time_on_a_server(own: Deployment, folder: Path) -> None:
    path = study_on("postgresql", folder)
    path.write_text(path.read_text() + MIXED)
    work = folder / "work.toml"
    table = WORKLOAD[WORKLOAD.index("[tables.events]") : WORKLOAD.index("[operations.one]")]
    insert = '[operations.insert]\nkind = "insert"\n'
    work.write_text(work.read_text() + table.replace("[tables.events]", "[tables.log]") + insert)
    end, results = run(path, own)
    assert not end.failed
    (measured,) = analysed(results).runs
    found = measured.figures
    assert (found["mixed.writers.rows"], found["mixed.writers.sessions"]) == (200_000, 4)
    assert found["mixed.users.ok"] > 0
    assert found["mixed.users.sessions"] == 2
    assert found["mixed.server_busy_cores"] > 0
    assert {p["holds"] for p in measured.run.rows("proofs")} == {True}
    sessions = [s for s in measured.run.rows("sessions") if s["role"].startswith("mixed.")]
    assert {s["role"] for s in sessions} == {"mixed.writers", "mixed.users"}
