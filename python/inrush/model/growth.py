"""Loads of a table with more rows than were tried, and reads of it: one rule chooses the law, and refuses. Pure.

The rule, of which `table_reads` is 5:

1. Without evidence the time of a load is a fixed cost and one for each row.
2. There is evidence that a row costs more as rows are added if rows a second have fallen from their peak by more than
   noise (three sd). Then the law is that of a B-tree where the table is one, loaded in no order of its key; else that of merges.
3. A target beyond the engine's cache is refused unless a run went to twice the rows that fill it, by every number of rows
   a leaf that explains the small loads, with evidence or without: nothing else shows what a page costs there.
4. A target beyond the memory of the machine adds the device's time for each page read, if every small load fits memory;
   refused without a probe of it, and if small loads lie on both sides. Of an engine that goes round the kernel's cache
   nothing is added: what a page costs beyond its cache is that of the device already.
5. A read in memory follows its own small figures: a fixed cost and one for each row of the table, or where its answer has
   as many rows in every table, and its time is explained so, the fixed cost alone; with the evidence of 2
   and a tree, one more for each row that the engine's cache does not hold. Beyond memory the
   share of pages that are not there costs what a cold read of the same study costs, or without one the device's time for
   each page that the engine counted, and of pages that were only asked for the middle up to it; refused without either, and as loads in 4. A cold read goes to the device at any size.
6. A law that misses the largest point by more than 15 %, or is asked for more than 32 times it, is refused; the latter is
   claimed where it is asked for by name (`far`), with an interval that is wider on logs by as much as its reach is.

The interval holds every law, and every number of rows a leaf, that explains the small loads as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inrush.model.curve import (
    FALL_SD,
    Curve,
    Fitted,
    Law,
    explains,
    fitted_proportion,
    linear,
    point_spread,
    width_at,
)
from inrush.model.fits import fit_sum
from inrush.model.forecast import UNCALIBRATED, Forecast, Refused, farther, refuse_far, refuse_misfit
from inrush.model.intervals import LEVEL, Scored, spread
from inrush.model.storage import LEAF_SHARES, Tree, merged
from inrush.text import number, percent

FloatArray = NDArray[np.float64]
#: A probed time of a device is believed within this factor: caches of its host and its queue are not seen.
DEVICE_FACTOR = 2.0
#: What a page costs beyond the cache is seen where the largest load has so many times the rows that fill it.
SEEN_BEYOND = 2.0


#: Of a server on another machine, or of a machine that could not be asked.
MEMORY_UNKNOWN = (
    "the server's memory for pages is not known: a table that outgrows it takes longer than claimed here"
)


@dataclass(frozen=True)
class Store:
    """What a run recorded of where rows go; bytes and seconds. None: not known, or the engine has no such thing."""

    batch_rows: float = 1.0
    #: Of the engine's trees; None for engines that merge, and for tables loaded in the order of the key.
    page_bytes: float | None = None
    cache_bytes: float | None = None
    #: On disk for each row, all of a table's structures together.
    row_bytes: float | None = None
    #: Memory that holds pages for certain, that of the kernel included.
    memory_bytes: float | None = None
    #: What may hold pages besides: a cache that a server may have filled before memory was asked for.
    spare_bytes: float = 0.0
    #: The engine goes round the kernel's cache: beyond its own every page comes from the device.
    direct: bool = False
    #: Leaves that a next row can go into, at most.
    tails: float = float("inf")
    #: One page at random from the device, by the probe.
    read_s: float | None = None
    #: One byte after the other from the device, by the probe.
    scan_bytes_per_s: float | None = None

    @property
    def is_tree(self) -> bool:
        return bool(self.page_bytes and self.row_bytes)

    def tree(self, share: float) -> Tree:
        """share: of LEAF_SHARES."""
        return self.with_leaves(share * (self.page_bytes or 1.0) / (self.row_bytes or 1.0))

    def with_leaves(self, rows_per_leaf: float) -> Tree:
        return Tree(rows_per_leaf, self.batch_rows, self.tails)

    def knee(self, share: float = 1.0) -> float:
        """Rows that fill the engine's cache."""
        if not (self.is_tree and self.cache_bytes):
            return float("inf")
        return self.tree(share).knee_rows(self.cache_bytes, self.page_bytes or 1.0)

    @property
    def full_at(self) -> float:
        """Rows that fill the memory of the machine."""
        return self.memory_bytes / self.row_bytes if self.memory_bytes and self.row_bytes else float("inf")

    def reads_device(self, rows: float) -> bool:
        """Whether a read of so many rows went past every cache."""
        return self.direct and not (self.cache_bytes and rows <= self.full_at)

    @property
    def full_at_most(self) -> float:
        """The same, if all that may hold pages does."""
        return self.full_at + (self.spare_bytes / self.row_bytes if self.row_bytes else 0.0)


