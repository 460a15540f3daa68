"""Resources of a pipeline whose parts were on hosts of their own: the cores of each machine, and the network between them. Pure.

The network's capacity is what came over it before the clock (docs/decisions/288). It is a resource where nothing says that
this was wrong: a load that came near it, while its senders did not wait for the network, has shown that it carries more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from inrush.border.pipeline import Pipelines
from inrush.model.pipeline import Part
from inrush.pipeline.shares import pipelines_of
from inrush.predict.pipelines import FULL_SHARE
from inrush.stats.footprint import RECEIVED
from inrush.stats.headroom import cores_of
from inrush.stats.measures import measured_windows
from inrush.stats.record import RunRecord
from inrush.stats.watched import cumulative, grown

SHARDS = "shards"
#: Of the looks at a way, those at which its sender waited for it: a way that is full is waited for at most of them.
HELD_LEAST = 0.5


def hosts_of(run: RunRecord) -> Mapping[str, Any]:
    """What run.json says of them; empty of a run on one host."""
    found: Mapping[str, Any] = run.summary.get("hosts") or {}
    return found


def host_parts(runs: Sequence[RunRecord]) -> list[Part]:
    """runs: of one group."""
    first = runs[0]
    found = [Part(name, cores) for name, _, cores in machines(first) if cores]
    # Shards are watched where inrush itself is: its machine is that of `env`.
    cores = float(first.env.get("cpu_logical") or 0)
    if cores and SHARDS in cumulative(first, "cpu_s"):
        found.append(Part(f"cores of the {SHARDS}", cores))
    networks = {name for run in runs for name in network_busy(run)}
    return found + [Part(name) for name in sorted(networks) if known(name, runs)]


def host_busy(run: RunRecord, figures: Mapping[str, float]) -> dict[str, float]:
    """Servers of each of them that the run kept busy."""
    busy = {
        name: sum(figures.get(f"{role}.busy_cores", 0.0) for role in roles)
        for name, roles, _ in machines(run)
    }
    if (shards := figures.get(f"{SHARDS}.busy_cores")) is not None:
        busy[f"cores of the {SHARDS}"] = shards
    return busy | network_busy(run)


def machines(run: RunRecord) -> list[tuple[str, list[str], float | None]]:
    """Name of its cores, roles there, how many it has. Workers of one kernel share its cores."""
    of = hosts_of(run)
    several = int(of.get("clients", 1)) > 1
    by_boot: dict[str, list[int]] = {}
    for process, worker in enumerate(of.get("workers", ())):
        by_boot.setdefault(str(worker.get("boot", process)), []).append(process)
    found = []
    for processes in by_boot.values():
        roles = [role_of(process, several) for process in processes]
        named = " and ".join(said(process, several) for process in processes)
        found.append((f"cores of the {named}", roles, cores_of([of["workers"][p] for p in processes])))
    return found


def role_of(process: int, several: bool) -> str:
    return "load_server" if process == 0 else f"client/{process}" if several else "client"


def said(process: int, several: bool) -> str:
    return "load server" if process == 0 else f"client {process}" if several else "client"


def network_busy(run: RunRecord) -> dict[str, float]:
    """Share of what each way carries that the load took; of several clients also what all ways together carry."""
    of, window = hosts_of(run), [*measured_windows(run).values()]
    ways: Sequence[Mapping[str, Any]] = of.get("ways", ())
    received = cumulative(run, "net_rx_bytes", RECEIVED).get("load_server")
    span_s = sum(end - begin for begin, end in window) / 1e9
    if not ways or received is None or span_s <= 0:
        return {}
    total_per_s = sum(grown(*received, *w) for w in window) / span_s
    shares = client_shares(run, len(ways))
    several = len(ways) > 1
    found = {
        network(way["client"], several): total_per_s * share / way["bytes_per_s"]
        for way, share in zip(ways, shares, strict=True)
        if way["bytes_per_s"]
    }
    if several and of.get("ways_bytes_per_s"):
        found[TOGETHER] = total_per_s / of["ways_bytes_per_s"]
    return found


#: Of all clients.
TOGETHER = "network of the load server"


def network(client: int, several: bool) -> str:
    return (
        f"network from client {client} to the load server"
        if several
        else "network from client to load server"
    )


def client_shares(run: RunRecord, clients: int) -> list[float]:
    """Of the bytes that were loaded."""
    by_pipeline: dict[int, int] = {}
    for row in run.rows("files"):
        by_pipeline[row["pipeline"]] = by_pipeline.get(row["pipeline"], 0) + row["bytes"]
    total = sum(by_pipeline.values()) or 1
    how = cast("Pipelines", run.plan.get("pipelines"))
    mine = [pipelines_of(client, how) for client in range(clients)]
    return [sum(by_pipeline.get(p, 0) for p in of) / total for of in mine]


def known(name: str, runs: Sequence[RunRecord]) -> bool:
    """Whether no run contradicts what the way carries, and all say so."""
    for run in runs:
        busy = network_busy(run).get(name)
        waited = held_share(name, run)
        if busy is None or waited is None:
            return False
        if busy >= FULL_SHARE and waited < HELD_LEAST:
            return False
    return True


def held_share(name: str, run: RunRecord) -> float | None:
    """Of the looks at the ways of a resource, those at which the sender waited; None where the kernel did not say."""
    ways = hosts_of(run).get("ways", ())
    several = len(ways) > 1
    mine = [way for way in ways if name in (TOGETHER, network(way["client"], several))]
    if not mine or not all(way.get("looks") for way in mine):
        return None
    return max(float(way["held_looks"]) / float(way["looks"]) for way in mine)
