"""How many operations a second so many nodes and clients give, from what one operation costs each of them. Pure.

The closed network (`network`, exact) continues runs whose threads were watched. It knows operations that wait for each other,
and cores that are shared; sends and packets cost what they cost in the runs. Decision 262 has the scores that it stays by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from inrush.model.network import Station, throughput

#: Kinds of servers of a node, in the order in which a request meets them, and the types of threads that do their work.
THREADS: Mapping[str, tuple[str, ...]] = {
    "recv": ("recv",), "tc": ("tc", "main"), "ldm": ("ldm", "query"), "send": ("send",)
}  # fmt: skip
CLIENT, INTERRUPTS, CORES = "client", "interrupts", "cores"
#: From this share of their time on servers count as full: less is left over by chance alone.
FULL = 0.97
#: A node whose fullest servers are busier than this gives no more to more clients.
FULL_NODE = 0.95
#: With as many operations in flight the network is exact, and with as many servers at work. Beyond them it is a smaller one,
#: times so many: of a part of the servers, and of the operations in flight. Of 25 drawn at random it was 1.5 % too low at most.
EXACT, EXACT_SERVERS = 1000.0, 500.0
#: Nodes beyond those measured by less change no send.
MORE_NODES = 1.2


@dataclass(frozen=True)
class ClusterRun:
    """One run: its cluster, its rate, and the CPU-seconds of an operation, by kind of server."""

    nodes: float
    clients: float
    per_s: float
    #: client, recv, tc, ldm, send, interrupts (of the whole machine), all (everything that was watched).
    cpu_s: Mapping[str, float]
    ops_per_send: float = 1.0
    packets_per_op: float = 2.0


@dataclass(frozen=True)
class ClusterShape:
    """What does not change from one run to another: a client's threads and how they ask, and a node's threads."""

    threads: int
    parallel: int
    client_delay_s: float = 0.0
    #: Kind of server -> threads of each node; a kind that is absent does nothing.
    servers: Mapping[str, int] = field(default_factory=dict)
    #: Cores that nodes and clients share; 0: each has a machine of its own.
    shared_cores: float = 0.0

    @property
    def in_flight(self) -> int:
        """Of one client."""
        return self.threads * self.parallel


@dataclass(frozen=True)
class ClusterLaw:
    """Costs of one operation for a shape of clients and nodes."""

    shape: ClusterShape
    #: Kind of server -> seconds of an operation in all, as measured, over all nodes.
    per_op_s: Mapping[str, float]
    #: A node's interrupts for an operation: a packet that comes and one that goes, shared by those that travel together.
    interrupts_s: float
    #: All CPU of an operation: what cores that are shared have to give.
    total_s: float
    #: Of a client, in the runs: most operations in a send, and the most nodes that they went to.
    together: float = 1.0
    most_nodes: float = 1.0
    #: One way between a client and a node.
    wire_s: float = 0.0

    def stations(self, nodes: float, clients: float) -> dict[str, Station]:
        """Each kind of server of every node taken together: keys spread evenly."""
        shape = self.shape
        found = {CLIENT: Station(self.per_op_s[CLIENT], clients * shape.threads)}
        for name, threads in shape.servers.items():
            if self.per_op_s.get(name, 0.0) > 0:
                found[name] = Station(self.per_op_s[name], nodes * threads)
        if self.interrupts_s > 0:
            found[INTERRUPTS] = Station(self.interrupts_s, nodes)
        if shape.shared_cores:
            found[CORES] = Station(self.total_s, shape.shared_cores)
        return found

    def rate(self, nodes: float, clients: float) -> float:
        in_flight, stations = self.shape.in_flight * clients, self.stations(nodes, clients).values()
        away_s = 2 * self.wire_s + self.shape.client_delay_s
        most_per_s = min(s.capacity / s.demand_s for s in stations)
        at_work = most_per_s * (away_s + sum(s.demand_s for s in stations))
        times = max(1.0, in_flight / EXACT, at_work / EXACT_SERVERS)
        smaller = [Station(s.demand_s, s.capacity / times) for s in stations]
        return times * throughput(smaller, in_flight / times, away_s)

    def limits(self, nodes: float, clients: float) -> dict[str, float]:
        """Rate at which each kind of server is full."""
        return {name: s.capacity / s.demand_s for name, s in self.stations(nodes, clients).items()}

    def fullest(self, nodes: float, clients: float) -> tuple[str, float]:
        """The kind of server that is busiest, and the share of its time."""
        limits = self.limits(nodes, clients)
        full = min(limits, key=lambda name: limits[name])
        return full, self.rate(nodes, clients) / limits[full]

    def unseen(self, nodes: float) -> str | None:
        """Why more nodes cost more than this; None where they do not."""
        if self.together <= MORE_NODES or nodes <= MORE_NODES * self.most_nodes:
            return None
        return (
            f"a client's send held up to {self.together:.3g} operations before {self.most_nodes:g} nodes and holds fewer before "
            f"{nodes:g}: what smaller sends cost is not known, so this is too much; measure with more nodes, or with fewer in flight"
        )


def law_of(runs: Sequence[ClusterRun], shape: ClusterShape) -> ClusterLaw:
    """From runs that were watched. What their servers leave over of the smallest run is the way between client and node."""
    per_op = {}
    for name in (CLIENT, *THREADS):
        costs = np.array([r.cpu_s.get(name, 0.0) for r in runs])
        if (costs > 0).all():
            per_op[name] = float(np.exp(np.mean(np.log(costs))))
    together, packets = max(r.ops_per_send for r in runs), [r.packets_per_op for r in runs]
    per_packet_s = float(np.mean([r.cpu_s.get(INTERRUPTS, 0.0) for r in runs])) / float(np.mean(packets))
    packet_ops = max(1, round(together), round(2 / min(packets)))
    total = float(np.exp(np.mean([np.log(max(r.cpu_s.get("all", 0.0), 1e-12)) for r in runs])))
    most_nodes = max(r.nodes for r in runs)
    law = ClusterLaw(shape, per_op, 2 * per_packet_s / packet_ops, total, together, most_nodes)
    return with_wire(law, min(runs, key=lambda r: (r.clients / r.nodes, r.clients)))


def with_wire(law: ClusterLaw, smallest: ClusterRun) -> ClusterLaw:
    """The way is as long as the smallest run says; 0 where its servers alone are slower than it was."""

    def rate(wire_s: float) -> float:
        return replace(law, wire_s=wire_s).rate(smallest.nodes, smallest.clients)

    low, high = 0.0, law.shape.in_flight * smallest.clients / smallest.per_s
    if rate(low) <= smallest.per_s:
        return law
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if rate(middle) > smallest.per_s else (low, middle)
    return replace(law, wire_s=(low + high) / 2)


def missed(law: ClusterLaw, runs: Sequence[ClusterRun]) -> float:
    """|ln(measured / law)| of the point that the law misses most."""
    points: dict[tuple[float, float], list[float]] = {}
    for r in runs:
        points.setdefault((r.nodes, r.clients), []).append(np.log(r.per_s))
    return max(abs(float(np.mean(logs)) - float(np.log(law.rate(*at)))) for at, logs in points.items())


def resampled(runs: Sequence[ClusterRun], shape: ClusterShape, draws: int, seed: int = 1) -> list[ClusterLaw]:
    """Laws of runs drawn again with replacement within each point: how much costs scatter."""
    rng = np.random.default_rng(seed)
    points: dict[tuple[float, float], list[ClusterRun]] = {}
    for r in runs:
        points.setdefault((r.nodes, r.clients), []).append(r)
    return [
        law_of([of[i] for of in points.values() for i in rng.integers(0, len(of), len(of))], shape)
        for _ in range(draws)
    ]


@dataclass(frozen=True)
class Needed:
    """The fewest nodes and clients that give a rate, and what is full first there."""

    nodes: int
    clients: int
    per_s: float
    full: str
    busy: float


def needed(law: ClusterLaw, per_s: float, step: int = 2, most: int = 4096) -> Needed | None:
    """The fewest nodes that the rate does not fill, and the fewest clients that give it with them.

    None where no number up to `most` does. step: nodes come in twos. Cores are not shared: this is about machines beyond the
    one that was measured.
    """
    alone = replace(law, shape=replace(law.shape, shared_cores=0.0))
    each = min(rate for name, rate in alone.limits(1, 1).items() if name != CLIENT)
    nodes = step * max(1, int(np.ceil(per_s / (FULL_NODE * each * step))))
    if nodes > most or alone.rate(nodes, most) < per_s:
        return None
    low, clients = 0, most
    while clients - low > 1:
        middle = (low + clients) // 2
        low, clients = (low, middle) if alone.rate(nodes, middle) >= per_s else (middle, clients)
    return Needed(nodes, clients, alone.rate(nodes, clients), *alone.fullest(nodes, clients))
