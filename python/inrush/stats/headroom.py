"""How much processor a run left unused: of the machine that the client ran on, and of it by the client itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inrush.stats.hosts import CLIENT, PlacedRole, WatchedHost, hosts_of, unwatched, workers_of
from inrush.stats.measures import measured_windows
from inrush.stats.others import host_s
from inrush.stats.record import RunRecord


@dataclass(frozen=True)
class ClientHost:
    """A host that client processes of a run were on."""

    #: Empty of the one that inrush itself ran on.
    host: str
    #: Processors that they kept busy, and those that they had; None: not known.
    busy: float | None
    cores: float | None


def client_hosts(run: RunRecord, figures: Mapping[str, float]) -> list[ClientHost]:
    """Each with all of its client processes."""
    if workers := workers_of(run):
        return busy_hosts([of for of in workers if of.role.partition("/")[0] == CLIENT], figures)
    held = [float(cores) for key in ("cgroup_cpu_cores", "cpu_logical") if (cores := run.env.get(key))]
    return [ClientHost("", figures.get("client.busy_cores"), min(held, default=None))]


def allowed_cores(run: RunRecord, kernel: str) -> float | None:
    """Processors that the client processes on a machine may be on, whatever a quota leaves them of their time."""
    mine = [of.said.get("cpus") or () for of in workers_of(run) if of.kernel == kernel]
    if mine:
        return float(len(set[int]().union(*mine))) or None
    cores = run.env.get("cpu_logical")
    return float(cores) if cores else None


def busy_hosts(workers: Sequence[PlacedRole], figures: Mapping[str, float]) -> list[ClientHost]:
    """Each with those of the workers that are on it."""
    by_kernel: dict[str, list[PlacedRole]] = {}
    for of in workers:
        by_kernel.setdefault(of.kernel, []).append(of)
    found = []
    for mine in by_kernel.values():
        busy = [figures.get(f"{of.role}.busy_cores") for of in mine]
        known = [cores for cores in busy if cores is not None]
        total = sum(known) if len(known) == len(busy) else None
        found.append(ClientHost(mine[0].host, total, cores_of([of.said for of in mine])))
    return found


def cores_of(workers: Sequence[Mapping[str, Any]]) -> float | None:
    """Those that workers of one host have together: several may have the same ones."""
    cores = [float(worker.get("cores") or 0) for worker in workers]
    if not all(cores):
        return None
    cpus = [worker.get("cpus") for worker in workers]
    if not all(cpus):
        return max(cores)
    return min(sum(cores), float(len(set[int]().union(*(of or () for of in cpus)))))


def idle_share(run: RunRecord) -> float | None:
    """Of the machine's processors, over the measured segments; steal is not idle. Of several hosts that of the one with the
    least; None where one was not watched."""
    each = [idle_share_of(run, host) for host in hosts_of(run)]
    known = [share for share in each if share is not None]
    return min(known) if known and len(known) == len(each) and not unwatched(run) else None


def idle_share_of(run: RunRecord, host: WatchedHost) -> float | None:
    windows = [*measured_windows(run).values()]
    total_s, busy_s = (host_s(run, host, f"cpu_{what}_s", windows) for what in ("total", "busy"))
    if not total_s or busy_s is None:
        return None
    return min(1.0, max(0.0, 1 - busy_s / total_s))


def client_share(run: RunRecord, figures: Mapping[str, float]) -> float | None:
    """Processors that inrush itself kept busy, over those that it had; of several hosts that of the busiest one. None where
    either is not known.

    An engine in the client's process is not counted, where the null engine's run separates the two.
    """
    hosts = client_hosts(run, figures)
    if (own := figures.get("instrument.busy_cores")) is not None:
        cores = [host.cores for host in hosts if host.cores]
        return own / sum(cores) if len(cores) == len(hosts) else None
    shares = [host.busy / host.cores for host in hosts if host.busy is not None and host.cores]
    return max(shares) if len(shares) == len(hosts) else None
