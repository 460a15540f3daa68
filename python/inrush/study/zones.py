"""Time zones as the core takes them: since when clocks are how far ahead of UTC."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from inrush.errors import UsageError

#: `+01:00`: a zone whose clocks are never set.
FIXED = re.compile(r"([+-])(\d{2}):?(\d{2})")
#: No zone has two changes within this time, s: the nearest two of all zones of 2026 are four days apart.
STEP_S = 86_400
#: Years that are looked at; the core repeats the last 400 of them (`parse/zone.rs`).
FIRST_YEAR, KNOWN_UNTIL = 1800, 2500


@cache
def changes(name: str) -> tuple[tuple[int, int], ...]:
    """(s since 1970, s ahead of UTC from then on), rising; the first stands for all before it. Raises UsageError."""
    zone = zone_of(name)
    return tuple(_changes(zone))


def rules_of(name: str) -> str:
    """A short name for the rules of a zone: hosts may know other ones."""
    return hashlib.sha256(json.dumps(changes(name)).encode()).hexdigest()[:12]


def zone_of(name: str) -> tzinfo:
    """Raises UsageError."""
    if fixed := FIXED.fullmatch(name):
        ahead = timedelta(hours=int(fixed[2]), minutes=int(fixed[3]))
        if ahead < timedelta(hours=24) and int(fixed[3]) < 60:
            return timezone(-ahead if fixed[1] == "-" else ahead)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"--timezone {name}: no such zone is known here; write a name such as Europe/Berlin, or an offset such as +01:00"
        ) from None


def _changes(zone: tzinfo) -> Iterator[tuple[int, int]]:
    at, last = (
        int(datetime(year, 1, 1, tzinfo=timezone.utc).timestamp()) for year in (FIRST_YEAR, KNOWN_UNTIL + 1)
    )
    ahead = _ahead_s(zone, at)
    yield at, ahead
    while at < last:
        if _ahead_s(zone, at + STEP_S) != ahead:
            low, high = at, at + STEP_S
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _ahead_s(zone, middle) == ahead else (low, middle)
            ahead = _ahead_s(zone, high)
            yield high, ahead
        at += STEP_S


def _ahead_s(zone: tzinfo, unix_s: int) -> int:
    ahead = datetime.fromtimestamp(unix_s, zone).utcoffset()
    return int(ahead.total_seconds()) if ahead is not None else 0
