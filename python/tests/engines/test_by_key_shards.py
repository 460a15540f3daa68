"""Calls by key over two real shards, through their coordinator and straight: every answer and every row that is left is right."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan.planned import PlannedRun
from inrush.run.call import StudyCall
from inrush.run.prepare import prepare
from inrush.study.shards import COORDINATOR, STRAIGHT, WAYS
from inrush.targets import deployments
from inrush.targets.deployment import Deployment
from tests.test_by_key_run import STUDY, WORKLOAD

from .border import Ran, run
from .servers import SETTINGS, control, need, scratch

SHARDS = 2
START = f"postgresql,shards={SHARDS}"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Deployment]:
    need("postgresql")
    with scratch() as path:
        settings = {**SETTINGS["postgresql"], "shards": str(SHARDS)}
        deployment = deployments.started(server("postgresql"), path / "postgresql", settings, print)
        try:
            yield deployment
        finally:
            deployments.stop(deployment)


def planned(study: str, *overrides: str, scale: str | None = None) -> list[PlannedRun]:
    return prepare(StudyCall(study, scale, overrides, start=(START,))).plan.block(1)


def writing(folder: Path, depth: int, way: str) -> PlannedRun:
    """All calls by key that there are on that way, in one run."""
    workload, study = WORKLOAD, STUDY.replace("ENGINE", "postgresql").replace("DEPTHS", f"[{depth}]")
    if way == COORDINATOR:
        study = study.replace('operation = "set"', 'operation = "change"').replace("[roles]", "[roles]", 1)
        workload = workload.replace(
            'set = { kind = "key", does = "write", table = "t", columns = ["a", "b", "f"] }', ""
        )
        # Two roles at once do not share an operation that counts its calls.
        workload += '\nagain = { kind = "key", does = "update", table = "t", columns = ["a", "b", "f"] }\n'
        study = study.replace('setters = { operation = "change"', 'setters = { operation = "again"')
    (folder / "workload.toml").write_text(workload)
    (folder / "by-key.toml").write_text(study)
    (one,) = planned(str(folder / "by-key.toml"), f"shards.way={way}")
    return one


def left_of(deployment: Deployment) -> list[list[Any]]:
    """Schemas of runs, on each server."""
    asked = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'inrush\\_%'"
    return [control(place, asked) for place in (deployment.target, *deployment.shards)]


def check_right(ran: Ran, but: frozenset[str] = frozenset()) -> None:
    assert ran.last["event"] == "finished", ran.last
    failed = [row for row in ran.tables["failures"] if row["outcome"] not in but]
    assert not failed, failed
    assert not ran.broken(), ran.broken()
    assert {"rows", "rows_by_key"} <= {row["item"] for row in ran.tables["proofs"]}


@pytest.mark.parametrize(("way", "depth"), [(COORDINATOR, 1), (STRAIGHT, 1), (STRAIGHT, 64)])
def test_rows_that_come_go_and_change_over_shards_are_proven_while_they_are_read(
    cluster: Deployment, tmp_path: Path, way: str, depth: int
) -> None:
    one = writing(tmp_path, depth, way)
    # Its coordinator opens transactions on shards as repeatable reads: of two that change a row at once, one is in conflict.
    ran = run(cluster, one.plan, tmp_path, at_event=lambda event: None)
    check_right(ran, frozenset({"conflict"}))
    roles = {row["role"]: row["ok"] for row in ran.tables["repetitions"]}
    assert roles["putters"] == 250 or depth > 1
    assert all(roles[role] > 0 for role in ("readers", "putters", "takers", "changers", "setters")), roles
    assert left_of(cluster) == [[["0"]]] * (SHARDS + 1), "nothing of a run is left on any server"


@pytest.mark.parametrize("way", WAYS)
def test_both_shards_have_their_part_of_the_rows_and_of_the_cpu(
    cluster: Deployment, tmp_path: Path, way: str
) -> None:
    """Looked at while the run measures."""
    one = next(
        r
        for r in planned("keylookup-shards", "shards=2", "threads=2", "schedule.measure_s=1", scale="xs")
        if f"way={way}" in r.point
    )
    counts: list[int] = []

    def look(event: Mapping[str, Any]) -> None:
        if event["event"] == "segment" and event["label"] == "measure":
            table = f"{one.namespace}.record_25x4"
            counts.extend(
                int(control(shard, f"SELECT count(*) FROM {table}")[0][0]) for shard in cluster.shards
            )

    ran = run(cluster, one.plan, tmp_path, at_event=look)
    assert ran.last["event"] == "finished", ran.last
    assert not ran.tables["failures"] and not ran.broken()
    assert len(counts) == SHARDS and sum(counts) == 2_000 and min(counts) > 800, counts
    cpu_s: dict[str, float] = {}
    for row in ran.tables["resources"]:
        if row["metric"] in ("user_s", "system_s") or row["metric"].startswith("cpu"):
            cpu_s[row["role"]] = max(cpu_s.get(row["role"], 0.0), row["value"])
    parts = {"server/coordinator", "server/shard_0", "server/shard_1"}
    assert parts | {"server"} <= cpu_s.keys(), sorted(
        {(r["role"], r["metric"]) for r in ran.tables["resources"]}
    )


#: A row of another key, no row, and a wrong value.
LIES = {"other_key": "wrong", "short": "missing", "lie": "wrong"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lie", LIES)
def test_a_wrong_answer_over_shards_is_told(cluster: Deployment, tmp_path: Path, way: str, lie: str) -> None:
    one = next(r for r in planned("keylookup-shards", "shards=2", scale="xs") if f"way={way}" in r.point)
    ran = run(cluster, one.plan, tmp_path, [lie])
    assert {row["outcome"] for row in ran.tables["failures"]} - {"lost"} == {LIES[lie]}, ran.last


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lie", ["forget", "other_version"])
def test_a_call_that_is_acknowledged_and_not_done_is_in_no_proof_over_shards(
    cluster: Deployment, tmp_path: Path, way: str, lie: str
) -> None:
    ran = run(cluster, writing(tmp_path, 1, way).plan, tmp_path, [f"{lie}:20"])
    assert "rows_by_key" in {row["item"] for row in ran.broken()}, ran.last


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_a_load_that_a_shard_lost_are_in_no_proof(
    cluster: Deployment, tmp_path: Path, way: str
) -> None:
    """Taken from one shard behind inrush's back: the sums of the other one hold."""
    one = next(r for r in planned("keylookup-shards", "shards=2", scale="xs") if f"way={way}" in r.point)

    def lose(event: Mapping[str, Any]) -> None:
        if event["event"] == "segment" and event["label"] == "measure":
            table = f"{one.namespace}.record_25x4"
            control(cluster.shards[1], f"DELETE FROM {table} WHERE k = (SELECT min(k) FROM {table})")

    ran = run(cluster, one.plan, tmp_path, at_event=lose)
    broken = {row["item"]: (row["expected"], row["found"]) for row in ran.broken()}
    assert broken["rows"] == ("2000", "1999") and any(item.startswith("read_back") for item in broken), broken


