"""A plan with loads with its addresses: where each shard is, which processes it has, where input files lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from inrush.border.pipeline import AnyPlan, StepEnds, loads_of, shards_of, with_load
from inrush.border.plan import Target as PlanTarget
from inrush.engines.base.instance import Target
from inrush.errors import UsageError
from inrush.targets.deployment import Deployment
from inrush.targets.passwords import split_password

#: Option of a target: addresses of its shards, blanks between them, in the order of their partitions.
SHARDS = "shards"


def at_ends(plan: AnyPlan, deployment: Deployment, data: Path, inputs: Path) -> AnyPlan:
    """The plan with what client and load server of each load have; one of sessions alone as it is.

    data: the run's own folder; inputs: kept for all runs of the study. Raises UsageError for shards that do not fit the plan.
    """
    if shards_of(plan):
        return at_shards(plan, deployment, data, inputs)
    for role, of in loads_of(plan).items():
        # They write to where its sessions read.
        plan = with_load(plan, role, placed(of, [plan["target"]], inputs))
    return plan


def placed(of: StepEnds, targets: Sequence[PlanTarget], inputs: Path) -> Mapping[str, object]:
    """The ends of a load with their addresses. targets: by shard."""
    load = of["load_server"]["load"]
    ends = [{**e, "plan": {**e["plan"], "target": t}} for e, t in zip(load["shards"], targets, strict=True)]
    replicas = {}
    if copies := load.get("replicas"):
        # The rows of each shard once more on the next one.
        beside = zip(copies, [*targets[1:], *targets[:1]], strict=True)
        replicas["replicas"] = [{**e, "plan": {**e["plan"], "target": t}} for e, t in beside]
    return {
        "load_server": {**of["load_server"], "load": {**load, "shards": ends, **replicas}},
        "inputs": {**of["inputs"], "folder": str(inputs.resolve())},
    }


def at_shards(plan: AnyPlan, deployment: Deployment, data: Path, inputs: Path) -> AnyPlan:
    options = {k: v for k, v in plan["target"]["options"].items() if k != SHARDS}
    targets = shard_targets(plan, deployment, data)
    addresses: list[PlanTarget] = [
        {"engine": t.engine, "url": t.url, "options": {**options, **t.options}} for t in targets
    ]
    ((role, of),) = loads_of(plan).items()
    shards = [{**shard, "target": at} for shard, at in zip(of["shards"], addresses, strict=True)]
    # A coordinator has no part in a load that goes straight to its shards.
    watched: list[Sequence[int]] = [pids for t in targets for pids in t.processes.values()]
    watched = watched or list(plan["watch"]["processes"].values())
    at = plan.copy()
    at["target"] = {**plan["target"], "options": options}
    at["watch"] = {
        **plan["watch"],
        "processes": {"shards": sorted({pid for pids in watched for pid in pids})},
        "folders": folders(deployment, plan["watch"].get("data_dir", ""), inputs),
    }
    return with_load(at, role, {**placed(of, addresses, inputs), "shards": shards})


def folders(deployment: Deployment, data: str, inputs: Path) -> dict[str, str]:
    """Role -> where its files lie, as far as that is known: of a server that inrush did not start it is not."""
    found = {"load_client": str(inputs.resolve())}
    if data and (deployment.server.embedded or deployment.target.instance):
        found["load_server" if deployment.server.embedded else "shards"] = data
    return found


def shard_targets(plan: AnyPlan, deployment: Deployment, data: Path) -> list[Target]:
    """Of an embedded engine a file for each shard; of servers those that are named, those behind a coordinator, or one for all."""
    count = len(shards_of(plan))
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
