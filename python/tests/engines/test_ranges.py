"""A table too large to be read back whole is read back in seeded ranges, on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.engines import server
from inrush.engines.instance import Target
from inrush.plan import draft
from inrush.plan.plan import plan_study
from inrush.study.study import load_study
from inrush.targets.deployment import Deployment

from .border import Ran, run

ENGINES = ("duckdb", "sqlite", "postgresql", "timescaledb", "mysql", "mariadb")


@pytest.fixture
def deployment(engine: str, request: pytest.FixtureRequest) -> Iterator[Deployment]:
    target = Target(engine, "") if server(engine).embedded else request.getfixturevalue(engine)
    yield Deployment(server(engine), target)


def ran(engine: str, deployment: Deployment, folder: Path, faults: list[str]) -> Ran:
    study = load_study("telemetry-quickstart", scale="xs", engines=[engine], overrides=["batch_rows=1000"])
    planned = plan_study(study, {engine: server(engine)}).block(1)
    plan = next(r for r in planned if r.labels["engine"] == engine).plan
    result = run(deployment, plan, folder / f"run{len(faults)}", faults)
    deployment.drop_leftover(plan)
    return result


@pytest.mark.parametrize("engine", ENGINES)
def test_seeded_ranges_of_a_large_table_hold_and_a_swap_in_them_shows(
    engine: str, deployment: Deployment, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft, "READ_BACK_ROWS", 500)
    monkeypatch.setattr("inrush.plan.ranges.RANGE_ROWS", 800)
    honest = ran(engine, deployment, folder, [])
    ranges = {p["item"] for p in honest.tables["proofs"] if p["item"].startswith("read_back(")}
    assert len(ranges) == 4 and not honest.broken(), honest.broken()
    assert all(p["found"].startswith("200 rows") for p in honest.tables["proofs"] if p["item"] in ranges)
    lying = ran(engine, deployment, folder, ["cut_ms", "swap:2"])
    assert any(p["item"].startswith("read_back(") for p in lying.broken())
