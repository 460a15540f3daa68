"""A load server held to so many cores: what a cgroup is told, what is done where none is permitted, and what it comes to."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.agent.process import Process
from inrush.errors import UsageError
from inrush.load.pipeline import cpu_quota
from inrush.load.pipeline.cpu_quota import AFFINITY, QUOTA, chosen_cores, limited, threads_of
from inrush.machine.cgroup import quota
from inrush.machine.held import quotas
from inrush.machine.host import cgroup_cpu_cores
from inrush.run.call import StudyCall
from inrush.run.prepare import prepare
from tests.strategies import with_factor
from tests.test_pipeline import ends

SPIN = (
    sys.executable,
    "-c",
    "import threading\nthreading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()",
)


@pytest.fixture
def spinning(tmp_path: Path) -> Iterator[Process]:
    """Two threads, one of which works without end."""
    process = Process({"does": "drive"}, tmp_path / "log", command=SPIN)
    while len(threads_of(process.pid)) < 2:
        time.sleep(0.01)
    yield process
    process.kill()
    process.close()


def test_a_quota_is_the_cores_of_a_period_and_never_less_than_the_kernel_gives() -> None:
    assert quota(2.0) == (20_000, 10_000)
    assert quota(0.25) == (2_500, 10_000)
    assert quota(0.02) == (1_000, 50_000)


def test_the_load_server_gets_the_last_cores() -> None:
    assert chosen_cores({0, 3, 5, 7}, 2) == {5, 7}


@pytest.mark.parametrize("version", [1, 2])
def test_a_group_is_told_the_quota_and_who_it_holds(version: int, tmp_path: Path, spinning: Process) -> None:
    parent = tmp_path / "cpu" if version == 1 else tmp_path
    (parent / "inrush-load-server-1").mkdir(parents=True)
    with limited([spinning.pid], 0.5, tmp_path) as how:
        (group,) = parent.glob("inrush-load-server-*")
        detail = {f.name: f.read_text() for f in group.iterdir()}
    assert (how, group.name) == (QUOTA, f"inrush-load-server-{os.getpid()}"), "an empty one of before is gone"
    limits = (
        {"cpu.cfs_quota_us": "5000", "cpu.cfs_period_us": "10000"}
        if version == 1
        else {"cpu.max": "5000 10000"}
    )
    assert detail == {"cgroup.procs": str(spinning.pid), **limits}
    assert version == 1 or (tmp_path / "cgroup.subtree_control").read_text() == "+cpu"


def test_without_the_right_whole_cores_are_had_by_affinity_of_every_thread_and_parts_are_refused(
    spinning: Process, tmp_path: Path
) -> None:
    nowhere = tmp_path / "no cgroups here"
    with limited([spinning.pid], 1.0, nowhere) as how:
        assert how == AFFINITY
        threads = threads_of(spinning.pid)
        assert len(threads) == 2
        assert {len(os.sched_getaffinity(t)) for t in threads} == {1}
    with pytest.raises(UsageError, match="part of a core"), limited([spinning.pid], 0.5, nowhere):
        pass


@pytest.mark.slow
def test_what_is_held_uses_what_it_was_given_and_no_more(spinning: Process) -> None:
    """On a machine that gives us cgroups; elsewhere the test says that it could not."""
    given = 0.2
    try:
        cpu_quota.made(cpu_quota.CGROUPS, given).remove()
    except OSError as e:
        pytest.skip(f"no cgroup of ours here: {e}")
    with limited([spinning.pid], given) as how:
        assert how == QUOTA
        begun, before = time.monotonic(), cpu_s(spinning.pid)
        time.sleep(3)
        used = (cpu_s(spinning.pid) - before) / (time.monotonic() - begun)
        spinning.kill()
        spinning.close()
    assert 0 < used <= given * 1.15
    assert not list((cpu_quota.CGROUPS / "cpu").glob(f"{cpu_quota.NAME}-{os.getpid()}"))


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_cores_of_a_study_may_be_parts_and_factors(tmp_path: Path) -> None:
    def cores(named: str, *overrides: str) -> list[float]:
        plan = prepare(StudyCall(named, "xs", ("pipelines=1", *overrides), ("sqlite",))).plan
        return [ends(plan.planned[p.id].plan)["pipelines"]["load_server_cores"] for p in plan.points]

    assert cores("pipeline-parallel", "pipeline.load_server_cores=0.15") == [0.15]
    assert cores("pipeline-parallel") == [0.0]
    with pytest.raises(UsageError, match=r"0\.01 to 1024 cores"):
        cores("pipeline-parallel", "pipeline.load_server_cores=0.001")
    varied = with_factor(tmp_path, "cores = [0.1, 1]", "load_server_cores")
    assert cores(varied) == [0.1, 1.0]
    with pytest.raises(UsageError, match=r"factors\.cores\[1\]"):
        cores(varied, "cores=[0.1, -1]")


def test_what_inrush_may_use_is_the_least_quota_of_its_groups_and_of_those_above(tmp_path: Path) -> None:
    """A group without a quota below one of half a core, below one of two; here by files as the kernel has them, of each
    version."""
    for version, (name, text) in {1: ("cpu.cfs_quota_us", "{}"), 2: ("cpu.max", "{} 100000")}.items():
        root = tmp_path / str(version)
        mount = root / "cpu" if version == 1 else root
        (mount / "pods" / "one" / "run").mkdir(parents=True)
        for folder, quota_us in (("pods", 200_000), ("pods/one", 50_000), ("pods/one/run", None)):
            none = "-1" if version == 1 else "max"
            (mount / folder / name).write_text(text.format(none if quota_us is None else quota_us))
            if version == 1:
                (mount / folder / "cpu.cfs_period_us").write_text("100000")
        groups = "1:cpu,cpuacct:/pods/one/run\n" if version == 1 else "0::/pods/one/run\n"
        assert sorted(quotas(groups, root)) == [0.5, 2.0]
        assert cgroup_cpu_cores(groups, root) == 0.5 and cgroup_cpu_cores("3:pids:/\n", root) is None
