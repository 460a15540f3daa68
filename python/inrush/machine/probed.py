"""The machine a run was made on, with what its disk, its device and its cores can do."""

from __future__ import annotations

from pathlib import Path

from inrush.machine.device_probe import device_probe
from inrush.machine.disk_probe import disk_probe
from inrush.machine.host import snapshot


def environment(data_dir: Path) -> dict[str, object]:
    """What `env.json` of a run holds: the snapshot, the disk's ceilings, what its pages cost, and what cores with two threads are worth."""
    found = {**snapshot(data_dir), **disk_probe(data_dir), **device_probe(data_dir)}
    if found.get("cpu_smt") != "on" or not found.get("cpu_logical"):
        return found
    from inrush.machine.cpu_probe import cpu_capacity

    return {**found, **cpu_capacity(int(str(found["cpu_logical"])))}
