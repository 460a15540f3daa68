"""Tables of any types and values, for tests of what comes back of an engine's own dump (test_load_dumps)."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from inrush.errors import InrushError
from inrush.load.run import Loaded

#: Type of a column -> what draws texts that the engine makes its values of.
Kinds = Mapping[str, st.SearchStrategy[str]]
Row = tuple[str | None, ...]

#: What readers of rows take for something else: marks, escapes, words, numbers and times that are texts.
ODD = (
    "", " ", "\\N", "\\n", "\\", "\\\\", "\\.", "NULL", "null", "NA", "N/A", "None", "-", "'", '"', '""', 'a"b', ",", ";", "|", "\t",
    "\n", "\r", "\r\n", "a\nb", "a\r\nb", "\n\n", "a,b", "a\tb", "007", "+49", "1", "-0", "0", "-1", "1.50", "1e5", "1E400", "0x1F",
    " 1", "1 ", "1,5", "1_000", "9007199254740993", "18446744073709551616", "0.1000000000000000055511151231257827", ".5", "5.",
    "inf", "-Infinity", "nan", "NaN", "true", "t", "TRUE", "yes", "no", "on", "2024-01-31", "2024-01-31 10:00", "10:00",
    "2024-01-31T10:00:00.123456789Z", "2024-02-30", "03/01/2026", "0000-00-00", "24:00", "infinity", "[1,2]", "[1.5, null]", "[]",
    "{}", "{1,2}", '{"a":1}', "#", "--", "\ufeff", "\ufeffa", "é", "e\u0301", "日本", "😀", "\u2028", "\x85", "\x01", "\x1a", "\x1b", "\x7f",
    "\x0b", "\x0c", "\\x00ff", "\\x", "\\u0041", "c0", "id",
)  # fmt: skip
MARKS = "\t\n\r \",;|\\'`#\x01\x08\x1a\x1f\x7f\x85\u2028\ufeffNnx.-+eE0159tf:é\u0301ß日😀{}[]()=%_"


def texts(most: int = 8) -> st.SearchStrategy[str]:
    of_marks = st.text(MARKS, max_size=most)
    any_text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=most)
    return st.one_of(st.sampled_from([t for t in ODD if len(t) <= most]), of_marks, any_text)


def wholes(low: int, high: int) -> st.SearchStrategy[str]:
    ends = st.sampled_from(
        [n for n in (low, low + 1, -1, 0, 1, 2**53 + 1, high - 1, high) if low <= n <= high]
    )
    return st.one_of(ends, st.integers(low, high)).map(str)


def floats(width: int, special: Sequence[str] = ("nan", "inf", "-inf")) -> st.SearchStrategy[str]:
    finite = st.floats(width=width, allow_nan=False, allow_infinity=False).map(repr)  # type: ignore[arg-type]
    tiny, huge = ("1e-45", "3.4028235e38") if width == 32 else ("5e-324", "1.7976931348623157e308")
    return st.one_of(st.sampled_from([*special, "-0.0", "0.1", tiny, huge, "1e16"]), finite)


def decimals(digits: int, behind: int) -> st.SearchStrategy[str]:
    most = 10**digits - 1

    def spelled(n: int) -> str:
        whole, part = divmod(abs(n), 10**behind)
        return f"{'-' if n < 0 else ''}{whole}" + (f".{part:0{behind}d}" if behind else "")

    return st.one_of(st.sampled_from((0, 1, -1, most, -most)), st.integers(-most, most)).map(spelled)


def days(low: str = "0001-01-01", high: str = "9999-12-31") -> st.SearchStrategy[str]:
    ends = st.sampled_from((low, high, "1969-12-31", "1970-01-01", "2000-02-29", "1900-01-01"))
    any_day = st.dates(datetime.fromisoformat(low).date(), datetime.fromisoformat(high).date())
    return st.one_of(ends, any_day.map(str))


def times(
    low: str = "0001-01-01 00:00:00",
    high: str = "9999-12-31 23:59:59.999999",
    digits: int = 6,
    zone: str = "",
) -> st.SearchStrategy[str]:
    first, last = datetime.fromisoformat(low), datetime.fromisoformat(high)

    def cut(at: datetime) -> str:
        unit = 10 ** (6 - digits)
        return str(at.replace(microsecond=at.microsecond // unit * unit)) + zone

    ends = st.sampled_from((first, last, datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2000, 2, 29)))
    return st.one_of(ends, st.datetimes(first, last)).map(cut)


def clocks() -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(("00:00:00", "23:59:59.999999")), st.times().map(str))


@dataclass(frozen=True)
class Drawn:
    """A table: types of its columns, and its rows as texts that the engine makes values of."""

    kinds: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def names(self) -> list[str]:
        return [f"c{k}" for k in range(len(self.kinds))]

    @property
    def columns(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in zip(self.names, self.kinds, strict=True))


@st.composite
def tables(draw: st.DrawFn, kinds: Kinds, null: bool = True, least: tuple[int, int] = (1, 1)) -> Drawn:
    """null: whether this engine's columns have NULL without being asked. least: columns, and rows."""
    columns = draw(st.lists(st.sampled_from(list(kinds)), min_size=least[0], max_size=8))
    cells = [
        st.one_of(st.none(), kinds[kind]) if null and draw(st.booleans()) else kinds[kind] for kind in columns
    ]
    return Drawn(tuple(columns), tuple(draw(st.lists(st.tuples(*cells), min_size=least[1], max_size=40))))


