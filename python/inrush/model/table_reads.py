"""Reads of a table with more rows than were tried: rule 5 of `growth`. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inrush.model.curve import Curve, Fitted, explains, fitted_proportion, linear, point_spread
from inrush.model.forecast import UNCALIBRATED, Forecast, Refused, farther, refuse_far, refuse_misfit
from inrush.model.growth import (
    DEVICE_FACTOR,
    MEMORY_UNKNOWN,
    Device,
    FloatArray,
    Interval,
    Store,
    fall,
    fitted,
    interval,
    outgrows_memory,
    refuse_hidden_knee,
    refuse_unknown_rows,
)
from inrush.model.intervals import LEVEL, Scored
from inrush.model.storage import LEAF_SHARES
from inrush.text import number, percent


def forecast_read(
    warm: Curve, cold: Curve | None, to: float, store: Store, archive: Sequence[Scored] = (), level: float = LEVEL,
    steady: bool = False, pages: Curve | None = None, pages_bound: bool = False, far: bool = False,
) -> Forecast:  # fmt: skip
    """Seconds of a read when the table has `to` rows. cold: the same read with nothing in memory, of the same runs.

    steady: its answer has as many rows in every table. pages: those that it takes with nothing in memory.
    pages_bound: pages are those that were asked for, a root at each look-up: as many are read at most. far: as of a load.
    """
    refuse_unknown_rows(store)
    held, others = fitted_read(warm, to, store, steady)
    refuse_misfit(float(held.errors(warm)[-1]), held.name)
    refuse_far(to, float(warm.x[-1]), far=far)
    share = 1 - store.full_at / to if outgrows_memory(warm, to, store) else 0.0
    found = interval(warm, to, held, others, Device(), archive, level)
    why: tuple[str, ...] = (
        f"{held.name}: of reads {'that went to the device already' if store.reads_device(float(warm.x[-1])) else 'in memory'}",
    )
    if store.memory_bytes is None:
        why = (*why, MEMORY_UNKNOWN)
    median, lo, hi, name = found.median, found.lo, found.hi, held.name
    if share > 0:
        dear = beyond_memory(warm, cold, found, to, store, archive, level, steady, pages, pages_bound)
        median = median * (1 - share) + max(median, dear.median) * share
        # A scan that repeats in one order finds nothing of itself in memory; a look-up may find all but the leaf.
        lo, hi, name = min(lo, dear.lo), max(hi, dear.hi), "pages read"
        why = (
            f"pages read: beyond {number(store.full_at, 3)} rows {percent(share)} of the pages are not in memory",
        )
        if cold is None and pages_bound:
            why = (
                *why,
                "pages asked for are a bound of those read: the median is the geometric middle between memory and it",
            )
    full_at = store.full_at
    made = Forecast(
        to, median, lo, hi, level, name, found.calibrated, to / float(warm.x[-1]), held.parameters,
        {"linear": linear(warm, to, "time"), "in memory": found.median}, full_at if np.isfinite(full_at) else None,
        why if found.calibrated else (*why, UNCALIBRATED),
    )  # fmt: skip
    return farther(made)


def beyond_memory(
    warm: Curve, cold: Curve | None, inside: Interval, to: float, store: Store, archive: Sequence[Scored], level: float,
    steady: bool, pages: Curve | None, pages_bound: bool,
) -> Interval:  # fmt: skip
    """Of a read with nothing in memory: as such reads took, or in memory with the device's time for each page.

    Raises Refused without either.
    """
    if cold is not None:
        priced, rivals = fitted_read(cold, to, Store(), steady)
        refuse_misfit(float(priced.errors(cold)[-1]), priced.name)
        return interval(cold, to, priced, rivals, Device(), archive, level)
    if pages is None or not store.read_s:
        raise Refused(
            f"the table outgrows memory at {number(store.full_at, 3)} rows, and no cold read of the same operation says what its pages "
            "cost; add steps `cold` and `read` (or `extract`) to the study"
        )
    law = fitted_read(pages, to, Store(), steady)[0]
    refuse_misfit(float(law.errors(pages)[-1]), law.name)
    device = float(law.law(np.array([to]))[0]) * store.read_s
    # A page that is looked at twice is read once, and pages that lie side by side come in one read.
    most = inside.median + device
    median = float(np.sqrt(inside.median * most)) if pages_bound else most
    return Interval(median, inside.lo, inside.hi + device * DEVICE_FACTOR, False)


def fitted_read(of: Curve, to: float, store: Store, steady: bool = False) -> tuple[Fitted, list[Fitted]]:
    """The law of a read, and those that it was chosen from. Raises Refused where a knee may hide.

    steady: of an answer with as many rows in every table the law is that it takes as long, unless the figures say otherwise.
    """
    plain = fitted_proportion(of)
    if steady:
        same = fitted("answer", of, lambda n: np.ones((len(n), 1)), ("answer_s",), {})
        if fall(of) is None and explains(of, same, point_spread(of, plain)):
            refuse_hidden_knee(of, to, same, store, fitted_pages)
            return same, [plain]
    if not (store.is_tree and len(of.x) > 2 and fall(of) is not None):
        refuse_hidden_knee(of, to, plain, store, fitted_pages)
        return plain, []
    pages = [fitted_pages(of, store, share) for share in LEAF_SHARES]
    best = min(pages, key=lambda f: float((of.runs * f.errors(of) ** 2).sum()))
    refuse_hidden_knee(of, to, best, store, fitted_pages)
    return best, [plain, *pages]


def fitted_pages(of: Curve, store: Store, share: float) -> Fitted:
    """A fixed cost, one for each row of the table, and one for each row that the engine's cache does not hold."""
    knee = store.knee(share)

    def columns(n: FloatArray) -> FloatArray:
        return np.stack([np.ones_like(n), n, np.maximum(0.0, n - knee)], axis=1)

    return fitted("pages", of, columns, ("fixed_s", "row_s", "missed_row_s"), {"knee_rows": knee})
