"""Which measurement would halve the interval of a forecast? The forecast is made again with points that were not measured. Pure.

A point that is thought of lies where the forecast says, with the noise that the runs have shown. Of all that halve the
interval (half of its width on logs), the one is named whose runs have the least to do. Three kinds are tried:

1. one size more, or the largest one again, with 1 to 10 runs;
2. more runs of every size, for where the noise of runs is all that is left: a claim is about the mean of as many runs;
3. both, where laws disagree that more runs alone do not part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from inrush.model.curve import Curve
from inrush.model.forecast import Forecast, Refused
from inrush.model.intervals import spread

#: Of the width on logs. The new runs have noise of their own: of what should halve it just so, half does not.
HALF = 0.45
#: Runs of one size, and times the runs of every size.
REPEATS, TIMES = (1, 2, 3, 5, 10), (2, 3, 4, 5, 6, 8, 12)
#: Largest size over the target: a measured target is no prediction.
NEAREST = 0.5
By = Callable[[Curve, float], Forecast]


@dataclass(frozen=True)
class Halving:
    """What is to be measured, and what becomes of the interval."""

    #: One size, new or the largest again, and its runs; None: none.
    x: float | None
    runs: int
    #: Times the runs of every size that was measured; 1: as they are.
    times: int
    #: Sum over the runs of what the figure grows with: rows to be loaded.
    work: float
    #: Sum over the runs of the figure itself: of the time of a load, how long they take.
    takes: float = 0.0
    #: Upper end of the interval over its middle (on logs), as it is and as it would be.
    before: float = 1.0
    after: float = 1.0


def halving(of: Curve, to: float, by: By) -> Halving | None:
    """by: the forecast of a curve at a size. None where nothing that was tried halves it."""
    before = width(by(of, to))
    for tried in sorted(candidates(of, to), key=lambda t: t.work):
        after = widest(of, to, tried, by, HALF * before)
        if after is not None:
            takes = (tried.times - 1) * float(of.runs @ of.y)
            takes += 0.0 if tried.x is None else tried.runs * by(of, tried.x).median
            return replace(tried, takes=takes, before=float(np.exp(before)), after=float(np.exp(after)))
    return None


def widest(of: Curve, to: float, tried: Halving, by: By, most: float) -> float | None:
    """The interval of the forecast as it may be, at its widest; None where that is more than `most`, or there is none."""
    found = 0.0
    try:
        for seen in measured(of, tried, by):
            found = max(found, width(by(seen, to)))
            if found > most:
                return None
    except Refused:
        return None  # what it would show is not what this law is of
    return found


def width(made: Forecast) -> float:
    """Half of the interval on logs."""
    return float(np.log(made.hi / made.lo) / 2)


def candidates(of: Curve, to: float) -> Iterator[Halving]:
    largest, usual = float(of.x[-1]), float(np.median(of.runs))
    every = float(of.runs @ of.x)
    sizes = largest * 2.0 ** np.arange(0, 6)
    for x in sizes[sizes <= NEAREST * to].tolist():
        yield from (Halving(x, runs, 1, x * runs) for runs in REPEATS)
        if x > largest:
            for times in TIMES:
                runs = round(usual * times)
                yield Halving(x, runs, times, x * runs + (times - 1) * every)
    yield from (Halving(None, 0, times, (times - 1) * every) for times in TIMES)


def measured(of: Curve, tried: Halving, by: By) -> list[Curve]:
    """The curve as it may be: a new size lies where the forecast says, or half-way to either end of its interval. Runs that
    are thought of scatter as those that were made."""
    variance = spread(of.squares, of.df).sd ** 2
    runs = of.runs * tried.times
    added = float(of.runs.sum()) * (tried.times - 1)
    if tried.x is None or tried.x in of.x:
        more = np.where(of.x == tried.x, tried.runs, 0)
        added += tried.runs
        return [Curve(of.x, of.y, runs + more, of.squares + variance * added, of.df + round(added))]
    added += tried.runs - 1
    made = by(of, tried.x)
    x, runs = np.append(of.x, tried.x), np.append(runs, float(tried.runs))
    return [
        Curve(x, np.append(of.y, y), runs, of.squares + variance * added, of.df + round(added))
        for y in (made.median, np.sqrt(made.median * made.lo), np.sqrt(made.median * made.hi))
    ]
