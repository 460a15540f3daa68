"""Data time zero of a user's own rows: the day of the earliest time in them that was looked at. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from inrush.study.chosen import Chosen, is_pattern
from inrush.study.found import Found, Sniffed
from inrush.study.value_types import ORDERS

#: Where no column has times that can be one.
DEFAULT = "2026-01-01T00:00:00Z"
#: What a workload file takes.
YEARS = range(1970, 2201)
#: How times are written, in the order of `Found.least_us`.
FORMS = ("iso", *ORDERS)
START = datetime(1970, 1, 1)
#: Of the years 1 to 9999, since 1970.
SECONDS = range(-62_135_596_800, 253_402_300_800)


def epoch_of(files: Sequence[Sniffed], columns: Sequence[Chosen]) -> tuple[str, str]:
    """`2013-01-01T00:00:00Z`, the day of the first column of times, and what says so.

    columns: over all files.
    """
    at = next((k for k, c in enumerate(columns) if c.type in ("time_ms", "time_us")), None)
    if at is None:
        return DEFAULT, "no column has times"
    name, form = columns[at].name, columns[at].form
    least_s = min((s for file in files for s in seconds_of(file.columns[at], form)), default=None)
    if is_pattern(form):
        return DEFAULT, f"the times in column {name} are read by a format, and were not looked at"
    if least_s is None:
        return DEFAULT, f"column {name} has no time in the rows that were looked at"
    least = START + timedelta(seconds=least_s)
    if least.year not in YEARS:
        return DEFAULT, f"the earliest time in column {name} is not of the years 1970 to 2200"
    return f"{least:%Y-%m-%d}T00:00:00Z", f"the day of the earliest time in column {name}"


def seconds_of(column: Found, form: str | None) -> Iterator[int]:
    """The least time of one file, s since 1970; nothing where it is of no year that there is."""
    found = None if column.span_s is None else column.span_s[0]
    if form in FORMS and (least_us := column.least_us[FORMS.index(form)]) is not None:
        found = least_us // 1_000_000
    if found is not None and found in SECONDS:
        yield found
