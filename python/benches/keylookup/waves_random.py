"""Clusters drawn at random, each with eager sends and with a send delay: which of the two has a wave. Pure."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from inrush.model.cluster import ServerKind, SimulatedCluster, simulated
from inrush.model.cluster_waves import wave_of

CLUSTERS = 120
DELAY_S = 300e-6


def drawn(of: SimulatedCluster, clusters: int = CLUSTERS, seed: int = 1) -> Iterator[SimulatedCluster]:
    """Eager ones: six nodes before ten machines with four API nodes each, everything else between bounds that the page names."""
    rng = random.Random(seed)
    for n in range(clusters):
        refill, servers = rng.choice(("each", "half", "round")), rng.choice((1, 4))
        packet_s, machine_s = rng.uniform(1e-6, 6e-6), rng.choice((0.0, rng.uniform(0.2e-6, 1.5e-6)))
        yield replace(
            of, nodes=6, machines=10, threads=servers, parallel=2 ** rng.randint(6, 10) // servers, refill=refill,
            wire_s=rng.choice((20e-6, 50e-6, 100e-6, 200e-6, 400e-6)), send_delay_s=0.0, seed=n + 1,
            client=ServerKind(1, per_op_s=0.5e-6, per_send_s=2e-6, per_packet_s=packet_s, route="first_free"),
            client_interrupts=ServerKind(1, per_packet_s=machine_s, route="first_free"),
            interrupts=ServerKind(1, per_packet_s=0.2e-6, route="first_free"),
            ldm=ServerKind(12, per_op_s=1.5e-6, service=rng.choice(("fixed", "exponential"))),
            send=ServerKind(2, per_op_s=0.2e-6, per_send_s=rng.choice((0.2e-6, 1e-6, 4e-6)), route="connection"),
            warm_s=0.03, measure_s=0.04, interval_s=0.0001,
        )  # fmt: skip


BUFFERED_CLUSTERS, BUFFERED_DELAY_S = 80, 400e-6


def buffered(
    of: SimulatedCluster, clusters: int = BUFFERED_CLUSTERS, seed: int = 1
) -> Iterator[SimulatedCluster]:
    """Eager ones whose connections hold few packets that they have not read; reads are asked for one by one."""
    rng = random.Random(seed)
    for n in range(clusters):
        servers = rng.choice((1, 4))
        connection = ServerKind(
            1, rng.uniform(0.05e-6, 0.5e-6), rng.uniform(0, 2e-6), rng.uniform(1e-6, 6e-6), route="first_free"
        )
        yield replace(
            of, nodes=6, machines=10, threads=servers, parallel=2 ** rng.randint(7, 10) // servers, refill="each",
            wire_s=rng.choice((20e-6, 50e-6, 100e-6, 200e-6)), send_delay_s=0.0, seed=n + 1, client=connection,
            client_interrupts=ServerKind(1, per_packet_s=rng.uniform(0.0, 1e-6), route="first_free"),
            interrupts=ServerKind(1, per_packet_s=0.2e-6, route="first_free"),
            ldm=ServerKind(12, rng.uniform(0.5e-6, 2e-6), service=rng.choice(("fixed", "exponential"))),
            send=ServerKind(2, 0.1e-6, rng.choice((0.2e-6, 1e-6)), route="connection"),
            buffer_packets=rng.choice((4, 8, 16, 32)), warm_s=0.03, measure_s=0.04, interval_s=0.0001,
        )  # fmt: skip


def buffered_counts(of: SimulatedCluster, clusters: int = BUFFERED_CLUSTERS) -> Counter[str]:
    """Clusters with a wave: `endless`, where connections hold all they are sent; `eager`; `cured`, of these by the delay."""
    found: Counter[str] = Counter()
    for cluster in buffered(of, clusters):
        found["endless"] += swings(replace(cluster, buffer_packets=0))
        if swings(cluster):
            found["eager"] += 1
            found["cured"] += not swings(replace(cluster, send_delay_s=BUFFERED_DELAY_S))
    return found


def swings(cluster: SimulatedCluster) -> bool:
    seen = wave_of(cluster, simulated(cluster))
    return seen is not None and seen.wave.found


def waves(cluster: SimulatedCluster) -> str:
    """Which sends swing: `none`, `eager`, `delayed` or `both`."""
    found = []
    for name, delay_s in (("eager", 0.0), ("delayed", DELAY_S)):
        found += [name] if swings(replace(cluster, send_delay_s=delay_s)) else []
    return {0: "none", 2: "both"}.get(len(found), found[0] if found else "")


def counts(of: SimulatedCluster, clusters: int = CLUSTERS) -> Counter[str]:
    return Counter(waves(cluster) for cluster in drawn(of, clusters))
