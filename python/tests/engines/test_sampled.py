"""Sizes that are asked for while rows come in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment

from .border import Ran, run

STUDY = str(Path(__file__).parent / "contract.toml")


def ran(engine: str, target: Target, folder: Path, **sample: Any) -> tuple[Ran, int]:
    """A run whose sizes are asked for every ms of its measured segment, and that segment's index."""
    study = load_study(STUDY, engines=[engine], overrides=["record.sizes_s=0.5", 'method=["bulk"]'])
    plan = plan_study(study, {engine: server(engine)}).block(1)[0].plan
    at = next(i for i, s in enumerate(plan["segments"]) if s.get("phase") == "measure")
    drive = plan["segments"][at]
    assert drive["sample"]["every_ns"] == 500_000_000
    drive = {**drive, "sample": {**drive["sample"], "every_ns": 1_000_000, **sample}}
    deployment = Deployment(server(engine), target)
    result = run(
        deployment, {**plan, "segments": [*plan["segments"][:at], drive, *plan["segments"][at + 1 :]]}, folder
    )
    deployment.drop_leftover(plan)
    return result, at


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgresql", "timescaledb"])
def test_sizes_are_told_while_rows_come_in(engine: str, folder: Path, request: pytest.FixtureRequest) -> None:
    target = Target(engine, "") if server(engine).embedded else request.getfixturevalue(engine)
    result, at = ran(engine, target, folder)
    assert result.last == {"event": "finished", "ended_by": "work"}, result.last
    assert not result.broken()
    (segment,) = [s for s in result.tables["segments"] if s["segment"] == at]
    sampled = [s for s in result.tables["sizes"] if s["segment"] == at]
    assert all(segment["start_ns"] <= s["t_ns"] for s in sampled)
    # A segment ends with its work. What was asked meanwhile may be answered behind it, each probe once.
    behind = [s["name"] for s in sampled if s["t_ns"] > segment["end_ns"]]
    assert len(behind) < len(sampled) and len(set(behind)) == len(behind)
    last = {s["name"] for s in result.tables["sizes"] if s["segment"] != at}
    assert sampled and {s["name"] for s in sampled} <= last


def test_a_statement_that_fails_is_a_gap_and_no_reason_to_end(folder: Path) -> None:
    probes = [{"into": "sizes", "statement": "SELEKT 1"}, {"into": "sizes", "statement": "SELECT 'one', 1"}]
    result, at = ran("sqlite", Target("sqlite", ""), folder, probes=probes)
    assert result.last["event"] == "finished"
    assert {s["name"] for s in result.tables["sizes"] if s["segment"] == at} == {"one"}


def test_a_sample_that_has_no_table_or_no_interval_is_refused(folder: Path) -> None:
    with pytest.raises(_core.CoreFailure, match=r"(?s)sample\.every_ns is 0.*`sise`"):
        ran("sqlite", Target("sqlite", ""), folder, every_ns=0, probes=[{"into": "sise", "statement": ""}])
