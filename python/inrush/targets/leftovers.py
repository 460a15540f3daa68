"""Servers that run in the folders of `run --start` although the inrush that started them has gone."""

from __future__ import annotations

from pathlib import Path

from inrush.engines import origin
from inrush.engines.instance import Instance, Release, Stop, log_of
from inrush.engines.twin import Twin
from inrush.targets import shards
from inrush.targets.deployment import lifecycle_of
from inrush.targets.turns import folders_with


def leftovers(twin: Twin, data: Path) -> list[Instance]:
    kept = (data / twin.name, *folders_with(data, twin.name))
    folders = [folder for one in kept for folder in (one, *shards.folders(one))]
    return [i for folder in folders if (i := leftover(twin, folder)) is not None]


def leftover(twin: Twin, folder: Path) -> Instance | None:
    running, written = origin.running(folder), origin.read(folder)
    if not running or not origin.is_left(folder):
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
