"""How figures are shown to people: three digits, the unit that fits, never a bare number. Pure."""

from __future__ import annotations

from collections.abc import Collection
from math import floor, isfinite, log10
from typing import TYPE_CHECKING

from inrush.metrics import unit_of
from inrush.text import counted, number

if TYPE_CHECKING:  # the module of statistics takes a quarter of a second to load
    from inrush.stats.stats import Interval

#: Largest factor first; a value takes the first unit that it reaches.
SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "us": ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns")),
    "bytes": ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "count": ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")),
}
#: Fewer runs have no interval that is shown, and are too few to distinguish two points: of two it is up to endlessly wide.
LEAST_RUNS = 3
#: From this share of a unit on, three digits show one of it: 999.6 ms are 1.00 s.
ROUNDS_UP = 0.9995


def show(value: float, figure: str) -> str:
    """`12.3 ms`, `1.52 M rows/s`, `0.84 cores`; a time without end is of calls that `failed`."""
    if value == float("inf") and figure.endswith("_s"):
        return "failed"
    factor, unit = scale(value, figure)
    return joined(digits(value / factor), unit)


def show_interval(interval: Interval, figure: str) -> str:
    """`12.3 ms [11.9, 12.8]`: the geometric mean and the bounds, in one unit."""
    factor, unit = scale(interval.value, figure)
    return f"{joined(digits(interval.value / factor), unit)} {show_bounds(interval, interval.scaled(1 / factor))}"


def says_nothing(interval: Interval) -> bool:
    """Of how many runs it is decides, not how wide it is: rows of one table have an interval or none."""
    return interval.n < LEAST_RUNS


def show_bounds(interval: Interval, shown: Interval | None = None) -> str:
    """`[11.9, 12.8]`; where these say nothing, of how many runs they are. shown: in another unit."""
    if says_nothing(interval):
        return f"({counted(interval.n, 'run')}: too few for an interval)"
    shown = shown or interval
    return f"[{digits(shown.low)}, {digits(shown.high)}]"


def show_known(value: float, interval: Interval | None, figure: str) -> str:
    """`1.9 M rows/s`: rounded to what the interval knows."""
    if not isfinite(value):
        return show(value, figure)
    factor, unit = scale_known(value, interval, figure)
    return joined(known(value, interval, factor), unit)


def scale_known(value: float, interval: Interval | None, figure: str) -> tuple[float, str]:
    """The unit of the rounded value: 999.6 ms to two digits are 1.0 s, not 1,000 ms."""
    factor, _ = scale(value, figure)
    return scale(rounded(value, interval, factor) * factor, figure)


def known(value: float, interval: Interval | None, factor: float = 1.0) -> str:
    """The number in units of `factor`, rounded to the first digit of the interval's half width: `1.9` of [1.8, 2.0].

    Three significant digits at most and two at least: a single one is up to a third away from the value. Two where there
    is no interval.
    """
    if value == 0 or not isfinite(value):
        return digits(value)
    last = last_known(value, interval, factor)
    return f"{round(value / factor, -last):,.{max(0, -last)}f}"


def rounded(value: float, interval: Interval | None, factor: float) -> float:
    """The number that `known` shows, in units of `factor`."""
    return round(value / factor, -last_known(value, interval, factor)) if value else 0.0


def last_known(value: float, interval: Interval | None, factor: float) -> int:
    """Power of ten of the last digit that is shown; value is neither 0 nor endless."""
    half = (interval.high - interval.low) / 2 / factor if interval is not None else None
    first = place(float(f"{value / factor:.1e}"))  # two digits of 0.9996 are 1.0
    last = first - 1 if half is None else place(half) if half > 0 else first - 2
    return max(first - 2, min(first - 1, last))


def place(value: float) -> int:
    """Power of ten of the first significant digit; of no width and of an endless one, beyond all digits."""
    return floor(log10(abs(value))) if isfinite(value) else 99


#: Units that are shown as they are; all others take the prefix that fits.
FIXED = {"packets/call": 1.0, "calls/send": 1.0, "cores": 1.0, "%": 0.01, "": 1.0}


def scale(value: float, figure: str) -> tuple[float, str]:
    """Factor and unit that a figure of this name is shown in, at this size."""
    unit = unit_of(figure)
    if unit in FIXED:
        return FIXED[unit], unit
    what, slash, per = unit.partition("/")
    if what in SCALES:
        factor, prefixed = fitting(value, what)
        return factor, f"{prefixed}{slash}{per}"
    factor, prefix = fitting(value, "count")
    return factor, f"{prefix} {unit}".strip()


def fitting(value: float, kind: str) -> tuple[float, str]:
    scales = SCALES[kind]
    return next(
        ((f, u) for f, u in scales if abs(value) >= ROUNDS_UP * f),
        scales[-1] if value else (1.0, dict(scales)[1.0]),
    )


def digits(value: float) -> str:
    """Three significant digits, without an exponent where people read."""
    if value == 0 or abs(value) == float("inf"):
        return "0" if value == 0 else ("∞" if value > 0 else "−∞")
    if abs(value) < 1e-3:
        return number(value, 3)
    first = place(float(f"{value:.2e}"))  # three digits of 0.9996 are 1.00
    return f"{value:,.{max(0, 2 - first)}f}"


def joined(number: str, unit: str) -> str:
    return f"{number} {unit}" if unit else number


def rate_of(figure: str, measured: Collection[str], writes: bool) -> str:
    """Rows or calls a second of the figure's role, where they were measured; else the figure itself. writes: that role does."""
    role, metric = figure.rsplit(".", 1)
    if metric.endswith("_per_s"):
        return figure
    wanted = ("rows_per_s", "ops_per_s") if writes else ("ops_per_s",)
    return next((f for name in wanted if (f := f"{role}.{name}") in measured), figure)
