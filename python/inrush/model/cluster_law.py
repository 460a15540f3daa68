"""How many operations a second so many nodes and clients give, from what one operation costs each of them. Pure.

Two laws stand beside each other. The closed network (`network`, exact) knows what an operation costs where as many travel
together as did in the runs. The simulation (`cluster`) knows sends and packets too: with more nodes or clients fewer
operations share one. Costs come from runs; the way between client and node is what the smallest run leaves over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from inrush.model.cluster import ServerKind, SimulatedCluster, SimulatedOutcome, simulated
from inrush.model.network import Station, throughput
from inrush.model.work import fit_proportion

#: Kinds of servers of a node, in the order in which a request meets them, and the types of threads that do their work.
THREADS: Mapping[str, tuple[str, ...]] = {
    "recv": ("recv",), "tc": ("tc", "main"), "ldm": ("ldm", "query"), "send": ("send",)
}  # fmt: skip
CLIENT, INTERRUPTS, CORES = "client", "interrupts", "cores"
#: Runs whose sends differ by less say nothing of what a send costs by itself.
LEAST_DIFFERENCE = 1.2
#: Operations that one simulation measures, at least.
LEAST_OPS = 60_000
#: A node whose fullest servers are busier than this gives no more to more clients.
FULL_NODE = 0.95


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
    refill: Literal["round", "half", "each"] = "each"
    client_delay_s: float = 0.0
    operation: Literal["read", "update"] = "read"
    #: ServerKind of server -> threads of each node; a kind that is absent does nothing.
    servers: Mapping[str, int] = field(default_factory=dict)
    send_delay_s: float = 0.0
    #: Operations that one send holds, at most.
    message_ops: int = 1024
    #: Cores that nodes and clients share; 0: each has a machine of its own.
    shared_cores: float = 0.0

    @property
    def in_flight(self) -> int:
        """Of one client."""
        return self.threads * self.parallel


#: Visits of an operation at each kind of server, over all nodes.
VISITS: Mapping[str, Mapping[str, int]] = {
    "read": {"recv": 1, "tc": 1, "ldm": 1, "send": 1},
    # Each of the four ways between the nodes of a pair is a send and a receive more.
    "update": {"recv": 5, "tc": 3, "ldm": 4, "send": 5},
}


@dataclass(frozen=True)
class ClusterLaw:
    """Costs of one operation, of a send and of a packet, for a shape of clients and nodes."""

    shape: ClusterShape
    #: ServerKind of server -> seconds of an operation in all, and of each send; both as measured, over all nodes.
    per_op_s: Mapping[str, float]
    per_send_s: Mapping[str, float]
    per_packet_s: float
    packet_ops: int
    #: All CPU of an operation: what cores that are shared have to give.
    total_s: float
    #: Of a client, in the runs: fewest and most.
    together: tuple[float, float] = (1.0, 1.0)
    #: One way between a client and a node.
    wire_s: float = 0.0
    seed: int = 1

    def cluster(self, nodes: int, clients: int) -> SimulatedCluster:
        shape, visits = self.shape, VISITS[self.shape.operation]
        kinds = {
            name: ServerKind(
                shape.servers[name],
                per_op_s=self.per_op_s.get(name, 0.0) / visits[name],
                per_send_s=self.per_send_s.get(name, 0.0) / visits[name],
                route="connection" if name in ("recv", "send") else "key",
                pieces=shape.servers[name] if name in ("tc", "ldm") else 1,
            )
            if shape.servers.get(name) and self.per_op_s.get(name, 0.0) > 0
            else ServerKind()
            for name in THREADS
        }
        found = SimulatedCluster(
            nodes=nodes, machines=clients, threads=shape.threads, parallel=shape.parallel, refill=shape.refill,
            operation=shape.operation, client_delay_s=shape.client_delay_s, wire_s=self.wire_s, packet_ops=self.packet_ops,
            message_ops=shape.message_ops, send_delay_s=shape.send_delay_s, send_ops=shape.message_ops, seed=self.seed,
            client=ServerKind(shape.threads, self.per_op_s[CLIENT], self.per_send_s.get(CLIENT, 0.0), route="first_free"),
            interrupts=ServerKind(1 if self.per_packet_s > 0 else 0, per_packet_s=self.per_packet_s, route="first_free"),
            recv=kinds["recv"], tc=kinds["tc"], ldm=kinds["ldm"], send=kinds["send"],
        )  # fmt: skip
        # Long enough for so many operations at a rate that nothing exceeds, and for every operation in flight to go round.
        expected = self.bound(nodes, clients)
        measure_s = max(LEAST_OPS, 4.0 * shape.in_flight * clients) / expected
        return replace(found, warm_s=measure_s / 2, measure_s=measure_s, interval_s=measure_s / 20)

    def simulated(self, nodes: int, clients: int) -> SimulatedOutcome:
        return simulated(self.cluster(nodes, clients))

    def demands(self, nodes: int) -> dict[str, Station]:
        """Stations of the closed network, each kind of every node taken together: keys spread evenly."""
        stations = {CLIENT: Station(self.each_op_s(CLIENT))}
        for name, threads in self.shape.servers.items():
            if self.per_op_s.get(name, 0.0) > 0:
                stations[name] = Station(self.each_op_s(name), float(nodes * threads))
        if self.per_packet_s > 0:
            stations[INTERRUPTS] = Station(2 * self.per_packet_s / self.packet_ops, float(nodes))
        if self.shape.shared_cores:
            stations[CORES] = Station(self.total_s, self.shape.shared_cores)
        return stations

    def each_op_s(self, name: str) -> float:
        """With its share of a send, of as many as there were in the runs."""
        usual = float(np.sqrt(self.together[0] * self.together[1]))
        return self.per_op_s[name] + self.per_send_s.get(name, 0.0) / usual

    def unseen(self, outcome: SimulatedOutcome) -> str | None:
        """Why sends of an outcome are priced by nothing that was measured; None where they are."""
        there = outcome.requests["ops"] / max(1, outcome.requests["sends"])
        fewest, most = self.together
        if CLIENT in self.per_send_s or fewest <= there * LEAST_DIFFERENCE:
            return None
        return (
            f"a client's send held {fewest:.3g} to {most:.3g} operations in the runs and would hold {there:.3g} here: what a send "
            "costs by itself was not seen, so this is too much; measure with another number of nodes, or another depth"
        )

    def limits(self, nodes: float, clients: float) -> dict[str, float]:
        """Rate at which each kind of server is full."""
        found = {}
        for name, station in self.demands(1).items():
            many = {CLIENT: clients * self.shape.threads, CORES: self.shape.shared_cores}.get(
                name, station.capacity * nodes
            )
            found[name] = many / station.demand_s
        return found

    def bound(self, nodes: float, clients: float) -> float:
        """Nothing exceeds it: the first full server, or all operations in flight with nothing but the way and their work."""
        alone_s = 2 * self.wire_s + self.shape.client_delay_s + sum(self.per_op_s.values())
        return min(*self.limits(nodes, clients).values(), self.shape.in_flight * clients / alone_s)

    def network(self, nodes: int, clients: int) -> float:
        """Rate by the closed network: operations one by one, each in flight on its own."""
        stations = self.demands(nodes)
        stations[CLIENT] = Station(self.each_op_s(CLIENT), float(clients * self.shape.threads))
        think_s = 2 * self.wire_s + self.shape.client_delay_s
        # Beyond so many in flight the rate is the bound's within the precision of anything here.
        most = min(self.shape.in_flight * clients, 4000)
        return throughput(list(stations.values()), most, think_s)

    def rate(self, nodes: int, clients: int) -> tuple[float, str, SimulatedOutcome]:
        """The smaller of the simulation and of what shared cores give, and what is full there first."""
        found = self.simulated(nodes, clients)
        shared = self.limits(nodes, clients).get(CORES, float("inf"))
        if shared < found.ops_per_s:
            return shared, CORES, found
        return found.ops_per_s, found.fullest, found


def law_of(runs: Sequence[ClusterRun], shape: ClusterShape, seed: int = 1) -> ClusterLaw:
    """From runs that were watched. Costs of a send by itself only where sends differed from run to run."""
    per_op, per_send = dict[str, float](), dict[str, float]()
    together = np.array([r.ops_per_send for r in runs])
    asked = 1 / together
    packets = np.array([r.packets_per_op for r in runs])
    # A send of few operations is one packet: what the requests do not take of the packets is the answers'.
    sends = {CLIENT: asked, "recv": asked, "send": np.maximum(packets - asked, 1e-3)}
    for name in (CLIENT, *THREADS):
        costs = np.array([r.cpu_s.get(name, 0.0) for r in runs])
        if not (costs > 0).all():
            continue
        per_op[name] = float(np.exp(np.mean(np.log(costs))))
        of = sends.get(name)
        if of is not None and of.max() > LEAST_DIFFERENCE * of.min():
            parts = fit_proportion(of, costs)
            if parts.fixed_s > 0 and parts.per_unit_s > 0:
                per_op[name], per_send[name] = parts.fixed_s, parts.per_unit_s
    interrupts = float(np.mean([r.cpu_s.get(INTERRUPTS, 0.0) for r in runs]))
    total = float(np.exp(np.mean([np.log(max(r.cpu_s.get("all", 0.0), 1e-12)) for r in runs])))
    law = ClusterLaw(
        shape, per_op, per_send, interrupts / float(packets.mean()),
        max(1, round(together.max()), round(2 / float(packets.min()))), total, (float(together.min()), float(together.max())), seed=seed,
    )  # fmt: skip
    return with_wire(law, min(runs, key=lambda r: (r.clients / r.nodes, r.clients)))


def with_wire(law: ClusterLaw, smallest: ClusterRun) -> ClusterLaw:
    """The way is as long as the smallest run says; 0 where its servers alone are slower than it was."""
    nodes, clients = round(smallest.nodes), round(smallest.clients)

    def rate(wire_s: float) -> float:
        return replace(law, wire_s=wire_s).rate(nodes, clients)[0]

    low, high = 0.0, law.shape.in_flight * clients / smallest.per_s
    if rate(low) <= smallest.per_s:
        return law
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if rate(middle) > smallest.per_s else (low, middle)
    return replace(law, wire_s=(low + high) / 2)


def missed(law: ClusterLaw, runs: Sequence[ClusterRun]) -> float:
    """|ln(measured / simulated)| of the point that the law misses most."""
    points: dict[tuple[int, int], list[float]] = {}
    for r in runs:
        points.setdefault((round(r.nodes), round(r.clients)), []).append(np.log(r.per_s))
    return max(abs(float(np.mean(logs)) - float(np.log(law.rate(*at)[0]))) for at, logs in points.items())


def resampled(runs: Sequence[ClusterRun], shape: ClusterShape, draws: int, seed: int = 1) -> list[ClusterLaw]:
    """Laws of runs drawn again with replacement within each point, each with a seed of its own: how much costs scatter."""
    rng = np.random.default_rng(seed)
    points: dict[tuple[float, float], list[ClusterRun]] = {}
    for r in runs:
        points.setdefault((r.nodes, r.clients), []).append(r)
    return [
        law_of(
            [of[i] for of in points.values() for i in rng.integers(0, len(of), len(of))], shape, seed=k + 2
        )
        for k in range(draws)
    ]


@dataclass(frozen=True)
class Needed:
    """The fewest nodes and clients that give a rate, and what is full first there."""

    nodes: int
    clients: int
    per_s: float
    full: str
    busy: float


def needed(law: ClusterLaw, per_s: float, pairs: bool = True, most: int = 4096) -> Needed | None:
    """The fewest nodes with which any number of clients gives the rate, by simulation, and the fewest such clients.

    None where no number up to `most` does. pairs: nodes come in twos. Cores are not shared: this is about machines beyond
    the one that was measured.
    """
    alone = replace(law, shape=replace(law.shape, shared_cores=0.0))
    step = 2 if pairs else 1
    # No fewer would do, were sends for nothing.
    each_s = max(alone.per_op_s[name] / threads for name, threads in alone.shape.servers.items())
    nodes = max(1, int(np.ceil(per_s * each_s / step)))
    clients = max(1, int(np.ceil(per_s * alone.per_op_s[CLIENT] / alone.shape.threads)))
    # In steps of nodes: `too_few` does not give it, `nodes` does.
    too_few, found = 0, clients_for(alone, per_s, nodes * step, clients, most)
    while found is None:
        too_few, nodes = nodes, max(nodes + 1, int(nodes * 1.25))
        if nodes * step > most:
            return None
        found = clients_for(alone, per_s, nodes * step, clients, most)
    while nodes - too_few > max(1, nodes // 50):
        middle = max((nodes + too_few) // 2, int(nodes * 0.85))
        fewer = clients_for(alone, per_s, middle * step, clients, most)
        nodes, too_few, found = (middle, too_few, fewer) if fewer is not None else (nodes, middle, found)
    return found


def clients_for(law: ClusterLaw, per_s: float, nodes: int, clients: int, most: int) -> Needed | None:
    """The fewest clients, within a hundredth or so, with which so many nodes give the rate; None where the nodes are full."""
    while clients <= most:
        rate, full, found = law.rate(nodes, clients)
        if rate >= per_s:
            return Needed(nodes, clients, rate, full, found.stations[full]["busy"])
        # More clients than keep a node busy ask for no more; sends only get fewer operations.
        if max((s["busy"] for n, s in found.stations.items() if n != CLIENT), default=0.0) >= FULL_NODE:
            return None
        clients = max(clients + 1, int(clients * min(per_s / rate, 1.5)))
    return None
