"""Whole numbers in a column of times: units since 1970, unless they look like something else. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from inrush.errors import UsageError
from inrush.study.chosen import Asked, Chosen
from inrush.study.value_types import INTEGER_KINDS, FilePlace

#: Type of times -> its unit, and how many of them a second has.
UNITS = {"time_ms": ("milliseconds", 1_000), "time_us": ("microseconds", 1_000_000)}
SECONDS = {"seconds": 1, "milliseconds": 1_000, "microseconds": 1_000_000, "nanoseconds": 1_000_000_000}
#: Dates of digits alone, by their number.
IN_DIGITS = {8: ("%Y%m%d", "%d%m%Y", "%m%d%Y"), 12: ("%Y%m%d%H%M",), 14: ("%Y%m%d%H%M%S",)}
START = datetime(1970, 1, 1)
#: Years of which numbers are taken for times, in a unit or in digits.
YEARS = range(1990, 2100)


def instant(value: int, per_s: int) -> datetime | None:
    """None where it is of no year of a calendar."""
    try:
        return START + timedelta(microseconds=value * 1_000_000 // per_s)
    except OverflowError:
        return None


def is_recent(at: datetime | None) -> bool:
    return at is not None and at.year in YEARS


def in_digits(text: str) -> str | None:
    """The pattern by which digits are a date; None where they are none."""
    for pattern in IN_DIGITS.get(len(text), ()):
        try:
            if is_recent(datetime.strptime(text, pattern)):
                return pattern
        except ValueError:
            continue
    return None


def digits_of(value: str) -> str:
    """A whole number without blanks and marks of thousands."""
    return "".join(c for c in value if c in "+-0123456789")


def numbers_of(
    columns: Sequence[Chosen], types: Mapping[str, str], times: Mapping[str, str]
) -> Iterator[tuple[str, str, list[FilePlace]]]:
    """Column of times whose values are read as units, its type, and the first of its values in each range of numbers.

    types: of the table's columns. times: column -> how its texts are written, for those that are.
    """
    for c in columns:
        if c.evidence is None or types.get(c.name) not in UNITS or c.name in times:
            continue
        seen = [c.evidence.kinds[kind].first for kind in INTEGER_KINDS if kind in c.evidence.kinds]
        if places := sorted(place for place in seen if place is not None):
            yield c.name, types[c.name], places


def refuse_other_units(
    columns: Sequence[Chosen],
    types: Mapping[str, str],
    times: Mapping[str, str],
    asked: Asked,
    own: Mapping[str, str],
) -> None:
    """Raises UsageError for numbers that are a date in digits, or a time of these years in another unit than the column's.

    They would be stored as times shortly after 1970, or far ahead. own: column of the table -> that of the files, by which options
    name it.
    """
    for name, kind, places in numbers_of(columns, types, times):
        called = own.get(name, name)
        if asked.order(called) == "text":
            continue
        unit, per_s = UNITS[kind]
        for place in places:
            at = instant(int(digits_of(place.value)), per_s)
            if is_recent(at):
                continue
            if likely := other_reading(called, digits_of(place.value)):
                would = f"{at}" if at is not None else "beyond the year 9999"
                raise UsageError(
                    f"column {name}: line {place.line:,} has {place.value}, which would be {would}, for the table takes whole numbers "
                    f"as {unit} since 1970; it looks like {likely}; --dates {called}=text takes it as {unit}"
                )


def other_reading(name: str, value: str) -> str:
    """What a number looks like, and what to do then; empty: like nothing else."""
    if pattern := in_digits(value):
        return f"a date: --date-format {name}={pattern} reads it so"
    if unit := other_unit(int(value)):
        return f"{unit}: load it into a column of numbers, and let the database convert it"
    return ""


def other_unit(value: int) -> str:
    """`seconds (2026-01-01)`: of which unit since 1970 a number is a time of these years; empty: of none."""
    for unit, per_s in SECONDS.items():
        at = instant(value, per_s)
        if at is not None and is_recent(at):
            return f"{unit} ({at:%Y-%m-%d})"
    return ""


def looks_other(value: int, kind: str) -> str:
    """What a number looks like that is no unit of this type of times; empty: it may be one."""
    if is_recent(instant(value, UNITS[kind][1])):
        return ""
    return "a date in digits" if in_digits(str(value)) else other_unit(value)


def unit_lines(columns: Sequence[Chosen], types: Mapping[str, str], times: Mapping[str, str]) -> list[str]:
    """A line for each column of times whose numbers are taken as units."""
    found = []
    for name, kind, places in numbers_of(columns, types, times):
        unit, per_s = UNITS[kind]
        at = instant(int(digits_of(places[0].value)), per_s)
        shown = f", is {at}" if at is not None else ""
        found.append(
            f"column {name}: whole numbers are read as {unit} since 1970 (first: line {places[0].line:,}, "
            f"{places[0].value!r}{shown})"
        )
    return found
