"""Kinds of runs, by their plan's `kind`: what the process of one does, and how its plan gets its addresses.

A new kind is a line here; nothing else of `run` asks what kind a run is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from inrush.border.pipeline import AnyPlan
from inrush.border.words import Does
from inrush.pipeline.addresses import at_pipeline, at_steps
from inrush.study.pipeline import KIND as PIPELINE
from inrush.study.step_kinds import KIND as STEPS
from inrush.targets.deployment import Deployment


@dataclass(frozen=True)
class Kind:
    #: What the process of a run does.
    does: Does
    #: (plan, deployment, the run's own folder, files that all runs of the study share) -> the plan with its addresses.
    placed: Callable[[AnyPlan, Deployment, Path, Path], AnyPlan]


def as_it_is(plan: AnyPlan, deployment: Deployment, data: Path, files: Path) -> AnyPlan:
    """Sessions have one target, and `at_deployment` has named it."""
    return plan


#: A plan without a kind is of sessions alone; one of steps has a kind if client and load server do one of them.
KINDS: Mapping[str | None, Kind] = {
    None: Kind("drive", as_it_is),
    PIPELINE: Kind("pipeline", at_pipeline),
    STEPS: Kind("steps", at_steps),
}
#: Sessions of several client processes.
SHARED = Kind("share_out", as_it_is)


def kind_of(plan: AnyPlan) -> Kind:
    if "kind" in plan:
        return KINDS[plan["kind"]]
    return SHARED if "share" in plan else KINDS[None]
