"""At how many rows a table no longer fits what the engine keeps of it in memory, claimed from tables that do. Pure.

n0 = (cache - fixed) / each, of the bytes fixed + each n of a table of n rows. Only where a row may go into every leaf, and pages
come from the device: elsewhere nothing shows in the rate of a load.
"""

from __future__ import annotations

from collections.abc import Sequence

from inrush.model.curve import Curve, fitted_proportion
from inrush.model.forecast import UNCALIBRATED, Forecast, Refused, refuse_far, refuse_misfit
from inrush.model.growth import SEEN_BEYOND, Device, Store, interval, refuse_unknown_rows
from inrush.model.intervals import LEVEL, Scored
from inrush.text import number

NO_TREE = (
    "a load waits for pages of its table where rows go anywhere in a tree, and the engine goes round the kernel's cache; here rows "
    "come in the order of the key, or a page that leaves the engine's cache may lie in the kernel's"
)


def forecast_knee(
    of: Curve, to: float, store: Store, archive: Sequence[Scored] = (), level: float = LEVEL
) -> Forecast:
    """Rows at which a load of `to` rows begins to wait. of: bytes of the table against rows. Raises Refused."""
    refuse_unknown_rows(store)
    if not (store.is_tree and store.cache_bytes and store.direct):
        raise Refused(NO_TREE)
    largest, plain = float(of.x[-1]), fitted_proportion(of)
    refuse_misfit(float(plain.errors(of)[-1]), plain.name)
    knee = (store.cache_bytes - plain.parameters["fixed_s"]) / plain.parameters["per_unit_s"]
    if knee <= largest:
        raise Refused(
            f"the table outgrows the engine's cache at {number(knee, 3)} rows, and loads of up to {number(largest)} rows were "
            "measured: what is claimed has not been measured. Load fewer rows"
        )
    refuse_far(knee, largest)
    # As wide as the bytes of a table of so many rows.
    size = interval(of, knee, plain, [plain], Device(), archive, level)
    lo, hi = knee * size.median / size.hi, knee * size.median / size.lo
    if to < SEEN_BEYOND * hi:
        raise Refused(
            f"--to {number(to)}: the table outgrows the engine's cache at {number(lo, 3)} to {number(hi, 3)} rows, and whether the rate "
            f"falls there shows in a load of {number(SEEN_BEYOND * hi, 2)} rows or more"
        )
    return Forecast(
        to, knee, lo, hi, level, "cache full", size.calibrated, knee / largest,
        {**plain.parameters, "cache_bytes": float(store.cache_bytes)},
        {"proportion": store.cache_bytes / float(of.y[-1]) * largest}, knee, () if size.calibrated else (UNCALIBRATED,),
    )  # fmt: skip
