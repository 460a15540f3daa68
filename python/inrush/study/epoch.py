"""Data time zero of a user's own rows: the day of the earliest time in them that was looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from inrush.study.chosen import Chosen
from inrush.study.formats import DELIMITERS
from inrush.study.found import SAMPLE_ROWS, Sniffed
from inrush.study.sniff import FileDialect, records_of
from inrush.study.types import BLANKS, DAY, TIME

#: Where no column has times that can be one.
DEFAULT = "2026-01-01T00:00:00Z"
#: What a workload file takes.
YEARS = range(1970, 2201)
ZONE = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d)(?::?(?P<minutes>\d\d))?\Z")
START = datetime(1970, 1, 1)
#: Of the years 1 to 9999, since 1970.
SECONDS = range(-62_135_596_800, 253_402_300_800)


def epoch_of(sources: Sequence[Path], files: Sequence[Sniffed], columns: Sequence[Chosen]) -> tuple[str, str]:
    """`2013-01-01T00:00:00Z`, the day of the first column of times, and what says so.

    files: what is known of each; columns: over all of them.
    """
    at = next((k for k, c in enumerate(columns) if c.type in ("time_ms", "time_us")), None)
    if at is None:
        return DEFAULT, "no column has times"
    name = columns[at].name
    least = min(
        (time for path, file in zip(sources, files, strict=True) for time in times_of(path, file, at, columns[at].form)),
        default=None,
    )  # fmt: skip
    if least is None:
        return DEFAULT, f"column {name} has no time in the rows that were looked at"
    if least.year not in YEARS:
        return DEFAULT, f"the earliest time in column {name} is not of the years 1970 to 2200"
    return f"{least:%Y-%m-%d}T00:00:00Z", f"the day of the earliest time in column {name}"


def times_of(path: Path, file: Sniffed, at: int, form: str | None) -> Iterator[datetime]:
    """The times of one column, in UTC; of Parquet the least alone."""
    if file.format == "parquet":
        span = file.columns[at].span_s
        if span is not None and span[0] in SECONDS:
            yield START + timedelta(seconds=span[0])
        return
    delimiter = file.delimiter or DELIMITERS[file.format]
    dialect = FileDialect(file.format, delimiter, file.header, tuple(c.name for c in file.columns))
    for _, record in islice(records_of(path, dialect), SAMPLE_ROWS):
        time = utc(record[at], form) if at < len(record) else None
        if time is not None:
            yield time


def utc(text: str, form: str | None) -> datetime | None:
    """To the minute; None for what is no time of this form. Pure."""
    text = text.strip(BLANKS)
    if form in ("dmy", "mdy"):
        found = DAY.match(text)
        if found is None:
            return None
        first, second, year = (int(found[part]) for part in ("first", "second", "year"))
        day, month = (first, second) if form == "dmy" else (second, first)
        clock = text[found.end("year") :]
    elif TIME.match(text):
        year, month, day, clock = int(text[:4]), int(text[5:7]), int(text[8:10]), text[10:]
    else:
        return None
    try:
        time = datetime(year, month, day, int(clock[1:3] or 0), int(clock[4:6] or 0))
        return time - offset(clock[6:])
    except (ValueError, OverflowError):
        return None


def offset(text: str) -> timedelta:
    """`+01:00`, at the end of a time. Pure."""
    found = ZONE.search(text)
    if found is None:
        return timedelta()
    ahead = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"] or 0))
    return -ahead if found["sign"] == "-" else ahead
