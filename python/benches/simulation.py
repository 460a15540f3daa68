"""What the simulation of a cluster costs: a minute of 32 data nodes and 40 client machines, in CPU-seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from benches.keylookup.cluster_002 import MACHINES, PUBLISHED, at
from inrush.model.cluster import SimulatedCluster, simulated

Parts = tuple[str, str, str, float, Callable[[], float], Callable[[], float]]
MINUTE_S = 60.0


def comparisons() -> Iterator[Parts]:
    yield (
        "simulated minute of 32 x 40",
        "a minute",
        "simulated s/CPU-s",
        1.0,
        lambda: MINUTE_S / cpu_s(minute()),
        lambda: 1.0,
    )


def minute() -> SimulatedCluster:
    """Messages stay whole: an LDM thread takes all keys of one, and nothing waits for a delay to fill it again.

    8,192 reads in flight from each API node are among the assumptions that give both published curves within 5 %; with half
    of them there are twice as many messages, and events.
    """
    of = replace(at(PUBLISHED, MACHINES, 40), nodes=32, send_delay_s=0.0)
    whole = {name: replace(getattr(of, name), pieces=1) for name in ("tc", "ldm")}
    return replace(of, **whole, parallel=8192, measure_s=MINUTE_S, interval_s=1.0)


def cpu_s(cluster: SimulatedCluster) -> float:
    before = time.thread_time()
    simulated(cluster)
    return time.thread_time() - before
