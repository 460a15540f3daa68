"""How many cores a machine is worth: two threads of one core are not two cores."""

from __future__ import annotations

import hashlib
import threading
import time

#: Of several looks the best counts: others' work can only make a machine look smaller.
PROBES = 3
BLOCK = bytes(1 << 16)


def cpu_capacity(threads: int, limit_s: float = 0.3) -> dict[str, float]:
    """`cpu_capacity_cores`: work of all hardware threads together over the work of one alone, 1 to `threads`.

    Hashing leaves the interpreter's lock. Takes about `limit_s`.
    """
    each_s = limit_s / (2 * PROBES)
    one = max(rate(1, each_s) for _ in range(PROBES))
    all_ = max(rate(threads, each_s) for _ in range(PROBES))
    return {"cpu_capacity_cores": min(float(threads), max(1.0, all_ / one))}


def rate(threads: int, seconds: float) -> float:
    """Blocks hashed a second by so many threads at once."""
    counts = [0] * threads
    ready = threading.Barrier(threads + 1)

    def work(i: int) -> None:
        ready.wait()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            hashlib.sha256(BLOCK)
            counts[i] += 1

    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for w in workers:
        w.start()
    ready.wait()
    began = time.perf_counter()
    for w in workers:
        w.join()
    return sum(counts) / (time.perf_counter() - began)
