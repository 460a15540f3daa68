"""Servers on several storages: each says itself where its files are, and a limit holds all of its processes."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from inrush.engines.base.instance import Stop
from inrush.engines.servers import life, server_limits
from inrush.machine import cgroup
from inrush.targets.deployments import named_targets, opened
from inrush.targets.standing import beside, device_of, neighbours, standing
from tests.engines.servers import need

from .servers import each_kind


@pytest.fixture
def places(folder: Path) -> Iterator[dict[str, Path]]:
    """Two folders, on two file systems where memory is one."""
    other = Path(tempfile.mkdtemp(prefix="inrush-test-", dir="/dev/shm"))
    other.chmod(0o755)
    try:
        yield {"fast": other, "slow": folder}
    finally:
        shutil.rmtree(other, ignore_errors=True)


@pytest.mark.parametrize("engine", each_kind(["postgresql", "mysql"], {"mysql"}))
def test_one_server_stands_on_each_storage_and_knows_of_the_other(
    engine: str, places: dict[str, Path]
) -> None:
    need(engine)
    found = replace(named_targets([], start=[f"{engine},profile=default"]), storages=places)
    with opened(found, Path("/nowhere"), lambda _: None) as deployments:
        for name, other in (("fast", "slow"), ("slow", "fast")):
            mine, beside_it = deployments[f"{engine}@{name}"], deployments[f"{engine}@{other}"]
            assert mine.target.instance is not None and beside_it.target.instance is not None
            said = standing(mine, Path("/nowhere"))["storage"]
            assert said["said_by_server"] and said["name"] == name
            assert Path(said["files"]).is_relative_to(places[name].resolve())
            assert said["files_device"] == device_of(places[name]) == said["device"]
            before = neighbours(mine)
            assert before is not None
            assert beside_it.target.instance.pid in before and mine.target.instance.pid not in before
            (sibling,) = [
                n
                for n in beside(before, neighbours(mine))["neighbours"]
                if n["pid"] == beside_it.target.instance.pid
            ]
            assert Path(sibling["folder"]).is_relative_to(places[other].resolve()) and sibling["cpu_s"] >= 0
            mine.restart(Stop.CLEAN)
            assert mine.target.storage == name
    for place in places.values():
        assert life.working_in(place) == {}


def test_all_processes_of_a_server_are_held_and_its_group_ends_with_it(places: dict[str, Path]) -> None:
    need("postgresql")
    limits = {"memory": "512MB", "write_bytes_per_s": "5M"}
    data = places["slow"] / "postgresql"
    if (why := server_limits.not_permitted(places["slow"], server_limits.limits_of(limits))) is not None:
        pytest.skip(f"no limits here: {why}")
    found = replace(
        named_targets([], start=["postgresql"]), storages={"slow": places["slow"]}, limits={"slow": limits}
    )
    with opened(found, Path("/nowhere"), lambda _: None) as deployments:
        deployment = deployments["postgresql@slow"]
        for how in (Stop.CLEAN, Stop.KILL):
            instance = deployment.target.instance
            assert instance is not None and instance.held["memory"] == 512e6
            assert 0 < instance.held["write_bytes_per_s"] <= 5e6 * server_limits.TOLERANCE
            held = cgroup.Group(
                cgroup.version_of(),
                cgroup.folders_of(
                    server_limits.name_of(data),
                    server_limits.limits_of(limits),
                    cgroup.version_of(),
                    cgroup.CGROUPS,
                ),
            )
            assert life.working_in(data).keys() <= held.members() and instance.pid in held.members()
            deployment.restart(how)
        assert deployment.target.instance is not None
        os.kill(deployment.target.instance.pid, signal.SIGKILL)
    assert not any(folder.exists() for folder in held.folders.values())
