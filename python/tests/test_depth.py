"""Calls in flight: what an engine cannot hold is refused when planned, and never met while a clock runs."""

from __future__ import annotations

from typing import Any

import pytest

from inrush import _core
from inrush.engines import ENGINES, server
from inrush.errors import UsageError
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study, parse_study
from tests.strategies import small_tree, workload_tree
from tests.terminal import Inrush

TREE = workload_tree()


def planned(engines: list[str], **readers: Any) -> None:
    tree = small_tree(engines=engines)
    tree["roles"]["readers"] = {"operation": "pc_count", "sessions": 1, "until": "writers", **readers}
    study = parse_study(tree, TREE, name="small", file="small.toml", workload_file="workload.toml")
    plan_study(study, {engine: server(engine) for engine in engines})


def test_a_shipped_study_on_an_engine_without_its_depth_is_refused_in_one_line(inrush: Inrush) -> None:
    said = inrush("run", "keylookup-depth", "sqlite", "--scale", "xs", "-P", "depth=1,64")
    assert said.code == 2
    (line,) = said.err.strip().splitlines()
    assert "roles.clients.depth is 64" in line and "a session of sqlite has 1 call in flight at most" in line


@pytest.mark.parametrize("engine", ENGINES)
def test_both_twins_know_the_same_greatest_depth(engine: str) -> None:
    assert server(engine).max_depth == _core.max_depth(engine)


def test_a_depth_that_an_engine_cannot_hold_is_refused_with_engine_depth_and_remedy() -> None:
    with pytest.raises(UsageError) as refused:
        planned(["clickhouse", "influxdb", "postgresql"], depth=4)
    message = str(refused.value)
    for engine in ("clickhouse", "influxdb"):
        assert f"small.toml: roles.readers.depth is 4; a session of {engine} has 1 call" in message, message
    assert "in flight at most: say -P roles.readers.depth=1, or use more sessions" in message
    assert "postgresql" not in message


def test_the_study_that_spun_for_ten_minutes_is_refused() -> None:
    study = load_study("telemetry-lookups", "xs", ["roles.users.depth=4"], ["clickhouse"])
    with pytest.raises(UsageError, match=r"roles\.users\.depth is 4; a session of clickhouse"):
        plan_study(study, {"clickhouse": server("clickhouse")})


def test_a_depth_up_to_the_greatest_is_planned() -> None:
    planned(["postgresql", "mysql"], depth=1024)
    with pytest.raises(UsageError, match="depth is 1025"):
        planned(["mysql"], depth=1025)


def test_a_page_has_no_depth() -> None:
    with pytest.raises(UsageError, match="page"):
        planned(["postgresql"], operation="page", depth=2)


def closed_schedules(**schedule: Any) -> list[dict[str, Any]]:
    """Schedules of the readers of every point of a study whose readers have this one."""
    tree = small_tree(engines=["postgresql"])
    tree["factors"] = {**tree.get("factors", {}), "refill": ["each", "half", "round"], "delay_s": [0, 0.0001]}
    readers = {"operation": "pc_count", "sessions": 1, "depth": 8, "until": "writers", "schedule": schedule}
    tree["roles"]["readers"] = readers
    study = parse_study(tree, TREE, name="small", file="small.toml", workload_file="workload.toml")
    runs = plan_study(study, {"postgresql": server("postgresql")}).runs
    roles = [r for run in runs for s in run.plan["segments"] if s["kind"] == "drive" for r in s["roles"]]
    return [dict(r["schedule"]) for r in roles if r["name"] == "readers"]


def test_when_a_session_sends_again_and_how_long_it_waits_can_be_factors() -> None:
    found = {tuple(sorted(s.items())) for s in closed_schedules(refill="@refill", delay_s="@delay_s")}
    closed = {"kind": "closed", "think_ns": 0}
    expected = [
        {**closed, **refill, **delay}
        for refill in ({}, {"refill": "half"}, {"refill": "round"})
        for delay in ({}, {"delay_ns": 100_000})
    ]
    assert found == {tuple(sorted(schedule.items())) for schedule in expected}


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ({"refill": "quarter"}, r"refill is \"quarter\".*each, half, round"),
        ({"delay_s": -1}, r"delay_s is -1"),
        ({"refill": "half", "mode": "constant", "rate_per_s": 5}, r"only a closed schedule has it"),
        ({"delay_s": 0.1, "mode": "poisson", "rate_per_s": 5}, r"only a closed schedule has it"),
        ({"refill": "round", "think_s": 0.1}, r"remove this or think_s"),
    ],
)
def test_a_refill_that_is_none_is_refused(schedule: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        closed_schedules(**schedule)


@pytest.mark.parametrize(
    "roles",
    [
        {"writers": {"samples": {"every_s": 1, "count": 3}, "batch_rows": 100}},
        {
            "writers": {
                "schedule": {"mode": "constant", "rate_per_s": 5},
                "rows": {"total": 500},
                "batch_rows": 100,
            }
        },
        {"readers": {"operation": "page", "table": ["port_errors"]}},
    ],
)
def test_a_refill_that_no_role_sends_by_is_refused(roles: dict[str, dict[str, Any]]) -> None:
    tree = small_tree(
        engines=["postgresql"], kind="mixed", schedule={"measure_s": 1, "refill": "half", "delay_s": 0.01}
    )
    own = {"operation": "insert", "table": "port_errors"}
    tree["roles"] = {name: {**(own if name == "writers" else {}), **of} for name, of in roles.items()}
    del tree["stop"], tree["factors"]
    with pytest.raises(UsageError) as refused:
        parse_study(tree, TREE, name="small", file="small.toml", workload_file="workload.toml")
    for key in ("refill", "delay_s"):
        assert f"schedule.{key} is" in str(refused.value) and "no role sends by it" in str(refused.value)
