"""Whose CPU it is: an engine in the client's process gets what it burned, the client what it costs without it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Outcome
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.guards.analyse import analyse, measured_run
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.results.store import Results, Store
from inrush.run.listener import Silent
from inrush.run.run import run_study
from inrush.stats.client_overhead import client_overhead
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord, StudyRecord
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from tests import synthetic
from tests.synthetic import SECOND

BURN = """
schema = 1
title = "Burn"
question = "What does a row cost an engine that burns {burn_ns} ns of CPU for it?"
expect = "That."
workload = "telemetry"
kind = "fixed_volume"
engines = ["simulated"]
sizes = {{ ports = 100 }}
schedule = {{ mode = "closed", at_least_s = 0 }}
options.simulated = {{ burn_ns_per_row = {burn_ns}, service_ns = 1000, distribution = "fixed" }}
[roles.writers]
operation = "insert"
table = "port_data_counters"
batch_rows = 1000
rows = {{ total = 20_000 }}
[repeats]
count = 1
"""


def measured(tmp_path: Path, text: str) -> Analysis:
    """A study of embedded engines from its file to its figures, each run in a worker of its own."""
    path = tmp_path / "burn.toml"
    path.write_text(text)
    study = load_study(str(path))
    plan = plan_study(study, {engine: server(engine) for engine in study.engines})
    folder = Store(tmp_path / "results").new_study(
        "burn", {**plan.document(), "begun_unix_ns": time.time_ns()}
    )
    deployments = {e: Deployment(server(e), Target(e, "")) for e in (*study.engines, "null")}
    assert not run_study(plan.all_runs, folder, deployments, Silent()).failed
    return analyse(study_record(Results(folder.path)))


def test_an_engine_that_burns_20_us_a_row_is_recovered_within_ten_percent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    analysis = measured(tmp_path, BURN.format(burn_ns=20_000))
    assert {m.run.engine for m in analysis.runs} == {"simulated"}, "a calibration is no point of the study"
    for m in analysis.runs:
        assert m.figures["engine.cpu_us_per_row"] == pytest.approx(20, rel=0.1)
        assert m.figures["instrument.cpu_us_per_row"] < 1
        (detail,) = [v for v in m.verdicts if v.guard == "client not saturated"]
        assert detail.outcome is Outcome.PASS and "by subtraction" in detail.sentence


# The decision, on tables whose truth is known.


def at_price(row_ns: int, call_ns: int, rows: int = 50_000, calls: int = 100) -> RunRecord:
    """The null engine's run: what rows and calls cost the threads of the client."""
    run = synthetic.run("null", rows=rows, reader_ns=[10**6] * calls)
    return spending(run, {"writers": row_ns * rows, "readers": call_ns * calls})


def spending(run: RunRecord, cpu_ns: Mapping[str, int]) -> RunRecord:
    repetitions = [{**s, "cpu_ns": cpu_ns.get(s["role"], 0)} for s in run.rows("repetitions")]
    return replace(
        run, tables={**run.tables, "repetitions": synthetic.table("repetitions", repetitions)}, _rows={}
    )


def embedded(process_s: list[float], makespan_s: float = 2.0, **how: Any) -> RunRecord:
    """A run of SQLite whose process computed so long in each of its repetitions."""
    ends_ns = [SECOND + round((i + 1) * makespan_s * SECOND) for i in range(len(process_s))]
    samples = [
        {"role": "client", "t_ns": t_ns, "metric": "repetition_cpu_s", "value": s}
        for t_ns, s in zip(ends_ns, process_s, strict=True)
    ]
    doc = {"labels": {"point": "sqlite", "engine": "sqlite", "factors": {}, "block": 1, "order": 0}}
    makespans = [makespan_s] * len(process_s)
    return synthetic.run("sqlite", makespan_s=makespans, more={"resources": samples}, doc=doc, **how)


