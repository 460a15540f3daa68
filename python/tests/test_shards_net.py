"""A pipeline whose shards have hosts of their own in a laboratory, with workers on them: they are seen, and one that is held to few
cores is what is full first."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from benches.netlab.cluster import HEAD, Cluster, cluster
from benches.netlab.database import postgresql
from benches.netlab.lab import Host
from inrush.guards.analyse import analyse
from inrush.machine import cgroup
from inrush.predict.resources import resource_forecasts
from inrush.results.store import Results, Store
from inrush.stats.measures import study_record
from inrush.stats.run_figures import figures_of_run
from tests.needed import need_distributed, need_lab
from tests.test_pipeline_net import FAILS_S, LIMIT_S, proven, said_in

from .engines.servers import need, scratch

need_distributed()
need_lab()
#: Dear in time: five hosts of their own, two of them with a server.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
#: Hosts of the two shards: by their names they would be the load server and the last client.
SHARDS = ("host-1", "host-4")
LOAD_SERVER, CLIENT = "host-2", "host-3"
STUDY = (
    "run", "pipeline-parallel", "--scale", "xs", "-P", "repeats={count=1,confirm=0}", "-P", "pipeline.shards=2",
    "-P", "pipeline.file_bytes=2_000_000", "-P", "pipeline.chunk_rows=400", "-P", "pipeline.flush_rows=400",
    "-P", "pipeline.pipeline_bytes_per_s=1_000_000", "-P", "pipeline.files={per_session=2}",
)  # fmt: skip
#: A tenth of a core: the least that a group's quota can be. Two to four pipelines fill it with commits of few rows.
HELD_CORES = 0.1
FEW_ROWS = ("-P", "pipeline.chunk_rows=100", "-P", "pipeline.flush_rows=100")


@pytest.fixture(scope="module")
def at() -> Iterator[tuple[Cluster, list[str]]]:
    need("postgresql")
    with contextlib.ExitStack() as held:
        folder = held.enter_context(scratch())
        hosts = held.enter_context(cluster(4, folder, 1))
        urls = [
            # At its second address, by which no worker is known.
            held.enter_context(postgresql(hosts.lab[name], folder / f"shard-{name}"))
            for name in SHARDS
        ]
        yield hosts, urls


def words(at: Cluster, urls: Sequence[str], more: Sequence[str]) -> list[str]:
    shards = f"options.postgresql.shards='{' '.join(urls)}'"
    return [
        sys.executable, "-m", "inrush.cli", *STUDY, urls[0], "-P", shards, *more, "--fleet", at.address, "--fleet-insecure",
    ]  # fmt: skip


def ran(at: Cluster, urls: Sequence[str], folder: Path, *more: str) -> tuple[int, str, Results]:
    running = at.lab[HEAD].start(
        words(at, urls, more), folder / "log", {"INRUSH_RESULTS": str(folder / "results"), "NO_COLOR": "1"}, cwd=folder
    )  # fmt: skip
    code = running.wait(LIMIT_S)
    return code, (folder / "log").read_text(), Results(Store(folder / "results").latest().path)


def postmaster(host: Host) -> int:
    """Its id on this machine: the server and not a process of its own."""
    (found,) = (
        pid for pid, words in host.processes().items() if Path(words[0]).name == "postgres" and "-D" in words
    )
    return found


@contextlib.contextmanager
def held_to(pid: int, cores: float) -> Iterator[None]:
    """The processes that it starts from now on, until it ends."""
    group = cgroup.made(f"inrush-shard-{os.getpid()}", {"cpu": cores})
    try:
        group.join(pid)
        yield
    finally:
        for procs in group.procs:
            for member in procs.read_text().split():
                with contextlib.suppress(OSError):
                    (procs.parent.parent / "cgroup.procs").write_text(member)
        group.remove()


@pytest.mark.slow
def test_each_shard_is_seen_on_its_host_whose_worker_has_no_end_of_the_load(
    at: tuple[Cluster, list[str]], tmp_path: Path
) -> None:
    hosts, urls = at
    code, said, results = ran(hosts, urls, tmp_path, "-P", "factors.pipelines=[1,2]")
    assert code in (0, 3), said
    proven(results)
    assert f"fleet: {LOAD_SERVER} is the load server; {CLIENT} is the client; " in said, said
    for name in SHARDS:
        assert f"{name} watches what is at {hosts.lab[name].fast}:5432" in said, said
    assert "not seen" not in said
    for run in results.runs:
        workers = run.doc["hosts"]["workers"]
        assert [(of["host"], of["does"]) for of in workers] == [
            (LOAD_SERVER, "the load server"), (CLIENT, "client 1"), (SHARDS[0], "the watcher of shard 0"),
            (SHARDS[1], "the watcher of shard 1"),
        ]  # fmt: skip
        roles = {row["role"] for row in run.table("resources").to_pylist()}
        assert {f"host/{n}" for n in (1, 2, 3, 4)} <= roles
        assert {"shards", "shards/shard_0", "shards/shard_1"} <= roles
    for run in study_record(results).runs:
        figures = figures_of_run(run)
        each = [figures[f"shards/shard_{k}.busy_cores"] for k in range(2)]
        assert all(cores > 0.005 for cores in each), figures
        assert figures["shards.busy_cores"] == pytest.approx(sum(each), rel=0.05)
        disk = {row["role"] for row in run.rows("resources") if row["metric"].startswith("dev_")}
        assert {"shards/shard_0", "shards/shard_1"} <= disk


def test_a_shard_that_is_held_to_few_cores_is_what_is_full_first(
    at: tuple[Cluster, list[str]], tmp_path: Path
) -> None:
    hosts, urls = at
    with held_to(postmaster(hosts.lab[SHARDS[1]]), HELD_CORES):
        code, said, results = ran(hosts, urls, tmp_path, *FEW_ROWS, "-P", "factors.pipelines=[1,2,6]")
    assert code in (0, 3), said
    proven(results)
    name = f"cores that shard 1 may use on {SHARDS[1]}"
    assert f"Full first on PostgreSQL: {name}" in said and "confirmed: full" in said, said
    (forecast,) = resource_forecasts(analyse(study_record(results)))
    assert forecast.resources[0].name == name and forecast.resources[0].capacity == pytest.approx(HELD_CORES)
    names = {of.name for of in forecast.resources}
    assert not any("shard 0 may use" in of for of in names), "nothing holds it"


def test_a_watcher_that_is_killed_ends_the_run_with_its_name_and_part(
    at: tuple[Cluster, list[str]], tmp_path: Path
) -> None:
    hosts, urls = at
    slow = ("-P", "pipeline.pipeline_bytes_per_s=300_000", "-P", "pipeline.files={per_session=10}")
    more = (*slow, "-P", "factors.pipelines=[2]")
    running = hosts.lab[HEAD].start(
        words(hosts, urls, more), tmp_path / "log", {"INRUSH_RESULTS": str(tmp_path / "results"), "NO_COLOR": "1"},
        cwd=tmp_path,
    )  # fmt: skip
    try:
        said_in(running, tmp_path / "log", "· measure ·", LIMIT_S)
        killed = time.monotonic()
        hosts.workers[SHARDS[1]].kill()
        said_in(running, tmp_path / "log", "failed after", FAILS_S)
        assert time.monotonic() - killed < FAILS_S
        running.wait(LIMIT_S)
    finally:
        hosts.workers[SHARDS[1]].kill()
        hosts.workers[SHARDS[1]].wait(10.0)
        hosts.start()
    run: Any = Results(Store(tmp_path / "results").latest().path).runs[0]
    message = run.doc["failure"]["message"]
    assert message.startswith("the watcher of shard 1 (worker tcp://") and f"on {SHARDS[1]})" in message, (
        message
    )
    assert "shards/shard_0" in {row["role"] for row in run.table("resources").to_pylist()}
