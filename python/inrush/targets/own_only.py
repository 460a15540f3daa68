"""What a study asks of servers that inrush can do only with those that it starts: a restart, cold files, a socket. Pure but
for the kernel's right to drop its caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from inrush.engines import page_cache, server
from inrush.engines.instance import TRANSPORT, UNIX
from inrush.errors import Problem
from inrush.plan.planned import StudyPlan
from inrush.study.forms import FromFactor
from inrush.study.step_kinds import Cold, Restart, Step
from inrush.study.study import Study
from inrush.targets.deployments import NamedTargets

#: Why a step cannot be done on an engine's server, and what to do; empty where it can.
Why = Callable[[Step[FromFactor], str], str]


def restart_problems(study: Study, found: NamedTargets) -> Iterator[Problem]:
    """Steps for which inrush would have to stop and start a server that is not its own."""

    def why(step: Step[FromFactor], engine: str) -> str:
        if engine not in found.urls:
            return ""
        return f"inrush did not start this server and will not stop it; use --start {engine}, or leave the step out"

    return problems_of_steps(study, why)


def cold_problems(study: Study, found: NamedTargets) -> Iterator[Problem]:
    """Steps for which the kernel of this machine would have to drop its caches, and does not let us."""

    def why(step: Step[FromFactor], engine: str) -> str:
        if engine in found.urls or not isinstance(step, Cold) or page_cache.can_drop():
            return ""
        return f"the kernel keeps {engine}'s files in memory: {page_cache.DROP} can be written by root only"

    return problems_of_steps(study, why)


def problems_of_steps(study: Study, why: Why) -> Iterator[Problem]:
    """One for all steps that cannot be done for the same reason."""
    steps_by_remedy: dict[str, list[Step[FromFactor]]] = {}
    for step in study.steps:
        for engine in study.engines if isinstance(step, Cold | Restart) else ():
            if not server(engine).embedded and (remedy := why(step, engine)):
                steps_by_remedy.setdefault(remedy, []).append(step)
    for remedy, steps in steps_by_remedy.items():
        places = [f"steps[{study.steps.index(step)}].do" for step in steps]
        kinds = " or ".join(dict.fromkeys(step.do for step in steps))
        if len(steps) > 1:
            remedy = remedy.replace("leave the step out", "leave the steps out")
        yield Problem(study.file, ", ".join(places), kinds, remedy)


def transport_problems(plan: StudyPlan, found: NamedTargets) -> Iterator[Problem]:
    """Engines whose runs want the socket of a server with a URL that says how it is reached."""
    by_socket = {
        str(run.plan["target"]["engine"])
        for run in plan.runs
        if run.plan["target"]["options"].get(TRANSPORT) == UNIX
    }
    for engine in sorted(by_socket & found.urls.keys()):
        yield Problem.sentence(
            f"options.{engine}.{TRANSPORT}: {UNIX} is for servers that inrush starts (--start {engine}); name the socket of "
            "yours in its URL (docs/engines.md) and leave the option out"
        )
