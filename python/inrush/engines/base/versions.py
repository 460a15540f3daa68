"""Versions as servers say them: their number, the year that they are of, and whether they are too old for inrush. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

NUMBER = re.compile(r"\d+(?:\.\d+)*")


def number_of(said: str) -> str:
    """`15.18` of `PostgreSQL 15.18 (Debian …) on x86_64`; empty where there is none."""
    found = NUMBER.search(said)
    return found[0] if found else ""


def year_of(said: str, years: Mapping[str, int]) -> int | None:
    """The year of the series that the version is of, the longest one that is known; None: it is of none of them."""
    parts = number_of(said).split(".")
    series = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((years[name] for name in series if name in years), None)


def shown(said: str, year: int | None) -> str:
    """`18.16.1 of 2018`."""
    return number_of(said) + (f" of {year}" if year is not None else "")


def is_older(said: str, least: str) -> bool:
    """Whether the version is below the least one; a version without a number is not."""
    numbers = number_of(said)
    return bool(numbers and least) and parts(numbers) < parts(least)


def parts(number: str) -> list[int]:
    return [int(part) for part in number.split(".")]
