"""What a byte or a row of a load costs: by the size of its file, the places that the file touches, and the table. Pure.

    T / A = c + a F / A + d S + e P / A + g N

    T   s       that a file took, or an interval of a load
    A           bytes of it, or its rows: what the cost is of
    F           files in it: 1, or those of an interval
    S   bytes   of a file
    P           places of the key space that it touches: runs of neighbouring keys
    N           in the table before it, in any unit; or max(0, 1 - n0 / N), where that explains more

No cost is negative. Parts: size (a and d), places (e), table (g). Each part's share of the variance is its gain of R²,
averaged over the orders in which parts can be added. What no part explains is the rest. Intervals are percentiles of
refits to drawn blocks of neighbours, for neighbours are alike (`blocks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inrush.model.blocks import Blocks, FloatArray
from inrush.model.forecast import Refused
from inrush.text import number

Name = Literal["size", "places", "table"]
#: Fewer files, or intervals, are explained by anything.
LEAST = 24
#: Sizes, or places, that differ by less (sd of logs) are one size.
VARIES = 0.05
#: Of the variance of one, from where on another says it: the two are one part.
COLLINEAR = 0.95
LEVEL = 0.95
#: Where a table may leave memory: shares of the load that are tried.
KNEES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6)
#: By so much of R² it must explain more than a table that makes a row dearer all along.
KNEE_GAIN = 0.01
CALLED: Mapping[Name, str] = {
    "size": "the size of files",
    "places": "the places that a file touches",
    "table": "the size of the table",
}


@dataclass(frozen=True)
class Units:
    """Files of a load, or its intervals, in the order of the load; arrays of one length."""

    seconds: FloatArray
    bytes: FloatArray
    #: None: not known.
    rows: FloatArray | None
    #: In the table before it, with half of its own, in any unit.
    before: FloatArray
    #: None: not known.
    places: FloatArray | None = None
    #: Of intervals; None: each is one file.
    files: FloatArray | None = None

    @property
    def file_bytes(self) -> FloatArray:
        return self.bytes / self.files if self.files is not None else self.bytes

    @property
    def counts(self) -> FloatArray:
        return self.files if self.files is not None else np.ones_like(self.bytes)

    def only(self, kept: NDArray[np.bool_]) -> Units:
        """Those that are kept."""

        def of(values: FloatArray | None) -> FloatArray | None:
            return None if values is None else values[kept]

        return Units(
            self.seconds[kept],
            self.bytes[kept],
            of(self.rows),
            self.before[kept],
            of(self.places),
            of(self.files),
        )


def units(
    seconds: ArrayLike, sizes: ArrayLike, before: ArrayLike, rows: ArrayLike | None = None, places: ArrayLike | None = None,
    files: ArrayLike | None = None,
) -> Units:  # fmt: skip
    """sizes: bytes. All of shape (n,)."""

    def array(values: ArrayLike | None) -> FloatArray | None:
        return None if values is None else np.asarray(values, np.float64)

    return Units(
        np.asarray(seconds, np.float64), np.asarray(sizes, np.float64), array(rows), np.asarray(before, np.float64),
        array(places), array(files),
    )  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """With the bounds of LEVEL."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Part:
    """One reason, or several that this load does not distinguish."""

    names: tuple[Name, ...]
    #: Of the variance of the cost; what it has in common with another part is shared by both.
    share: Estimate
    #: R² that is lost without it.
    adds: float
    #: UnitCost at the upper end (95 % of the load lies below) over that at the lower one (5 %), all else as it is on average.
    times: float


@dataclass(frozen=True)
class UnitCost:
    """Seconds for a byte, or for a row."""

    each_s: float
    file_s: float
    file_byte_s: float
    place_s: float
    table_s: float
    #: From where on the table makes a row dearer (`before` of Units); None: all along.
    knee: float | None

    def at(self, of: Units, amount: FloatArray) -> FloatArray:
        return np.asarray(columns(of, amount, self.knee) @ self.coefficients)

    @property
    def coefficients(self) -> FloatArray:
        return np.array([self.each_s, self.file_s, self.file_byte_s, self.place_s, self.table_s])


