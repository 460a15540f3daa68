"""The machines that a run's processes were on, each as it was watched by the first process on it. Pure.

CPU, memory and pressure are those of a kernel, interfaces those of a namespace of the network: containers of one machine are
one in the first and several in the second, and each of them says the same of the kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from inrush.border import address
from inrush.border.pipeline import server_hosts
from inrush.stats.record import RunRecord

HOST = "host"
#: How figures of inrush's own machine are named where the ends of a pipeline are on others: `host` is all of them.
OWN = f"{HOST}/inrush"
CLIENT, LOAD_SERVER, HELPER, SHARDS = "client", "load_server", "inrush", "shards"
#: Hosts that each machine calls itself; of results that do not say which others are its own.
LOOPBACK = ("localhost", "127.0.0.1", "::1")
#: A process of a pipeline's run that does no more than watch a shard's host.
WATCHER = "watcher"


@dataclass(frozen=True)
class PlacedRole:
    """A process of a run that was given to a host."""

    #: In `resources` and in figures.
    role: str
    #: What run.json says of it.
    said: Mapping[str, Any]

    @property
    def host(self) -> str:
        return str(self.said.get("host", ""))

    @property
    def kernel(self) -> str:
        return str(self.said.get("boot") or self.host)

    @property
    def network(self) -> str:
        return str((self.said.get("spaces") or {}).get("network", ""))

    @property
    def target_hosts(self) -> Sequence[str]:
        """Of the addresses of the run's servers, those that are this machine's own."""
        found: Sequence[str] = self.said.get("target_hosts") or ()
        return found

    @property
    def is_end(self) -> bool:
        return self.role != WATCHER

    @property
    def servers(self) -> Sequence[Mapping[str, Any]]:
        """Of shards, on its host: each is watched by one process of the run, by process id if it was found."""
        found: Sequence[Mapping[str, Any]] = self.said.get("servers") or ()
        return found

    @property
    def words(self) -> str:
        roles = [self.role] if self.is_end else [str(of["role"]) for of in self.servers]
        return " and ".join(
            role.replace(f"{SHARDS}/", "").replace("_", " ").replace("/", " ") for role in roles
        )


@dataclass(frozen=True)
class WatchedHost:
    #: Of `resources`: `host`, or `host/3` where processes were on several hosts and the third is the first one on this.
    role: str
    #: How its figures are named: as the role, but of results in which the first host alone was watched, and of inrush's own.
    label: str
    #: Empty of the only one.
    name: str
    #: Equal where processors and memory are the same ones.
    kernel: str
    #: What was watched by process id and shares its processors; None: all.
    roles: tuple[str, ...] | None
    #: A server that was not watched by process id may be on it: what else its processors did is not known to be other work.
    may_have_server: bool = False


@dataclass(frozen=True)
class Machine:
    """A kernel with a network, and where a watch of it would stand."""

    kernel: str
    network: str
    label: str
    #: In `resources`, the first that is there.
    watches: tuple[str, ...]
    host: str
    #: Of its processes the first, in words.
    first: str


def hosts_of(run: RunRecord) -> list[WatchedHost]:
    """Those that were watched, in order of their first processes; inrush's own is last."""
    roles = host_roles(run)
    machines = machines_of(run)
    on_kernel = roles_by_kernel(run)
    if len(machines) < 2:
        # Of a pipeline each end has watched the machine.
        role = next((role for role in (part(1), HOST) if role in roles), None)
        all_of = on_kernel.get(machines[0].kernel) if machines and over_hosts(run) else None
        return [WatchedHost(role, HOST, "", "", all_of, server_unseen_here(run))] if role is not None else []
    names, blind = named(machines), kernels_of_server(run)
    return [
        WatchedHost(
            role, of.label, name, of.kernel, on_kernel.get(of.kernel, ()), blind is None or of.kernel in blind
        )
        for of, name in zip(machines, names, strict=True)
        if (role := next((r for r in of.watches if r in roles), None)) is not None
    ]


