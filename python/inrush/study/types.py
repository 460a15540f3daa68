"""Which types the values of a column fit, and the one that is chosen. Pure.

A value is given its kind: the types that hold it. How many values there are of each kind is the evidence of a column;
that of several files is the sum of theirs. A type that all values fit is taken, the narrowest first. Where some values fit
none that the others do, the column is text, or with `strict` the type that 99 % fit: the reader rejects the rest.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal, NamedTuple

#: A value of a text file that says nothing but blanks around it: what `trim_ascii` of the core takes away.
BLANKS = " \t\n\x0c\r"
#: A whole number, or with a group of what makes it none.
NUMBER = re.compile(
    r"[+-]?(?:\d+(\.\d*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)?|(\.\d+(?:[eE][+-]?\d+)?|inf(?:inity)?|nan))\Z",
    re.ASCII | re.IGNORECASE,
)
#: Codes such as 007 or 00501 are not numbers: they would come back without their zeros.
CODE = re.compile(r"[+-]?0\d+\Z", re.ASCII)
TRUTHS = frozenset(("true", "false", "t", "f"))
#: Words that the reader takes for a truth value too: they would come back as another word.
WORDS = frozenset(("yes", "no", "y", "n", "on", "off"))
CLOCK = r"([Tt ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|z| UTC|[+-](0\d|1[0-5])(:?[0-5]\d)?)?)?\Z"
TIME = re.compile(r"\d{4}-\d\d-\d\d" + CLOCK, re.ASCII)
DAY = re.compile(
    r"(?P<first>\d{1,2})(?P<by>[/.-])(?P<second>\d{1,2})(?P=by)(?P<year>\d{4})" + CLOCK, re.ASCII
)
#: Digits of a second that say something; empty where there are none.
FRACTION = re.compile(r"(?:\.(\d*?)0*)?(?:Z|z| UTC|[+-]\d\d(?::?\d\d)?)?\Z")
LIST = re.compile(r"\[\s*([+-]?[\d.eE+-]+\s*(,\s*[\d.eE+-]+\s*)*)?\]\Z", re.ASCII)

Form = Literal["iso", "dmy", "mdy"]
ORDERS: tuple[Form, Form] = ("dmy", "mdy")
#: Years that every type for times has, whatever the zone (ClickHouse's DateTime64: 1900 to 2299).
NEAR_YEARS = range(1901, 2299)
#: Share of the values that fit a type from which on `strict` takes it.
STRICT_SHARE = 0.99
#: Share of the values that fit a narrower type from which on the others are named.
NAMED_SHARE = 0.5


class Fit(NamedTuple):
    """A type, and the form that its texts have where it is one of times."""

    type: str
    form: Form | None = None


#: Narrowest first; of two that hold the same values the first is taken. A date is a type of databases alone: `choose`.
FITS = (
    Fit("i32"), Fit("i64"), Fit("u64"), Fit("f64"), Fit("bool"),
    Fit("date", "iso"), Fit("time_ms", "iso"), Fit("time_us", "iso"),
    *(Fit(kind, order) for order in ORDERS for kind in ("date", "time_ms", "time_us")), Fit("list_i64"), Fit("list_f64"),
)  # fmt: skip
TEXT = Fit("text")
WHOLE = frozenset((Fit("i32"), Fit("i64"), Fit("u64")))
NUMBERS = WHOLE | {Fit("f64")}


@dataclass(frozen=True, eq=False)
class TextKind:
    """What holds a value, and what the reader would take it for although it is another.

    There is one object of each kind: a million values are counted by it.
    """

    fits: frozenset[Fit]
    changed: frozenset[Fit] = frozenset()
    #: Of a time: its year is none that every database has (`NEAR_YEARS`).
    far: bool = False


NOTHING = TextKind(frozenset())
#: A word for NULL in quotes, which is a text: `quoted`.
QUOTED = TextKind(frozenset())
A_CODE = TextKind(frozenset(), NUMBERS)
A_FLOAT = TextKind(frozenset((Fit("f64"),)))
#: A fraction of more digits than 64 bits keep; and a word that is no number, of those that a float would keep.
ROUNDED = TextKind(frozenset(), A_FLOAT.fits)
NOT_FINITE = TextKind(frozenset(), A_FLOAT.fits)
A_TRUTH = TextKind(frozenset((Fit("bool"),)))
A_WORD = TextKind(frozenset(), A_TRUTH.fits)
INTEGER_LIST = TextKind(frozenset((Fit("list_i64"), Fit("list_f64"))))
FLOAT_LIST = TextKind(frozenset((Fit("list_f64"),)))
ROUNDED_LIST = TextKind(frozenset(), FLOAT_LIST.fits)


def kind_of(value: str) -> TextKind:
    """By the rules of the core's reader (rust/rows/src/rows/files/parse), and stricter where it would change a value."""
    text = value.strip(BLANKS)
    if found := NUMBER.match(text):
        if text[0] == "+":
            return A_CODE
        if found.lastindex is not None:  # a fraction, an exponent, or a word
            return float_kind(text)
        return A_CODE if CODE.match(text) else INTEGER_KINDS[bisect_right(BOUNDS, int(text))]
    if found := TIME.match(text):
        return time_kind(text, "iso", int(text[:4]), int(text[5:7]), int(text[8:10]), found[1] is None)
    if found := DAY.match(text):
        first, second, year = (int(found[name]) for name in ("first", "second", "year"))
        alone = found.end("year") == len(text)
        dmy = time_kind(text, "dmy", year, second, first, alone)
        return either(dmy, time_kind(text, "mdy", year, first, second, alone))
    if (word := text.lower()) in TRUTHS:
        return A_TRUTH
    if word in WORDS:
        return A_WORD
    if LIST.match(text):
        return list_kind(text)
    return NOTHING


