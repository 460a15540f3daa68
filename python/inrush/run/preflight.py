"""What is checked before a study runs, at four moments; each reports everything that it finds at once.

file     what the study and its command say
point    what its runs would be
machine  files, folders and rights of this machine
server   each server that is there already

A check lies with what it is about, and yields problems. What a server can say only when the study has started it is checked
then (`commands/running`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from inrush.agent import realtime
from inrush.border.pipeline import loads_of
from inrush.errors import Problem, UsageError, problems_of, refuse
from inrush.fleet import address
from inrush.fleet.open import plan_problems
from inrush.load.pipeline.cpu_quota import limited
from inrush.plan.cost import cost
from inrush.run.generators import generator_problems
from inrush.run.shard_servers import shard_problems
from inrush.study.files import made_rows
from inrush.targets import ready
from inrush.targets.configurations import (
    cold_problems,
    over_shards,
    restart_problems,
    start_problems,
    transport_problems,
)
from inrush.targets.deployments import deployment_at, named_deployments
from inrush.targets.durability import durability_problems
from inrush.targets.limits import forbidden_limits, started_limit_problems
from inrush.targets.locks import lock_problems
from inrush.targets.marks import mark_problems
from inrush.targets.storages import storage_problems

if TYPE_CHECKING:
    from inrush.plan.planned import StudyPlan
    from inrush.run.call import Prepared, StudyCall
    from inrush.study.study import Study
    from inrush.targets.deployments import NamedTargets


def file_problems(call: StudyCall, study: Study, found: NamedTargets) -> Iterator[Problem]:
    yield from storage_problems(study, found, call.data)
    yield from start_problems(study, found)
    yield from started_limit_problems(found)
    yield from restart_problems(study, found)
    yield from problems_of(partial(over_shards, study, found))
    if call.fleet is not None:
        yield from problems_of(partial(address.parse, call.fleet, call.fleet_insecure))
        if call.realtime:
            yield Problem.sentence(
                "--realtime: is for client processes of this machine; run it without --fleet"
            )


def point_problems(call: StudyCall, plan: StudyPlan, found: NamedTargets) -> Iterator[Problem]:
    if not plan.runs:
        reasons = "; ".join(dict.fromkeys(f"{m.point}: {m.reason}" for m in plan.unsupported))
        yield Problem.sentence(f"{call.study}: nothing to run on {', '.join(found.engines)}: {reasons}")
        return
    runs = [run.plan for run in plan.runs]
    yield from generator_problems(plan)
    yield from answer_problems(plan)
    yield from transport_problems(plan, found)
    yield from plan_problems(call.fleet, call.fleet_insecure, [run.plan for run in plan.all_runs])
    if call.input and not any(map(made_rows, runs)):
        yield Problem.sentence(
            f"--input {call.input}: {call.study} makes no input files (`files` or `pipeline` of a load step, kind = "
            '"pipeline"); leave it out'
        )
    if call.realtime:
        yield from realtime.client_problems(found.engines, runs)


def machine_problems(prepared: Prepared, data: Path) -> Iterator[Problem]:
    """data: folder for the files of servers and of embedded engines, where the call names none."""
    call, plan, found = prepared.call, prepared.plan, prepared.named_targets
    yield from ready.machine_problems(plan, found, data, Path(call.input) if call.input else None)
    yield from rights_problems(prepared, data)
    if call.fleet is None:
        yield from quota_problems(plan)
    if call.realtime:
        yield from realtime.kernel_problems()


def rights_problems(prepared: Prepared, data: Path) -> Iterator[Problem]:
    """What this machine does not permit; `inrush plan` and claims say it too, whose runs may be made elsewhere."""
    yield from forbidden_limits(prepared.named_targets, data)
    yield from cold_problems(prepared.plan.study, prepared.named_targets)


def server_problems(
    prepared: Prepared, data: Path, scratch: Path, force: bool, begun: bool
) -> Iterator[Problem]:
    """Of servers that answer, and of files. scratch: for files that are opened to be asked. begun: runs of the study were made before."""
    plan, found = prepared.plan, prepared.named_targets
    there = named_deployments(found)
    if not force:
        yield from mark_problems(plan, there)
    yield from lock_problems(plan, there, force)
    yield from shard_problems(plan, there, data)
    if not begun:
        yield from durability_problems(plan, found, data, scratch)


def admit(
    prepared: Prepared, data: Path, scratch: Path, force: bool = False, begun: bool = False
) -> list[str]:
    """A line about each server that is ready, and one where room is short. Raises UsageError with what machine and servers have
    against the study; scratch, begun: as `server_problems` has them."""
    call, plan, found = prepared.call, prepared.plan, prepared.named_targets
    lines: list[str] = []
    if problems := [
        *machine_problems(prepared, data),
        *ready.server_problems(plan, found, lines.append),
    ]:
        warnings = [deployment_at(engine, url)[1] for engine, url in found.urls.items()]
        raise UsageError([*map(Problem.sentence, filter(None, warnings)), *problems])
    refuse(server_problems(prepared, data, scratch, force, begun))
    inputs = Path(call.input) if call.input else None
    return [*lines, *ready.short_of_rooms(cost(plan), found, data, inputs)]


def answer_problems(plan: StudyPlan) -> Iterator[Problem]:
    """Every point goes without the step that the answer is about: no run could measure it."""
    asked = plan.study.answer
    step = asked.of.partition(".")[0] if asked is not None else ""
    planned = {p.engine: plan.planned[p.id] for p in plan.points if p.id in plan.planned}
    every = [p.labels.get("steps_left_out", {}).get(step) for p in plan.planned.values()]
    if asked is None or not every or not all(every):
        return
    reasons = "; ".join(
        f"{engine}: step {step} is left out: {point.labels['steps_left_out'][step]}"
        for engine, point in planned.items()
    )
    remedy = f"no point can measure it ({reasons}); run it on an engine that has the step, or ask for another figure"
    yield Problem(plan.study.file, "answer.of", asked.of, remedy)


def quota_problems(plan: StudyPlan) -> Iterator[Problem]:
    """Parts of a core that this machine holds no load server to; tries it with no process."""
    cores: set[float] = set()
    for run in plan.runs:
        cores |= {load["pipelines"]["load_server_cores"] for load in loads_of(run.plan).values()}
    for part in sorted(one for one in cores if one != round(one)):
        yield from problems_of(partial(held, part))


def held(cores: float) -> None:
    with limited((), cores):
        pass
