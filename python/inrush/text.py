"""Plain text for terminals and pipes: columns that line up, numbers and times as people read them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import isfinite
from typing import Any


class BestLine(str):
    """A line of a table that is the best of it, or as good: bold on a terminal that knows colours."""

    __slots__ = ()


def columns(
    rows: Sequence[Sequence[str]], header: Sequence[str] | None = None, right: Sequence[int] = ()
) -> list[str]:
    """Rows as lines with two blanks between columns; `right`: columns that are aligned to the right."""
    every = [list(header), *map(list, rows)] if header else [list(r) for r in rows]
    if not every:
        return []
    widths = [max(len(row[i]) for row in every) for i in range(len(every[0]))]

    def cell(i: int, text: str) -> str:
        return text.rjust(widths[i]) if i in right else text.ljust(widths[i])

    return ["  ".join(cell(i, text) for i, text in enumerate(row)).rstrip() for row in every]


def number(value: float, digits: int | None = None) -> str:
    """`2,000,000`, `0.25`: never an exponent. digits: significant ones; None: whole numbers whole, six of others."""
    if not isfinite(value):
        return str(value)
    if digits is None and float(value).is_integer():
        return f"{value:,.0f}"
    return f"{Decimal(f'{value:.{digits or 6}g}'):,f}"


def percent(share: float, digits: int = 0) -> str:
    """`5 %`, `0.25 %`. digits: behind the point."""
    return f"{100 * share:.{digits}f} %"


def show_level(level: float) -> str:
    """`90 %`, `99.9 %`: how sure an interval is, never rounded up to certainty."""
    return f"{number(100 * level)} %"


def signed_percent(share: float, digits: int = 0) -> str:
    """`+5 %`: a change."""
    return f"{100 * share:+.{digits}f} %"


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def show_s(seconds: float) -> str:
    """Two units at most: `0.8 s`, `42 s`, `3 min`, `2 h 5 min`, `4 days 3 h`; a forecast beyond years says no more than that."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds >= 1000 * 86_400:
        return "more than 1,000 days"
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if minutes < 90:
        return f"{minutes} min"
    if hours < 72:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{hours // 24} days {hours % 24} h"


def listed(words: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`"""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"