def unwatched(run: RunRecord) -> list[str]:
    """Hosts that were not watched, by name: of results that were made before each was, all but the first."""
    machines = machines_of(run)
    if len(machines) < 2:
        return []
    seen = {host.label for host in hosts_of(run)}
    return [name for of, name in zip(machines, named(machines), strict=True) if of.label not in seen]


def each_kernel(hosts: Sequence[WatchedHost]) -> list[WatchedHost]:
    """One of those that share processors and memory."""
    return [*{host.kernel: host for host in reversed(hosts)}.values()][::-1]


def on(host: WatchedHost) -> str:
    """Behind what is said of a host; empty of the only one."""
    return f" on {host.name}" if host.name else ""


def part(process: int) -> str:
    """The role of the machine that this process watched, where there are several."""
    return f"{HOST}/{process}"


def host_roles(run: RunRecord) -> list[str]:
    table = run.tables.get("resources")
    if table is None or table.num_rows == 0:
        return []
    return [role for role in table["role"].unique().to_pylist() if role.split("/", 1)[0] == HOST]


def over_hosts(run: RunRecord) -> Mapping[str, Any]:
    """What run.json says of the hosts of a pipeline; empty of a run on one."""
    found: Mapping[str, Any] = run.summary.get("hosts") or {}
    return found


def workers_of(run: RunRecord) -> list[PlacedRole]:
    """By number: client processes of a fleet; of a pipeline the load server, behind it the clients, and behind them those that
    watch hosts of shards."""
    if hosts := over_hosts(run):
        ends, count = hosts.get("workers") or (), int(hosts.get("clients") or 1)
        of_clients = [f"{CLIENT}/{n}" for n in range(1, count + 1)] if count > 1 else [CLIENT]
        roles = [LOAD_SERVER, *of_clients, *[WATCHER] * len(ends)]
        return [PlacedRole(role, said) for role, said in zip(roles, ends, strict=False)]
    clients = run.summary.get("clients")
    workers = clients.get("workers") or () if isinstance(clients, Mapping) else ()
    return [PlacedRole(f"{CLIENT}/{n}", said) for n, said in enumerate(workers, start=1)]


def own_machine(run: RunRecord) -> PlacedRole | None:
    """That of inrush itself, beside the workers; None where results do not say it."""
    of = over_hosts(run) or run.summary.get("clients")
    own = of.get("own") if isinstance(of, Mapping) else None
    return PlacedRole(HELPER, own) if own else None


def machines_of(run: RunRecord) -> list[Machine]:
    """Of each machine, or container of it with a network of its own, by its first process."""
    found: dict[tuple[str, str], Machine] = {}
    for n, of in enumerate(workers_of(run), start=1):
        first_of_fleet = (HOST,) if n == 1 and not over_hosts(run) else ()
        words = f"client process {n}" if not over_hosts(run) else of.words
        machine = Machine(of.kernel, of.network, part(n), (part(n), *first_of_fleet), of.host, words)
        found.setdefault((of.kernel, of.network), machine)
    # inrush watches the machine with the shards that it started, whether or not an end is on it too.
    if found and over_hosts(run):
        own = own_machine(run)
        kernel, network = (own.kernel, own.network) if own else (OWN, "")
        found.setdefault(
            (kernel, network), Machine(kernel, network, OWN, (HOST,), own.host if own else HELPER, HELPER)
        )
    return [*found.values()]


def named(machines: Sequence[Machine]) -> list[str]:
    """Those of one name are distinguished by their first process."""
    often = Counter(of.host for of in machines)
    return [of.host if often[of.host] == 1 else f"{of.host} ({of.first})" for of in machines]


