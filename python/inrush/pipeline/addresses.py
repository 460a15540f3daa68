"""A pipeline's plan with its addresses: where each shard is, which processes it has, where input files lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from inrush.engines.instance import Target
from inrush.errors import UsageError
from inrush.targets.deployment import Deployment, split_password

Doc = dict[str, Any]

#: Option of a target: addresses of its shards, blanks between them, in the order of their partitions.
SHARDS = "shards"


def at_pipeline(plan: Mapping[str, Any], deployment: Deployment, data: Path, inputs: Path) -> Doc:
    """data: the run's own folder; inputs: kept for all runs of the study.

    Raises UsageError for shards that do not fit the plan.
    """
    options = {k: v for k, v in plan["target"]["options"].items() if k != SHARDS}
    targets = shard_targets(plan, deployment, data)
    shards, server = [], plan["load_server"]
    for shard, target in zip(plan["shards"], targets, strict=True):
        address = {"engine": target.engine, "url": target.url, "options": {**options, **target.options}}
        shards.append({**shard, "target": address})
    ends = [
        {**end, "plan": {**end["plan"], "target": shard["target"]}}
        for end, shard in zip(server["load"]["shards"], shards, strict=True)
    ]
    # A coordinator has no part in a load that goes straight to its shards.
    watched = [pids for t in targets for pids in t.processes.values()]
    watched = watched or list(plan["watch"]["processes"].values())
    return {
        **plan,
        "target": {**plan["target"], "options": options},
        "shards": shards,
        "load_server": {**server, "load": {**server["load"], "shards": ends}},
        "inputs": {**plan["inputs"], "folder": str(inputs.resolve())},
        "watch": {
            **plan["watch"],
            "processes": {"shards": sorted({pid for pids in watched for pid in pids})},
        },
    }


def at_steps(plan: Mapping[str, Any], deployment: Deployment, data: Path, inputs: Path) -> Doc:
    """The plan of a run with steps that client and load server do: they write to where its sessions read."""

    def placed(of: Mapping[str, Any]) -> Doc:
        load = of["load_server"]["load"]
        shards = [{**end, "plan": {**end["plan"], "target": plan["target"]}} for end in load["shards"]]
        return {
            **of,
            "load_server": {**of["load_server"], "load": {**load, "shards": shards}},
            "inputs": {**of["inputs"], "folder": str(inputs.resolve())},
        }

    return {**plan, "loads": {step: placed(of) for step, of in plan["loads"].items()}}


def shard_targets(plan: Mapping[str, Any], deployment: Deployment, data: Path) -> list[Target]:
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
