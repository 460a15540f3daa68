"""Servers that run in the folders of `run --start`: those of a study that runs, and those whose inrush has gone."""

from __future__ import annotations

from pathlib import Path

from inrush.engines.base.instance import Instance, Release, Stop, log_of
from inrush.engines.base.twin import Twin
from inrush.engines.servers import origin
from inrush.targets import shards
from inrush.targets.deployment import lifecycle_of
from inrush.targets.turns import folders_with


def leftovers(twin: Twin, data: Path) -> list[Instance]:
    """Those that no inrush would end."""
    return [i for i in of_studies(twin, data) if origin.is_left(i.data)]


def held(twin: Twin, data: Path) -> list[Instance]:
    """Those of an inrush that lives, which ends them."""
    return [i for i in of_studies(twin, data) if not origin.is_left(i.data)]


def of_studies(twin: Twin, data: Path) -> list[Instance]:
    kept = (data / twin.name, *folders_with(data, twin.name))
    folders = [folder for one in kept for folder in (one, *shards.folders(one))]
    return [i for folder in folders if (i := running_in(twin, folder)) is not None]


def running_in(twin: Twin, folder: Path) -> Instance | None:
    running, written = origin.running(folder), origin.read(folder)
    if not running:
        return None
    lifecycle = lifecycle_of(twin)
    # That of its data says what made these, years ago perhaps, and of PostgreSQL no more than the first number.
    release = Release(twin.name, str(written.get("version") or ""), Path())
    pid, port = next(iter(running.values())), written.get("port", 0)
    named = {name: pid for name, pid in running.items() if name}
    url = lifecycle.url_in(folder, port)
    return Instance(twin.name, folder, url, port, pid, log_of(folder), release, processes=named)


def end_leftovers(twin: Twin, data: Path) -> None:
    """One that another configuration of the engine left would hold the memory that the next one needs."""
    for instance in leftovers(twin, data):
        lifecycle_of(twin).stop(instance, Stop.CLEAN)
