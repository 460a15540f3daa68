"""Servers that a study has started with settings of its own: which they are, and what stands in their way."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial

from inrush.border.address import shown
from inrush.engines import server, server_limits
from inrush.errors import Problem, problems_of
from inrush.study.at_point import settings_at
from inrush.study.settings import start_factors
from inrush.study.study import Study
from inrush.targets.deployment import lifecycle_of
from inrush.targets.deployments import NamedTargets, settings_on
from inrush.targets.shards import SHARDS


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
    each = configurations(study, found)
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
        yield from refused(study, found, each)


def conflicts(study: Study, found: NamedTargets) -> Iterator[str]:
    """Settings that both the study and the command line name."""
    for engine, settings in found.start.items():
        lower = {name.lower() for name in settings}
        yield from (name for name in study.start.get(engine, {}) if name.lower() in lower)


def refused(study: Study, found: NamedTargets, each: Mapping[str, list[dict[str, str]]]) -> Iterator[Problem]:
    """Settings that the engine says no to without a server."""
    for engine, servers in each.items():
        for storage in found.storages or ("",):
            for asked in servers:
                # Limits are looked at by themselves (`started_limit_problems`).
                own = server_limits.split({**settings_on(found, engine, storage), **asked})[0]
                said = ", ".join(f"{name}={value}" for name, value in asked.items())
                for p in problems_of(partial(lifecycle_of(server(engine)).check_settings, own)):
                    yield Problem(study.file, f"start.{engine}", said, str(p))


def written(value: object) -> str:
    """A setting's value as the study writes it."""
    factor, field = getattr(value, "factor", None), getattr(value, "field", None)
    return str(value) if factor is None else f"@{factor}" + (f".{field}" if field else "")
