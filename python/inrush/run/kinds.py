"""Kinds of runs, by their plan's `kind`: which program makes one, and how its plan gets its addresses.

A new kind is a line here; nothing else of `run` asks what kind a run is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from inrush.agent import shared_run
from inrush.agent.process import WORKER
from inrush.border.pipeline import AnyPlan
from inrush.machine.own_programs import program
from inrush.pipeline import hosts
from inrush.pipeline.addresses import at_pipeline, at_steps
from inrush.results.store import Doc
from inrush.study.pipeline import KIND as PIPELINE
from inrush.study.step_kinds import KIND as STEPS
from inrush.targets.deployment import Deployment


def nothing(parts: Path) -> Doc:
    return {}


@dataclass(frozen=True)
class Kind:
    #: The program of a run's process; its plan and the folder of its tables follow.
    command: tuple[str, ...]
    #: (plan, deployment, the run's own folder, files that all runs of the study share) -> the plan with its addresses.
    placed: Callable[[AnyPlan, Deployment, Path, Path], AnyPlan]
    #: The folder of its tables -> what else run.json says of such a run.
    document: Callable[[Path], Doc] = nothing


def as_it_is(plan: AnyPlan, deployment: Deployment, data: Path, files: Path) -> AnyPlan:
    """Sessions have one target, and `at_deployment` has named it."""
    return plan


#: Starts a worker for each client process.
SHARING = program("inrush.agent.shared_worker")
#: Starts client and load server.
LOADING = program("inrush.pipeline.worker")
#: A plan without a kind is of sessions alone; one of steps has a kind if client and load server do one of them.
KINDS: Mapping[str | None, Kind] = {
    None: Kind(WORKER, as_it_is, shared_run.document),
    PIPELINE: Kind(LOADING, at_pipeline, hosts.document),
    STEPS: Kind(LOADING, at_steps),
}
#: Sessions of several client processes.
SHARED = Kind(SHARING, as_it_is, shared_run.document)


def kind_of(plan: AnyPlan) -> Kind:
    if "kind" in plan:
        return KINDS[plan["kind"]]
    return SHARED if "share" in plan else KINDS[None]
