"""A cluster of clients and data nodes, simulated event by event. Pure: the same cluster gives the same outcome.

`rust/simulate` runs the loop. Stations, routes and what travels are described there; here are the documents as types.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal, TypedDict

from inrush import _core

#: How much one operation's work differs from another's; a list: measured, quantiles at equal steps of probability.
Service = Literal["fixed", "exponential"] | tuple[float, ...]
#: From this share of their time on servers count as full: less is left over by chance alone.
FULL = 0.97


@dataclass(frozen=True)
class ServerKind:
    """Servers of one kind on each node, connection or machine, and what each operation, send and packet costs them."""

    servers: int = 0
    per_op_s: float = 0.0
    per_send_s: float = 0.0
    per_packet_s: float = 0.0
    service: Service = "fixed"
    route: Literal["first_free", "connection", "key"] = "key"
    #: A group of operations is cut into at most so many, each for another server.
    pieces: int = 1

    def document(self) -> dict[str, object]:
        service = {"measured": self.service} if isinstance(self.service, tuple) else self.service
        return {**asdict(self), "service": service}


@dataclass(frozen=True)
class Checkpoint:
    """What all data nodes do at the same times beside operations: a share of the time of each LDM thread, in slices."""

    #: 0: there are none.
    every_s: float = 0.0
    lasts_s: float = 0.0
    share: float = 0.0
    slice_s: float = 0.0


@dataclass(frozen=True)
class SimulatedCluster:
    """What `rust/simulate/src/cluster.rs` takes; its comments say what each field is."""

    nodes: int
    machines: int
    connections: int = 1
    threads: int = 1
    parallel: int = 1
    refill: Literal["round", "half", "each"] = "each"
    operation: Literal["read", "update"] = "read"
    client_delay_s: float = 0.0
    client_delay: Service = "fixed"
    offered_per_s: float = 0.0
    wire_s: float = 0.0
    packet_ops: int = 1
    message_ops: int = 1
    send_delay_s: float = 0.0
    send_ops: int = 2**32 - 1
    buffer_packets: int = 0
    client: ServerKind = ServerKind()
    client_interrupts: ServerKind = ServerKind()
    interrupts: ServerKind = ServerKind()
    recv: ServerKind = ServerKind()
    tc: ServerKind = ServerKind()
    ldm: ServerKind = ServerKind()
    send: ServerKind = ServerKind()
    checkpoint: Checkpoint = Checkpoint()
    warm_s: float = 0.05
    measure_s: float = 0.1
    interval_s: float = 0.01
    within: float = 0.0
    seed: int = 1

    def document(self) -> dict[str, object]:
        kinds = ("client", "client_interrupts", "interrupts", "recv", "tc", "ldm", "send")
        found: dict[str, object] = {k: v for k, v in self.__dict__.items() if k not in kinds}
        delay = self.client_delay
        found["checkpoint"] = asdict(self.checkpoint)
        found["client_delay"] = {"measured": delay} if isinstance(delay, tuple) else delay
        return found | {name: getattr(self, name).document() for name in kinds}

    def scaled(self, name: str, factor: float) -> SimulatedCluster:
        """With all costs of one kind of server times `factor`."""
        kind: ServerKind = getattr(self, name)
        dearer = replace(
            kind,
            per_op_s=kind.per_op_s * factor,
            per_send_s=kind.per_send_s * factor,
            per_packet_s=kind.per_packet_s * factor,
        )
        return SimulatedCluster(**{**self.__dict__, name: dearer})


class Traffic(TypedDict):
    """Messages between clients and nodes."""

    sends: int
    packets: int
    ops: int


class StationLoad(TypedDict):
    """What the servers of one kind did: shares of their time, of all and of the busiest one; waits of what they were given."""

    name: str
    servers: int
    busy: float
    busiest: float
    visits: int
    wait_s: float
    waited: float


class OutcomeDocument(TypedDict):
    measured_s: float
    ops: int
    ops_per_s: float
    half_width: float | None
    latency: Mapping[str, float]
    stations: list[StationLoad]
    requests: Traffic
    replies: Traffic
    series: list[int]
    packet_series: list[float]
    send_series: list[float]
    checkpoint_series: list[float]
    issued: int
    answered: int
    in_flight: int
    events: int


@dataclass(frozen=True)
class SimulatedOutcome:
    """What a simulation found."""

    ops_per_s: float
    #: Half of the 95 % interval of the throughput by batch means, as a share of it; None with fewer than five intervals.
    half_width: float | None
    measured_s: float
    #: mean_s, p50_s, p90_s, p99_s, p999_s, max_s.
    latency: Mapping[str, float]
    #: By name, in the order in which a request meets them.
    stations: Mapping[str, StationLoad]
    requests: Traffic
    replies: Traffic
    #: Operations of each interval, operations in a packet of the answers and in a send of them, and the share of the time of
    #: all LDM threads that checkpoints took.
    series: Sequence[int] = field(repr=False)
    packet_series: Sequence[float] = field(repr=False)
    send_series: Sequence[float] = field(repr=False)
    checkpoint_series: Sequence[float] = field(repr=False)
    #: Since the beginning, warm-up too.
    issued: int
    answered: int
    in_flight: int
    events: int

    @property
    def fullest(self) -> str:
        """The kind of server that is busiest."""
        return max(self.stations, key=lambda name: self.stations[name]["busy"])

    @property
    def full(self) -> str | None:
        """The kind of server that has no time left; None where none is."""
        return self.fullest if self.stations[self.fullest]["busy"] >= FULL else None

    @property
    def ops_per_packet(self) -> float:
        """Of the answers."""
        return self.replies["ops"] / max(1, self.replies["packets"])

    @property
    def ops_per_send(self) -> float:
        """Of the answers."""
        return self.replies["ops"] / max(1, self.replies["sends"])


def simulated(cluster: SimulatedCluster) -> SimulatedOutcome:
    """Raises CoreFailure for a cluster that contradicts itself, with everything that is wrong."""
    found: OutcomeDocument = json.loads(_core.simulate(json.dumps(cluster.document())))
    return SimulatedOutcome(
        ops_per_s=found["ops_per_s"],
        half_width=found["half_width"],
        measured_s=found["measured_s"],
        latency=found["latency"],
        stations={s["name"]: s for s in found["stations"]},
        requests=found["requests"],
        replies=found["replies"],
        series=found["series"],
        packet_series=found["packet_series"],
        send_series=found["send_series"],
        checkpoint_series=found["checkpoint_series"],
        issued=found["issued"],
        answered=found["answered"],
        in_flight=found["in_flight"],
        events=found["events"],
    )