def forecast_growth(
    of: Curve, to: float, store: Store, rate: bool = False, archive: Sequence[Scored] = (), level: float = LEVEL,
    far: bool = False,
) -> Forecast:  # fmt: skip
    """Of a load, at `to` rows. of: seconds against rows; rate: the answer is rows a second; far: rule 6 refuses no reach.
    Raises Refused."""
    refuse_unknown_rows(store)
    chosen, why = choose(of, to, store)
    refuse_misfit(float(chosen.errors(of)[-1]), chosen.name)
    refuse_far(to, float(of.x[-1]), float(of.y[-1] / of.x[-1]), far)
    beyond = device_s(of, to, chosen, store)
    found = interval(of, to, chosen, candidates(of, store), beyond, archive, level)  # fmt: skip
    if store.is_tree and store.memory_bytes is None:
        why = (*why, MEMORY_UNKNOWN)
    if beyond.s:
        why = (
            *why,
            f"beyond memory from {number(store.full_at, 3)} rows on: pages read from the device add {number(beyond.s, 3)} s",
        )
    knee = chosen.parameters.get("knee_rows", float("inf"))
    made = Forecast(
        to, found.median, found.lo, found.hi, level, chosen.name, found.calibrated, to / float(of.x[-1]), chosen.parameters,
        {"proportion": float(fitted_proportion(of).law(np.array([to]))[0]), "linear": linear(of, to, "time")},
        knee if np.isfinite(knee) else None, why if found.calibrated else (*why, UNCALIBRATED),
    )  # fmt: skip
    made = farther(made)
    return inverted(made, to) if rate else made


def choose(of: Curve, to: float, store: Store) -> tuple[Fitted, tuple[str, ...]]:
    """The law of a load, and why it is that one. Raises Refused beyond a knee that no run has passed."""
    largest, knee = float(of.x[-1]), store.knee()
    if largest <= knee < to:
        raise Refused(
            f"the table outgrows the engine's cache at {number(knee, 3)} rows, and the largest load has {number(largest)}: no run "
            f"shows what a page costs beyond it. Measure a load of at least {number(2 * knee, 2)} rows, or predict below {number(knee, 3)}"
        )
    fallen = fall(of)
    if fallen is None:
        plain = fitted_proportion(of)
        refuse_hidden_knee(of, to, plain, store, fitted_tree)
        return plain, ("proportion: rows a second have not fallen by more than noise",)
    of_tree = [f for f in candidates(of, store) if f.name == "b-tree"]
    if of_tree:
        best = min(of_tree, key=lambda f: float((of.runs * f.errors(of) ** 2).sum()))
        refuse_hidden_knee(of, to, best, store, fitted_tree)
        return best, (f"b-tree: {fallen}",)
    if len(of.x) < 3:
        raise Refused(f"{fallen}, and two points do not show how it goes on; measure a third")
    return fitted_merges(of, store), (f"merges: {fallen}",)


def refuse_unknown_rows(store: Store) -> None:
    """Raises Refused of a tree where nothing says when it outgrows its cache."""
    if store.page_bytes and not store.row_bytes:
        raise Refused(
            "the bytes of a row on disk are not known, and so not when the table outgrows the engine's cache: the results have no "
            "two loads of different sizes on disk. Measure larger loads"
        )


