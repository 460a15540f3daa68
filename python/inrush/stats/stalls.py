"""How long a process stood still, of the beats of its heartbeat that came late (rust/drive/src/watch/heartbeat.rs). Pure.

A stall is noted if a beat falls into it, at any place with the same chance. So one that lasts for less than a period is noted
with a probability of its length over the period, and that beat is late by half of the length on average: each late beat
stands for a whole period of standing still. One that lasts longer began half a period, on average, before its first beat was
due. From few beats nothing is concluded, nor from beats that were hardly late enough to be noted (of stalls as short as
that nearly all are missed): the process stood still for at least as long as they were late.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Of the beats, and the lateness from which on one is noted, as in heartbeat.rs.
PERIOD_S, NOTED_S = 0.0191, 0.001
#: Of so many late beats, and of stalls so long at least, the share that was not noted is estimated.
ENOUGH, SHORTEST_S = 8, 0.003
#: Those of the shortest are late by 2 ms on average; of less than this, they were shorter.
HARDLY_S = 0.0015
#: No thread that sleeps most of the time waits for a processor for so long.
LONGEST_WAIT_S = 0.2


@dataclass(frozen=True)
class Stalls:
    times: float
    total_s: float


def stalls_of(late: float, late_s: float) -> Stalls:
    """late: beats that came late; late_s: by how much, all together."""
    mean_s = late_s / late if late else 0.0
    if late < ENOUGH or mean_s <= HARDLY_S:
        return Stalls(late, late_s)
    each_s = max(SHORTEST_S, min(2 * mean_s - NOTED_S, mean_s + PERIOD_S / 2))
    times = late * max(1.0, PERIOD_S / (each_s - NOTED_S))
    return Stalls(times, times * each_s)