#: Without an exponent: so many digits a double keeps.
KEPT_DIGITS = 15


def float_kind(text: str) -> TextKind:
    """Of a text that `NUMBER` takes for no whole number."""
    if not any(c.isdigit() for c in text):
        return NOT_FINITE
    if not math.isfinite(float(text)):
        return NOTHING
    return A_FLOAT if is_kept(text) else ROUNDED


def is_kept(text: str) -> bool:
    """Whether the number that is written is that of a double as programs print one: its shortest text, or 17 digits.

    Of 17 digits (`%.17g`) a double is known, though the number that they write is not exactly its own.
    """
    if len(text) <= KEPT_DIGITS + ("." in text) and "e" not in text and "E" not in text:
        return True
    try:
        number = float(text)
        return Decimal(text) in (Decimal(repr(number)), Decimal(f"{number:.17g}"))
    except InvalidOperation:  # an exponent beyond any number
        return False


def list_kind(text: str) -> TextKind:
    if not set(text) & set(".eE"):
        return INTEGER_LIST
    items = [item.strip() for item in text[1:-1].split(",")]
    finite = (NUMBER.match(item) is not None and item[0] != "+" for item in items)
    return FLOAT_LIST if all(map(is_kept, items)) or not all(finite) else ROUNDED_LIST


#: First whole numbers of the ranges that differ in what holds them.
BOUNDS = (-(2**63), -(2**53), -(2**31), 0, 2, 2**31, 2**53 + 1, 2**63, 2**64)


def range_kind(value: int) -> TextKind:
    """Of all whole numbers in the range of this one. A float holds those that it keeps as they are written."""
    exact = abs(value) <= 2**53
    fits = {
        Fit("i32"): -(2**31) <= value < 2**31,
        Fit("i64"): -(2**63) <= value < 2**63,
        Fit("u64"): 0 <= value < 2**64,
        Fit("f64"): exact,
        Fit("bool"): value in (0, 1),
    }
    return TextKind(
        frozenset(fit for fit, holds in fits.items() if holds), frozenset(() if exact else (Fit("f64"),))
    )


INTEGER_KINDS = tuple(range_kind(value) for value in (BOUNDS[0] - 1, *BOUNDS))


