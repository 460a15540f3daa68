"""Did a load slow down because its B-tree left memory? By the shape of its rate over the growing table. Pure.

The rate of a tree that leaves memory is level up to n0 rows, falls from there on, and never comes back while the table
grows. So a fall that comes back has another reason: refuted. A lasting fall is *confirmed*, by its shape alone; what
else falls for good (a device that gets slower) has the same shape. Everything else is undecided.

Logs of the rates are means of BLOCKS stretches of the load. Their noise comes from the residuals about a line within
each stretch, widened by what neighbours have in common: noise that wanders is not taken for a fall. A fall counts from
a fifth on. How often that is wrong stands in docs/measuring.md (`test_outgrown.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inrush.text import number, percent

FloatArray = NDArray[np.float64]
Word = Literal["confirmed", "refuted", "undecided"]
BLOCKS = 8
#: Fewer intervals, or files, do not show what is noise and what is a course.
LEAST = 32
#: Shorter stretches do not show what neighbours have in common: so much is assumed.
SHOWS_RHO, ASSUMED_RHO, MOST_RHO = 8, 0.3, 0.95
#: A smaller fall of the rate is none.
MATERIAL = 0.2
#: Times the noise of a stretch: a dip that comes back, and a fall that lasts. Of level series without any, hardly one has
#: more, wherever the dip or the fall is looked for.
DIP, FALL = 5.0, 4.5
#: Of its fall, what a rate must regain at least to be called recovered, and may regain at most to be called fallen.
REGAINED, LASTING = 0.5, 0.25
#: Of the load, what must lie behind the begin of a lasting fall: one that has just begun may still come back.
BEHIND = 0.25


@dataclass(frozen=True)
class Shape:
    """What became of a rate while the table grew."""

    word: Word
    why: str
    #: Rates: level before the fall, the lowest, and the highest after it; nan where there are too few.
    before: float = float("nan")
    low: float = float("nan")
    after: float = float("nan")
    #: Of a confirmed fall: where the table left memory, in the unit of its size.
    knee: float | None = None


def shape(size: ArrayLike, rate: ArrayLike, unit: str = "rows") -> Shape:
    """size: of the table in `unit`, ascending; rate: of bytes or rows, positive. Both of shape (n,), in the order of the load."""
    x, y = np.asarray(size, np.float64), np.asarray(rate, np.float64)
    if len(y) < LEAST:
        return Shape("undecided", f"{len(y)} values; from {LEAST} on noise is distinguished from a course")
    z, noise = stretches(np.log(y))
    at = int(np.argmin(z))
    top, after = float(z[: at + 1].max()), float(z[at:].max())
    fall, rise, material = top - float(z[at]), after - float(z[at]), -np.log(1 - MATERIAL)
    fell = f"the rate falls by {percent(1 - np.exp(-fall))}"

    def called(word: Word, why: str, n0: float | None = None) -> Shape:
        return Shape(word, why, float(np.exp(top)), float(np.exp(z[at])), float(np.exp(after)), n0)

    if min(fall, rise) > DIP * noise and fall > material and rise > REGAINED * fall:
        back = (np.exp(after) - np.exp(z[at])) / (np.exp(top) - np.exp(z[at]))
        return called("refuted", f"{fell} and regains {percent(back)} of that while the table grows")
    cut, lasting = lasting_fall(z)
    end = float(z[-2:].mean())
    lost, regained = float(z[:cut].mean()) - end, after - min(float(z[at]), end)
    if lasting > FALL * noise and lost > material:
        if 1 - cut / BLOCKS < BEHIND:
            return called("undecided", f"{fell} near the end: whether it comes back is not seen")
        if regained + 2 * noise > LASTING * lost:
            return called("undecided", f"{fell}, and part of that may have come back")
        n0 = knee(x, y)
        lasts = f"the rate falls by {percent(1 - np.exp(-lost))}, from {number(n0, 2)} {unit} on, and does not come back"
        return called("confirmed", lasts, n0)
    if fall <= material:
        return called(
            "undecided", f"the rate falls by less than {percent(MATERIAL)}: there is no fall to explain"
        )
    return called("undecided", f"{fell}, which noise does as well (sd of a stretch {percent(noise)})")


def stretches(logs: FloatArray) -> tuple[FloatArray, float]:
    """Means of BLOCKS stretches, and the sd of such a mean by what varies within them."""
    parts = np.array_split(logs, BLOCKS)
    residuals = []
    for part in parts:
        t = np.arange(len(part)) - (len(part) - 1) / 2
        residuals.append(part - part.mean() - t * (t @ part) / (t @ t))
    m = len(logs) / BLOCKS
    power = float(sum(r @ r for r in residuals))
    variance = power / (len(logs) - 2 * BLOCKS)
    rho = ASSUMED_RHO
    if m >= SHOWS_RHO and power > 0:
        seen = sum(float(r[1:] @ r[:-1]) for r in residuals) / power
        # A line through few values takes some of it away: Kendall's correction, as in `stats.trends`.
        rho = min(max((seen + 2 / m) / (1 - 4 / m), 0.0), MOST_RHO)
    return np.array([p.mean() for p in parts]), float(np.sqrt(variance / m * (1 + rho) / (1 - rho)))


def lasting_fall(z: FloatArray) -> tuple[int, float]:
    """(stretches before the fall, how far it is in sd of one stretch if their noise is 1): the best of all cuts."""
    cuts = range(1, len(z))
    falls = [float((z[:c].mean() - z[c:].mean()) / np.sqrt(1 / c + 1 / (len(z) - c))) for c in cuts]
    best = int(np.argmax(falls))
    return cuts[best], falls[best]


def knee(size: FloatArray, rate: FloatArray) -> float:
    """n0 of 1 / rate = c + r max(0, 1 - n0 / n), by relative least squares: what is lost is a page for each miss."""
    y = 1 / rate
    tried = np.unique(np.quantile(size, np.linspace(0.0, 0.9, 91)))

    def left(n0: float) -> float:
        x = (
            np.stack([np.ones_like(y), np.maximum(0.0, 1 - n0 / np.maximum(size, 1e-300))], axis=1)
            / y[:, None]
        )
        found, *_ = np.linalg.lstsq(x, np.ones_like(y), rcond=None)
        return float(((x @ found - 1) ** 2).sum())

    return float(min(tried, key=left))


def joined(raw: Shape, alike: Shape | None) -> Shape:
    """Of the rate as it was (raw), and as it would have been with files that are all alike (None: not known).

    Files that grow slow a load down as well, and files that shrink bring its rate back: neither is the table.
    """
    if alike is None:
        return raw
    if alike.word == "confirmed":
        return Shape(
            "confirmed", f"with files all alike {alike.why}", alike.before, alike.low, alike.after, alike.knee
        )
    if raw.word == "confirmed":
        return Shape(
            "undecided", f"{raw.why}, but files differ along the load: with files all alike {alike.why}",
            raw.before, raw.low, raw.after,
        )  # fmt: skip
    return raw
