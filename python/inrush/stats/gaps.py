"""Gaps in a run that was killed in its load and went on: time in which no client worked, which is in no figure. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inrush.stats.record import RunRecord

#: From when to when, ns of the run's clock.
Window = tuple[float, float]


def gaps_of(run: RunRecord) -> list[Window]:
    """In their order; none of a run that one worker made."""
    return sorted((int(g["from_ns"]), int(g["until_ns"])) for g in run.summary.get("gaps") or ())


def worked(window: Window, gaps: Sequence[Window]) -> list[Window]:
    """The parts of a window that no gap covers; the window itself where none does."""
    found, begin = [], window[0]
    for start, end in gaps:
        if end <= begin or start >= window[1]:
            continue
        if start > begin:
            found.append((begin, start))
        begin = max(begin, end)
    return [*found, (begin, window[1])] if begin < window[1] or not found else found


def worked_in(windows: Iterable[Window], gaps: Sequence[Window]) -> list[Window]:
    return [part for window in windows for part in worked(window, gaps)]


def worked_ns(begin_ns: float, end_ns: float, gaps: Sequence[Window]) -> float:
    """How long of it was worked."""
    return (end_ns - begin_ns) - sum(max(0.0, min(end, end_ns) - max(start, begin_ns)) for start, end in gaps)
