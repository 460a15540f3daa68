"""The columns of files that hold one table: their types, and a line for each type that is in doubt. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

from inrush.border.table import WrittenAs
from inrush.errors import UsageError
from inrush.study.date_formats import DateFormat
from inrush.study.formats import TEXT_FORMATS
from inrush.study.found import Found, Sniffed, kind_with_room
from inrush.study.value_types import (
    A_FLOAT,
    NEAR_YEARS,
    NOTHING,
    ORDERS,
    Choice,
    Evidence,
    FilePlace,
    Fit,
    Holds,
    choose,
    fits_not,
    has_form,
    in_either_order,
    is_day,
    is_far,
    is_undecided,
    only,
    only_of,
    together,
    with_not_finite,
)
from inrush.workload import LOGICAL_TYPES

ORDER_NAMES = {"dmy": "day/month/year", "mdy": "month/day/year"}
#: Types by what they hold: a later one holds every value of an earlier one of its line.
WIDENINGS = (("i32", "i64", "u64"), ("i16", "i32", "i64"), ("i32", "f64"), ("i64", "f64"), ("f32", "f64"), ("date", "time_ms", "time_us"))  # fmt: skip


class DatesUndecided(UsageError):
    """Dates such as 03/01/2026, and nothing in the files says whether the day or the month stands first."""


@dataclass(frozen=True)
class Asked:
    """What a command line says about types."""

    #: Columns get the type that nearly all values fit; rows with other values are rejected.
    strict: bool = False
    #: Column, or "" for all of them -> dmy, mdy or text.
    dates: Mapping[str, str] = field(default_factory=dict)
    #: The database has a type for days without a time.
    days: bool = False
    #: Its floats may be NaN and infinite.
    not_finite: bool = False
    #: Columns may be of bytes.
    bytes: bool = False
    #: It has whole numbers from 2^63 on.
    unsigned: bool = True
    #: Its type of decimals, with most digits and most of them behind the point; None: it has none for files that say theirs.
    decimal: tuple[str, int, int] | None = None
    #: Column -> its type: one of inrush's, or one of the database's that its values go into as texts.
    types: Mapping[str, str] = field(default_factory=dict)
    #: Column, or "" for all that are written so, -> the pattern of its dates.
    formats: Mapping[str, DateFormat] = field(default_factory=dict)

    def order(self, column: str) -> str | None:
        return self.dates.get(column, self.dates.get(""))

    def format_of(self, column: str, evidence: Evidence | None) -> DateFormat | None:
        """By which pattern its dates are read: the column's own, or that of all where its first value is of that form."""
        own = self.formats.get(column)
        general = self.formats.get("")
        if own is not None or general is None or evidence is None or not evidence.values:
            return own
        first = evidence.first(lambda kind: True)
        # Numbers and times in ISO's form are what they look like.
        texts = evidence.count(lambda kind: kind is NOTHING or is_day(kind))
        fits = texts == evidence.values and first is not None and general.reads(first.value)
        return general if fits else None


def read_dates(words: str | None) -> dict[str, str]:
    """`dmy`, `mdy` or `text`, or `COLUMN=dmy,…`. Raises UsageError."""
    orders: dict[str, str] = {}
    for word in (words or "").split(",") if words else ():
        column, _, order = word.strip().rpartition("=")
        if order not in (*ORDERS, "text"):
            raise UsageError(f"--dates {words}: write dmy, mdy or text, or COLUMN=dmy for one column")
        orders[column] = order
    return orders


@dataclass(frozen=True)
class Chosen:
    """A column of all files."""

    name: str
    type: str
    nulls: int
    #: How its times are written: iso, dmy, mdy, or a pattern; None of other types and of Parquet.
    form: str | None = None
    evidence: Evidence | None = None
    choice: Choice | None = None
    #: Characters of the longest of its texts that were looked at.
    longest: int = 0
    #: Some of its times are of years that not every database has.
    far: bool = False
    #: As of `Found`.
    spelled: str = ""
    #: A type of the database itself.
    declared: str = ""
    #: The column with a decimal comma beside which its decimal point is in doubt.
    beside: str = ""


