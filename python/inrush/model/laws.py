"""Operational laws and bounds: they hold of every system that was measured, whatever its distributions. Pure.

Units: throughput in units of work a second, demand in busy server-seconds per unit of work, capacity in servers.
Source: Denning & Buzen, The operational analysis of queueing network models, 1978; Lazowska et al.,
Quantitative System Performance, 1984, chapters 3 and 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Resource:
    """Something with servers that work: cores, a disk, a lock."""

    name: str
    #: Busy server-seconds for one unit of work, over all servers.
    demand_s: float
    capacity: float = 1.0

    @property
    def limit_per_s(self) -> float:
        """Throughput at which every server is busy; inf where nothing is demanded."""
        return self.capacity / self.demand_s if self.demand_s > 0 else float("inf")


@dataclass(frozen=True)
class Saturation:
    resource: str
    #: Load at which the resource is full, in units of the load that was measured.
    at: float
    limit_per_s: float


def demand_s(busy: float, throughput_per_s: float) -> float:
    """busy: servers kept busy on average (0.14 of a disk, 2.5 cores)."""
    return busy / throughput_per_s


def utilisation(throughput_per_s: float, resource: Resource) -> float:
    """Share of a resource's servers that are busy: X D / m."""
    return throughput_per_s * resource.demand_s / resource.capacity


def population(throughput_per_s: float, residence_s: float, think_s: float = 0.0) -> float:
    """Little's law: N = X (R + Z)."""
    return throughput_per_s * (residence_s + think_s)


def hard_bound(n: float, one_per_s: float, resources: Sequence[Resource]) -> float:
    """No load exceeds n times one load, nor the smallest limit of a resource."""
    return min([n * one_per_s, *(r.limit_per_s for r in resources)])


def upper_bound(n: float, resources: Sequence[Resource], think_s: float = 0.0) -> float:
    """Of n units in flight: none is faster than its demands, no resource faster than full."""
    return min([n / (total_demand_s(resources) + think_s), *(r.limit_per_s for r in resources)])


def lower_bound(n: float, resources: Sequence[Resource], think_s: float = 0.0) -> float:
    """Of n units in flight at stations of one server: the worst is that all wait for all."""
    return n / (n * total_demand_s(resources) + think_s)


def balanced_bounds(n: float, resources: Sequence[Resource], think_s: float = 0.0) -> tuple[float, float]:
    """Balanced job bounds (low, high) for stations of one server."""
    total, most = total_demand_s(resources), max(r.demand_s for r in resources)
    mean = total / len(resources)
    low = n / (total + think_s + (n - 1) * most / (1 + think_s / (n * total)))
    high = min(1 / most, n / (total + think_s + (n - 1) * mean / (1 + think_s / total)))
    return low, high


def saturations(one_per_s: float, resources: Sequence[Resource]) -> list[Saturation]:
    """Where each resource is full, first come first; one_per_s: throughput of one load."""
    found = [
        Saturation(r.name, r.limit_per_s / one_per_s, r.limit_per_s) for r in resources if r.demand_s > 0
    ]
    return sorted(found, key=lambda s: s.at)


def total_demand_s(resources: Sequence[Resource]) -> float:
    return sum(r.demand_s for r in resources)