def time_kind(text: str, form: Form, year: int, month: int, day: int, alone: bool) -> TextKind:
    """Of a day that there is, to the microsecond. alone: without a time of day."""
    if not is_a_day(year, month, day):
        return NOTHING
    far = year not in NEAR_YEARS
    if alone:
        return a_date(form, far)
    found = FRACTION.search(text) if "." in text else None
    return times_of_digits(form, len(found[1] or "") if found else 0, far)


@lru_cache(4096)
def is_a_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


@lru_cache
def either(one: TextKind, other: TextKind) -> TextKind:
    """Of dates that there may be in two orders."""
    return one if one is other else TextKind(one.fits | other.fits, far=one.far or other.far)


@lru_cache
def a_date(form: Form, far: bool = False) -> TextKind:
    return TextKind(times_of_digits(form, 0).fits | {Fit("date", form)}, far=far)


@lru_cache
def times_of_digits(form: Form, digits: int, far: bool = False) -> TextKind:
    """digits: of a second's fraction."""
    fits = (Fit(f"time_{unit}", form) for unit, most in (("ms", 3), ("us", 6)) if digits <= most)
    return TextKind(frozenset(fits), far=far)


class FilePlace(NamedTuple):
    """Where a value stands; in order of files and lines."""

    file: int
    line: int
    value: str


class Seen(NamedTuple):
    """Values of one kind: how many, and the first."""

    number: int
    first: FilePlace | None = None


@dataclass(frozen=True)
class Evidence:
    """How many values of each kind a column has; NULL is no value."""

    kinds: Mapping[TextKind, Seen]

    @property
    def values(self) -> int:
        return sum(seen.number for seen in self.kinds.values())

    def count(self, holds: Holds) -> int:
        return sum(seen.number for kind, seen in self.kinds.items() if holds(kind))

    def first(self, holds: Holds) -> FilePlace | None:
        """The first value of such a kind; None where there is none, or it was not looked for."""
        places = [seen.first for kind, seen in self.kinds.items() if holds(kind) and seen.first is not None]
        return min(places, default=None)


Holds = Callable[[TextKind], bool]


def fits(fit: Fit) -> Holds:
    return lambda kind: fit in kind.fits


def fits_not(fit: Fit) -> Holds:
    return lambda kind: fit not in kind.fits


def changes(fit: Fit) -> Holds:
    """What the reader would take for a value of this type, and for another one."""
    return lambda kind: fit in kind.changed


def has_form(form: Form) -> Holds:
    return fits(Fit("time_us", form))


def only(order: Form) -> Holds:
    """Dates that there are in this order of day and month alone."""
    (other,) = (o for o in ORDERS if o != order)
    return lambda kind: Fit("time_us", order) in kind.fits and Fit("time_us", other) not in kind.fits


def is_day(kind: TextKind) -> bool:
    """A date such as 03/01/2026, in one order or in both."""
    return any(has_form(order)(kind) for order in ORDERS)


def is_far(kind: TextKind) -> bool:
    return kind.far


def is_quoted(kind: TextKind) -> bool:
    return kind is QUOTED


def in_either_order(kind: TextKind) -> bool:
    return all(has_form(order)(kind) for order in ORDERS)


def evidence_of(counts: Mapping[str, int]) -> Evidence:
    """counts: value -> how often it stands in the column."""
    kinds: Counter[TextKind] = Counter()
    for value, n in counts.items():
        kinds[kind_of(value)] += n
    return Evidence({kind: Seen(n) for kind, n in kinds.items()})


def together(parts: Sequence[Evidence]) -> Evidence:
    """Of a column of several files, in their order."""
    kinds: dict[TextKind, Seen] = {}
    for number, part in enumerate(parts):
        for kind, seen in part.kinds.items():
            before = kinds.get(kind, Seen(0))
            first = None if seen.first is None else seen.first._replace(file=number)
            kinds[kind] = Seen(before.number + seen.number, before.first or first)
    return Evidence(kinds)


