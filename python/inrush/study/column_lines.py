"""A line for each column with a type in doubt, and for how its file was read. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from inrush.study.chosen import (
    A_FLOAT_ALONE,
    NO_NUMBER,
    ORDER_NAMES,
    SHOWN_CHARS,
    Chosen,
    evidence_of,
    first,
    has_comma,
    is_pattern,
)
from inrush.study.formats import MYSQL
from inrush.study.found import Sniffed
from inrush.study.value_types import (
    INTEGER_KINDS,
    ORDERS,
    WHOLE,
    Form,
    changes,
    choose,
    fits_not,
    is_quoted,
    only,
)

#: What the values of a type are, as a line says it.
NOUNS = {
    "i32": "whole number", "i64": "whole number", "u64": "whole number of 64 bits", "f64": "number", "bool": "truth value",
    "date": "date", "time_ms": "time", "time_us": "time", "list_i64": "list of whole numbers", "list_f64": "list of numbers",
}  # fmt: skip


def lines(columns: Sequence[Chosen], files: Sequence[Sniffed], names: Sequence[str]) -> list[str]:
    """A line for each column with a type in doubt, for the word for NULL, and for rows that were not looked at."""
    complete = all(s.complete for s in files)
    found = [line for c in columns for line in [column_line(c, complete, names)] if line]
    null = next((s.written["null"] for s in files if "null" in s.written), None)
    if null is not None and (taken := [f"{c.nulls:,} in {c.name}" for c in columns if c.nulls]):
        found.append(f"NULL is written {null!r}: {', '.join(taken)}")
    found += literal_lines(files)
    if not complete:
        found.append(
            f"types are decided by the first {max(s.rows for s in files):,} rows of a file; "
            "a later row that does not fit them is rejected"
        )
    return found


def literal_lines(files: Sequence[Sniffed]) -> list[str]:
    """For backslashes that were taken for escapes, and for quotes that were not taken off."""
    marks = (
        ([(s, s.escaped) for s in files], "a backslash escapes", "backslashes stand for themselves"),
        ([(s, s.quoted) for s in files], "quotes are a part of the value", "they only stand around it"),
    )
    found = []
    for of, what, unless in marks:
        for s, value in [(s, value) for s, value in of if value][:1]:
            whose = "MySQL's" if s.format == MYSQL else "PostgreSQL's"
            tab = "" if "delimiter" in s.written else ' and delimiter = "\\t"'
            found.append(
                f"read as {whose} text, in which {what} (`{value[:SHOWN_CHARS]}`); if {unless}, the format is csv: --format csv, "
                f'or format = "csv"{tab} in a workload'
            )
    return found


def column_line(c: Chosen, complete: bool, names: Sequence[str]) -> str | None:
    """None where all values fit a type and no other was in question."""
    choice = c.choice
    if c.declared:
        return None
    if is_pattern(c.form):
        return f"column {c.name}: dates are read as {c.form}; stored as {c.type}"
    if c.spelled:
        return f"column {c.name}: {c.spelled}; stored as text"
    if c.type == "bytes" and c.evidence is not None:
        return f"column {c.name}: values with a NUL character are no texts; stored as bytes"
    if choice is None:
        return None
    sampled = "" if complete else "sampled "
    if choice.values == 0:
        return f"column {c.name}: every {sampled}value is NULL; stored as text"
    if c.type == "text" and choice.fit.type == "u64":
        return (
            f"column {c.name}: whole numbers from 2^63 on, for which the database has no type; stored as text"
        )
    if c.beside:
        at = first(evidence_of(c), A_FLOAT_ALONE, names)
        return (
            f"column {c.name}: its point may part thousands{at}, as column {c.beside} has a decimal comma; stored as text, or as "
            "numbers by --decimal , --thousands . (or --decimal . where it stands before a fraction)"
        )
    if choice.nearly is None and c.type == "text" and has_comma(evidence_of(c), NO_NUMBER):
        at = first(evidence_of(c), NO_NUMBER, names)
        return (
            f"column {c.name}: looks like a decimal comma{at}; stored as text, or as numbers by --decimal ,"
        )
    if choice.nearly is None:
        return order_line(c, sampled, names)
    evidence, noun = evidence_of(c), noun_of(choice.nearly.type, choice.nearly.form)
    what = f"{'is' if choice.misfits == 1 else 'are'} no {noun}"
    number, holds = choice.misfits, fits_not(choice.nearly)
    if choice.changed:
        number, holds = choice.changed, changes(choice.nearly)
        what = f"would not come back unchanged from a {noun}"
    elif choice.nearly in WHOLE and number == evidence.count(lambda k: k in INTEGER_KINDS and holds(k)):
        bits = 32 if choice.nearly.type == "i32" else 64
        sign = "out" if choice.nearly.type == "u64" else ""
        what = f"{'does' if number == 1 else 'do'} not fit {bits} bits with{sign} a sign"
    elif number == evidence.count(is_quoted):
        what = f"{'is in quotes and so a text' if number == 1 else 'are in quotes and so texts'}, not NULL"
    at = first(evidence, holds, names)
    if has_comma(evidence, holds):
        at += ", which looks like a decimal comma"
    head = f"column {c.name}: {number:,} of {choice.values:,} {sampled}values {what}{at}; stored as {c.type}"
    if choice.rejects:
        return f"{head}, rows with such values are rejected"
    with_strict = choose(evidence, True, choice.nearly.form, choice.nearly.type == "date")
    if c.type == "text" and with_strict.fit == choice.nearly:
        nouns = "dates of that form" if choice.nearly.form in ORDER_NAMES else f"{noun}s"
        return f"{head}. --strict stores {nouns} and rejects those rows"
    return head


def noun_of(kind: str, form: str | None) -> str:
    return f"date of the form {ORDER_NAMES[form]}" if form in ORDER_NAMES else NOUNS[kind]


def order_line(c: Chosen, sampled: str, names: Sequence[str]) -> str | None:
    """That dates are read with their day, or their month, first, and what says so; None of other columns."""
    order: Form | None = next((o for o in ORDERS if o == c.form), None)
    if order is None:
        return None
    evidence, head = evidence_of(c), f"column {c.name}: dates are read as {ORDER_NAMES[order]}"
    decisive = evidence.count(only(order))
    if not decisive:
        return f"{head}, as --dates says; stored as {c.type}"
    at = first(evidence, only(order), names)
    verb = "fits" if decisive == 1 else "fit"
    return f"{head}: {decisive:,} of {evidence.values:,} {sampled}values {verb} no other order{at}; stored as {c.type}"
