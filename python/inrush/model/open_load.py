"""Latency at a given rate, from demands: what a closed run of the same work says of an open one. Pure.

Only for utilisation up to 0.8, and only for queueing: stalls of checkpoints and compactions are no queue.
Source: Erlang C; Allen & Cunneen for service and arrivals that are not exponential.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inrush.model.curve import MOST_BUSY
from inrush.model.forecast import Refused
from inrush.model.laws import Resource
from inrush.text import number


def erlang_c(servers: int, offered: float) -> float:
    """Probability that an arrival waits; offered: busy servers, below `servers`."""
    # Erlang B by its recursion, which neither over- nor underflows, then C from B.
    blocked = 1.0
    for j in range(1, servers + 1):
        blocked = offered * blocked / (j + offered * blocked)
    share = offered / servers
    return blocked / (1 - share * (1 - blocked))


def residence_s(rate_per_s: float, resource: Resource, ca2: float = 1.0, cs2: float = 1.0) -> float:
    """Mean time at a station with waiting; ca2, cs2: squared coefficients of variation of arrivals and service.

    Raises Refused beyond 80 % utilisation: near the limit nothing in the model holds.
    """
    busy = rate_per_s * resource.demand_s
    if busy > MOST_BUSY * resource.capacity:
        raise Refused(
            f"{resource.name} would be {busy / resource.capacity:.0%} busy at {number(rate_per_s)}/s; latency is predicted up to "
            f"{MOST_BUSY:.0%}: lower the rate, or measure there"
        )
    # A core with two threads is 1.3 servers: one, 1.3 times as fast.
    servers = max(1, int(resource.capacity))
    each_s = resource.demand_s * servers / resource.capacity
    wait = erlang_c(servers, rate_per_s * each_s) * each_s / (servers - rate_per_s * each_s)
    return each_s + wait * (ca2 + cs2) / 2


@dataclass(frozen=True)
class OpenLatency:
    mean_s: float
    p50_s: float
    p99_s: float
    busiest: str


def open_latency(
    rate_per_s: float, resources: Sequence[Resource], think_s: float = 0.0, ca2: float = 1.0, cs2: float = 1.0
) -> OpenLatency:
    """Latency at a rate: means add up; quantiles as if all of it were at the busiest station, R ln(1 / (1 - p)).

    That is exact for one station of one server and exponential work, and too long for less variable work.
    """
    parts = [residence_s(rate_per_s, r, ca2, cs2) for r in resources if r.demand_s > 0]
    mean = sum(parts) + think_s
    queued = sum(parts)
    busiest = max(resources, key=lambda r: r.demand_s / r.capacity)
    p50, p99 = (think_s + queued * float(np.log(1 / (1 - p))) for p in (0.5, 0.99))
    return OpenLatency(mean, p50, p99, busiest.name)
