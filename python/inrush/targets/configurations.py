"""Servers that a study has started: with settings of its own, as shards, or to be stopped and started again; and what stands in
their way."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from inrush.border.address import shown
from inrush.engines import server
from inrush.engines.base.instance import TRANSPORT, UNIX
from inrush.engines.servers import page_cache, server_limits
from inrush.errors import Problem, UsageError, problems_of
from inrush.plan.planned import StudyPlan
from inrush.study.at_point import plain, settings_at
from inrush.study.forms import FromFactor
from inrush.study.settings import start_factors
from inrush.study.shards import WAYS
from inrush.study.step_kinds import Cold, LoadOverShards, Restart, Step
from inrush.study.study import Study
from inrush.targets.deployment import lifecycle_of
from inrush.targets.deployments import NamedTargets, settings_on
from inrush.targets.shards import SHARDS, shard_count


def configurations(study: Study, found: NamedTargets) -> dict[str, list[dict[str, str]]]:
    """Engine to start -> the settings that the study has each of its servers started with, in the study's order."""
    servers: dict[str, list[dict[str, str]]] = {}
    for engine in study.engines:
        if engine in found.start and study.start.get(engine):
            names = [name for name in study.factors if name in start_factors({engine: study.start[engine]})]
            points = itertools.product(*(study.factors[name] for name in names))
            asked = {engine: study.start[engine]}
            each = [settings_at(asked, dict(zip(names, values, strict=True)))[engine] for values in points]
            servers[engine] = [one for k, one in enumerate(each) if one not in each[:k]]
    return servers


def start_problems(study: Study, found: NamedTargets) -> Iterator[Problem]:
    """Engines that the study has started with settings and cannot, and settings that cannot be. Touches no server."""
    for engine in study.engines:
        for name, value in study.start.get(engine, {}).items():
            key, said = f"start.{engine}.{name}", written(value)
            if engine in found.urls:
                remedy = f"inrush did not start the server at {shown(found.urls[engine])}, and starts it with no setting"
                yield Problem(study.file, key, said, f"{remedy}; use --start {engine}")
                break
            if server(engine).embedded:
                yield Problem(
                    study.file, key, said, f"{engine} runs inside inrush, and no server of it is started"
                )
                break
            if name == SHARDS:
                yield Problem(
                    study.file, key, said, "over shards go studies of kind pipeline; write pipeline.shards"
                )
            elif twice := [n for n in found.start.get(engine, {}) if n.lower() == name.lower()]:
                remedy = f"the study sets it ({key} = {said}); leave it out, or change the study's with -P"
                yield Problem("--start", f"{engine},{twice[0]}", found.start[engine][twice[0]], remedy)
    if not any(True for _ in conflicts(study, found)):
        yield from refused(study, found)


def conflicts(study: Study, found: NamedTargets) -> Iterator[str]:
    """Settings that both the study and the command line name."""
    for engine, settings in found.start.items():
        lower = {name.lower() for name in settings}
        yield from (name for name in study.start.get(engine, {}) if name.lower() in lower)


def refused(study: Study, found: NamedTargets) -> Iterator[Problem]:
    """Settings that the engine says no to without a server."""
    for engine, servers in found.configurations.items():
        for storage in found.storages or ("",):
            for asked in servers:
                # Limits are looked at by themselves (`started_limit_problems`).
                own = server_limits.split({**settings_on(found, engine, storage), **asked})[0]
                said = ", ".join(f"{name}={value}" for name, value in asked.items())
                for p in problems_of(partial(check_settings, engine, own)):
                    yield Problem(study.file, f"start.{engine}", said, str(p))


def check_settings(engine: str, own: Mapping[str, str]) -> None:
    lifecycle_of(server(engine)).check_settings(own)


def written(value: object) -> str:
    """A setting's value as the study writes it."""
    factor, field = getattr(value, "factor", None), getattr(value, "field", None)
    return str(value) if factor is None else f"@{factor}" + (f".{field}" if field else "")


# What is done with servers that inrush starts, and no others.


def restart_problems(study: Study, found: NamedTargets) -> Iterator[Problem]:
    """Steps for which inrush would have to stop and start a server that is not its own."""
    for engine in found.urls:
        remedy = f"inrush did not start this server and will not stop it; use --start {engine}, or leave the step out"
        yield from steps_problem(study, engine, (Cold, Restart), remedy)


def cold_problems(study: Study, found: NamedTargets) -> Iterator[Problem]:
    """Steps for which the kernel of this machine would have to drop its caches, and does not let us."""
    for engine in found.engines if not page_cache.can_drop() else ():
        remedy = f"the kernel keeps {engine}'s files in memory: {page_cache.DROP} can be written by root only"
        if engine not in found.urls:
            yield from steps_problem(study, engine, (Cold,), remedy)


def steps_problem(
    study: Study, engine: str, kinds: tuple[type[Step[FromFactor]], ...], remedy: str
) -> Iterator[Problem]:
    """One for all steps of these kinds, unless the engine is in our process."""
    steps = [step for step in study.steps if isinstance(step, kinds)]
    if steps and not server(engine).embedded:
        places = ", ".join(f"steps[{study.steps.index(step)}].do" for step in steps)
        if len(steps) > 1:
            remedy = remedy.replace("leave the step out", "leave the steps out")
        yield Problem(study.file, places, " or ".join(dict.fromkeys(step.do for step in steps)), remedy)


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


def over_shards(study: Study, found: NamedTargets) -> Study:
    """The study over the shards that `--start ENGINE,shards=N` starts for it: all of them, or as many as it names.

    Raises UsageError where it has no use for them or wants more.
    """
    begun = {engine: shard_count(server(engine), settings) for engine, settings in found.start.items()}
    begun = {engine: count for engine, count in begun.items() if count}
    of_sessions = study.shards if study.pipeline is None else None
    if not begun:
        if of_sessions is not None:
            engines = ", ".join(found.engines)
            raise UsageError(
                f"{study.name}: its sessions go over shards, which {engines} has not; use --start {found.engines[0]},{SHARDS}=N"
            )
        return study
    detail = ", ".join(f"{engine},{SHARDS}={count}" for engine, count in begun.items())
    if study.pipeline is None and of_sessions is None:
        raise UsageError(
            f"--start {detail}: sessions of this study run on one server; say how they reach shards, "
            f"-P shards.way={' or '.join(WAYS)}"
        )
    key = "shards.count" if study.pipeline is None else "pipeline.shards"
    wanted = of_sessions.count if of_sessions is not None else study.pipeline.shards if study.pipeline else 1
    if wanted is None or (wanted == 1 and study.pipeline is not None):
        if len(set(begun.values())) > 1:
            raise UsageError(f"--start {detail}: engines are compared over equally many shards")
        if of_sessions is not None:
            return replace(study, shards=replace(of_sessions, count=min(begun.values())))
        assert study.pipeline is not None, "sessions have returned"
        over = replace(study.pipeline, shards=min(begun.values()))
        return replace(study, steps=(LoadOverShards(pipeline=over),))
    points = (
        [{wanted.factor: v} for v in study.factors[wanted.factor]] if isinstance(wanted, FromFactor) else [{}]
    )
    most = max(int(plain(wanted, point)) for point in points)
    if most > min(begun.values()):
        raise UsageError(f"--start {detail}: the study has up to {most} shards ({key}); start so many")
    return study
