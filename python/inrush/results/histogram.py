"""Latency histograms off the clock: merged and read, never averaged.

Twin of the buckets that `rust/drive/src/record/hist.rs` writes (H2 = HdrHistogram's buckets): with grouping
power g, values below 2^(g+1) have a bucket each, every later power of two has 2^g of them.
There is no function here, or elsewhere, that averages percentiles: a percentile of several
histograms is the percentile of their merge.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
#: Buckets of rows that are merged at a time: 16 bytes each, and as much again while they are.
ENTRIES = 1_000_000


@dataclass(frozen=True)
class Histogram:
    """Counts per bucket, sparse; `bucket` ascending and without repetition, values in ns.

    A call that failed has no value and counts as slower than every other: `failed` of them lie above all buckets.
    """

    grouping_power: int
    bucket: IntArray
    count: IntArray
    min_ns: int
    max_ns: int
    sum_ns: int
    n: int = field(init=False)
    failed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", int(self.count.sum()))

    @property
    def calls(self) -> int:
        """With those that failed."""
        return self.n + self.failed

    def quantile_ns(self, q: float) -> float:
        """Upper end of the smallest bucket that has at least ceil(q calls) values at or below it; infinite where
        more than 1 - q of the calls failed.

        Raises ValueError when empty or for q outside 0…1.
        """
        if not 0.0 <= q <= 1.0:
            raise ValueError(f"quantile {q} is outside 0…1")
        if self.calls == 0:
            raise ValueError("an empty histogram has no quantiles")
        wanted = rank(q, self.calls)
        if wanted > self.n:
            return math.inf
        index = int(np.searchsorted(np.cumsum(self.count), wanted))
        return bucket_upper(int(self.bucket[index]), self.grouping_power)

    def with_failed(self, failed: int) -> Histogram:
        """The same values, and so many calls more that failed."""
        return replace(self, failed=self.failed + failed)


def rank(q: float, n: int) -> int:
    """ceil(q n), at least 1; q is taken as the decimal it is written as, so that 0.07 of 100 is 7, not 8."""
    return max(1, math.ceil(Fraction(repr(float(q))) * n))


def bucket_upper(index: int, grouping_power: int) -> int:
    """Largest value, in ns, that falls into bucket `index`."""
    exact = 1 << (grouping_power + 1)
    if index < exact:
        return index
    shift = (index - exact) // (1 << grouping_power) + 1  # width of the bucket is 2^shift
    offset = (index - exact) % (1 << grouping_power)
    lower = (1 << (grouping_power + shift)) + (offset << shift)
    return lower + (1 << shift) - 1


def bucket_of(value: int, grouping_power: int) -> int:
    """Bucket that `value` (ns, not negative) falls into."""
    if value < 1 << (grouping_power + 1):
        return value
    power = value.bit_length() - 1
    shift = power - grouping_power
    groups = (power - (grouping_power + 1)) << grouping_power
    return (1 << (grouping_power + 1)) + groups + ((value - (1 << power)) >> shift)


def of_values(values_ns: Iterable[int], grouping_power: int = 7) -> Histogram:
    """Histogram of values in ns; for figures that reach Python one by one, and for tests."""
    values = Counter(int(v) for v in values_ns)
    counts: Counter[int] = Counter()
    for value, count in values.items():
        counts[bucket_of(value, grouping_power)] += count
    bucket = sorted(counts)
    return Histogram(
        grouping_power,
        np.array(bucket, np.int64),
        np.array([counts[b] for b in bucket], np.int64),
        min(values, default=0),
        max(values, default=0),
        sum(value * count for value, count in values.items()),
    )


def merge(parts: Sequence[Histogram]) -> Histogram:
    """One histogram of everything in `parts`: equal to the one recorded at once, field by field.

    Raises ValueError for no parts or for parts of different grouping powers.
    """
    powers = {p.grouping_power for p in parts}
    if len(powers) != 1:
        raise ValueError(f"histograms of grouping powers {sorted(powers)} cannot be merged")
    filled = [p for p in parts if p.n] or list(parts[:1])
    return Histogram(
        powers.pop(),
        *summed(np.concatenate([p.bucket for p in filled]), np.concatenate([p.count for p in filled])),
        min(p.min_ns for p in filled),
        max(p.max_ns for p in filled),
        sum(p.sum_ns for p in filled),
        sum(p.failed for p in parts),
    )


def of_table(table: pa.Table, by: Sequence[str]) -> dict[tuple[Any, ...], Histogram]:
    """Rows of the table `hist` (`docs/results.md`), merged per distinct value of the columns `by`.

    Works on whole columns: its time grows with intervals and buckets, not with operations.
    """
    if table.num_rows == 0:
        return {}
    powers = set(table.column("grouping_power").to_pylist())
    if len(powers) != 1:
        raise ValueError(f"histograms of grouping powers {sorted(powers)} cannot be merged")
    keys = list(zip(*(table.column(name).to_pylist() for name in by), strict=True))
    codes = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    of_row = np.array([codes[key] for key in keys], np.int64)
    filled = table.column("n").to_numpy() > 0
    low, high, total = (
        table.column(name).to_numpy().astype(np.int64) for name in ("min_ns", "max_ns", "sum_ns")
    )
    counts = Counts(len(codes))
    order = np.argsort(of_row, kind="stable")
    for rows in pieces(table, order):
        counts.add(of_row[rows], table.select(["bucket", "count"]).take(pa.array(rows)))
    firsts = np.searchsorted(of_row[order], np.arange(len(codes) + 1))
    merged = {}
    for key, code in codes.items():
        rows = order[firsts[code] : firsts[code + 1]]
        used = rows[filled[rows]] if filled[rows].any() else rows
        merged[key] = Histogram(
            powers.copy().pop(),
            *counts.of(code),
            int(low[used].min()),
            int(high[used].max()),
            int(total[rows].sum()),
        )
    return merged


def pieces(table: pa.Table, order: IntArray) -> Iterator[IntArray]:
    """Rows in an order, so many at a time that their buckets are few: those of all are larger than the table."""
    lengths = pc.list_value_length(table.column("bucket")).to_numpy()[order]
    piece = np.cumsum(lengths) // ENTRIES
    yield from np.split(order, np.flatnonzero(np.diff(piece)) + 1)


class Counts:
    """Buckets and counts of several histograms; rows of one after the other are added to them."""

    def __init__(self, codes: int) -> None:
        self.parts: list[list[tuple[IntArray, IntArray]]] = [[] for _ in range(codes)]

    def add(self, of_row: IntArray, lists: pa.Table) -> None:
        """of_row: which one each row is of, ascending."""
        held = lists.column("bucket").combine_chunks()
        bucket, count = (
            lists.column(name).combine_chunks().flatten().to_numpy(zero_copy_only=False).astype(np.int64)
            for name in ("bucket", "count")
        )
        owner = np.repeat(of_row, np.diff(held.offsets.to_numpy()))
        ends = np.searchsorted(owner, np.unique(of_row), side="right")
        for code, begin, end in zip(np.unique(of_row).tolist(), [0, *ends], ends, strict=False):
            self.parts[code].append(summed(bucket[begin:end], count[begin:end]))
            if len(self.parts[code]) > 1:
                self.parts[code] = [
                    summed(*(np.concatenate(of) for of in zip(*self.parts[code], strict=True)))
                ]

    def of(self, code: int) -> tuple[IntArray, IntArray]:
        return self.parts[code][0]


def summed(bucket: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """Each bucket once, ascending."""
    distinct, place = np.unique(bucket, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, place, count)
    return distinct, total
