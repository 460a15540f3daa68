"""A server that goes and comes back, and one whose disk is full, in the middle of a study."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from inrush.analysis.verdicts import Outcome
from inrush.border.events import Event
from inrush.engines import server
from inrush.engines.base.instance import Stop, Target
from inrush.guards.analyse import measured_run
from inrush.guards.lateness import client_on_time
from inrush.plan.plan import plan_study
from inrush.plan.planned import PlannedRun
from inrush.results.histogram import of_table
from inrush.results.store import Results, Store
from inrush.run.listener import Silent
from inrush.run.run import run_study
from inrush.stats.measures import study_record
from inrush.stats.run_figures import figures_of_run
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from tests.test_paced import STUDY

from .border import run
from .servers import SETTINGS, control, each_kind, need, own_server
from .test_contract import study_of
from .test_trouble import changed, processes, tree

SECOND = 10**9
RATE_PER_S, MEASURE_S = 200, 20.0
OUTAGE_S = 1.0


@pytest.fixture
def own(request: pytest.FixtureRequest, folder: Path) -> Iterator[Deployment]:
    """A server of the test's own, because it will be mistreated."""
    engine: str = request.param
    need(engine)
    instance = own_server(engine).start(folder / engine, SETTINGS[engine])
    deployment = Deployment(server(engine), Target(engine, instance.url, {}, instance))
    yield deployment
    assert deployment.target.instance is not None
    own_server(engine).stop(deployment.target.instance, Stop.KILL)


