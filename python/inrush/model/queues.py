"""Laws that hold of every queue: Little's, and Erlang's of arrivals that wait. No laws of loads: see `curve`. Pure.

Source: Denning & Buzen, The operational analysis of queueing network models, 1978; Erlang C.
"""

from __future__ import annotations


def population(throughput_per_s: float, residence_s: float, think_s: float = 0.0) -> float:
    """Little's law: N = X (R + Z)."""
    return throughput_per_s * (residence_s + think_s)


def erlang_c(servers: int, offered: float) -> float:
    """Probability that an arrival waits; offered: busy servers, below `servers`."""
    # Erlang B by its recursion, which neither over- nor underflows, then C from B.
    blocked = 1.0
    for j in range(1, servers + 1):
        blocked = offered * blocked / (j + offered * blocked)
    share = offered / servers
    return blocked / (1 - share * (1 - blocked))
