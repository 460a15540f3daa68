"""Shards that `--start ENGINE,shards=N` starts for a study: how many it gets, where its rows go, and that all of them end."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.border.pipeline import shards_of
from inrush.engines import server
from inrush.engines.base.instance import Instance, Release, Stop, Target
from inrush.errors import TargetError, UsageError
from inrush.load.pipeline.addresses import at_ends
from inrush.run.call import StudyCall
from inrush.run.prepare import prepare
from inrush.targets import deployments
from inrush.targets.deployment import Deployment, at_deployment
from tests.strategies import with_factor


def shard_counts(start: tuple[str, ...], *overrides: str, named: str = "pipeline-parallel") -> list[int]:
    plan = prepare(StudyCall(named, "xs", ("pipelines=1", *overrides), start=start)).plan
    return [len(shards_of(plan.planned[p.id].plan)) for p in plan.points if p.engine == "postgresql"]


def test_a_study_of_pipelines_goes_over_all_shards_that_are_started_or_as_many_as_it_names(
    tmp_path: Path,
) -> None:
    four = ("postgresql,shards=4",)
    assert shard_counts(four) == [4]
    assert shard_counts(four, "pipeline.shards=2") == [2]
    varied = with_factor(tmp_path, "of = [1, 2, 4]", "shards")
    assert shard_counts(four, named=varied) == [1, 2, 4]
    with pytest.raises(UsageError, match="up to 4 shards"):
        shard_counts(("postgresql,shards=2",), named=varied)


@pytest.mark.parametrize(
    ("study", "start", "overrides", "says"),
    [
        ("pipeline-parallel", "postgresql,shards=2", ["pipeline.shards=3"], "up to 3 shards"),
        ("pipeline-parallel", "postgresql,shards=0", [], "1 to 64"),
        ("pipeline-parallel", "mysql,shards=2", [], "no coordinator"),
        ("quickstart", "postgresql,shards=2", [], "run on one server"),
    ],
)  # fmt: skip
def test_shards_that_a_study_cannot_use_are_refused_before_anything_starts(
    study: str, start: str, overrides: list[str], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        prepare(StudyCall(study, "xs", tuple(overrides), start=(start,)))


def instance(url: str, pid: int) -> Instance:
    return Instance(
        "postgresql", Path("/d"), url, 1, pid, Path("/d/log"), Release("postgresql", "15", Path("/"))
    )


def started_deployment(count: int) -> Deployment:
    made = [instance(f"postgresql://h/{k}", 100 + k) for k in range(count + 1)]
    first, *rest = [Target("postgresql", i.url, {}, i) for i in made]
    return Deployment(server("postgresql"), first, shards=tuple(rest))


def test_rows_go_to_the_first_shards_and_only_these_are_watched(tmp_path: Path) -> None:
    found = prepare(
        StudyCall(
            "pipeline-parallel", "xs", ("pipelines=1", "pipeline.shards=2"), start=("postgresql,shards=3",)
        )
    )
    (plan,) = [
        p.plan for p in found.plan.runs if p.block == 1 and p.plan["target"]["engine"] == "postgresql"
    ][:1]
    deployment = started_deployment(3)
    placed = at_ends(
        at_deployment({**plan, "run_id": "r"}, deployment, tmp_path), deployment, tmp_path, tmp_path
    )
    assert [s["target"]["url"] for s in shards_of(placed)] == ["postgresql://h/1", "postgresql://h/2"]
    assert placed["watch"]["processes"] == {"shards": [101, 102]}, "the coordinator, 100, has no part in it"


def test_fewer_shards_than_the_plan_has_are_refused(tmp_path: Path) -> None:
    found = prepare(StudyCall("pipeline-parallel", "xs", ("pipelines=1",), start=("postgresql,shards=3",)))
    plan = next(p.plan for p in found.plan.runs if p.plan["target"]["engine"] == "postgresql")
    deployment = started_deployment(2)
    with pytest.raises(UsageError, match="has 2 shards, the plan 3"):
        at_ends(at_deployment({**plan, "run_id": "r"}, deployment, tmp_path), deployment, tmp_path, tmp_path)


def test_one_part_that_does_not_stop_keeps_none_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    deployment, ended = started_deployment(2), list[int]()

    def stop(instance: Instance, how: Stop) -> None:
        ended.append(instance.pid)
        if instance.pid == 101:
            raise TargetError("it does not stop")

    monkeypatch.setattr(deployment.server.lifecycle, "stop", stop)
    with pytest.raises(TargetError):
        deployments.stop(deployment)
    assert sorted(ended) == [100, 101, 102]
