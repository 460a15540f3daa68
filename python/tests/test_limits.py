"""Limits of a server: how they are written, what a control group is told, and what a probe inside of one comes to."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from inrush.engines import server
from inrush.engines.servers import own_server, profiles, server_limits
from inrush.engines.servers.own_server import OwnServer
from inrush.errors import TargetError, UsageError
from inrush.machine import cgroup
from inrush.machine.cgroup import Group
from inrush.run.call import StudyCall
from inrush.run.preflight import admit
from inrush.run.prepare import prepare
from inrush.study.document import unknown


def test_amounts_have_decimal_and_binary_units() -> None:
    words = {"memory": "512MB", "write_bytes_per_s": "20M", "read_bytes_per_s": "1Mi", "cpu": "0.5"}
    if len(os.sched_getaffinity(0)) > 1:
        words["cpu"] = "1"
    found = server_limits.limits_of(words)
    assert (
        found["memory"] == 512e6
        and found["write_bytes_per_s"] == 20e6
        and found["read_bytes_per_s"] == 1 << 20
    )


def test_every_limit_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(UsageError) as refused:
        server_limits.limits_of(
            {"memory": "lots", "cpu": "1000", "disk": "1", "write_bytes_per_s": "1", "reads_per_s": "20"}
        )
    lines = str(refused.value).splitlines()
    assert [line.partition("=")[0] for line in lines] == [
        "limit.memory", "limit.cpu", "limit.disk", "limit.write_bytes_per_s"
    ]  # fmt: skip
    assert (
        "write a number" in lines[0]
        and "write_bytes_per_s" in lines[2]
        and "from 100,000 to 1,000,000,000" in lines[3]
    )


@pytest.mark.parametrize("name", server_limits.LEAST)
def test_the_bounds_of_a_limit_have_no_exponent(name: str) -> None:
    with pytest.raises(UsageError) as refused:
        server_limits.limits_of({name: "0.001"})
    bounds = re.search(r"from ([\d.,]+) to ([\d.,]+), by", str(refused.value))
    assert bounds is not None, refused.value
    least, most = (float(bound.replace(",", "")) for bound in bounds.groups())
    assert least == server_limits.LEAST[name] and most == pytest.approx(server_limits.most_of(name), rel=1e-5)


def test_a_servers_own_settings_are_without_its_limits() -> None:
    settings = {"limit.memory": "2GB", "shared_buffers": "1GB"}
    assert server_limits.split(settings) == ({"shared_buffers": "1GB"}, {"memory": "2GB"})
    own = server("postgresql").lifecycle
    assert isinstance(own, OwnServer)
    asked = own._with_profile({**settings, "profile": "tuned"})
    assert asked["shared_buffers"] == "1GB" and not any(k.startswith("limit") for k in asked)
    without = own._with_profile({"limit.memory": "2GB"})
    assert without == profiles.settings("postgresql", None, 2 * 10**9), "its share is one of what it may use"


@pytest.mark.parametrize("version", [1, 2])
def test_a_group_is_told_its_limits_and_asked_for_them(version: int, tmp_path: Path) -> None:
    if version == 1:
        for controller in ("memory", "blkio", "cpu"):
            (tmp_path / controller).mkdir()
    limits = {"memory": 5e8, "cpu": 0.5, "write_bytes_per_s": 2e7, "reads_per_s": 100.0}
    made = cgroup.made("g", limits, "8:0", tmp_path)
    told = {str(p.relative_to(tmp_path)): p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
    if version == 1:
        assert told == {
            "memory/g/memory.limit_in_bytes": "500000000", "cpu/g/cpu.cfs_period_us": "10000", "cpu/g/cpu.cfs_quota_us": "5000",
            "blkio/g/blkio.throttle.write_bps_device": "8:0 20000000", "blkio/g/blkio.throttle.read_iops_device": "8:0 100",
        }  # fmt: skip
    else:
        assert told.pop("cgroup.subtree_control") == "+io", "the last that was written into a plain file"
        assert told == {
            "g/memory.max": "500000000",
            "g/memory.swap.max": "0",
            "g/cpu.max": "5000 10000",
            "g/io.max": "8:0 riops=100",
        }
    made.join(os.getpid())
    assert made.members() == {os.getpid()}


def test_a_kernel_that_takes_another_value_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "io.max"
    file.write_text(
        "8:16 rbps=max wbps=1000 riops=max wiops=max\n8:0 rbps=max wbps=max riops=max wiops=max\n"
    )
    cgroup.check(file, "8:16 wbps=1000")
    with pytest.raises(OSError, match="the kernel holds"):
        cgroup.check(file, "8:0 wbps=1000")
    memory = tmp_path / "memory.max"
    memory.write_text("499998720\n")
    cgroup.check(memory, "500000000")
    memory.write_text("max\n")
    with pytest.raises(OSError, match="the kernel holds 'max'"):
        cgroup.check(memory, "500000000")


def permitted(folder: Path, limits: dict[str, float]) -> None:
    if (why := server_limits.not_permitted(folder, limits)) is not None:
        pytest.skip(f"no limits here: {why}")


@pytest.mark.ci
@pytest.mark.parametrize(
    "limits", [{"write_bytes_per_s": 5e6}, {"read_bytes_per_s": 5e6}, {"memory": 64e6}, {"cpu": 0.2}]
)
def test_a_probe_is_held_and_the_group_ends_with_its_server(limits: dict[str, float]) -> None:
    folder = Path("/var/tmp") / f"inrush-limits-{os.getpid()}"
    folder.mkdir()
    try:
        permitted(folder, limits)
        made, held = server_limits.made(folder, limits)
        assert all(0 < held[name] <= limit * server_limits.TOLERANCE for name, limit in limits.items())
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
            made.join(child.pid)
            assert made.members() == {child.pid}
            child.kill()
        server_limits.remove(folder)
        assert not any(path.exists() for path in made.folders.values())
    finally:
        folder.rmdir()


def test_a_limit_that_does_not_hold_or_has_nothing_to_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = cgroup.Group(2, {})
    for free, within, says in (
        ("30", "30", "does not hold"),
        ("9", "9", "nothing to hold"),
        ("30", "11", None),
    ):
        monkeypatch.setattr(
            server_limits,
            "probe",
            lambda made, *_, free=free, within=within: (0, within if made is not None else free),
        )
        if says is None:
            assert server_limits.probed_limit(group, tmp_path, "writes_per_s", 10) == 11
            continue
        with pytest.raises(TargetError, match=says):
            server_limits.probed_limit(group, tmp_path, "writes_per_s", 10)
    monkeypatch.setattr(server_limits, "probe", lambda *_: (0, "1"))
    with pytest.raises(TargetError, match="was not ended"):
        server_limits.probed_limit(group, tmp_path, "memory", 64e6)


def test_every_wrong_limit_of_a_call_is_one_planning_error(tmp_path: Path) -> None:
    storages = {"fast": str(tmp_path / "a"), "slow": str(tmp_path / "b")}
    words = (
        "slow.write_bytes_per_s=1", "slow", "slwo.memory=64M", "mysql.memory=64M", "slow.memory=1GB", "slow.memory=2GB",
        "slow.disk=3",
    )  # fmt: skip
    call = StudyCall("quickstart", "xs", (), ("sqlite",), ("postgresql",), storages=storages, limits=words)
    with pytest.raises(UsageError) as refused:
        prepare(call)
    said = str(refused.value)
    for part in (
        "--limit: slow.write_bytes_per_s is 1; from 100,000",
        "--limit: slow; write NAME.LIMIT=VALUE",
        unknown("storage or started engine", "slwo", ("fast", "slow", "postgresql")),
        "slow.memory is 2GB; is given twice",
        "there is no such limit",
        "sqlite runs inside inrush, and only servers are held to limits",
    ):
        assert part in said, part


def test_limits_of_a_disk_are_refused_where_there_is_none_and_where_groups_cannot_be_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    call = StudyCall(
        "quickstart", "xs", (), (), ("postgresql",),
        storages={"fast": str(tmp_path), "slow": "/dev/shm/inrush-none"}, limits=("slow.write_bytes_per_s=20M",),
    )  # fmt: skip
    with pytest.raises(
        UsageError, match=r"--limit: postgresql on slow is write_bytes_per_s=20M; limits of a server take"
    ):
        admit(prepare(call), tmp_path, tmp_path)
    monkeypatch.setattr(cgroup, "CGROUPS", tmp_path / "none")
    held = StudyCall("quickstart", "xs", (), (), ("postgresql",), limits=("postgresql.memory=1GB",))
    with pytest.raises(UsageError, match="run as root"):
        admit(prepare(held), tmp_path, tmp_path)


def test_a_group_whose_kernel_takes_no_limit_is_no_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu").mkdir()
    monkeypatch.setattr(cgroup, "entries", lambda *_: [(Path("/dev/null"), "5000")])
    with pytest.raises(OSError, match="in place of '5000'"):
        cgroup.made("g", {"cpu": 0.5}, root=tmp_path)
    assert not list((tmp_path / "cpu").iterdir())


def test_a_process_that_is_ending_is_not_outside_of_its_limits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Held:
        def members(self) -> set[int]:
            return {1}

    looks = iter([{1: "server", 2: "ending"}, {1: "server", 2: "ending"}, {1: "server"}])
    monkeypatch.setattr(own_server.life, "working_in", lambda home: next(looks))
    assert server_limits.outside(tmp_path, cast("Group", Held())) == set()
    monkeypatch.setattr(own_server.life, "working_in", lambda home: {1: "server", 3: "free"})
    assert server_limits.outside(tmp_path, cast("Group", Held()), 0.1) == {3}
