"""A pipeline whose client, load server and shards are hosts of a laboratory: what is full first is the network, or it is not."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benches.netlab.cluster import HEAD, Cluster, cluster
from benches.netlab.database import postgresql
from benches.netlab.lab import Running
from inrush.guards.analyse import analyse
from inrush.predict.pipelines import FULL_SHARE
from inrush.predict.resources import resource_forecasts
from inrush.results.store import Results, Store
from inrush.stats.measures import study_record
from tests.needed import need_distributed, need_lab

from .engines.servers import need, scratch

need_distributed()
need_lab()
#: Dear in time: four hosts of their own, and runs that wait for packets.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SERVER, CLIENT, DATABASE = "host-1", "host-2", "database"
LIMIT_S = 400.0
#: As of a fleet's other runs, and what a machine takes that tests something else at the same time.
FAILS_S = 2.5 + 5.0
#: Pipelines give 0.39 MB/s each, as rows travel: two of them fill the way.
SLOW_PER_S = 600_000
STUDY = (
    "run", "pipeline-parallel", "--scale", "xs", "-P", "factors.pipelines=[1,2,4]", "-P", "repeats={count=1,confirm=0}",
    "-P", "pipeline.file_bytes=800_000", "-P", "pipeline.chunk_rows=400", "-P", "pipeline.flush_rows=400",
    "-P", "pipeline.pipeline_bytes_per_s=500_000", "-P", "pipeline.files={per_session=3}",
)  # fmt: skip
#: A load of 30 s or more: its progress is printed every 10 s.
LONG = ("-P", "factors.pipelines=[2]", "-P", "pipeline.files={per_session=20}")
NETWORK = "network from client to load server"


@pytest.fixture(scope="module")
def at() -> Iterator[tuple[Cluster, str]]:
    need("postgresql")
    with (
        scratch() as folder,
        cluster(2, folder, 1, [DATABASE]) as hosts,
        postgresql(hosts.lab[DATABASE], folder / DATABASE) as url,
    ):
        yield hosts, url


def ran(at: Cluster, url: str, folder: Path, *more: str) -> tuple[int, str, Results]:
    running = at.lab[HEAD].start(
        [sys.executable, "-m", "inrush.cli", *STUDY, url, *more, "--fleet", at.address, "--fleet-insecure"],
        folder / "log", {"INRUSH_RESULTS": str(folder / "results"), "NO_COLOR": "1"}, cwd=folder,
    )  # fmt: skip
    code = running.wait(LIMIT_S)
    return code, (folder / "log").read_text(), Results(Store(folder / "results").latest().path)


def proven(results: Results) -> None:
    for run in results.runs:
        assert run.doc["status"] == "done", run.doc["failure"]
        proofs = run.table("proofs").to_pylist()
        assert proofs and all(row["holds"] for row in proofs)
        (whole,) = run.table("repetitions").to_pylist()
        assert whole["rows"] > 0 and whole["unsent"] == 0


def test_the_network_between_client_and_load_server_is_what_is_full(
    at: tuple[Cluster, str], tmp_path: Path
) -> None:
    hosts, url = at
    hosts.lab.way(SERVER, CLIENT, bytes_per_s=SLOW_PER_S)
    code, said, results = ran(hosts, url, tmp_path)
    assert code in (0, 3), said
    proven(results)
    assert f"Full first on PostgreSQL: {NETWORK}" in said and "confirmed: full" in said, said
    for run in results.runs:
        of = run.doc["hosts"]
        assert [worker["host"] for worker in of["workers"]] == [SERVER, CLIENT]
        assert [worker["does"] for worker in of["workers"]] == ["the load server", "client 1"]
        assert of["load_server"]["tls"]
        (way,) = of["ways"]
        # Bytes of packets are held to it: those of rows are 4 % fewer. A busy receiver takes them in gulps.
        assert 0.8 * SLOW_PER_S < way["bytes_per_s"] < 1.1 * SLOW_PER_S
        assert way["looks"] > 4
    waited = {run.doc["labels"]["sessions"]["pipelines"]: run.doc["hosts"]["ways"][0] for run in results.runs}
    assert waited[4]["held_looks"] > 0.5 * waited[4]["looks"], "its senders waited for the way"
    assert waited[1]["held_looks"] < 0.5 * waited[1]["looks"]


@pytest.mark.slow
def test_a_way_that_is_not_full_is_not_named(at: tuple[Cluster, str], tmp_path: Path) -> None:
    hosts, url = at
    hosts.lab.way(SERVER, CLIENT)
    code, said, results = ran(hosts, url, tmp_path)
    assert code in (0, 3), said
    proven(results)
    # It may be what would be full first of all, far beyond these loads.
    assert "confirmed: full" not in said and (f"{NETWORK}, predicted" not in said or "not reached" in said), (
        said
    )
    (forecast,) = resource_forecasts(analyse(study_record(results)))
    (network,) = (of for of in forecast.resources if of.name == NETWORK)
    assert 0 < network.share < FULL_SHARE, forecast.resources
    assert network.full_at > 16, "far beyond the largest load, which has 4 pipelines"


def test_a_worker_that_is_killed_ends_the_run_with_its_name_and_its_tables_are_kept(
    at: tuple[Cluster, str], tmp_path: Path
) -> None:
    hosts, url = at
    hosts.lab.way(SERVER, CLIENT)
    folder = tmp_path
    # The other way round than by the names of the workers.
    server, client = CLIENT, SERVER
    running = hosts.lab[HEAD].start(
        [
            sys.executable, "-m", "inrush.cli", *STUDY, *LONG, url, "--fleet", hosts.address, "--fleet-insecure",
            "-P", f"pipeline.load_server_on={server}",
        ],
        folder / "log", {"INRUSH_RESULTS": str(folder / "results"), "NO_COLOR": "1"}, cwd=folder,
    )  # fmt: skip
    try:
        # The first line with a rate: on a busy machine the one before may come before any row has.
        said_in(running, folder / "log", "rows/s", LIMIT_S)
        killed = time.monotonic()
        hosts.workers[client].kill()
        said_in(running, folder / "log", "failed after", FAILS_S)
        assert time.monotonic() - killed < FAILS_S
        running.wait(LIMIT_S)
    finally:
        hosts.workers[client].wait(10.0)
        hosts.start()
    run = Results(Store(folder / "results").latest().path).runs[0]
    message = run.doc["failure"]["message"]
    assert message.startswith("client 1 (worker tcp://") and f"on {client})" in message, message
    (whole,) = run.table("repetitions").to_pylist()
    (inputs,) = (of["inputs"] for of in run.plan["loads"].values())
    assert whole["rows"] > 0 and whole["ops"] + whole["unsent"] == inputs["files"]
    assert sum(row["rows"] for row in run.table("intervals").to_pylist()) == whole["rows"]
    assert {"load_server", "host/1"} <= {row["role"] for row in run.table("resources").to_pylist()}
    assert not run.table("proofs").num_rows
    assert [worker["host"] for worker in run.doc["hosts"]["workers"]] == [server, client]


def said_in(running: Running, log: Path, words: str, within_s: float) -> None:
    end = time.monotonic() + within_s
    while words not in (said := log.read_text()):
        assert running.code() is None or words in log.read_text(), said[-3000:]
        assert time.monotonic() < end, f"{words!r} was not said in {within_s:g} s:\n{said[-3000:]}"
        time.sleep(0.02)
