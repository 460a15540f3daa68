"""Samples: planned as rows that are due together, deleted by age to the row, and measured from due until stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.engines import server
from inrush.engines.sqlite import Sqlite
from inrush.errors import UsageError
from inrush.plan.active_roles import even_parts
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.report.plan_text import plan_lines
from inrush.results.schema import SCHEMAS
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from inrush.stats.samples import intervals_s
from inrush.study.reading import load_study
from tests import synthetic

S = 1_000_000_000


def planned(study: str, *overrides: str, scale: str = "xs") -> StudyPlan:
    found = load_study(study, scale=scale, overrides=overrides, engines=["sqlite"])
    return plan_study(found, {"sqlite": Sqlite()})


def segment(plan: StudyPlan, label: str) -> dict[str, Any]:
    segments = plan.runs[0].plan["segments"]
    found: dict[str, Any] = next(s for s in segments if s["label"] == label)
    return found


@pytest.mark.parametrize(
    ("parts", "whole"), [((1, 1), 1.0), ((1, 2), None), ((2, 1), None), ((2, 1, 2), None), ((1, 2, 3), None)]
)
def test_parts_of_one_interval_alone_have_comparable_samples(
    parts: Sequence[int], whole: float | None
) -> None:
    roles = [
        {**synthetic.role_plan(f"writers/{k}"), "schedule": {"kind": "samples", "every_ns": every * S}}
        for k, every in enumerate(parts)
    ]
    run = synthetic.run()
    held = {**run.plan, "segments": [{**run.plan["segments"][-1], "roles": roles}]}
    own = {f"writers/{k}": float(every) for k, every in enumerate(parts)}
    assert intervals_s(replace(run, plan=held)) == {"writers": whole, **own}


# --- plans


def test_a_sweep_is_due_at_once_and_split_evenly_over_the_sessions() -> None:
    roles = {r["name"]: r for r in segment(planned("telemetry-production"), "monitor")["roles"]}
    ports = roles["monitor.ports/port_errors"]
    assert (ports["schedule"]["every_ns"], ports["schedule"]["parts"]) == (S // 10, 8)
    assert (ports["work"]["rows"], ports["work"]["batch_rows"]) == (15 * 200, 25)
    assert ports["schedule"]["collect"] == {
        "name": "fabric sweep", "median_ns": S // 100, "sigma": 0.3, "most_ns": S // 5,
    }  # fmt: skip
    assert "collect" not in roles["monitor.jobs/mpi_process_info"]["schedule"]


def test_no_delete_goes_beyond_the_last_one_and_what_it_leaves_is_proven_to_the_row() -> None:
    plan = planned("telemetry-production")
    deletes = next(r for r in segment(plan, "monitor")["roles"] if r["name"] == "monitor.deletes")
    last_due_s = (deletes["work"]["count"] - 1) / deletes["schedule"]["rate_per_s"]
    operations = {o["name"]: o for o in plan.runs[0].plan["operations"]}
    tables = [t["stream"] for t in plan.runs[0].plan["tables"]]
    proofs = {tables[p["table"]]: p for p in segment(plan, "proof")["proofs"] if p["screen"]}
    epoch_s = plan.runs[0].plan["epoch_ns"] // S
    # Behind 0.5 s that are loaded 15 sweeps of 0.1 s: the last at 1.9 s, kept for 0.5 s.
    (cut,) = operations["retain/port_errors"]["params"]
    assert cut["gen"]["value"] == epoch_s * 1000 + 1400
    # Half a second after the begin of the step rows of a second of data time are there, and half of them are kept.
    assert operations["pe_delete"]["params"][0]["gen"] == {"kind": "now_minus", "ns": 0}
    assert last_due_s <= 1.4
    assert (proofs["port_errors"]["first_row"], proofs["port_errors"]["rows"]) == (14 * 200, 6 * 200)
    # Sweeps at 0, 0.5, 1 and 1.5 s; those before 1 s are gone.
    assert (proofs["job_info"]["first_row"], proofs["job_info"]["rows"]) == (80, 80)
    assert [r["name"] for r in segment(plan, "retain")["roles"]] == [
        f"retain/{t}" for t in tables if t in proofs
    ]


def test_nothing_is_deleted_where_nothing_gets_old_enough() -> None:
    plan = planned("telemetry-production", "retention_s=3600")
    assert not [s for s in plan.runs[0].plan["segments"] if s["label"] == "retain"]
    assert {p["first_row"] for p in segment(plan, "proof")["proofs"]} == {0}


@pytest.mark.parametrize("scale", ["osc", "frontera2x", "full"])
def test_the_large_presets_of_production_delete_while_the_published_samples_are_written(scale: str) -> None:
    """Rows of one hour are kept. Of engines that drop whole hours none went in a run of two hours or less."""
    for engine in ("mysql", "clickhouse"):
        found = load_study("telemetry-production", scale, (), [engine])
        plan = plan_study(found, {engine: server(engine)})
        proofs = [p for p in segment(plan, "proof")["proofs"] if p["screen"]]
        role = next(r for r in segment(plan, "monitor")["roles"] if r["name"] == "monitor.ports/port_errors")
        sweep = role["work"]["batch_rows"] * role["schedule"]["parts"]
        tables = [t["stream"] for t in plan.runs[0].plan["tables"]]
        (left,) = [p for p in proofs if tables[p["table"]] == "port_errors"]
        assert left["first_row"] >= 3_600 * sweep, engine
        assert left["rows"] >= 3_600 * sweep
        # Deletes go on for the published 2,400 samples, behind the hours that are loaded.
        assert (role["work"]["first_row"], role["work"]["rows"]) == (2 * 3_600 * sweep, 2_400 * sweep)


def test_a_delete_by_age_needs_a_clock_that_is_data_time() -> None:
    with pytest.raises(UsageError, match="a role with `samples` of a sweep each"):
        planned("telemetry-production", "steps.monitor.roles.ports.samples.every_s=0.05")


def test_the_presets_of_production_write_the_published_rows_a_sample() -> None:
    for scale, rows in (("osc", 5_000), ("frontera2x", 50_000)):
        plan = planned("telemetry-production", scale=scale)
        roles = {r["name"]: r for r in segment(plan, "monitor")["roles"]}
        for table in ("port_data_counters", "port_errors"):
            role = roles[f"monitor.ports/{table}"]
            assert role["work"]["batch_rows"] * role["schedule"]["parts"] == rows
            assert role["work"]["rows"] == 2_400 * rows
            assert (role["sessions"], role["schedule"]["every_ns"]) == (8, S)
        assert roles["monitor.jobs/mpi_process_info"]["schedule"]["every_ns"] == 5 * S


@given(st.integers(1, 5_000), st.integers(1, 100))
def test_parts_are_equal_and_as_few_as_asked_allows(rows: int, parts: int) -> None:
    parts = min(parts, rows)
    found = even_parts(rows, parts)
    assert rows % found == 0 and found >= parts
    assert all(rows % n for n in range(parts, found))


# --- figures


def sample(role: str, number: int, due: float, **times: float) -> dict[str, Any]:
    """Seconds after due; a time that is not given never came."""
    at = {f"{name}_ns": round((due + after) * S) for name, after in times.items()}
    base = dict.fromkeys(("collected_ns", "sent_ns", "done_ns", "seen_ns"), 0)
    row = {**base, **at}
    on_time = {f"{name}_on_time_ns": row[f"{name}_ns"] for name in ("sent", "done")}
    missing = 0 if "done" in times else 1
    return {"segment": 0, "repetition": 0, "role": role, "sample": number, "due_ns": round(due * S), "rows": 5,
            "missing": missing, **row, **on_time}  # fmt: skip


def figures(samples: Sequence[dict[str, Any]], every_s: float = 1.0) -> dict[str, float]:
    schedule = {"kind": "samples", "every_ns": round(every_s * S), "parts": 1}
    names = sorted({s["role"] for s in samples})
    roles = [
        {"name": n, "schedule": schedule, "operations": [{"operation": "insert", "weight": 1}]} for n in names
    ]
    plan = {"segments": [{"kind": "drive", "phase": "measure", "roles": roles}], "operations": []}
    ran = {
        "segment": 0,
        "kind": "drive",
        "label": "measure",
        "phase": "measure",
        "start_ns": 0,
        "end_ns": 9 * S,
    }
    segments = [{**ran, "ended_by": "work", "client_cpu_ns": 0}]
    tables = {
        "samples": pa.Table.from_pylist(list(samples), SCHEMAS["samples"]),
        "segments": pa.Table.from_pylist(segments, SCHEMAS["segments"]),
    }
    return figures_of_run(RunRecord("r", plan, {}, {}, tables))


def test_a_sample_is_as_late_as_its_slowest_table() -> None:
    found = figures([
        sample("w/a", 0, 1.0, collected=0.1, sent=0.2, done=0.5),
        sample("w/b", 0, 1.0, collected=0.1, sent=0.3, done=0.9),
    ])  # fmt: skip
    assert found["w.sample_p50_s"] == pytest.approx(0.9)
    assert found["w/a.sample_p50_s"] == pytest.approx(0.5)
    assert found["w.collect_p50_s"] == pytest.approx(0.1)
    assert found["w.queue_p50_s"] == pytest.approx(0.2)
    assert found["w.insert_p50_s"] == pytest.approx(0.6)


def test_a_sample_in_time_is_stored_before_the_next_is_due() -> None:
    found = figures([
        sample("w", 0, 1.0, collected=0, sent=0.1, done=0.999),
        sample("w", 1, 2.0, collected=0, sent=0.1, done=1.001),
    ])  # fmt: skip
    assert (found["w.in_time_share"], found["w.stored_share"]) == (0.5, 1.0)


def test_a_sample_that_was_never_stored_is_late_and_slower_than_every_other() -> None:
    found = figures(
        [sample("w", 0, 1.0, collected=0, sent=0.1), sample("w", 1, 2.0, collected=0, sent=0.1, done=0.2)]
    )
    assert (found["w.in_time_share"], found["w.stored_share"]) == (0.5, 0.5)
    assert found["w.sample_s"] == found["w.sample_p99_s"] == float("inf")
    assert found["w.sample_p50_s"] == pytest.approx(0.2), "of the two the faster"
    nothing = figures([sample("w", 0, 1.0)])
    assert nothing["w.in_time_share"] == 0.0 and nothing["w.sample_p50_s"] == float("inf")


def test_what_is_late_and_made_up_for_is_told_from_a_backlog_at_the_end() -> None:
    def of(took: Sequence[float | None], repetition: int = 0) -> list[dict[str, Any]]:
        made = [
            sample("w", k, k, collected=0, sent=0.1, **({} if s is None else {"done": s}))
            for k, s in enumerate(took)
        ]
        return [{**one, "repetition": repetition} for one in made]

    many = [0.5] * 200
    assert figures(of([*many, 1.2, *many]))["w.caught_up"] == 1.0
    assert figures(of([*many, 1.2]))["w.caught_up"] == 0.0, "the last one is late"
    assert figures(of([*many, 1.2, 0.5]))["w.caught_up"] == 0.0, "and so is one among the last percent"
    assert figures(of([*many, None, *many]))["w.caught_up"] == 0.0, "a sample was never stored"
    assert figures([*of([*many, 1.2]), *of(many, 1)])["w.caught_up"] == 0.0, "a repetition begins anew"


def test_a_plan_says_what_a_cluster_of_given_ports_and_processes_brings_in() -> None:
    said = "\n".join(
        plan_lines(planned("telemetry-production", "ports=22800", "processes=448000", scale="full"))
    )
    (counters,) = [
        line.split() for line in said.splitlines() if line.lstrip().startswith("port_data_counters ")
    ]
    # 11 values of 8 bytes and two of 4: 96 bytes a row.
    assert counters == ["port_data_counters", "22,800", "2.19", "MB", "7.88", "GB", "189", "GB"]
    assert "89,600" in said and "ports 22,800" in said
