"""What a study's rows take on disk, engine by engine: measured, and as the plan forecast it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from inrush.analysis.points import Analysis, Point, is_number, say
from inrush.stats.quantity import show
from inrush.stats.stored import Stored, stored
from inrush.workload import STORED_SHARE

HOUR_S, DAY_S = 3_600, 86_400
HEADER = ("point", "#rows", "#B/row, values", "#B/row, rows", "#B/row, indexes", "#stored / values")
#: Of studies that write samples: at their rate, measured and as forecast.
BY_TIME = ("#an hour", "#an hour, planned", "#a day", "#a day, planned")


@dataclass(frozen=True)
class StoredAt:
    """The median run of a point, by stored bytes per byte of values."""

    point: Point
    stored: Stored


def stored_points(analysis: Analysis) -> list[StoredAt]:
    """Of each combination of engine and unordered factors the point with the most rows: small tables are mostly pages
    that are not full yet."""
    runs = [(m, of) for m in analysis.runs if m.counts and (of := stored(m.run)) is not None]
    largest: dict[Point, StoredAt] = {}
    for point in dict.fromkeys(m.point for m, _ in runs):
        here = typical([of for m, of in runs if m.point == point])
        key = unordered(point)
        if key not in largest or here.rows > largest[key].stored.rows:
            largest[key] = StoredAt(point, here)
    return list(largest.values())


def unordered(point: Point) -> Point:
    return tuple((name, value) for name, value in point if not is_number(value))


def typical(of: Sequence[Stored]) -> Stored:
    middle = median(s.share for s in of)
    return min(of, key=lambda s: abs(s.share - middle))


def header(points: Iterable[StoredAt]) -> list[str]:
    return [*HEADER, *(BY_TIME if any(p.stored.rows_per_s for p in points) else ())]


def stored_rows(points: Sequence[StoredAt]) -> list[list[str]]:
    """Cells of `header`, as text."""
    timed = any(p.stored.rows_per_s for p in points)
    return [[*sized(p), *(by_time(p.stored) if timed else ())] for p in points]


def sized(at: StoredAt) -> list[str]:
    s = at.stored
    each = [f"{b / s.rows:,.1f}" for b in (s.value_bytes, s.row_bytes, s.index_bytes)]
    return [say(at.point), f"{s.rows:,}", *each, f"{s.share:.2f}"]


def by_time(s: Stored) -> list[str]:
    if not s.rows_per_s:
        return ["", "", "", ""]
    planned = s.value_bytes_per_s * STORED_SHARE
    return [show(n * seconds, "bytes") for seconds in (HOUR_S, DAY_S) for n in (s.bytes_per_s, planned)]
