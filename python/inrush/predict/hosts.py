"""Resources of a pipeline whose parts were on hosts of their own: the cores of each machine, and the network between them. Pure.

The network's capacity is what came over it before the clock (docs/decisions/288). It is a resource where nothing says that
this was wrong: a load that took all of it, while its senders did not wait for the network, has shown that it carries more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, cast

from inrush.border.pipeline import Pipelines, shards_of
from inrush.model.pipeline import Part
from inrush.pipeline.shard_servers import shards_said
from inrush.pipeline.shares import SERVER, pipelines_of, what
from inrush.stats.footprint import RECEIVED
from inrush.stats.headroom import cores_of
from inrush.stats.hosts import SHARDS, PlacedRole, over_hosts, seen_servers, workers_of
from inrush.stats.measures import measured_windows
from inrush.stats.record import RunRecord
from inrush.stats.watched import cumulative, grown

#: Of the looks at a way, those at which its sender waited for it: a way that is full is waited for at most of them.
HELD_LEAST = 0.5
#: Fewer looks at a way say nothing, neither that it is waited for nor that it is not.
LOOKS_LEAST = 4
#: A load that took more than this of what a way is said to carry has shown that it carries more, however its senders waited:
#: what is measured before the clock was at most 5 % off.
DISPROVED_SHARE = 1.1


def host_parts(runs: Sequence[RunRecord]) -> list[Part]:
    """runs: of one group."""
    # Of each machine what is known of it in any run: a run of few pipelines has not all of the clients.
    cores: dict[str, float] = {}
    for name, _, of in (found for run in runs for found in (*machines(run), *held_servers(run))):
        if of:
            cores[name] = max(of, cores.get(name, 0.0))
    networks = {name for run in runs for name in network_busy(run)}
    return [Part(*of) for of in cores.items()] + [
        *(Part(name) for name in sorted(networks) if known(name, runs))
    ]


def host_busy(run: RunRecord, figures: Mapping[str, float]) -> dict[str, float]:
    """Servers of each of them that the run kept busy."""
    busy = {
        name: sum(figures.get(f"{role}.busy_cores", 0.0) for role in roles)
        for name, roles, _ in (*machines(run), *held_servers(run))
    }
    return busy | network_busy(run)


#: Name of some cores, roles that use them, how many there are.
Cores = tuple[str, list[str], float | None]


def machines(run: RunRecord) -> list[Cores]:
    """Workers of one kernel share its cores with servers of shards there, and shards of `--start` have those of inrush's own, which
    are watched there. Of a machine with a server whose processes were not found it is not known how busy it was."""
    of, watched = over_hosts(run), cumulative(run, "cpu_s")
    workers = workers_of(run)
    several = several_clients(run)
    ours = str((of.get("own") or {}).get("boot", ""))
    by_boot: dict[str, list[PlacedRole]] = {}
    for worker in workers:
        by_boot.setdefault(worker.kernel, []).append(worker)
    with_shards = SHARDS in watched and not seen_servers(run)
    if with_shards:
        by_boot.setdefault(ours, [])
    found: list[Cores] = []
    for boot, there in by_boot.items():
        servers = [server for worker in there for server in worker.servers]
        if not {str(server["role"]) for server in servers} <= watched.keys():
            continue
        shards = with_shards and boot == ours
        # As its processes are called in the figures of this run, which may have one of the clients of the plan.
        ends = [worker for worker in there if worker.is_end]
        roles = [
            *(end.role for end in ends),
            *(str(server["role"]) for server in servers),
            *[SHARDS] * shards,
        ]
        if not roles:
            continue
        cores = cores_with_servers(cores_of([end.said for end in ends]) if ends else None, servers)
        if shards:
            cores = cores_with_ours(run.env, cores)
        named = f"the {SHARDS}" if shards else shards_named(run, servers)
        found.append((machine_name([workers.index(end) for end in ends], named, several), roles, cores))
    return found


def cores_with_servers(of_ends: float | None, servers: Sequence[Mapping[str, Any]]) -> float | None:
    """Of a machine: a server may use all of them, whatever the workers there are held to."""
    return max([of_ends or 0.0, *(float(server.get("of_machine") or 0) for server in servers)]) or None


def held_servers(run: RunRecord) -> list[Cores]:
    """Servers of shards that are held to fewer cores than their machine has, by a quota or by affinity."""
    watched = cumulative(run, "cpu_s")
    return [
        (
            f"cores that {shards_named(run, [server])} may use{f' on {worker.host}' if worker.host else ''}",
            [str(server["role"])],
            float(server["cores"]),
        )
        for worker, server in seen_servers(run)
        if server["role"] in watched and (server.get("cores") or inf) < (server.get("of_machine") or 0)
    ]


def shards_named(run: RunRecord, servers: Sequence[Mapping[str, Any]]) -> str:
    """In a sentence; empty without any."""
    numbers = [n for server in servers for n in server["shards"]]
    if not numbers:
        return ""
    return "the shards" if len(numbers) == len(shards_of(run.plan)) else shards_said(numbers)


def several_clients(run: RunRecord) -> bool:
    """By the plan: runs of few pipelines have fewer of them, and what is named has one name in all runs."""
    how = cast("Pipelines", run.plan.get("pipelines") or {})
    return how.get("client_hosts", 1) > 1


def cores_with_ours(env: Mapping[str, Any], of_workers: float | None) -> float | None:
    """Of inrush's own machine, with workers there. A group of the kernel that holds inrush need not hold them."""
    ours = own_cores(env)
    return max(ours, of_workers or 0.0) or None if env.get("cgroup_cpu_cores") else ours or of_workers