def came_back(before: Sequence[Row], after: Sequence[Row], done: Loaded, allowed: str) -> None:
    """Every row is there as it was, or it was rejected for what is documented."""
    lost, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    assert not new, f"{sorted(new.items(), key=repr)[:3]} in place of {sorted(lost.items(), key=repr)[:3]}"
    assert lost.total() == done.rejected, (lost, done.rejected)
    assert done.rows_stored == len(after)
    assert done.verdict not in ("different", "missing"), done.why
    if done.rejected:
        assert done.rejects is not None
        with done.rejects.open(newline="", encoding="utf-8", errors="replace") as lines:
            reasons = {f"{row['column']}: {row['reason']}" for row in csv.DictReader(lines)}
        assert reasons and all(re.search(allowed, reason) for reason in reasons), reasons


NUMBER = re.compile(r"-?(?:(?:0|[1-9]\d*)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
TIME = re.compile(
    r"(-?\d{4,})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?)?"
)


def value_of(text: str | None) -> Any:
    """What a text is worth to a column whose type was chosen by its values: a number, an instant, a list; else itself."""
    if text is None:
        return None
    if NUMBER.fullmatch(text):
        number = Decimal(text)
        return (
            "number",
            number.is_signed() if text[0] == "-" else False,
            number.normalize() if number else 0,
        )
    if found := TIME.fullmatch(text):
        return ("time", instant(found)) if instant(found) is not None else text
    if text.startswith("[") and text.endswith("]"):
        try:
            items = json.loads(text, parse_float=Decimal, parse_int=Decimal)
        except ValueError:
            return text
        if all(item is None or isinstance(item, Decimal) for item in items):
            return ("list", tuple(item if item is None else value_of(str(item)) for item in items))
    return {"inf": "Infinity", "-inf": "-Infinity", "Inf": "Infinity", "-Inf": "-Infinity", "nan": "NaN"}.get(
        text, text
    )


def instant(found: re.Match[str]) -> Any:
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    zone = found[8] or "Z"
    shift = 0 if zone == "Z" else int(zone[:3]) * 60 + int(zone[0] + (zone[3:].strip(":") or "0"))
    try:
        at = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
        return at - timedelta(minutes=shift), Decimal(f"0.{found[7] or 0}").normalize()
    except (ValueError, OverflowError):
        return None


def values_of(rows: Sequence[Row]) -> list[Row]:
    return [tuple(value_of(text) for text in row) for row in rows]


def loaded_or_refused(load: Callable[[], Loaded], allowed: str) -> Loaded | None:
    """None of what is refused in one line, for what is documented."""
    try:
        return load()
    except InrushError as refused:
        line = str(refused)
        assert re.search(allowed, line), line
        return None