def refuse_hidden_knee(
    of: Curve, to: float, best: Fitted, store: Store, law: Callable[[Curve, Store, float], Fitted]
) -> None:  # fmt: skip
    """Raises Refused where the small loads leave open what a page costs beyond the knee: it may begin at their end.

    law: by the rows of a leaf. Each of them goes through two points.
    """
    run, seen = point_spread(of, best), float(of.x[-1]) / SEEN_BEYOND
    hidden = [
        knee
        for share in LEAF_SHARES
        if seen < (knee := store.knee(share)) < to and explains(of, law(of, store, share), run)
    ]
    if hidden:
        raise Refused(
            f"the tree may outgrow the engine's cache at up to {number(max(hidden), 3)} rows, and the largest load has "
            f"{number(of.x[-1])}: what a page costs beyond it is not seen. Measure a load of {number(SEEN_BEYOND * max(hidden), 2)} "
            f"rows or more, or with a smaller cache, or predict up to {number(min(hidden), 3)}"
        )


def fall(of: Curve) -> str | None:
    """Evidence that a row costs more as rows are added, as a sentence; None without any.

    Either rows a second fall, or what the rows of the larger loads add costs more than those of the smaller ones: a fixed
    cost at the beginning hides the first and not the second.
    """
    rate, run = of.x / of.y, spread(of.squares, of.df)
    top = int(np.argmax(rate))
    fallen = float(np.log(rate[top] / rate[-1]))
    if fallen > FALL_SD * run.sd * float(np.sqrt(1 / of.runs[top] + 1 / of.runs[-1])):
        return f"rows a second have fallen by {percent(1 - np.exp(-fallen))} since {number(of.x[top])} rows"
    if len(of.x) < 3:
        return None
    middle = len(of.x) // 2
    steps = np.array([of.x[middle] - of.x[0], of.x[-1] - of.x[middle]])
    below, above = np.array([of.y[middle] - of.y[0], of.y[-1] - of.y[middle]]) / steps
    # Both hold the middle one, which moves them against each other.
    weights = np.array([1 / steps[0], 1 / steps[0] + 1 / steps[1], 1 / steps[1]])
    ends = [0, middle, -1]
    sd = float(np.linalg.norm(weights * of.y[ends] * run.sd / np.sqrt(of.runs[ends])))
    if below <= 0 or above - below <= FALL_SD * sd:
        return None
    return f"a row costs {percent(above / below - 1)} more beyond {number(of.x[middle])} rows than before"


def candidates(of: Curve, store: Store) -> list[Fitted]:
    """Every law that the curve has points enough for."""
    found = [fitted_proportion(of)]
    if len(of.x) < 3:
        return found
    found.append(fitted_merges(of, store))
    return [*found, *(fitted_tree(of, store, share) for share in LEAF_SHARES if store.is_tree)]


def fitted_merges(of: Curve, store: Store) -> Fitted:
    def columns(n: FloatArray) -> FloatArray:
        return np.stack([np.ones_like(n), n, merged(n, store.batch_rows)], axis=1)

    return fitted("merges", of, columns, ("fixed_s", "row_s", "level_s"), {"part_rows": store.batch_rows})


def fitted_tree(of: Curve, store: Store, share: float) -> Fitted:
    tree, knee = store.tree(share), store.knee(share)

    def columns(n: FloatArray) -> FloatArray:
        return np.stack([np.ones_like(n), n, tree.written(n), tree.read(n, knee)], axis=1)

    known = {"rows_per_leaf": tree.rows_per_leaf, **({"knee_rows": knee} if np.isfinite(knee) else {})}
    return fitted("b-tree", of, columns, ("fixed_s", "row_s", "write_s", "read_s"), known)