def own_cores(env: Mapping[str, Any]) -> float:
    """Of the machine that inrush runs on: what was probed, what it may use, what there is, whichever is least."""
    counted = [float(env[k]) for k in ("cpu_capacity_cores", "cgroup_cpu_cores", "cpu_logical") if env.get(k)]
    return min(counted, default=0.0)


def machine_name(processes: Sequence[int], shards: str, several: bool) -> str:
    """Of its cores. Of several clients by what is there in all runs: the rest depends on how many pipelines a run has."""
    if several:
        return f"cores of the machine of {shards or what(processes[0])}"
    named = [f"the {said(process)}" for process in processes] + [shards] * bool(shards)
    if len(named) > 1:
        named = [named[0], *(name.removeprefix("the ") for name in named[1:])]
    return f"cores of {' and '.join(named)}"


def said(process: int) -> str:
    """Of one client."""
    return "load server" if process == SERVER else "client"


def network_busy(run: RunRecord) -> dict[str, float]:
    """Share of what each way carries that the load took; of several clients also what all ways together carry."""
    of, window = over_hosts(run), [*measured_windows(run).values()]
    ways: Sequence[Mapping[str, Any]] = of.get("ways", ())
    received = cumulative(run, "net_rx_bytes", RECEIVED).get("load_server")
    span_s = sum(end - begin for begin, end in window) / 1e9
    if not ways or received is None or span_s <= 0:
        return {}
    total_per_s = sum(grown(*received, *w) for w in window) / span_s
    shares = client_shares(run, [way["client"] for way in ways])
    several = several_clients(run)
    found = {
        network(way["client"], several): total_per_s * share / way["bytes_per_s"]
        for way, share in zip(ways, shares, strict=True)
        if way["bytes_per_s"]
    }
    if several and of.get("ways_bytes_per_s"):
        # Clients on the load server's own host have no way, and nothing of theirs is on it.
        found[TOGETHER] = total_per_s * sum(shares) / of["ways_bytes_per_s"]
    return found


#: Of all clients.
TOGETHER = "network of the load server"


def network(client: int, several: bool) -> str:
    return (
        f"network from client {client} to the load server"
        if several
        else "network from client to load server"
    )


def client_shares(run: RunRecord, clients: Sequence[int]) -> list[float]:
    """Of the bytes that were loaded. clients: from 1 on."""
    by_pipeline: dict[int, int] = {}
    for row in run.rows("files"):
        by_pipeline[row["pipeline"]] = by_pipeline.get(row["pipeline"], 0) + row["bytes"]
    total = sum(by_pipeline.values()) or 1
    how = cast("Pipelines", run.plan.get("pipelines"))
    mine = [pipelines_of(client - 1, how) for client in clients]
    return [sum(by_pipeline.get(p, 0) for p in of) / total for of in mine]


def known(name: str, runs: Sequence[RunRecord]) -> bool:
    """Whether no run contradicts what the way carries, and all say so in which there is such a way."""
    for run in runs:
        mine = ways_of(name, run)
        if not mine:
            # Of a client that the run had no pipelines for.
            continue
        busy = network_busy(run).get(name)
        if busy is None or not all("looks" in way for way in mine):
            return False
        if busy > DISPROVED_SHARE:
            return False
        waited = held_share(mine)
        if busy >= 1.0 and waited is not None and waited < HELD_LEAST:
            return False
    return True


def ways_of(name: str, run: RunRecord) -> list[Mapping[str, Any]]:
    several = several_clients(run)
    ways = over_hosts(run).get("ways", ())
    return [way for way in ways if name in (TOGETHER, network(way["client"], several))]


def held_share(ways: Sequence[Mapping[str, Any]]) -> float | None:
    """Of the looks at the ways of a resource, those at which the sender waited; None of too few."""
    if not all(way["looks"] >= LOOKS_LEAST for way in ways):
        return None
    return max(float(way["held_looks"]) / float(way["looks"]) for way in ways)
