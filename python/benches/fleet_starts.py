"""How the workers of a fleet start together: a simulation of the words between them, with the product's own constants. Pure.

`python -m benches.fleet_starts`: ways between a scheduler and its workers take lognormal times, and a scheduler takes one
call after the other. What is simulated: the looks at the clocks, the calls for events that go on all the time, and the word
to start with its instant. A worker is late if the word comes to it after the instant; the run gives up when a call takes
longer than its limit.
"""

from __future__ import annotations

import argparse
import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inrush.clients.barriers import LATE_NS
from inrush.fleet.echo import Echo, offset
from inrush.fleet.link import LIMIT_S
from inrush.fleet.place import ECHOES, LOOKS, WAIT_S, start_after_ns
from inrush.worker.worker import POLL_S

FloatArray = NDArray[np.float64]
NS = 1e9
#: Calls for events go on for so long before the word, s: longer than any of them may take.
BEFORE_S = 4.0


@dataclass(frozen=True)
class Network:
    name: str
    #: Of one way, s: its median, and the standard deviation of its logarithm.
    median_s: float
    sigma: float

    def ways(self, draw: np.random.Generator, *shape: int) -> FloatArray:
        return draw.lognormal(np.log(self.median_s), self.sigma, shape)


NETWORKS = (
    Network("one hall", 0.0002, 0.5),
    Network("a busy network", 0.001, 1.5),
    Network("two sites", 0.02, 0.3),
)


@dataclass(frozen=True)
class Start:
    """Of one fleet, s."""

    workers: int
    #: Clocks are said to be known to so much; between the first start and the last one by a true clock.
    known_s: float
    spread_s: float
    #: From the word to the instant, and to the worker that hears it last.
    ahead_s: float
    last_s: float
    #: Workers that began more than 1 ms after the instant.
    late: int
    #: Of the longest call.
    call_s: float
    #: After the first call for events: when the first call was not answered within its limit; infinite where all were.
    given_up_s: float

    @property
    def gives_up(self) -> bool:
        return math.isfinite(self.given_up_s)


def started(network: Network, workers: int, call_s: float, seed: int = 1) -> Start:
    """call_s: of the scheduler's time, a call."""
    draw = np.random.default_rng(seed)
    looks = [looked_at(network, draw, min(workers, LOOKS), call_s) for _ in range(workers)]
    wrong = np.array([wrong_s for wrong_s, _ in looks])
    known_s = max(error_s for _, error_s in looks)
    ahead_s = start_after_ns(workers, round(known_s * NS)) / NS
    heard, longest_s, given_up_s = words(network, draw, workers, call_s)
    # The process looks for words now and then.
    heard += draw.uniform(0.0, POLL_S, workers)
    begun = np.maximum(ahead_s + wrong, heard)
    return Start(
        workers,
        known_s,
        float(np.ptp(begun)),
        ahead_s,
        float(heard.max()),
        int((begun - (ahead_s + wrong) > LATE_NS / NS).sum()),
        longest_s,
        given_up_s,
    )


def looked_at(
    network: Network, draw: np.random.Generator, at_once: int, call_s: float
) -> tuple[float, float]:
    """By how much a clock is thought to be ahead that shows the same, and the bound of that error, s."""
    there, back = network.ways(draw, 2, ECHOES)
    # So many looks at once wait for each other at the scheduler, on the way there.
    there = there + call_s + np.maximum(0.0, (at_once - 1) * call_s - there - back)
    found = offset([
        Echo(0, round(to * NS), round(to * NS), round((to + fro) * NS)) for to, fro in zip(there, back, strict=True)
    ])  # fmt: skip
    return found.ahead_ns / NS, found.error_ns / NS


def words(
    network: Network, draw: np.random.Generator, workers: int, call_s: float
) -> tuple[FloatArray, float, float]:
    """When each worker hears the word that is said to all at 0, what the longest call took, and when one took too long, s.

    Calls for events of all workers were asked before, and are again when they are answered.
    """
    heard, longest_s, given_up_s, free_s = np.zeros(workers), 0.0, np.inf, -BEFORE_S
    calls = [(-BEFORE_S + begin, n, False) for n, begin in enumerate(draw.uniform(0.0, WAIT_S, workers))]
    calls += [(0.0, n, True) for n in range(workers)]
    heapq.heapify(calls)
    left = workers
    while left:
        asked_s, n, word = heapq.heappop(calls)
        free_s = max(free_s, asked_s) + call_s
        there_s, back_s = network.ways(draw, 2)
        back_s += free_s + there_s + (0.0 if word else WAIT_S)
        longest_s = max(longest_s, back_s - asked_s)
        if back_s - asked_s > LIMIT_S:
            given_up_s = min(given_up_s, asked_s + LIMIT_S + BEFORE_S)
        if word:
            heard[n] = free_s + there_s
            left -= 1
        else:
            heapq.heappush(calls, (back_s, n, False))
    return heard, longest_s, given_up_s


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100, 400, 1000, 2000, 10_000])
    parser.add_argument(
        "--call-ms", type=float, nargs="+", default=[0.0, 1.0], help="of the scheduler, for a call"
    )
    wanted = parser.parse_args()
    print(
        "| ways | a call, ms | workers | clocks ±, ms | ahead, s | last word, s | spread, ms | late | longest call, s | given up after, s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for network in NETWORKS:
        for call_ms in wanted.call_ms:
            for workers in wanted.workers:
                of = started(network, workers, call_ms / 1e3)
                print(
                    f"| {network.name} | {call_ms:g} | {workers:,} | {of.known_s * 1e3:.2f} | {of.ahead_s:.2f} | "
                    f"{of.last_s:.2f} | {of.spread_s * 1e3:.2f} | {of.late:,} | {of.call_s:.2f} | "
                    f"{f'{of.given_up_s:.1f}' if of.gives_up else ''} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
