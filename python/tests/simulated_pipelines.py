"""Load pipelines made up at random and simulated event by event: what the predictor is tried on, with the truth known.

A pipeline reads (its own or a shared disk), parses (shared cores) and writes to shards by hash; each keeps a bounded number
of units under way, so its stages overlap. This is an oracle: it shares the predictor's words, none of its formulas.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Truth:
    """Mean seconds of a unit at each stage, for one pipeline alone."""

    disk_s: float
    cpu_s: float
    cores: int
    shard_s: float
    shards: int
    #: Units that a pipeline has under way.
    window: int
    #: Coefficient of variation of service times.
    cv: float
    #: Growth of CPU for each pipeline more.
    contention: float


@dataclass(frozen=True)
class Simulated:
    per_s: float
    #: Resource -> servers kept busy.
    busy: dict[str, float]


def random_truth(rng: np.random.Generator) -> Truth:
    """Knees from 3 to 12 pipelines, in any of the three resources."""
    window, unit_s = int(rng.integers(2, 5)), 1.0
    knees = rng.uniform(3, 12, 3)
    cores, shards = int(rng.integers(8, 21)), int(rng.integers(4, 9))
    # One pipeline does about one unit in unit_s, whatever its window.
    return Truth(
        unit_s / knees[0], unit_s * cores / knees[1], cores, unit_s * shards / knees[2], shards, window,
        float(rng.uniform(0.2, 0.8)), float(rng.uniform(0, 0.01)),
    )  # fmt: skip


def simulate(truth: Truth, n: int, rng: np.random.Generator, units: int = 1500) -> Simulated:
    """n pipelines until `units` units are done, after a tenth of them to warm up."""
    means = [truth.disk_s, truth.cpu_s * (1 + truth.contention * (n - 1)), *[truth.shard_s] * truth.shards]
    servers = [1, truth.cores, *[1] * truth.shards]
    idle = list(servers)
    queues: list[deque[int]] = [deque() for _ in means]
    shape = 1 / truth.cv**2
    draws = iter(rng.gamma(shape, 1 / shape, 8 * (units + 100 * n)).tolist())
    route = iter(rng.integers(0, truth.shards, 4 * (units + 100 * n)).tolist())
    busy, events, now, done, warm = [0.0] * len(means), list[tuple[float, int, int]](), 0.0, 0, units // 10
    began = 0.0

    def arrive(station: int, pipeline: int) -> None:
        if idle[station]:
            idle[station] -= 1
            begin(station, pipeline)
        else:
            queues[station].append(pipeline)

    def begin(station: int, pipeline: int) -> None:
        service_s = means[station] * next(draws)
        if done >= warm:
            busy[station] += service_s
        heapq.heappush(events, (now + service_s, station, pipeline))

    for pipeline in range(n):
        for _ in range(truth.window):
            arrive(0, pipeline)
    while done < units + warm:
        now, station, pipeline = heapq.heappop(events)
        if queues[station]:
            begin(station, queues[station].popleft())
        else:
            idle[station] += 1
        if station == 0:
            arrive(1, pipeline)
        elif station == 1:
            arrive(2 + next(route), pipeline)
        else:
            done += 1
            began = now if done == warm else began
            arrive(0, pipeline)
    span_s = now - began
    used = {"disk": busy[0], "cores": busy[1], "shards": sum(busy[2:])}
    return Simulated(units / span_s, {name: s / span_s for name, s in used.items()})
