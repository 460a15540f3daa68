"""A study over the shards that a command line has started for it."""

from __future__ import annotations

from dataclasses import replace

from inrush.engines import server
from inrush.errors import UsageError
from inrush.study.at_point import plain
from inrush.study.forms import FromFactor
from inrush.study.shards import WAYS
from inrush.study.step_kinds import LoadOverShards
from inrush.study.study import Study
from inrush.targets import shards
from inrush.targets.deployments import NamedTargets


def over_shards(study: Study, found: NamedTargets) -> Study:
    """The study over the shards that `--start ENGINE,shards=N` starts for it: all of them, or as many as it names.

    Raises UsageError where it has no use for them or wants more.
    """
    begun = {engine: shards.shard_count(server(engine), settings) for engine, settings in found.start.items()}
    begun = {engine: count for engine, count in begun.items() if count}
    of_sessions = study.shards if study.pipeline is None else None
    if not begun:
        if of_sessions is not None:
            engines = ", ".join(found.engines)
            raise UsageError(
                f"{study.name}: its sessions go over shards, which {engines} has not; use --start {found.engines[0]},{shards.SHARDS}=N"
            )
        return study
    detail = ", ".join(f"{engine},{shards.SHARDS}={count}" for engine, count in begun.items())
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