def fitted(
    name: str, of: Curve, columns: Callable[[FloatArray], FloatArray], names: Sequence[str], known: dict[str, float]
) -> Fitted:  # fmt: skip
    """A sum of costs, none of them negative."""
    # Refits ask for the same few sizes again and again, and a tree's columns are integrals.
    known_at: dict[bytes, FloatArray] = {}

    def columns_at(n: FloatArray) -> FloatArray:
        key = n.tobytes()
        if key not in known_at:
            known_at[key] = columns(n)
        return known_at[key]

    at = columns_at(of.x)

    def law(parts: FloatArray) -> Law:
        return lambda n: np.asarray(columns_at(np.asarray(n, np.float64)) @ parts)

    parts = fit_sum(at, of.y, of.runs)
    return Fitted(
        name, law(parts), {**dict(zip(names, map(float, parts), strict=True)), **known},
        lambda y: law(fit_sum(at, y, of.runs)), max(1, int((parts > 0).sum())),
    )  # fmt: skip


@dataclass(frozen=True)
class Device:
    """Seconds that a load adds by reading pages from the device, and what it is believed within."""

    s: float = 0.0
    lo: float = 0.0
    hi: float = 0.0


def device_s(of: Curve, to: float, chosen: Fitted, store: Store) -> Device:
    """Nothing of what fits memory, is only appended, or has the device in its small loads already."""
    scans = not store.is_tree and store.scan_bytes_per_s and store.row_bytes
    if not (store.is_tree or scans) or not outgrows_memory(of, to, store):
        return Device()
    if store.scan_bytes_per_s and not store.is_tree:
        s = to * (store.row_bytes or 0.0) / store.scan_bytes_per_s
        return Device(s, s / DEVICE_FACTOR, s * DEVICE_FACTOR)
    if not store.read_s:
        raise Refused(
            f"{number(to)} rows outgrow the memory of the machine at {number(store.full_at, 3)}, and no probe says how long a page takes "
            "from the device; run the study again, which probes it"
        )
    rows_per_leaf = chosen.parameters.get("rows_per_leaf", store.tree(1.0).rows_per_leaf)
    tree = store.with_leaves(rows_per_leaf)
    if tree.tails * (store.page_bytes or 0.0) <= (store.memory_bytes or 0.0):
        return Device()  # the leaves that rows go into stay in memory, however large the table is
    s, least = (float(tree.read(to, rows)[0]) * store.read_s for rows in (store.full_at, store.full_at_most))
    return Device(s, least / DEVICE_FACTOR, s * DEVICE_FACTOR)


def outgrows_memory(of: Curve, to: float, store: Store) -> bool:
    """Whether the small figures are those of memory and the target's is not.

    Raises Refused where the small ones are of both: what was fitted to them holds some of the device's time, and nothing
    says how much.
    """
    if to <= store.full_at or store.direct:
        return False
    if of.x[-1] > store.full_at:
        raise Refused(
            f"the table may outgrow the memory of the machine at {number(store.full_at, 3)} rows, and what was measured, from "
            f"{number(of.x[0])} to {number(of.x[-1])}, goes beyond it: its times are of memory and of the device. Measure up to "
            f"{number(store.full_at, 3)} rows and no more, or at the target itself"
        )
    return True


@dataclass(frozen=True)
class Interval:
    median: float
    lo: float
    hi: float
    calibrated: bool


def interval(
    of: Curve, to: float, chosen: Fitted, others: Sequence[Fitted], beyond: Device, archive: Sequence[Scored], level: float
) -> Interval:  # fmt: skip
    run, target = point_spread(of, chosen), np.array([to])
    inside = float(chosen.law(target)[0])
    wide = width_at(of, to, chosen, run, archive, level)
    median, half = inside + beyond.s, float(np.exp(wide.half))
    if wide.calibrated:
        return Interval(median, median / half, median * half, True)
    equal = [inside, *(float(f.law(target)[0]) for f in others if explains(of, f, run))]
    lo, hi = min([inside / half, *equal]), max([inside * half, *equal])
    return Interval(median, lo + beyond.lo, hi + beyond.hi, False)


def inverted(made: Forecast, rows: float) -> Forecast:
    """Rows a second in place of seconds."""
    of = {**made.__dict__, "median": rows / made.median, "lo": rows / made.hi, "hi": rows / made.lo}
    return Forecast(**{**of, "baselines": {k: rows / v for k, v in made.baselines.items()}})