@dataclass(frozen=True)
class Decomposed:
    """Why a load's bytes, or rows, were not all as dear."""

    per: Literal["byte", "row"]
    units: int
    cost: UnitCost
    r2: Estimate
    rest: Estimate
    #: The largest first.
    parts: tuple[Part, ...]
    #: Sentences: parts that are one, and what could not be looked at.
    inseparable: tuple[str, ...]
    unseen: tuple[str, ...]


def decompose(
    of: Units, per: Literal["byte", "row"] = "byte", weighted: bool = True, seed: int = 1
) -> Decomposed:
    """weighted: a file counts by what it holds, so that the variance is that over bytes or rows; intervals of one length
    count alike. Raises Refused for a load that cannot be taken apart."""
    amount = of.bytes if per == "byte" else of.rows
    if amount is None:
        raise Refused("rows of each file are not known: its cost is taken apart by bytes alone")
    used = (amount > 0) & (of.bytes > 0) & (of.seconds > 0)
    of, amount = of.only(used), amount[used]
    n = len(amount)
    if n < LEAST:
        word = "files" if of.files is None else "intervals"
        raise Refused(
            f"{n} {word} with rows in them: a load is taken apart from {LEAST} on; load more and smaller files"
        )
    weights = amount / amount.mean() if weighted else np.ones(n)
    y = of.seconds / amount
    names, unseen = varied(of, weights)
    if not names:
        raise Refused(f"{'; '.join(unseen)}: nothing varies that a cost could follow")
    groups, inseparable = grouped(of, amount, names, weights)
    knee = chosen_knee(of, amount, y, weights) if "table" in names else None
    x = columns(of, amount, knee)
    blocks = Blocks(x, y, weights)
    whole = blocks.total()
    every = tuple(name for group in groups for name in group)
    each, file, file_byte, place, table = (float(c) for c in whole.fit(places_of(every)))
    cost = UnitCost(each, file, file_byte, place, table, knee)
    at = [places_of(group)[1:] for group in groups]
    shares, adds, r2 = whole.shares(at)
    drawn = blocks.drawn(at, seed)
    parts = tuple(
        Part(group, estimate(shares[k], drawn[:, k]), adds[k], dearer(x, cost, group, weights))
        for k, group in enumerate(groups)
    )
    return Decomposed(
        per, n, cost, estimate(r2, drawn[:, -1]), estimate(1 - r2, 1 - drawn[:, -1]),
        tuple(sorted(parts, key=lambda p: -p.share.value)), inseparable, unseen,
    )  # fmt: skip


def columns(of: Units, amount: FloatArray, knee: float | None) -> FloatArray:
    places = np.zeros_like(amount) if of.places is None else of.places
    table = of.before if knee is None else missed(of.before, knee)
    return np.stack([np.ones_like(amount), of.counts / amount, of.file_bytes, places / amount, table], axis=1)


def missed(before: FloatArray, knee: float) -> FloatArray:
    """Share of a table that is not in memory, which it fills at the knee."""
    return np.asarray(np.maximum(0.0, 1 - knee / np.maximum(before, 1e-300)))


def places_of(names: Sequence[Name]) -> list[int]:
    """Columns of parts, with the constant."""
    held = {"size": (1, 2), "places": (3,), "table": (4,)}
    return [0, *(c for name in names for c in held[name])]


def varied(of: Units, weights: FloatArray) -> tuple[list[Name], tuple[str, ...]]:
    """Parts that a load can show, and why it cannot show the others."""
    names: list[Name] = []
    unseen: list[str] = []
    if spread(np.log(of.file_bytes), weights) >= VARIES:
        names.append("size")
    else:
        unseen.append(
            f"files are of one size, {number(float(np.average(of.file_bytes, weights=weights)), 3)} bytes"
        )
    known = of.places is not None and bool((of.places > 0).all())
    if not known:
        unseen.append(
            "places that files touch are not known: what comes with the size of a file is called its size"
        )
    elif "size" in names or spread(np.log(places(of)), weights) >= VARIES:
        names.append("places")
    else:
        unseen.append("every file touches as many places")
    if spread(of.before, weights) > 0:
        names.append("table")
    return names, tuple(unseen)


def places(of: Units) -> FloatArray:
    """Of one file."""
    assert of.places is not None, "only asked where places are known"
    return of.places / of.counts


