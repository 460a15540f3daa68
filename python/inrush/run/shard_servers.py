"""The servers of all shards of a study's pipelines that inrush does not watch itself: it has not started them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from inrush.border.pipeline import AnyPlan, ShardServer, shards_of
from inrush.errors import InrushError, Problem, UsageError
from inrush.load.pipeline.addresses import shard_targets
from inrush.load.pipeline.shard_servers import servers_at
from inrush.plan.planned import PlannedRun, StudyPlan
from inrush.targets.deployment import Deployment, key_of


def servers_of_study(runs: Sequence[PlannedRun], deployments: Mapping[str, Deployment]) -> list[ShardServer]:
    """Each once, by its address. Of addresses that do not fit a plan its run says so."""
    found: dict[tuple[str, int], ShardServer] = {}
    for run in runs:
        deployment = deployments.get(key_of(run))
        if shards_of(run.plan) and deployment is not None:
            for server in servers_of_run(run.plan, deployment):
                found.setdefault((server["host"], server["port"]), server)
    # Of several numbers of shards one address is that of others: it is known by itself here.
    return [{**server, "role": f"{host}:{port}"} for (host, port), server in found.items()]


def servers_of_run(plan: AnyPlan, deployment: Deployment) -> list[ShardServer]:
    if deployment.server.embedded or deployment.turns is not None:
        return []
    with contextlib.suppress(InrushError):
        targets = shard_targets(plan, deployment, Path())
        if not any(target.processes for target in (deployment.target, *targets)):
            return servers_at(deployment.target.engine, [target.url for target in targets])
    return []


def shard_problems(plan: StudyPlan, deployments: Mapping[str, Deployment], data: Path) -> Iterator[Problem]:
    """Servers of the user's with other shards than the plan loads. deployments: by engine."""
    plans: dict[tuple[str, int, str], AnyPlan] = {}
    for run in plan.runs:
        engine = str(run.labels["engine"])
        if (over := shards_of(run.plan)) and engine in deployments:
            plans.setdefault((engine, len(over), str(run.plan["target"]["options"])), run.plan)
    for (engine, _, _), of in plans.items():
        try:
            shard_targets(of, deployments[engine], data)
        except UsageError as refused:
            yield from refused.problems
        except InrushError:
            continue  # one that cannot be asked: its runs say why
