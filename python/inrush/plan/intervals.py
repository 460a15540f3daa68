"""How finely a run is recorded: intervals follow its length, so that a day stays as small as two hours. Pure."""

from __future__ import annotations

from collections.abc import Sequence

#: Intervals of histograms and counts of one segment, at most, where the study does not say their length: two hours of 1 s.
MOST_INTERVALS = 7_200
#: Looks at CPU, memory and disks in one segment, at most: two hours at five a second.
MOST_LOOKS = 36_000
INTERVAL_S, WATCH_S = 1.0, 0.2
#: Lengths that divide a minute or an hour, for readers of the series.
LENGTHS_S = (
    0.2,
    0.5,
    1,
    2,
    3,
    4,
    5,
    6,
    10,
    12,
    15,
    20,
    30,
    60,
    120,
    180,
    240,
    300,
    600,
    900,
    1_200,
    1_800,
    3_600,
)


def interval_s(wanted_s: float | None, longest_s: float) -> float:
    """Length of an interval. wanted_s: the study's own; longest_s: the longest segment with a planned length."""
    return wanted_s if wanted_s is not None else followed(INTERVAL_S, longest_s / MOST_INTERVALS)


def watch_s(wanted_s: float | None, longest_s: float) -> float:
    """Time between two looks at CPU, memory and disks."""
    return wanted_s if wanted_s is not None else followed(WATCH_S, longest_s / MOST_LOOKS)


def followed(default_s: float, least_s: float, lengths_s: Sequence[float] = LENGTHS_S) -> float:
    """The default, or the first round length from `least_s` on where that is longer."""
    if least_s <= default_s:
        return default_s
    return float(next((s for s in lengths_s if s >= least_s), lengths_s[-1]))


def coarser(longest_s: float, interval: float, watch: float) -> str:
    """Why a long run is recorded more coarsely; empty where it is not."""
    if interval <= INTERVAL_S and watch <= WATCH_S:
        return ""
    return (
        f"{longest_s:,.0f} s are recorded in intervals of {interval:g} s, CPU and disks every {watch:g} s "
        "(record.interval_s and record.watch_s say otherwise)"
    )
