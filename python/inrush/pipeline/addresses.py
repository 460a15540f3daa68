"""A pipeline's plan with its addresses: where each shard is, which processes it has, where input files lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from inrush.border.load import ImportPlan, ShardPlan
from inrush.border.pipeline import AnyPlan, LoadingPlan, PipelinePlan, PipelineShard, StepEnds
from inrush.border.plan import Target as PlanTarget
from inrush.engines.instance import Target
from inrush.errors import UsageError
from inrush.targets.deployment import Deployment, split_password

#: Option of a target: addresses of its shards, blanks between them, in the order of their partitions.
SHARDS = "shards"


def at_pipeline(plan: AnyPlan, deployment: Deployment, data: Path, inputs: Path) -> PipelinePlan:
    """data: the run's own folder; inputs: kept for all runs of the study.

    Raises UsageError for shards that do not fit the plan.
    """
    assert "shards" in plan, "a run of this kind has a pipeline's plan"
    options = {k: v for k, v in plan["target"]["options"].items() if k != SHARDS}
    targets = shard_targets(plan, deployment, data)
    server = plan["load_server"]
    addresses: list[PlanTarget] = [
        {"engine": t.engine, "url": t.url, "options": {**options, **t.options}} for t in targets
    ]
    shards: list[PipelineShard] = [
        {**shard, "target": address} for shard, address in zip(plan["shards"], addresses, strict=True)
    ]
    ends: list[ShardPlan] = [
        {**end, "plan": {**end["plan"], "target": address}}
        for end, address in zip(server["load"]["shards"], addresses, strict=True)
    ]
    load: ImportPlan = {**server["load"], "shards": ends}
    if copies := server["load"].get("replicas"):
        # The rows of each shard once more on the next one.
        beside = zip(copies, [*addresses[1:], *addresses[:1]], strict=True)
        load["replicas"] = [{**end, "plan": {**end["plan"], "target": address}} for end, address in beside]
    # A coordinator has no part in a load that goes straight to its shards.
    watched: list[Sequence[int]] = [pids for t in targets for pids in t.processes.values()]
    watched = watched or list(plan["watch"]["processes"].values())
    return {
        **plan,
        "target": {**plan["target"], "options": options},
        "shards": shards,
        "load_server": {**server, "load": load},
        "inputs": {**plan["inputs"], "folder": str(inputs.resolve())},
        "watch": {
            **plan["watch"],
            "processes": {"shards": sorted({pid for pids in watched for pid in pids})},
            "folders": folders(deployment, plan["watch"].get("data_dir", ""), inputs),
        },
    }


def folders(deployment: Deployment, data: str, inputs: Path) -> dict[str, str]:
    """Role -> where its files lie, as far as that is known: of a server that inrush did not start it is not."""
    found = {"load_client": str(inputs.resolve())}
    if data and (deployment.server.embedded or deployment.target.instance):
        found["load_server" if deployment.server.embedded else "shards"] = data
    return found


def at_steps(plan: AnyPlan, deployment: Deployment, data: Path, inputs: Path) -> LoadingPlan:
    """The plan of a run with steps that client and load server do: they write to where its sessions read."""
    assert "loads" in plan, "a run of this kind has such steps"
    target = plan["target"]

    def placed(of: StepEnds) -> StepEnds:
        load = of["load_server"]["load"]
        ends: list[ShardPlan] = [{**end, "plan": {**end["plan"], "target": target}} for end in load["shards"]]
        return {
            **of,
            "load_server": {**of["load_server"], "load": {**load, "shards": ends}},
            "inputs": {**of["inputs"], "folder": str(inputs.resolve())},
        }

    return {**plan, "loads": {step: placed(of) for step, of in plan["loads"].items()}}


def shard_targets(plan: PipelinePlan, deployment: Deployment, data: Path) -> list[Target]:
    """Of an embedded engine a file for each shard; of servers those that are named, those behind a coordinator, or one for all."""
    count = len(plan["shards"])
    named = str({**plan["target"]["options"], **deployment.target.options}.get(SHARDS, "")).split()
    own = {k: v for k, v in deployment.target.options.items() if k != SHARDS}
    engine, url = deployment.target.engine, deployment.target.url
    if named:
        if len(named) != count:
            raise UsageError(
                f"options.{engine}.shards names {len(named)} addresses, the plan has {count} shards: set pipeline.shards"
            )
        return [deployment.server.run_target(Target(engine, split_password(u)[0], own), data) for u in named]
    if count > 1:
        deployment.find_shards()
    if deployment.shards:
        if len(deployment.shards) < count:
            raise UsageError(
                f"{url} has {len(deployment.shards)} shards, the plan {count}: set pipeline.shards to so many or fewer"
            )
        return [replace(t, options={**own, **t.options}) for t in deployment.shards[:count]]
    if not deployment.server.embedded or count == 1:
        return [deployment.server.run_target(Target(engine, url, own), data)] * count
    if url:
        raise UsageError(
            f"{url}: one file cannot be {count} shards; leave the address out, and each has its own"
        )
    found = []
    for k in range(count):
        folder = data / f"shard-{k}"
        folder.mkdir(parents=True, exist_ok=True)
        found.append(deployment.server.run_target(Target(engine, "", own), folder))
    return found
