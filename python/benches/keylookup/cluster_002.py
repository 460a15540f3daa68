"""The published cluster of 200 M reads a second, simulated: what it was, what is assumed, and its two demands, fitted. Pure.

Published: M. Ronström, 200M reads per second in MySQL Cluster 7.4, 2015 (`benches/published/curves.csv`).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inrush.model.cluster import ServerKind, SimulatedCluster, SimulatedOutcome, simulated

CURVES = Path(__file__).parents[1] / "published" / "curves.csv"
NODES, MACHINES = "mysql_cluster_data_nodes", "mysql_cluster_api_machines"
#: Data nodes before which API machines were counted.
AT_NODES = 24
#: Points that the two demands are fitted on; all others are predicted.
FITTED = {NODES: (2, 16), MACHINES: (1, 15)}
#: The demand that the points of a curve say most of.
DEMANDS = {NODES: "interrupts", MACHINES: "client"}
ROUNDS = 4

#: Published: 8 receive, 12 TC, 12 LDM and 2 send threads a node; 4 API nodes a machine; about 150 bytes a read. Assumed: all
#: else. An IP packet over InfiniBand holds 2,044 bytes, so 13 reads; a send of a client or node takes 32 KB. The published
#: text says that LDM, TC and send threads were close to full: they are given what makes them 70 to 90 % busy.
PUBLISHED = SimulatedCluster(
    nodes=AT_NODES, machines=37, connections=4, threads=1, parallel=4096, refill="half", wire_s=20e-6, packet_ops=13,
    message_ops=218, send_delay_s=200e-6, send_ops=218,
    client=ServerKind(1, per_op_s=0.92e-6, per_send_s=2e-6, route="first_free"),
    interrupts=ServerKind(1, per_packet_s=0.93e-6, route="first_free"),
    recv=ServerKind(8, per_op_s=0.9e-6, route="connection"),
    tc=ServerKind(12, per_op_s=1.5e-6, pieces=12),
    ldm=ServerKind(12, per_op_s=1.5e-6, pieces=12),
    send=ServerKind(2, per_op_s=0.2e-6, per_send_s=2e-6, route="connection"),
    warm_s=0.03, measure_s=0.05, interval_s=0.0025,
)  # fmt: skip


@dataclass(frozen=True)
class Point:
    """A published figure and its simulation."""

    curve: str
    load: int
    published_per_s: float
    outcome: SimulatedOutcome

    @property
    def fitted(self) -> bool:
        return self.load in FITTED[self.curve]

    @property
    def error(self) -> float:
        return self.outcome.ops_per_s / self.published_per_s - 1


def published() -> Mapping[str, Mapping[int, float]]:
    """Curve -> load -> reads a second."""
    found: dict[str, dict[int, float]] = {NODES: {}, MACHINES: {}}
    lines = [line for line in CURVES.read_text().splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines):
        if row["curve"] in found:
            found[row["curve"]][int(row["load"])] = float(row["rate"]) * 1e6
    return found


def at(cluster: SimulatedCluster, curve: str, load: int) -> SimulatedCluster:
    """The cluster of one point. How many API machines stood before the nodes of the first curve was not published: they are as
    many for each node as the 40 before 24."""
    if curve == MACHINES:
        return replace(cluster, nodes=AT_NODES, machines=load)
    return replace(cluster, nodes=load, machines=math.ceil(load * 40 / AT_NODES))


def fitted(cluster: SimulatedCluster = PUBLISHED) -> SimulatedCluster:
    """With the two demands that the fitted points ask for: each is scaled by how much too fast its points are, in the mean."""
    curves = published()
    for _ in range(ROUNDS):
        for curve, loads in FITTED.items():
            fast = [math.log(simulated(at(cluster, curve, n)).ops_per_s / curves[curve][n]) for n in loads]
            cluster = cluster.scaled(DEMANDS[curve], math.exp(sum(fast) / len(fast)))
    return cluster


def points(cluster: SimulatedCluster, curve: str, loads: Sequence[int] = ()) -> list[Point]:
    """Every point of a curve, or those of some loads."""
    of = published()[curve]
    return [Point(curve, n, of[n], simulated(at(cluster, curve, n))) for n in loads or of]