class Killer(Silent):
    """Kills the server once, two seconds after the measured phase began, and starts it again a second later."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.began_s: float | None = None
        #: From when the server was gone until it was told to start: calls due meanwhile waited at least so long.
        self.outage_s = 0.0

    def event(self, event: Event) -> None:
        if event["event"] != "progress" or event.get("phase") != "measure" or self.outage_s:
            return
        self.began_s = self.began_s or time.monotonic()
        if time.monotonic() - self.began_s >= 2:
            instance = self.deployment.target.instance
            assert instance is not None
            own = own_server(instance.engine)
            own.stop(instance, Stop.KILL)
            gone_s = time.monotonic()
            time.sleep(OUTAGE_S)
            self.outage_s = time.monotonic() - gone_s
            started = own.start(instance.data, instance.settings)
            self.deployment.target = Target(self.deployment.target.engine, started.url, {}, started)


def lookups(engine: str, folder: Path, *overrides: str) -> PlannedRun:
    study = folder / "lookups.toml"
    study.write_text(STUDY.replace('["sqlite"]', f'["{engine}"]'))
    found = load_study(str(study), overrides=["repeats.pilot=false", *overrides])
    return next(iter(plan_study(found, {engine: server(engine)}).block(1)))


@pytest.mark.ci
@pytest.mark.timeout(300)
@pytest.mark.parametrize("own", each_kind(["postgresql", "mysql"], {"mysql"}), indirect=True)
def test_a_server_killed_and_started_again_in_a_paced_segment_is_waited_for_and_not_the_clients_lag(
    own: Deployment, folder: Path
) -> None:
    engine = own.target.engine
    planned = lookups(engine, folder, f"schedule.measure_s={MEASURE_S}", "schedule.retry_s=60")
    results, killer = Store(folder / "results").new_study("lookups", {}), Killer(own)
    outcome = run_study([planned], results, {engine: own}, killer)
    assert (outcome.done, outcome.failed) == (1, {}) and killer.outage_s >= OUTAGE_S
    (sealed,) = study_record(Results(results.path)).runs
    figures = figures_of_run(sealed)
    assert figures["readers.ops"] + figures.get("readers.unsent", 0) == RATE_PER_S * MEASURE_S
    failures = sealed.tables["failures"].to_pylist()
    assert {f["outcome"] for f in failures} == {"lost"}, failures
    assert 1 <= sum(f["count"] for f in failures) <= 2, "the calls that were under way, and no others"
    # Some 200 calls a second were due meanwhile: the slowest waited for the server from its kill on.
    (measured,) = (s["segment"] for s in sealed.tables["segments"].to_pylist() if s["phase"] == "measure")
    hist = sealed.tables["hist"]
    kinds = of_table(hist.filter(pc.equal(hist["segment"], measured)), ["role", "kind"])
    longest_s = {kind: kinds["readers", kind].quantile_ns(1.0) / 1e9 for kind in ("latency", "lag")}
    assert longest_s["latency"] >= killer.outage_s, (longest_s, killer.outage_s)
    assert longest_s["lag"] < 0.5 * killer.outage_s, (longest_s, killer.outage_s)
    late = client_on_time(sealed, figures)
    assert late is None or not late.breaks("readers.latency_s"), late


def writing(engine: str, rate_per_s: float, batches: int, batch: int) -> PlannedRun:
    """Paced inserts alone, and what quiet queries answer at the end."""
    writers = {
        "schedule": {"kind": "constant", "rate_per_s": rate_per_s},
        "work": {"kind": "rows", "table": 0, "first_row": 0, "rows": batches * batch, "batch_rows": batch},
        "until": {"kind": "work"},
    }
    planned = plan_study(load_study(study_of(engine), engines=[engine]), {engine: server(engine)})
    run = next(r for r in planned.block(1) if r.labels["factors"]["method"] == "bulk")
    plan = changed(run.plan, writers=writers)
    segments = [{**s, "retry_ns": 60 * SECOND} if s["kind"] == "drive" else s for s in plan["segments"]]
    proofs = [{**p, "rows": batches * batch} for s in segments if s["kind"] == "proof" for p in s["proofs"]]
    segments = [{**s, "proofs": proofs} if s["kind"] == "proof" else s for s in segments]
    expected = plan["labels"]["oracle"]
    tables = [{**t, "rows": batches * batch} for t in expected["tables"]]
    labels = {**plan["labels"], "oracle": {**expected, "tables": tables}}
    return replace(run, plan={**plan, "segments": segments, "labels": labels})


@pytest.mark.ci
@pytest.mark.timeout(300)
@pytest.mark.parametrize("own", each_kind(["postgresql", "mysql"], {"mysql"}), indirect=True)
def test_rows_acknowledged_before_and_after_an_outage_are_there_once_and_the_run_is_valid(
    own: Deployment, folder: Path
) -> None:
    engine, killer = own.target.engine, Killer(own)
    results = Store(folder / "results").new_study("writers", {})
    outcome = run_study([writing(engine, 20.0, 200, 50)], results, {engine: own}, killer)
    assert (outcome.done, outcome.failed) == (1, {}) and killer.outage_s >= OUTAGE_S
    (sealed,) = study_record(Results(results.path)).runs
    figures = figures_of_run(sealed)
    found = {v.guard: v for v in measured_run(sealed).verdicts}
    lost = sum(f["count"] for f in sealed.tables["failures"].to_pylist() if f["outcome"] == "lost")
    assert figures["writers.ops"] == 200 and figures["writers.errors"] == lost >= 1
    proven, rows = found["rows proven"], figures["writers.rows"]
    assert proven.outcome is Outcome.NOTE, proven
    said = (
        f"All {rows:,.0f} acknowledged rows are there; of {lost} insert{'s' * (lost > 1)} without an answer "
    )
    assert proven.sentence.startswith(said) and proven.sentence.endswith(" stored"), proven
    assert not [v for v in found.values() if v.hides], found
    assert found["oracle agrees"].outcome is Outcome.PASS, (
        "quiet answers are those of the rows that are there"
    )


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["postgresql", "mysql"])
@pytest.mark.parametrize(
    ("faults", "statement", "words"),
    [
        (["cut:40"], "", ""),
        (["cut_before:40"], "", ""),
        (["cut_half:40"], "", "unanswered(1950..2000) is in part, 25 of 50 rows"),
        (["cut_changed:40"], "", "unanswered(1950..2000) is in part, 49 of 50 rows"),
        (["cut_before:40"], "DELETE", "acknowledged is 1940"),
    ],
)
def test_what_a_server_holds_of_an_insert_without_an_answer_decides(
    engine: str, request: pytest.FixtureRequest, folder: Path, faults: list[str], statement: str, words: str
) -> None:
    deployment = Deployment(server(engine), request.getfixturevalue(engine))
    plan = dict(writing(engine, 400.0, 40, 50).plan)
    table = plan["tables"][0]["name"]
    tamper = {
        "postgresql": f"DELETE FROM {table} WHERE ctid IN (SELECT ctid FROM {table} LIMIT 10)",
        "mysql": f"DELETE FROM {table} LIMIT 10",
    }

    def at(event: Mapping[str, Any]) -> None:
        if event["event"] == "paused":
            control(deployment.target, tamper[engine])

    at_proof = next(k for k, s in enumerate(plan["segments"]) if s["kind"] == "proof")
    pause = [{"kind": "pause", "label": "tamper", "action": "tamper"}] if statement else []
    plan["segments"] = [*plan["segments"][:at_proof], *pause, *plan["segments"][at_proof:]]
    ran = run(deployment, plan, folder / "run", faults, at)
    assert ran.last["event"] == "finished", ran.last
    broken = [f"{p['item']} is {p['found']}" for p in ran.broken()]
    if words:
        assert words in broken, broken
    else:
        (detail,) = [p for p in ran.tables["proofs"] if p["item"].startswith("unanswered")]
        assert broken == [] and detail["found"] == ("whole" if faults == ["cut:40"] else "none")


#: What a server takes for itself, and what is left for rows, MB.
NEEDS_MB = {
    "postgresql": 120,
    "timescaledb": 140,
    "mysql": 260,
    "mariadb": 260,
    "clickhouse": 40,
    "influxdb": 20,
    "valkey": 20,
    "questdb": 600,
}
ROOM_MB = 24


@contextmanager
def small_disk(path: Path, size_mb: int) -> Iterator[Path]:
    """A file system of so many MB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk to fill")
    path.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m,mode=755", "tmpfs", str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode != 0:
        pytest.skip(f"no disk of our own to fill: {made.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


WRITES = """
schema = 1
title = "More rows than there is room for"
question = "What does a full disk end with?"
expect = "With a line that says so."
workload = "telemetry"
kind = "fixed_volume"
engines = ["{engine}"]
sizes = {{ ports = 200 }}
factors.writers = [2]
method = "{method}"
schedule = {{ mode = "closed", at_least_s = 0, limit_s = 40, retry_s = 3 }}
[roles.writers]
operation = "insert"
table = "port_data_counters"
batch_rows = 5000
sessions = "@writers"
rows = {{ total = 20_000_000 }}
[repeats]
count = 1
[answer]
kind = "best"
of = "writers.makespan_s"
along = "writers"
"""


def filling(engine: str, folder: Path, method: str = "bulk") -> PlannedRun:
    study = folder / "full.toml"
    study.write_text(WRITES.format(engine=engine, method=method))
    found = load_study(str(study), overrides=["repeats.pilot=false"])
    return next(iter(plan_study(found, {engine: server(engine)}).block(1)))


def ended_full(planned: PlannedRun, deployment: Deployment, results: Path) -> str:
    """The message of a study whose disk is full; it comes within the limit of its segment and some clearing up."""
    engine, folder = deployment.target.engine, Store(results).new_study("full", {})
    began_s = time.monotonic()
    outcome = run_study([planned], folder, {engine: deployment}, Silent())
    took_s = time.monotonic() - began_s
    assert outcome.done == 0 and list(outcome.failed) == [planned.run_id], outcome
    assert took_s < 40 + 60, f"{took_s:.0f} s"
    message = outcome.failed[planned.run_id]
    assert "panicked" not in message and "\n" not in message.strip(), message
    print(f"{engine}: {took_s:.0f} s: {message}")
    return message


def says_full(message: str) -> bool:
    words = ("no space left", "disk is full", "not enough space", "is full", "was full", "cannot reserve")
    return any(word in message.lower() for word in words)


@pytest.mark.ci
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("engine", "method"),
    [
        pytest.param(engine, method, marks=[] if engine == "postgresql" else pytest.mark.slow)
        for engine, method in (*((engine, "bulk") for engine in sorted(NEEDS_MB)), ("questdb", "ilp"))
    ],
)
def test_a_server_whose_disk_is_full_ends_its_run_with_a_line_that_says_so(
    engine: str, method: str, folder: Path
) -> None:
    need(engine)
    own = own_server(engine)
    with small_disk(folder / "small", NEEDS_MB[engine] + ROOM_MB) as disk:
        instance = own.start(disk / engine, SETTINGS[engine])
        deployment = Deployment(server(engine), Target(engine, instance.url, {}, instance))
        running = tree(processes(deployment))
        try:
            message = ended_full(filling(engine, folder, method), deployment, folder / "results")
        finally:
            own.stop(instance, Stop.KILL)
        assert says_full(message), message
        assert not [pid for pid in running if Path(f"/proc/{pid}").exists() and alive(pid)], "it was stopped"


def alive(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state not in "ZX"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_an_embedded_engine_whose_disk_is_full_ends_its_run_with_a_line_that_says_so(
    engine: str, folder: Path
) -> None:
    with small_disk(folder / "small", ROOM_MB) as disk:
        deployment = Deployment(server(engine), Target(engine, ""))
        message = ended_full(filling(engine, folder), deployment, disk / "results")
    assert says_full(message), message