#: `NEAR_YEARS` in s since 1970.
NEAR_S = tuple(datetime(y, 1, 1, tzinfo=timezone.utc).timestamp() for y in (NEAR_YEARS[0], NEAR_YEARS[-1]))
#: Types as all values have them.
AS_FOUND = Asked()
#: `2,5` and `1.234,50`: a number for people, and a text for a database.
DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d+|\d{1,3}([. ']\d{3})+),\d+\s*")
#: `1.000`: one with a fraction, or a thousand.
POINT_OF_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}\.\d{3}\s*")
#: `1,234`: a decimal comma, or a thousand.
COMMA_OF_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
NO_NUMBER = fits_not(Fit("f64"))
A_FLOAT_ALONE = only_of(A_FLOAT)


def choose_columns(files: Sequence[Sniffed], asked: Asked = AS_FOUND) -> list[Chosen]:
    """One type for each column over all files.

    A column with undecided dates is text here; `refuse_undecided` asks for their order.
    """
    complete = all(s.complete for s in files)
    names = [c.name for c in files[0].columns]
    if unknown := [name for name in asked.dates if name and name not in names]:
        raise UsageError(f"--dates {unknown[0]}=…: there is no such column; there are {', '.join(names)}")
    for option, columns in (("type", asked.types), ("date-format", asked.formats)):
        if unknown := [name for name in columns if name and name not in names]:
            raise UsageError(
                f"--{option} {unknown[0]}=…: there is no such column; there are {', '.join(names)}"
            )
    if asked.formats and files[0].format not in TEXT_FORMATS:
        raise UsageError("--date-format: is of texts, and these files are Parquet; leave it out")
    same_in_all = zip(*(s.columns for s in files), strict=True)
    chosen = [chosen_column(same, asked, complete) for same in same_in_all]
    formed = [with_format(column, asked) for column in chosen]
    if "" in asked.formats and not any(is_pattern(column.form) for column in formed):
        raise UsageError(
            f"--date-format {asked.formats[''].text}: no column has texts of which the first is written so; name a column, "
            "as in COLUMN=FORMAT, or leave it out"
        )
    return [as_asked(column, asked) for column in with_points_in_doubt(formed, files[0])]


def with_points_in_doubt(columns: Sequence[Chosen], file: Sniffed) -> list[Chosen]:
    """Columns of `1.000` are text beside a column of `1.234,50`, unless a command line says what stands before a fraction."""
    beside = comma_column([c for c in columns if c.type == "text"], file.written)
    if beside is None:
        return list(columns)

    def in_doubt(c: Chosen) -> bool:
        return c.type == "f64" and point_in_doubt(c) is not None

    return [replace(c, type="text", beside=beside.name) if in_doubt(c) else c for c in columns]


def comma_column(columns: Sequence[Chosen], written: WrittenAs) -> Chosen | None:
    """The first column of numbers with a decimal comma, where no command line says what stands before a fraction."""

    def has_fraction(evidence: Evidence) -> bool:
        place = evidence.first(NO_NUMBER)
        return has_comma(evidence, NO_NUMBER) and not COMMA_OF_THOUSANDS.fullmatch(
            place.value if place else ""
        )

    commas = (c for c in columns if c.evidence is not None and has_fraction(c.evidence))
    return None if {"decimal", "thousands"} & set(written) else next(commas, None)


def point_in_doubt(c: Chosen) -> FilePlace | None:
    """The first fraction of a column where its point may part thousands; None where it does not."""
    place = c.evidence.first(A_FLOAT_ALONE) if c.evidence is not None else None
    return place if place is not None and POINT_OF_THOUSANDS.fullmatch(place.value) else None


def refuse_points_in_doubt(
    columns: Sequence[Chosen], numbers: Collection[str], written: WrittenAs, names: Sequence[str]
) -> None:
    """Raises UsageError for `1.000` in a column of numbers of a table that is there, in a file with `1.234,50`: it would be 1.

    numbers: columns of the table that take fractions. names: of the files.
    """
    beside = comma_column(columns, written)
    found = [c for c in columns if c.name in numbers and point_in_doubt(c)] if beside else []
    if beside is not None and found:
        at, comma = first(evidence_of(found[0]), A_FLOAT_ALONE, names), f"column {beside.name} has"
        raise UsageError(
            f"column {found[0].name}: its point may part thousands{at}, as {'it has' if beside is found[0] else comma} a decimal "
            "comma; say --decimal , --thousands . (or --decimal . where it stands before a fraction)"
        )


def has_comma(evidence: Evidence, holds: Holds) -> bool:
    """Whether the first value of such a kind is a number with a decimal comma."""
    place = evidence.first(holds)
    return place is not None and DECIMAL_COMMA.fullmatch(place.value) is not None


def with_format(column: Chosen, asked: Asked) -> Chosen:
    """The column as dates by the pattern that a command line gives; rows that do not fit it are rejected."""
    found = asked.format_of(column.name, column.evidence)
    if found is None:
        return column
    kind = "time_ms" if found.kind == "date" and not asked.days else found.kind
    return replace(column, type=kind, form=found.text, choice=None)


def as_asked(column: Chosen, asked: Asked) -> Chosen:
    """The column with the type that a command line gave it. Its times keep their form, and its rows that do not fit are rejected."""
    kind = asked.types.get(column.name)
    if kind is None:
        return column
    if kind not in LOGICAL_TYPES:
        if is_pattern(column.form):
            raise UsageError(
                f"--type {column.name}={kind}: goes in as text, and --date-format reads column {column.name} as times; leave one out"
            )
        return replace(column, type="text", form=None, choice=None, declared=kind)
    is_time = kind in ("date", "time_ms", "time_us")
    if not is_time and is_pattern(column.form):
        raise UsageError(
            f"--type {column.name}={kind}: --date-format reads column {column.name} as times; leave one out"
        )
    undecided = column.choice if is_time and column.choice is not None and column.choice.undecided else None
    return replace(column, type=kind, form=column.form if is_time else None, choice=undecided)


#: A decimal of Arrow: its digits, and those behind the point.
ARROW_DECIMAL = re.compile(r"decimal(?:32|64|128|256)\((\d+), (\d+)\)")


def decimal_of(spelled: Sequence[str], has: tuple[str, int, int] | None) -> str:
    """The type of the database that holds these decimals of all files; empty: they are none, or it has none that does. Pure."""
    found = [ARROW_DECIMAL.fullmatch(text) for text in spelled]
    if has is None or not all(found):
        return ""
    sizes = [(int(of[1]), int(of[2])) for of in found if of is not None]
    behind = max(behind for _, behind in sizes)
    digits = behind + max(digits - behind for digits, behind in sizes)
    name, most, most_behind = has
    return f"{name}({digits},{behind})" if digits <= most and behind <= most_behind else ""


def chosen_column(same: Sequence[Found], asked: Asked, complete: bool) -> Chosen:
    """same: a column as it is in each file."""
    name, nulls, longest = same[0].name, sum(c.nulls for c in same), max(c.longest for c in same)
    parts = [c.evidence for c in same if c.evidence is not None]
    if len(parts) < len(same):
        spans = [c.span_s for c in same if c.span_s is not None]
        far = any(not NEAR_S[0] <= low <= high < NEAR_S[1] for low, high in spans)
        kind = widest(same)
        if kind == "date" and not asked.days:
            kind = "time_ms"
        if kind == "u64" and not asked.unsigned:
            kind = "i64"  # a file with larger values is refused before anything is stored
        if kind == "bytes" and not asked.bytes:
            raise UsageError(
                f"column {name}: bytes of a file go by `inrush load` alone, into a database that has them"
            )
        declared = decimal_of([c.spelled for c in same], asked.decimal)
        return Chosen(name, kind, nulls, longest=longest, far=far, spelled=same[0].spelled, declared=declared)
    if asked.bytes and any(c.nul for c in same):
        return Chosen(name, "bytes", nulls, evidence=together(parts), longest=longest)
    evidence = together(parts)
    if asked.not_finite:
        evidence = with_not_finite(evidence)
    choice = choose(evidence, asked.strict, asked.order(name), asked.days)
    kind = kind_with_room(choice.fit.type, complete)
    if kind == "u64" and not asked.unsigned:
        kind = "text"
    return Chosen(name, kind, nulls, choice.fit.form, evidence, choice, longest, evidence.count(is_far) > 0)


def widest(same: Sequence[Found]) -> str:
    """One type over all files; text where no other holds all of them."""
    types = {column.type for column in same}
    if len(types) == 1:
        return same[0].type
    fitting = [line for line in WIDENINGS if types <= set(line)]
    return max(types, key=fitting[0].index) if fitting else "text"


def refuse_undecided(columns: Sequence[Chosen], names: Sequence[str]) -> None:
    """Raises DatesUndecided for columns with day and month in either order. names: of the files."""
    found = [c for c in columns if c.choice is not None and c.choice.undecided]
    if found:
        raise DatesUndecided("\n".join(undecided_line(c, names) for c in found) + f"; {HOW_TO_SAY}")


HOW_TO_SAY = "say --dates dmy (day first) or --dates mdy (month first); --dates text keeps them as they stand"


def undecided_line(c: Chosen, names: Sequence[str]) -> str:
    evidence = evidence_of(c)
    counts = [evidence.count(only(order)) for order in ORDERS]
    if not all(counts):
        shown = first(evidence, in_either_order, names)
        return f"column {c.name}: dates have their day or their month first, and none says which{shown}"
    parts = [
        f"{n:,} dates have their {part} first{first(evidence, only(order), names)}"
        for n, part, order in zip(counts, ("day", "month"), ORDERS, strict=True)
    ]
    return f"column {c.name}: {', '.join(parts)}"


def evidence_of(c: Chosen) -> Evidence:
    assert c.evidence is not None, "choices are made by evidence"
    return c.evidence


def first(evidence: Evidence, holds: Holds, names: Sequence[str]) -> str:
    """` (first: line 4,711, 'n/a')`, with the file where there are several; empty where it is not known."""
    place = evidence.first(holds)
    if place is None:
        return ""
    file = f"{names[place.file]}, " if len(names) > 1 else ""
    value = place.value if len(place.value) <= SHOWN_CHARS else place.value[:SHOWN_CHARS] + "…"
    return f" (first: {file}line {place.line:,}, {value!r})"


#: Of a value, in a line.
SHOWN_CHARS = 40


def is_pattern(form: str | None) -> bool:
    """Whether a form of times is a pattern, and not iso, dmy or mdy."""
    return form is not None and "%" in form


def forms(columns: Sequence[Chosen]) -> dict[str, str]:
    """Column -> how its times are written, for those that say so."""
    return {c.name: c.form for c in columns if c.form is not None}


def forms_in_table(columns: Sequence[Chosen], asked: Asked, names: Sequence[str]) -> dict[str, str]:
    """The same of columns that a table which is there declares as times, whatever else their values would be.

    A column of whole numbers, units since 1970, has no form. Raises DatesUndecided.
    """
    form_of: dict[str, str] = {}
    undecided = []
    for c in columns:
        if c.evidence is None:
            continue
        if (found := asked.format_of(c.name, c.evidence)) is not None:
            form_of[c.name] = found.text
            continue
        counts = {form: c.evidence.count(has_form(form)) for form in ("iso", *ORDERS)}
        whole = c.evidence.count(lambda kind: Fit("i64") in kind.fits)
        order = asked.order(c.name)
        if max(counts.values()) == 0 or whole > max(counts.values()):
            continue
        if counts["iso"] >= max(counts[form] for form in ORDERS):
            form_of[c.name] = "iso"
        elif order is not None:
            form_of.update({c.name: order} if order in ORDERS else {})
        elif is_undecided(c.evidence):
            undecided.append(c)
        else:
            form_of[c.name] = max(ORDERS, key=lambda form: counts[form])
    if undecided:
        raise DatesUndecided("\n".join([*(undecided_line(c, names) for c in undecided), HOW_TO_SAY]))
    return form_of
