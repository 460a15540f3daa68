"""What a run with a loader would be refused for, asked before any server is started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from inrush.border.pipeline import PipelinePlan, Pipelines, loads_of
from inrush.errors import InrushError, Problem, UsageError, problems_of
from inrush.pipeline.addresses import shard_targets
from inrush.pipeline.cpu_quota import limited
from inrush.study.pipeline import KIND as PIPELINE

if TYPE_CHECKING:
    from inrush.plan.planned import StudyPlan
    from inrush.targets.deployment import Deployment


def quota_problems(plan: StudyPlan) -> Iterator[Problem]:
    """Parts of a core that this machine holds no load server to; tries it with no process."""
    cores: set[float] = set()
    for run in plan.runs:
        ends = [run.plan, *loads_of(run.plan).values()]
        each = [cast("Pipelines", end["pipelines"]) for end in ends if "pipelines" in end]
        cores |= {how["load_server_cores"] for how in each}
    for part in sorted(one for one in cores if one != round(one)):
        yield from problems_of(partial(held, part))


def held(cores: float) -> None:
    with limited((), cores):
        pass


def shard_problems(plan: StudyPlan, deployments: Mapping[str, Deployment], data: Path) -> Iterator[Problem]:
    """Servers of the user's with other shards than the plan loads. deployments: by engine."""
    plans: dict[tuple[str, int, str], PipelinePlan] = {}
    for run in plan.runs:
        engine = str(run.labels["engine"])
        if run.plan.get("kind") == PIPELINE and engine in deployments:
            of = cast("PipelinePlan", run.plan)
            plans.setdefault((engine, len(of["shards"]), str(of["target"]["options"])), of)
    for (engine, _, _), of in plans.items():
        try:
            shard_targets(of, deployments[engine], data)
        except UsageError as refused:
            yield from refused.problems
        except InrushError:
            continue  # one that cannot be asked: its runs say why