@given(
    row_ns=st.integers(10, 2_000),
    call_ns=st.integers(50, 100_000),
    engine_us=st.floats(0.1, 50),
    repetitions=st.integers(1, 4),
    fewer=st.integers(1, 20),
)
def test_what_is_neither_rows_nor_calls_at_their_price_is_the_engines(
    row_ns: int, call_ns: int, engine_us: float, repetitions: int, fewer: int
) -> None:
    """Whatever the volume of the calibration, however often the run repeats its own."""
    rows, calls = 50_000, 30
    own_s = (rows * row_ns + calls * call_ns) / 1e9
    run = embedded([own_s + engine_us * rows / 1e6] * repetitions, rows=rows, reader_ns=[10**6] * calls)
    found = client_overhead(run, at_price(row_ns, call_ns, rows // fewer, 100))
    assert found["engine.cpu_us_per_row"] == pytest.approx(engine_us, rel=1e-3)
    assert found["instrument.cpu_us_per_row"] == pytest.approx(own_s * 1e6 / rows, rel=1e-3)
    assert found["engine.busy_cores"] == pytest.approx(engine_us * rows / 1e6 / 2.0, rel=1e-3)
    assert found["writers.instrument_share"] == pytest.approx(row_ns * rows / 2e9, rel=1e-3)


def test_a_calibration_dearer_than_the_run_leaves_the_engine_nothing_and_not_less() -> None:
    assert client_overhead(embedded([0.1]), at_price(10_000, 0))["engine.cpu_us_per_row"] == 0


def test_a_run_that_was_not_watched_has_no_shares_rather_than_wrong_ones() -> None:
    assert client_overhead(synthetic.run("sqlite"), at_price(100, 100)) == {}


@pytest.mark.parametrize(("row_ns", "outcome"), [(4_000, Outcome.PASS), (36_000, Outcome.INVALID)])
def test_a_client_beside_its_engine_is_judged_by_its_own_work(row_ns: int, outcome: Outcome) -> None:
    """50,000 rows in 2 s: at 36 µs a row the client's own work is nine tenths of the figure."""
    run = embedded([1.9])
    (m,) = analyse(StudyRecord(synthetic.STUDY, [run], calibrations={"sqlite": at_price(row_ns, 0)})).runs
    (detail,) = [v for v in m.verdicts if v.guard == "client not saturated"]
    assert detail.outcome is outcome and "by subtraction" in detail.sentence
    alone = [v for v in measured_run(run).verdicts if v.guard == "client not saturated"]
    assert [v.outcome for v in alone] == [Outcome.NOTE]


# The plan.


def planned(*engines: str) -> StudyPlan:
    study = load_study("telemetry-quickstart", scale="full", engines=list(engines))
    return plan_study(study, {engine: server(engine) for engine in engines})


def test_points_that_do_the_same_work_share_one_calibration() -> None:
    plan = planned("duckdb", "sqlite")
    assert len(plan.calibrations) == 3, "one a batch size, whatever the engine"
    assert set(plan.calibrated_by) == {p.id for p in plan.points}
    assert {r.run_id for r in plan.calibrations} == set(plan.calibrated_by.values())
    assert [r.run_id for r in plan.all_runs if r.block == 0][-3:] == [r.run_id for r in plan.calibrations]
    assert len({r.run_id for r in plan.all_runs}) == len(plan.runs) + 3


def test_a_server_and_the_null_engine_itself_need_none() -> None:
    assert planned("postgresql", "null", "null:text").calibrations == ()


def test_a_calibration_makes_the_rows_and_calls_of_its_point_and_nothing_else() -> None:
    plan = planned("sqlite")
    for run in plan.calibrations:
        point = next(p for p, by in plan.calibrated_by.items() if by == run.run_id)
        whole = next(s for s in plan.planned[point].plan["segments"] if s.get("phase") == "measure")
        (segment,) = run.plan["segments"]
        assert [r["name"] for r in segment["roles"]] == [r["name"] for r in whole["roles"]]
        assert segment["roles"][0]["work"] == whole["roles"][0]["work"]
        assert run.plan["target"]["engine"] == "null" and segment["repeat"]["fresh"] == []