def with_not_finite(evidence: Evidence) -> Evidence:
    """The evidence with `nan` and `inf` as floats where they stand among numbers: for a type that has them."""
    words = evidence.kinds.get(NOT_FINITE)
    if words is None or not evidence.count(fits(Fit("f64"))):
        return evidence
    floats = evidence.kinds.get(A_FLOAT, Seen(0))
    places = [seen.first for seen in (floats, words) if seen.first is not None]
    others = {kind: seen for kind, seen in evidence.kinds.items() if kind not in (A_FLOAT, NOT_FINITE)}
    return Evidence({**others, A_FLOAT: Seen(floats.number + words.number, min(places, default=None))})


@dataclass(frozen=True)
class Choice:
    """The type of a column, and what of its values does not go with it."""

    fit: Fit
    #: The narrower type that most values fit; None where all values fit `fit` as narrowly as most of them.
    nearly: Fit | None = None
    #: Values that do not fit `nearly`, and those of them that it would change instead of rejecting them.
    misfits: int = 0
    changed: int = 0
    values: int = 0
    #: Dates with day and month in either order, and nothing decides; or values decide for both.
    undecided: bool = False

    @property
    def typed(self) -> bool:
        """All values have a type of their own, or would as soon as the order of their dates is known."""
        return self.fit != TEXT or self.undecided

    @property
    def rejects(self) -> bool:
        """Rows with values that do not fit are rejected."""
        return self.nearly is not None and self.fit == self.nearly


def choose(evidence: Evidence, strict: bool = False, order: str | None = None, dates: bool = False) -> Choice:
    """order: dmy, mdy, or text for no dates of either; None where the values shall decide. dates: there is such a type."""
    values = evidence.values
    fitting = {
        fit: evidence.count(fits(fit))
        for fit in FITS
        if (order is None or fit.form not in ORDERS or fit.form == order) and (dates or fit.type != "date")
    }
    full = next((fit for fit, n in fitting.items() if values and n == values), None)
    undecided = order is None and is_undecided(evidence)
    if full is not None:
        if undecided and full.form in ORDERS:
            return Choice(TEXT, values=values, undecided=True)
        nearly = nearly_whole(full, fitting, values)
        return Choice(full, nearly, values - fitting[nearly] if nearly else 0, 0, values)
    nearly = max(fitting, key=lambda fit: fitting[fit])
    # A quoted word for NULL does not say what the other values are.
    named = NAMED_SHARE * (values - evidence.count(is_quoted))
    if fitting[nearly] <= named:
        if found := contradicted(evidence, fitting, strict, order):
            return found
        read_as = {fit: n + evidence.count(changes(fit)) for fit, n in fitting.items()}
        nearly = max(read_as, key=lambda fit: read_as[fit])
        if read_as[nearly] <= named:
            return Choice(TEXT, values=values)
    changed = evidence.count(changes(nearly))
    taken = strict and not changed and fitting[nearly] >= STRICT_SHARE * values
    undecided = undecided and taken and nearly.form in ORDERS
    fit = nearly if taken and not undecided else TEXT
    return Choice(fit, nearly, values - fitting[nearly], changed, values, undecided)


def contradicted(
    evidence: Evidence, fitting: Mapping[Fit, int], strict: bool, order: str | None
) -> Choice | None:
    """Of a column of dates most of which are not of the order that was asked for; None of others."""
    values = evidence.values
    if order not in ORDERS or evidence.count(is_day) <= NAMED_SHARE * values:
        return None
    nearly = max((fit for fit in fitting if fit.form == order), key=lambda fit: fitting[fit])
    return Choice(nearly if strict else TEXT, nearly, values - fitting[nearly], 0, values)


def is_undecided(evidence: Evidence) -> bool:
    """Dates of which none, or some on each side, says whether the day stands first."""
    decisive = [evidence.count(only(order)) > 0 for order in ORDERS]
    return decisive[0] == decisive[1] and evidence.count(in_either_order) + sum(decisive) > 0


def nearly_whole(full: Fit, fitting: Mapping[Fit, int], values: int) -> Fit | None:
    """The type of whole numbers that a few fractions have made into floats."""
    if full != Fit("f64"):
        return None
    nearly = max((Fit("i32"), Fit("i64"), Fit("u64")), key=lambda fit: fitting[fit])
    return nearly if fitting[nearly] >= STRICT_SHARE * values else None
