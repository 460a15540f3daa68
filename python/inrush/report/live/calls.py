"""Latencies of calls while a run goes on: buckets of the core, added up as they come. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from inrush.border.events import Latencies
from inrush.results.histogram import Histogram

#: Of the core's buckets (`rust/drive/src/record/hist.rs`).
GROUPING_POWER = 7
#: Percentiles that are shown, by their names.
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def histogram(new: Latencies) -> Histogram | None:
    """None where no call is in it."""
    if not new["n"]:
        return None
    return Histogram(
        GROUPING_POWER,
        np.array(new["bucket"], np.int64),
        np.array(new["count"], np.int64),
        new["min"],
        new["max"],
        new["sum"],
    )


@dataclass
class Calls:
    """All calls so far; those that failed are slower than every other."""

    counts: Counter[int] = field(default_factory=Counter)
    n: int = 0
    sum_ns: int = 0
    min_ns: int = 0
    max_ns: int = 0
    failed: int = 0

    def add(self, new: Latencies, failed: int = 0) -> None:
        self.failed += failed
        if not new["n"]:
            return
        for bucket, count in zip(new["bucket"], new["count"], strict=True):
            self.counts[bucket] += count
        self.min_ns = min(self.min_ns, new["min"]) if self.n else new["min"]
        self.max_ns = max(self.max_ns, new["max"])
        self.n += new["n"]
        self.sum_ns += new["sum"]

    def histogram(self) -> Histogram | None:
        if not self.n:
            return None
        bucket = sorted(self.counts)
        count = [self.counts[b] for b in bucket]
        found = Histogram(
            GROUPING_POWER,
            np.array(bucket, np.int64),
            np.array(count, np.int64),
            self.min_ns,
            self.max_ns,
            self.sum_ns,
        )
        return found.with_failed(self.failed)


def quantile_s(of: Histogram | None, q: float) -> float | None:
    """None of no calls, and where more than 1 − q of them failed: no time is as long."""
    if of is None:
        return None
    found = of.quantile_ns(q)
    return min(found, float(of.max_ns)) / 1e9 if np.isfinite(found) else None
