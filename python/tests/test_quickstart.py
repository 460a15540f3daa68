"""The first study: few runs, so that its figures come soon, and every point measured for long enough."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan import draft
from inrush.plan.calibration import is_price
from inrush.plan.planned import PlannedRun, StudyPlan
from inrush.run.call import StudyCall
from inrush.run.prepare import prepare
from inrush.targets.deployment import Deployment
from tests.engines.border import run as made

#: Of each run of a point, s; of all runs together.
MEASURED_S = 0.5
MEASURED_S_OF_ALL = 7.0


def planned(scale: str | None = None) -> StudyPlan:
    return prepare(StudyCall("quickstart", scale)).plan


def at_least_s(run: PlannedRun) -> float:
    [repeat] = [s["repeat"] for s in run.plan["segments"] if s.get("phase") == "measure"]
    return float(repeat["at_least_ns"] / 1e9)


def test_the_quickstart_is_fourteen_runs_of_which_seven_seconds_are_measured() -> None:
    plan = planned()
    assert len(plan.all_runs) == 14 and not plan.confirmations
    assert sum(at_least_s(run) for run in plan.all_runs) <= MEASURED_S_OF_ALL


def test_every_point_of_the_quickstart_is_measured_for_half_a_second_three_times() -> None:
    plan = planned()
    assert {at_least_s(run) for run in plan.runs} == {MEASURED_S}
    counts = {point: sum(run.point == point for run in plan.runs) for point in plan.planned}
    assert set(counts.values()) == {3} and len(counts) == 4


def test_the_first_run_of_the_quickstart_gives_a_figure() -> None:
    """Neither a pilot, which enters none, nor the price of the client's own work."""
    first, *_ = planned().all_runs
    assert first.block == 1 and not is_price(first.point)


def test_runs_that_price_the_client_follow_the_first_block_with_a_pilot_and_without() -> None:
    for scale in (None, "full"):
        plan = planned(scale)
        kinds = ["own" if is_price(run.point) else run.block for run in plan.all_runs]
        first = plan.study.blocks.start
        before = kinds[: kinds.index("own")]
        assert set(before) == {first} and len(before) == len(plan.planned)
        assert sorted(run.run_id for run in plan.all_runs) == sorted(
            run.run_id for run in (*plan.runs, *plan.calibrations)
        )


def test_the_full_quickstart_has_what_the_short_one_leaves_out() -> None:
    plan = planned("full")
    assert plan.study.has_pilot and plan.study.repeats.confirmations == 10
    assert plan.study.factors["batch_rows"] == (200, 2_000, 20_000)


def test_repetitions_are_proven_by_every_row_and_the_last_table_also_by_sums() -> None:
    for run in planned().runs:
        [repeat] = [s["repeat"] for s in run.plan["segments"] if s.get("phase") == "measure"]
        assert [(p["screen"], p["items"], bool(p["read_back"])) for p in repeat["proofs"]] == [("", [], True)]
        written, looked_at = next(s["proofs"] for s in run.plan["segments"] if s["kind"] == "proof")
        for last in (written, looked_at):
            assert last["screen"] and last["items"] and last["read_back"]


def test_the_reader_looks_at_rows_that_are_there_before_the_clock_starts() -> None:
    """It looked at the writers' table: most of its calls met an empty one, and took 2 µs on SQLite."""
    for scale in (None, "xs", "full"):
        for run in planned(scale).runs:
            plan = run.plan
            phases = [s.get("phase") for s in plan["segments"] if s["kind"] == "drive"]
            assert phases == ["load", "measure"]
            load, measure = (s for s in plan["segments"] if s["kind"] == "drive")
            [filled] = [r["work"] for r in load["roles"]]
            writers, readers = measure["roles"]
            looked_at = plan["tables"][filled["table"]]["name"]
            ports = 100 if scale == "xs" else 1_000
            assert filled["rows"] >= 2 * ports, "an alert compares two sweeps"
            assert writers["work"]["table"] != filled["table"]
            queries = [
                json.dumps(o)
                for o in plan["operations"]
                if o["name"] == readers["operations"][0]["operation"]
            ]
            assert all(looked_at.strip('"').rpartition(".")[2] in query for query in queries) and queries


def test_a_repetition_too_large_to_be_read_back_keeps_its_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "READ_BACK_ROWS", 39_999)
    for run in planned().runs:
        [repeat] = [s["repeat"] for s in run.plan["segments"] if s.get("phase") == "measure"]
        whole, *ranges = repeat["proofs"]
        assert whole["screen"] and whole["items"] and not whole["read_back"]
        assert ranges and all(r["read_back"] and not r["screen"] for r in ranges)


@pytest.mark.parametrize(("stored", "holds"), [("xmit_data", True), ("xmit_data + 1", False)])
def test_one_value_that_changes_in_a_repetition_is_found_by_reading_back(
    stored: str, holds: bool, tmp_path: Path
) -> None:
    first = next(r for r in planned("xs").runs if r.plan["target"]["engine"] == "sqlite")
    plan: dict[str, Any] = json.loads(json.dumps(first.plan))
    table = plan["tables"][0]["name"]
    [repeat] = [s["repeat"] for s in plan["segments"] if s.get("phase") == "measure"]
    repeat |= {"at_least_ns": 10**12, "max": 2}  # twice on a slow machine too
    create = next(s for s in plan["segments"] if s["kind"] == "control")
    create["statements"].append(
        f"CREATE TRIGGER one AFTER INSERT ON {table} WHEN NEW.rowid = 1234 "
        f"BEGIN UPDATE {table} SET xmit_data = {stored} WHERE rowid = NEW.rowid; END"
    )
    ran = made(Deployment(server("sqlite"), Target("sqlite", "")), plan, tmp_path)
    measured = [p for p in ran.tables["proofs"] if p["item"].startswith("read_back(")]
    assert {p["repetition"] for p in measured} == ({0, 1} if holds else {0})
    assert all(p["holds"] for p in measured) is holds
