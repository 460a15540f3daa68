"""Which types the values of a column fit, and the one that is chosen. Pure.

The core gives a value its kind: the types that hold it. How many values there are of each kind is the evidence of a column;
that of several files is the sum of theirs. A type that all values fit is taken, the narrowest first. Where some values fit
none that the others do, the column is text, or with `strict` the type that 99 % fit: the reader rejects the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

#: Words that files write for NULL; the first that lets most columns have a type of their own is taken. Twin of NULL_WORDS
#: in rust/rows/src/rows/files/sample/kinds.rs.
NULL_WORDS = ("", "NA", "NULL", "null", "N/A", "None", "\\N", "-")
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


#: First whole numbers of the ranges that differ in what holds them. Twin of BOUNDS in sample/kinds.rs.
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


def time_kinds(forms: Sequence[Form]) -> Iterator[TextKind]:
    """A day alone, then times by the digits of a second's fraction: at most 3, at most 6, more; then of far years."""
    for far in (False, True):
        for alone, digits in ((True, 0), (False, 3), (False, 6), (False, 9)):
            fits = {
                Fit(f"time_{unit}", form)
                for form in forms
                for unit, most in (("ms", 3), ("us", 6))
                if digits <= most
            }
            yield TextKind(frozenset(fits | {Fit("date", form) for form in forms if alone}), far=far)


#: Of the numbers that the core gives them: `kind_of` in rust/rows/src/rows/files/sample/kinds.rs says which value is of which.
KINDS: tuple[TextKind, ...] = (
    NOTHING, QUOTED, A_TRUTH, A_WORD, INTEGER_LIST, FLOAT_LIST, ROUNDED_LIST, NOT_FINITE, A_CODE, A_FLOAT, ROUNDED,
    *INTEGER_KINDS, *(kind for forms in (("iso",), ("dmy",), ("mdy",), ORDERS) for kind in time_kinds(forms)),
)  # fmt: skip


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


def only_of(kind: TextKind) -> Holds:
    return lambda other: other is kind


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
