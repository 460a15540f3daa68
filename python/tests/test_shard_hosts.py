"""What results say of hosts with shards: whose processors they share, what is judged of them, and which is full first."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from inrush.guards import laws, quiet
from inrush.predict import hosts
from inrush.predict.resources import forecast_of
from inrush.predict.training import Trained, Training
from inrush.stats.hosts import hosts_of
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from tests.test_hosts_by_role import ENDS, pipeline
from tests.test_pipeline_ways import looks_at, run

PRESSED = {"cpu_busy_s": 3.0, "psi_cpu_some_s": 0.5}
EACH = {"host/1": PRESSED, "host/2": {"cpu_busy_s": 1.0}, "host/3": {"cpu_busy_s": 2.0}, "host": {}}


def server(shard: int, **more: Any) -> dict[str, Any]:
    return {
        "role": f"shards/shard_{shard}", "host": f"10.0.9.{shard}", "port": 5432, "shards": [shard], "pids": [9], **more,
    }  # fmt: skip


def with_servers(of: RunRecord, servers: dict[int, list[dict[str, Any]]], clients: int = 1) -> RunRecord:
    """servers: worker, from 0 on -> those on its host."""
    told = of.summary["hosts"]
    workers = [{**w, "servers": servers.get(n, [])} for n, w in enumerate(told["workers"])]
    shards = [{"target": {"url": f"postgresql://10.0.9.{k}/x"}} for k in range(2)]
    loads: Any = of.plan.get("loads", {"pipelines": {}})
    plan: Any = {**of.plan, "loads": {"pipelines": {**loads["pipelines"], "shards": shards}}}
    summary = {**of.summary, "hosts": {**told, "workers": workers, "clients": clients}}
    return replace(of, plan=plan, summary=summary)


# Guards.


def test_a_shards_host_is_judged_with_the_server_on_it() -> None:
    cores = {**ENDS, "shards": 1.5, "shards/shard_0": 1.5, "inrush/3": 0.5}
    found = with_servers(pipeline(EACH, cores, "abc", own="z"), {2: [server(0)]})
    third = hosts_of(found)[2]
    assert (third.role, third.name, set(third.roles or ())) == ("host/3", "host-c", {"shards/shard_0", "inrush/3"})  # fmt: skip
    assert not third.may_have_server
    assert "shards" not in {role for host in hosts_of(found) for role in host.roles or ()}, "it is no process"
    verdict = quiet.quiet_machine(found, {})
    assert verdict is not None and "other processes 0.0 %" in verdict.sentence, verdict
    alone = with_servers(pipeline(EACH, {**ENDS, "inrush/3": 0.5}, "abc", own="z"), {})
    verdict = quiet.quiet_machine(alone, {})
    assert verdict is not None and "on host-c" in verdict.sentence, "no one says that it is the server's"


def test_of_a_host_with_a_server_that_was_not_found_other_processes_are_not_known() -> None:
    found = with_servers(pipeline(EACH, {**ENDS, "inrush/3": 0.5}, "abc", own="z"), {2: [server(0, pids=[])]})
    assert [host.may_have_server for host in hosts_of(found)] == [False, False, True, False]
    shares = {host.name: noise for host, noise in quiet.noise_by_host(found)}
    assert quiet.OTHERS not in shares["host-c"] and "steal" in shares["host-c"]
    assert shares["host-a"][quiet.OTHERS] == 0.0


def test_a_watcher_is_no_client_and_its_host_is_named_by_what_it_watches() -> None:
    found = with_servers(
        pipeline(EACH, {**ENDS, "shards/shard_0": 2.0}, "abc", own="z"), {2: [server(0), server(1)]}
    )
    for worker in found.summary["hosts"]["workers"]:
        worker["host"] = "same"
    names = [host.name for host in hosts_of(found)]
    assert names[1:3] == ["same (client)", "same (shard 0 and shard 1)"]
    beside = with_servers(pipeline(EACH, {**ENDS, "shards/shard_0": 2.0}, "aba", own="z"), {2: [server(0)]})
    verdict = laws.nothing_overfull(beside, figures_of_run(beside))
    assert verdict is not None and verdict.sentence.startswith("At most 3.00 of 8 cores"), (
        "a watcher's are not asked for"
    )


# The model.


def shards_run(
    servers: dict[int, list[dict[str, Any]]], cpu_s: dict[str, float], boots: str = "abcd", planned: int = 1
) -> RunRecord:
    """Load server, client, and two watchers; cpu_s: role -> what it used in the second."""
    found = run(100.0, 200.0, 20, 0, planned=planned)
    workers = [{"boot": boot, "host": f"host-{boot}", "cores": 1, "cpus": [0]} for boot in boots]
    table = pa.concat_tables(
        [found.tables["resources"], *(looks_at((role, "cpu_s", "", s)) for role, s in cpu_s.items())]
    )
    summary = {"hosts": {**found.summary["hosts"], "workers": workers, "own": {"host": "h", "boot": "z"}}}
    return with_servers(replace(found, summary=summary, tables={"resources": table}), servers)


BOTH = {2: [server(0, cores=4.0, of_machine=4)], 3: [server(1, cores=4.0, of_machine=4)]}
CPU = {"shards": 1.0, "shards/shard_0": 0.25, "shards/shard_1": 0.75}
FIGURES = {f"{role}.busy_cores": s for role, s in CPU.items()} | {
    "load_server.busy_cores": 0.2, "client.busy_cores": 0.1,
}  # fmt: skip


def cores(of: RunRecord) -> dict[str, float]:
    return {part.name: part.capacity for part in hosts.host_parts([of]) if part.name.startswith("cores")}


def busy(of: RunRecord) -> dict[str, float]:
    return {name: n for name, n in hosts.host_busy(of, FIGURES).items() if name.startswith("cores")}


def test_cores_of_each_shards_machine_are_a_resource_and_as_many_as_the_machine_has() -> None:
    """Its worker may use one, which is nothing to the server."""
    found = shards_run(BOTH, CPU)
    assert cores(found) == {
        "cores of the load server": 1.0, "cores of the client": 1.0, "cores of shard 0": 4.0, "cores of shard 1": 4.0,
    }  # fmt: skip
    assert busy(found) == {
        "cores of the load server": 0.2, "cores of the client": 0.1, "cores of shard 0": 0.25, "cores of shard 1": 0.75,
    }  # fmt: skip
    assert set(cores(shards_run(BOTH, CPU, planned=2))) >= {"cores of the machine of shard 0"}


def test_shards_on_one_kernel_share_its_cores_with_the_ends_there() -> None:
    found = shards_run(BOTH, CPU, "abaa")
    assert cores(found) == {"cores of the load server and shards": 4.0, "cores of the client": 1.0}
    assert busy(found)["cores of the load server and shards"] == pytest.approx(1.2)
    assert set(cores(shards_run(BOTH, CPU, "abcc"))) == {
        "cores of the load server", "cores of the client", "cores of the shards",
    }  # fmt: skip


def test_a_server_that_is_held_to_fewer_cores_is_a_resource_of_its_own() -> None:
    held = {2: [server(0, cores=4.0, of_machine=4)], 3: [server(1, cores=0.5, of_machine=4)]}
    found = shards_run(held, CPU)
    name = "cores that shard 1 may use on host-d"
    assert cores(found)[name] == 0.5 and busy(found)[name] == 0.75
    assert cores(found)["cores of shard 1"] == 4.0 and len(cores(found)) == 5


def test_cores_of_a_machine_whose_server_was_not_found_are_no_resource() -> None:
    found = shards_run({2: [server(0, pids=[])], 3: BOTH[3]}, {"shards/shard_1": 0.75})
    assert set(cores(found)) == {"cores of the load server", "cores of the client", "cores of shard 1"}
    beside = shards_run({0: [server(0, pids=[])]}, {})
    assert set(cores(beside)) == {"cores of the client"} == set(busy(beside)), (
        "how busy they were is not known"
    )


def test_the_shard_whose_machine_has_few_cores_is_full_first() -> None:
    few = {2: BOTH[2], 3: [server(1, cores=1.0, of_machine=1)]}
    runs = [
        SimpleNamespace(n=n, of=shards_run(few, {r: n * s * 0.2 for r, s in CPU.items()}), busy={r: n * c * 0.2 for r, c in FIGURES.items()})
        for n in (1, 2, 4, 7)
    ]  # fmt: skip
    trained = [
        Trained(f"r{r.n}", float(r.n), 100.0 * r.n, {k: v for k, v in hosts.host_busy(r.of, r.busy).items() if k.startswith("cores")})
        for r in runs
    ]  # fmt: skip
    parts = tuple(p for p in hosts.host_parts([r.of for r in runs]) if p.name.startswith("cores"))
    forecast = forecast_of(Training((), "pipelines", "pipelines.bytes_per_s", "load", tuple(trained), parts))
    assert forecast is not None
    first = forecast.resources[0]
    assert first.name == "cores of shard 1" and first.full_at == pytest.approx(1 / 0.15, rel=0.1)
    assert first.seen_full and first.verdict.startswith("confirmed: full"), first
