"""The machines that a run's client processes were on, as each was watched by the first process on it. Pure.

CPU, memory and pressure are those of a kernel, interfaces those of a namespace of the network: containers of one machine are
one in the first and several in the second, and each of them says the same of the kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inrush.stats.record import RunRecord

HOST = "host"


@dataclass(frozen=True)
class WatchedHost:
    #: Of `resources`: `host`, or `host/3` where processes were on several hosts and the third is the first one on this.
    role: str
    #: How its figures are named: as the role, but of results in which the first host alone was watched.
    label: str
    #: Empty of the only one.
    name: str
    #: Client processes that share its processors, from 1 on; None: all.
    processes: tuple[int, ...] | None
    #: Servers that were watched share its processors.
    has_servers: bool


def hosts_of(run: RunRecord) -> list[WatchedHost]:
    """Those that were watched, in order of their first processes."""
    roles = host_roles(run)
    workers = workers_of(run)
    machines = first_processes(workers)
    if len(machines) < 2:
        # Of a pipeline whose hosts are one machine each process has watched it, and inrush may be on another.
        role = next((role for role in (part(1), HOST) if role in roles), None)
        return [WatchedHost(role, HOST, "", None, True)] if role is not None else []
    names = named(workers, machines)
    found = []
    for first in machines:
        role = next((r for r in (part(first), HOST if first == 1 else "") if r in roles), None)
        if role is not None:
            mine = kernel(workers[first - 1])
            beside = tuple(n for n, worker in enumerate(workers, start=1) if kernel(worker) == mine)
            found.append(WatchedHost(role, part(first), names[first], beside, 1 in beside))
    return found


def unwatched(run: RunRecord) -> list[str]:
    """Hosts of client processes that were not watched, by name: of results that were made before each was, all but the first."""
    workers = workers_of(run)
    machines = first_processes(workers)
    if len(machines) < 2:
        return []
    seen = {host.label for host in hosts_of(run)}
    return [name for first, name in named(workers, machines).items() if part(first) not in seen]


def each_kernel(hosts: Sequence[WatchedHost]) -> list[WatchedHost]:
    """One of those that share processors and memory."""
    return [*{host.processes: host for host in reversed(hosts)}.values()][::-1]


def on(host: WatchedHost) -> str:
    """Behind what is said of a host; empty of the only one."""
    return f" on {host.name}" if host.name else ""


def part(process: int) -> str:
    """The role of the machine that this client process watched, where there are several."""
    return f"{HOST}/{process}"


def host_roles(run: RunRecord) -> list[str]:
    table = run.tables.get("resources")
    if table is None or table.num_rows == 0:
        return []
    return [role for role in table["role"].unique().to_pylist() if role.split("/", 1)[0] == HOST]


def workers_of(run: RunRecord) -> Sequence[Mapping[str, Any]]:
    """Of a fleet, by process; of a pipeline the load server's is the first."""
    clients = run.summary.get("clients") or run.summary.get("hosts")
    return clients.get("workers") or () if isinstance(clients, Mapping) else ()


def first_processes(workers: Sequence[Mapping[str, Any]]) -> list[int]:
    """Of each machine, or container of it with a network of its own, the first process."""
    found: dict[tuple[str, str], int] = {}
    for process, worker in enumerate(workers, start=1):
        network = str((worker.get("spaces") or {}).get("network", ""))
        found.setdefault((kernel(worker), network), process)
    return [*found.values()]


def kernel(worker: Mapping[str, Any]) -> str:
    return str(worker.get("boot") or worker.get("host", ""))


def named(workers: Sequence[Mapping[str, Any]], machines: Sequence[int]) -> dict[int, str]:
    """First process -> name of its host; those of one name are distinguished by that process."""
    names = {first: str(workers[first - 1].get("host", "")) for first in machines}
    often = Counter(names.values())
    return {
        first: f"{name} (client process {first})" if often[name] > 1 else name
        for first, name in names.items()
    }