def roles_by_kernel(run: RunRecord) -> dict[str, tuple[str, ...]]:
    """What was watched by process id on each, and workers whether or not they were: each process once."""
    workers, found = workers_of(run), dict[str, list[str]]()
    looked_at = computing_roles(run)
    for n, of in enumerate(workers, start=1):
        helper = f"{HELPER}/{n}"
        mine = [
            *[of.role] * of.is_end,
            *[helper] * (helper in looked_at),
            *(str(s["role"]) for s in of.servers),
        ]
        found.setdefault(of.kernel, []).extend(mine)
    if workers:
        # The first process of a fleet watches the server; inrush itself that of a pipeline, and its own process.
        own = own_machine(run)
        kernel = workers[0].kernel if not over_hosts(run) else own.kernel if own else OWN
        found.setdefault(kernel, []).extend(servers(run, looked_at))
    return {kernel: tuple(roles) for kernel, roles in found.items()}


def servers(run: RunRecord, looked_at: Sequence[str]) -> list[str]:
    """Roles beside those of workers and machines, without parts of others."""
    not_of_these = {CLIENT, HOST, *(of.role for of in workers_of(run)), *[SHARDS] * bool(seen_servers(run))}
    return [role for role in looked_at if "/" not in role and role not in not_of_these]


def has_server(run: RunRecord, host: WatchedHost) -> bool:
    """Whether a server was watched on it."""
    looked_at = computing_roles(run)
    seen = {*servers(run, looked_at), *(server["role"] for _, server in seen_servers(run))} - {HELPER}
    return bool(seen.intersection(looked_at if host.roles is None else host.roles))


def seen_servers(run: RunRecord) -> list[tuple[PlacedRole, Mapping[str, Any]]]:
    """Servers of shards on hosts of a pipeline's workers, and the worker that watches each."""
    return [(of, server) for of in workers_of(run) for server in of.servers]


def computing_roles(run: RunRecord) -> list[str]:
    table = run.tables.get("resources")
    if table is None or table.num_rows == 0:
        return []
    found: list[str] = table.filter(pc.equal(table["metric"], "cpu_s"))["role"].unique().to_pylist()
    return found


def kernels_of_server(run: RunRecord) -> set[str] | None:
    """Those on which a server is, or may be, that was not watched by process id; None: any."""
    looked_at = computing_roles(run)
    if [role for role in servers(run, looked_at) if role != HELPER]:
        return set()
    own = own_machine(run)
    if roles_to_watch(run):
        # Its processes were known to inrush, and what would have watched them was elsewhere.
        return {own.kernel} if own else None
    blind = {of.kernel for of, server in seen_servers(run) if server["role"] not in looked_at}
    addresses = {*server_hosts(run.plan)} - {str(server["host"]) for _, server in seen_servers(run)}
    each = (*workers_of(run), *([own] if own else []))
    return blind | {of.kernel for of in each if addresses & {of.host, address_of(of), *of.target_hosts}}


def server_unseen_here(run: RunRecord) -> bool:
    """Of a run on one machine: whether a server is on it that was not watched by process id."""
    if watched := roles_to_watch(run):
        return not {role.split("/", 1)[0] for role in computing_roles(run)} & watched
    if workers := workers_of(run):
        known = {host for of in workers for host in of.target_hosts}
        return bool({*server_hosts(run.plan)} & {*LOOPBACK, *known})
    return bool(servers_here(run))


def roles_to_watch(run: RunRecord) -> set[str]:
    """By process id, by the plan. A plan of shards names their roles also where it has no process of them."""
    processes = (run.plan.get("watch") or {}).get("processes") or {}
    return {role for role, pids in processes.items() if pids}


def servers_here(run: RunRecord) -> set[str]:
    """Hosts in the addresses of its servers that are the machine of inrush, by whatever name."""
    return {*server_hosts(run.plan)} & {*LOOPBACK, *(run.summary.get("target_hosts") or ())}


def address_of(of: PlacedRole) -> str:
    return address.read(str(of.said.get("address") or "")).host
