"""Resources of a pipeline whose parts were on hosts of their own: the cores of each machine, and the network between them. Pure.

Pipelines are dealt out to several clients in turn. So their machines, and their ways, are one resource with a member for each
client: what a pipeline takes is known from those that had some, and a member that has most for what it can do is full first.

The network's capacity is what came over it before the clock (decision 288). It is a resource where nothing says that
this was wrong: a load that took all of it, while its senders did not wait for the network, has shown that it carries more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from statistics import fmean
from typing import Any, NamedTuple

from inrush.border.pipeline import shards_of, whole_load
from inrush.load.pipeline.shard_servers import shards_said
from inrush.load.pipeline.shares import SERVER, pipelines_of, what
from inrush.model.pipeline import Member, Part
from inrush.stats.footprint import RECEIVED
from inrush.stats.headroom import cores_of
from inrush.stats.hosts import CLIENT, SHARDS, PlacedRole, over_hosts, seen_servers, workers_of
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


#: Of several clients, those alone on their machines; and their ways to the load server. Loads are dealt out to clients in turn.
CLIENT_CORES, CLIENT_WAYS = "cores of the clients' machines", "networks from the clients to the load server"
#: Bytes a second are counted in these, MB/s.
MB = 1e6


def host_parts(runs: Sequence[RunRecord]) -> list[Part]:
    """runs: of one group."""
    held = [of for run in runs for of in (*machines(run), *held_servers(run))]
    clients = alone(runs)
    # Where each load has another number of clients, what one of them has at n says nothing of another n.
    is_dealt = len({client_hosts(run) for run in runs}) == 1
    # Of each machine what is known of it in any run: a run of few pipelines has not all of the clients.
    cores, dealt = dict[str, float](), dict[int, float]()
    for of in held:
        if of.cores and of.client in clients:
            dealt[of.client] = max(of.cores, dealt.get(of.client, 0.0))
        elif of.cores:
            cores[of.name] = max(of.cores, cores.get(of.name, 0.0))
    if not is_dealt:
        return [Part(*of) for of in cores.items()]
    return [
        *(Part(*of) for of in cores.items()),
        *dealt_out(CLIENT_CORES, runs, dealt),
        *(several_ways(runs) if several_clients(runs[0]) else one_way(runs)),
    ]


def one_way(runs: Sequence[RunRecord]) -> list[Part]:
    return [Part(NETWORK)] if any(network_busy(run) for run in runs) and known(NETWORK, runs) else []


def several_ways(runs: Sequence[RunRecord]) -> list[Part]:
    """The way of each client; and what comes over all of them at once, by the runs that have all. What a way carries was found
    before each run, and differs a little."""
    carried: dict[int, list[float]] = {}
    for way in (way for run in runs for way in ways_in(run)):
        carried.setdefault(way["client"], []).append(way["bytes_per_s"])
    dealt = {n: fmean(of) / MB for n, of in carried.items() if known(network(n, several=True), runs)}
    full = [run for run in runs if len(ways_in(run)) == client_hosts(run)]
    if not full or not known(TOGETHER, full):
        return dealt_out(CLIENT_WAYS, runs, dealt)
    together = fmean(over_hosts(run)["ways_bytes_per_s"] for run in full)
    return [*dealt_out(CLIENT_WAYS, runs, dealt), Part(TOGETHER, together / MB)]


def dealt_out(name: str, runs: Sequence[RunRecord], capacities: Mapping[int, float]) -> list[Part]:
    """By client, from 1 on; one of which nothing is known is never said to be full."""
    turns = range(1, client_hosts(runs[0]) + 1)
    members = tuple(Member(f"client {n}", capacities.get(n, inf)) for n in turns)
    return [Part(name, members=members)] if capacities else []


def host_busy(run: RunRecord, figures: Mapping[str, float]) -> dict[str, float]:
    """Servers of each of them that the run kept busy."""

    def cores(roles: Sequence[str]) -> float:
        return sum(figures.get(f"{role}.busy_cores", 0.0) for role in roles)

    busy = {of.name: cores(of.roles) for of in (*machines(run), *held_servers(run))}
    if not several_clients(run):
        return busy | network_busy(run)
    busy[CLIENT_CORES] = cores([workers_of(run)[n].role for n in clients_in(run)])
    if (loaded := loaded_per_s(run)) is not None:
        # Rows are alike: what a pipeline sends is the same, whichever client's way it has.
        busy[CLIENT_WAYS] = busy[TOGETHER] = loaded / MB
    return busy


class Cores(NamedTuple):
    name: str
    #: That use them.
    roles: Sequence[str]
    cores: float | None
    #: Of several clients the one that has them for itself, from 1 on; 0: none.
    client: int = 0


def alone(runs: Sequence[RunRecord]) -> set[int]:
    """Of several clients those that share their machine with no other part of the load, in any run."""
    there = {n for run in runs for n in clients_in(run)}
    return there - {n for run in runs for n in {*clients_in(run)} - {of.client for of in machines(run)}}


def clients_in(run: RunRecord) -> list[int]:
    """Their places among the workers, which are their numbers."""
    return [n for n, of in enumerate(workers_of(run)) if of.role.partition("/")[0] == CLIENT]


def ways_in(run: RunRecord) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = over_hosts(run).get("ways", ())
    return found


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
        processes = [workers.index(end) for end in ends]
        client = processes[0] if several and len(roles) == 1 and processes and processes[0] != SERVER else 0
        found.append(Cores(machine_name(processes, named, several), roles, cores, client))
    return found


def cores_with_servers(of_ends: float | None, servers: Sequence[Mapping[str, Any]]) -> float | None:
    """Of a machine: a server may use all of them, whatever the workers there are held to."""
    return max([of_ends or 0.0, *(float(server.get("of_machine") or 0) for server in servers)]) or None


def held_servers(run: RunRecord) -> list[Cores]:
    """Servers of shards that are held to fewer cores than their machine has, by a quota or by affinity."""
    watched = cumulative(run, "cpu_s")
    return [
        Cores(
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
    return client_hosts(run) > 1


def client_hosts(run: RunRecord) -> int:
    """By the plan."""
    load = whole_load(run.plan)
    return load["pipelines"].get("client_hosts", 1) if load is not None else 1


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
    of, ways, loaded = over_hosts(run), ways_in(run), loaded_per_s(run)
    if not ways or loaded is None:
        return {}
    shares = client_shares(run, [way["client"] for way in ways])
    several = several_clients(run)
    found = {
        network(way["client"], several): loaded * share / way["bytes_per_s"]
        for way, share in zip(ways, shares, strict=True)
        if way["bytes_per_s"]
    }
    if several and of.get("ways_bytes_per_s"):
        # Clients on the load server's own host have no way, and nothing of theirs is on it.
        found[TOGETHER] = loaded * sum(shares) / of["ways_bytes_per_s"]
    return found


def loaded_per_s(run: RunRecord) -> float | None:
    """Bytes that the load server received from its clients, by whichever way; None: it was not watched."""
    windows = [*measured_windows(run).values()]
    received = cumulative(run, "net_rx_bytes", RECEIVED).get("load_server")
    span_s = sum(end - begin for begin, end in windows) / 1e9
    if received is None or span_s <= 0:
        return None
    return sum(grown(*received, *w) for w in windows) / span_s


#: Of all clients; and of the only one.
TOGETHER, NETWORK = "network of the load server", "network from client to load server"


def network(client: int, several: bool) -> str:
    return f"network from client {client} to the load server" if several else NETWORK


def client_shares(run: RunRecord, clients: Sequence[int]) -> list[float]:
    """Of the bytes that were loaded. clients: from 1 on."""
    by_pipeline: dict[int, int] = {}
    for row in run.rows("files"):
        by_pipeline[row["pipeline"]] = by_pipeline.get(row["pipeline"], 0) + row["bytes"]
    total = sum(by_pipeline.values()) or 1
    load = whole_load(run.plan)
    assert load is not None, "its ends are on several hosts"
    mine = [pipelines_of(client - 1, load["pipelines"]) for client in clients]
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
    return [way for way in ways_in(run) if name in (TOGETHER, network(way["client"], several))]


def held_share(ways: Sequence[Mapping[str, Any]]) -> float | None:
    """Of the looks at the ways of a resource, those at which the sender waited; None of too few."""
    if not all(way["looks"] >= LOOKS_LEAST for way in ways):
        return None
    return max(float(way["held_looks"]) / float(way["looks"]) for way in ways)