def test_a_shard_that_is_killed_in_a_run_loses_no_acknowledged_row(tmp_path: Path) -> None:
    """It comes back while its calls are tried again; the proof knows every row that was acknowledged before."""
    need("postgresql")
    twin = server("postgresql")
    with scratch() as path:
        deployment = deployments.started(
            twin, path / "postgresql", {**SETTINGS["postgresql"], "shards": "2"}, print
        )
        try:
            one = writing(tmp_path, 8, STRAIGHT)
            for segment in one.plan["segments"]:
                if segment["kind"] == "drive" and segment["label"] == "measure":
                    for role in segment["roles"]:
                        role["schedule"] = {"kind": "closed", "think_ns": 2_000_000}
                        role["depth"] = 1
            ran = run(deployment, one.plan, tmp_path, at_event=Killing(deployment, 1))
        finally:
            deployments.stop(deployment)
    outcomes = {row["outcome"] for row in ran.tables["failures"]}
    assert outcomes and outcomes <= {"lost", "refused", "conflict", "overloaded", "other"}, (
        outcomes,
        ran.last,
    )
    assert ran.last["event"] == "finished", ran.last
    assert not ran.broken(), ran.broken()


class Killing:
    """Ends a shard at once, soon after the measured segment has begun, and starts it again at its data and its port."""

    def __init__(self, deployment: Deployment, shard: int) -> None:
        self.deployment, self.shard, self.done = deployment, shard, False

    def __call__(self, event: Mapping[str, Any]) -> None:
        # A load tells of its progress too: behind it, sessions that are yet to connect would be refused.
        if self.done or event["event"] != "progress" or event["phase"] != "measure":
            return
        self.done = True
        instance = self.deployment.shards[self.shard].instance
        assert instance is not None and self.deployment.server.lifecycle is not None
        for pid in instance.pids:
            os.kill(pid, signal.SIGKILL)
        life = self.deployment.server.lifecycle
        again = life.start(instance.data, instance.settings)
        self.deployment.shards = tuple(
            Target("postgresql", again.url, {}, again) if k == self.shard else s
            for k, s in enumerate(self.deployment.shards)
        )
        assert again.port == instance.port, "its sessions come back to the same address"
