"""What an acknowledged row of NDB survives: what is said of a cluster, and what is there when all of its nodes have died."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.durability_level import Survives
from inrush.engines.base.instance import Instance, Stop, Target
from inrush.targets.deployment import Deployment

from .border import run
from .servers import SETTINGS, control, need, own_server
from .test_trouble import SECOND, changed, plan_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

BATCHES_PER_S, BATCH_ROWS = 20, 10
RATE_PER_S = BATCHES_PER_S * BATCH_ROWS
#: After so many rows all data nodes die, in the middle of some checkpoint or other.
ROWS = 8 * RATE_PER_S


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[[Mapping[str, str], Mapping[str, str]], Deployment]]:
    need("ndb")
    started: list[Instance] = []

    def begin(settings: Mapping[str, str], options: Mapping[str, str]) -> Deployment:
        instance = own_server("ndb").start(folder / "ndb", {**SETTINGS["ndb"], **settings})
        started.append(instance)
        return Deployment(server("ndb"), Target("ndb", instance.url, {**options}, instance))

    yield begin
    for instance in started:
        own_server("ndb").stop(instance, Stop.KILL)


def acknowledged_until_all_died(own: Deployment, folder: Path) -> tuple[int, dict[str, Any]]:
    """Rows that a paced writer was told of, and its plan."""
    assert own.target.instance is not None
    nodes = [pid for name, pid in own.target.instance.processes.items() if name.startswith("node_")]

    def at(event: Mapping[str, Any]) -> None:
        if (
            event["event"] == "progress"
            and event["label"] == "measure"
            and event["roles"]["writers"]["rows"] >= ROWS
        ):
            for pid in nodes:
                os.kill(pid, signal.SIGKILL)
            nodes.clear()

    writers = {
        "schedule": {"kind": "constant", "rate_per_s": float(BATCHES_PER_S)},
        "work": {"kind": "rows", "table": 0, "first_row": 0, "rows": 10**6, "batch_rows": BATCH_ROWS},
        "until": {"kind": "time", "ns": 60 * SECOND},
    }
    ran = run(own, changed(plan_of("ndb"), writers=writers), folder / "run", at_event=at)
    assert ran.last["event"] == "failed" and not nodes, ran.last
    return ran.totals("writers")["rows"], ran.plan


def stored_after_restart(own: Deployment, plan: Mapping[str, Any]) -> int:
    assert own.target.instance is not None
    own.restart(Stop.KILL)
    count = {"kind": "count", "table": plan["tables"][0]["name"]}
    ((rows,),) = control(own.target.instance, {"text": "count", "directives": {"ndb": count}})  # type: ignore[typeddict-item]
    return int(rows)


@pytest.mark.parametrize("between_ms", ["2000", pytest.param("500", marks=pytest.mark.slow)])
def test_when_all_nodes_die_no_more_is_lost_than_what_was_said(
    start: Callable[..., Deployment], folder: Path, between_ms: str
) -> None:
    own = start({"TimeBetweenGlobalCheckpoints": between_ms}, {})
    said = own.durability({"replicas": "2", "logging": "true"}, folder)
    assert (said.survives, said.window_s) == (Survives.PROCESS_CRASH, 2e-3 * int(between_ms))
    acknowledged, plan = acknowledged_until_all_died(own, folder)
    stored = stored_after_restart(own, plan)
    lost_s = (acknowledged - stored) / RATE_PER_S
    print(f"{acknowledged} acknowledged, {stored} stored: the last {lost_s:.2f} s of {said.window_s:g}")
    assert acknowledged >= ROWS and stored > 0
    assert 0 < lost_s <= said.window_s


def test_a_table_without_logging_is_empty_when_all_nodes_have_died(
    start: Callable[..., Deployment], folder: Path
) -> None:
    own = start({}, {"logging": "false"})
    said = own.durability({"replicas": "2", "logging": "false"}, folder)
    assert (said.survives, said.window_s) == (Survives.PROCESS_CRASH, 0), "no time bounds what is lost"
    acknowledged, plan = acknowledged_until_all_died(own, folder)
    assert acknowledged >= ROWS and stored_after_restart(own, plan) == 0