def spread(values: FloatArray, weights: FloatArray) -> float:
    middle = np.average(values, weights=weights)
    return float(np.sqrt(np.average((values - middle) ** 2, weights=weights)))


def grouped(
    of: Units, amount: FloatArray, names: Sequence[Name], weights: FloatArray
) -> tuple[list[tuple[Name, ...]], tuple[str, ...]]:
    """Parts, those that say each other joined in one; and a sentence for each such pair."""
    groups: list[tuple[Name, ...]] = [(name,) for name in names]
    said = []
    for a, b in combinations(names, 2):
        share = said_by(of, amount, a, b, weights)
        if share < COLLINEAR:
            continue
        said.append(
            f"{CALLED[a]} and {CALLED[b]} are inseparable: one follows from the other (R² {share:.2f}), and a load in which "
            "they vary by themselves would separate them"
        )
        first, second = (next(g for g in groups if name in g) for name in (a, b))
        if first != second:
            groups = [g for g in groups if g not in (first, second)] + [first + second]
    return groups, tuple(said)


def said_by(of: Units, amount: FloatArray, a: Name, b: Name, weights: FloatArray) -> float:
    """Share of the variance of one that the other explains. Of size and places by the logs of both, so that a power is one
    too; where all files touch as many places, those of a byte follow from the size."""
    if (a, b) == ("size", "places"):
        size, touched = np.log(of.file_bytes), np.log(places(of))
        if spread(size, weights) < VARIES:
            return 0.0
        if spread(touched, weights) < VARIES:
            return 1.0
        return explained(np.stack([np.ones_like(size), size], axis=1), touched, weights)
    x = columns(of, amount, None)
    return explained(x[:, places_of([a])], x[:, 4], weights)


def explained(x: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """R² of least squares."""
    w = np.sqrt(weights)
    size = np.sqrt((x**2).sum(axis=0))
    found, *_ = np.linalg.lstsq(x / size * w[:, None], y * w, rcond=None)
    left = float((weights * (y - x / size @ found) ** 2).sum())
    of_all = float((weights * (y - np.average(y, weights=weights)) ** 2).sum())
    return 1 - left / of_all if of_all > 0 else 1.0


def chosen_knee(of: Units, amount: FloatArray, y: FloatArray, weights: FloatArray) -> float | None:
    """Where the table leaves memory, if that explains more than a row that gets dearer all along."""
    tried = [None, *(float(of.before.max()) * share for share in KNEES)]
    fits = {knee: Blocks(columns(of, amount, knee), y, weights).total().r2(range(5)) for knee in tried}
    best = max(fits, key=lambda knee: fits[knee])
    return best if fits[best] > fits[None] + KNEE_GAIN else None


def alike(of: Units, found: Decomposed) -> FloatArray | None:
    """Rates as they would have been with files that are all alike: each divided by what its own size and places make of
    the mean rate. None where these cannot be distinguished from the table."""
    if any("table" in p.names and len(p.names) > 1 for p in found.parts):
        return None
    amount = of.bytes if found.per == "byte" else of.rows
    assert amount is not None, "it was decomposed by it"
    x = columns(of, amount, found.cost.knee)
    x[:, 4] = x[:, 4].mean()
    dear = x @ found.cost.coefficients
    return np.asarray(amount / of.seconds * dear / dear.mean())


def estimate(value: float, drawn: FloatArray) -> Estimate:
    value = float(np.clip(value, 0.0, 1.0))
    low, high = np.clip(np.quantile(drawn, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2]), 0.0, 1.0)
    return Estimate(value, min(float(low), value), max(float(high), value))


def dearer(x: FloatArray, cost: UnitCost, group: Sequence[Name], weights: FloatArray) -> float:
    """Between the ends of what the part costs in this load: the 5th and the 95th hundredth of it, each with the rest at
    its mean."""
    mine = places_of(group)[1:]
    c = cost.coefficients
    other = float(np.average(x @ c - x[:, mine] @ c[mine], weights=weights))
    own = np.sort(x[:, mine] @ c[mine])
    low, high = np.quantile(own, [0.05, 0.95])
    return float((other + high) / (other + low)) if other + low > 0 else float("inf")
