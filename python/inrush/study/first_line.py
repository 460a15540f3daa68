"""Whether the first line of a text file names its columns, and what says so. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inrush.errors import UsageError
from inrush.study.formats import TEXT_FORMATS
from inrush.study.types import NUMBER, TIME


@dataclass(frozen=True)
class FirstLineGiven:
    """What a command line says of the first line and of the columns' names."""

    header: bool | None = None
    #: Of files without a header.
    columns: tuple[str, ...] = ()
    #: Of a text file: csv, tsv or mysql.
    format: str | None = None


NOTHING_SAID = FirstLineGiven()


@dataclass(frozen=True)
class FirstLine:
    header: bool
    #: What decided, as words behind "line 1 is data, because".
    why: str
    names: tuple[str, ...]


def read_said(header: str | None, columns: str | None, format: str | None = None) -> FirstLineGiven:
    """`--header yes|no`, `--columns a,b,c` and `--format NAME`. Raises UsageError."""
    if format not in (None, *TEXT_FORMATS):
        raise UsageError(f"--format {format}: write {', '.join(TEXT_FORMATS[:-1])} or {TEXT_FORMATS[-1]}")
    if header not in (None, "yes", "no"):
        raise UsageError(f"--header {header}: write yes or no")
    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    refuse_names(names, "--columns")
    if header == "yes" and names:
        raise UsageError(
            "--columns: line 1 names the columns; leave it out, or give --header no if line 1 is data"
        )
    return FirstLineGiven(None if header is None else header == "yes", names, format)


def first_line(rows: Sequence[Sequence[str]], said: FirstLineGiven = NOTHING_SAID) -> FirstLine:
    """rows: the first ones, split. Raises UsageError where line 1 names columns and cannot be taken for it."""
    first = rows[0]
    header, why = said.header, "--header no says so"
    if header is None:
        why = no_header(first)
        header = why == ""
        if why and not said.columns and (problem := unusable(first)) and over_values(rows):
            raise UsageError(
                f"line 1 names columns, and {problem}: name each column once in the file; or --header no takes line 1 for "
                "data, with --columns NAME,… for their names"
            )
    if header:
        if said.columns:
            raise UsageError(
                "--columns: line 1 is a header; leave --columns out, or give --header no if line 1 is data"
            )
        refuse_names(tuple(first), "line 1")
        return FirstLine(True, "", tuple(first))
    if said.columns and len(said.columns) != len(first):
        raise UsageError(f"--columns names {len(said.columns)} columns, and line 1 has {len(first)}")
    names = said.columns or tuple(f"c{i:02d}" for i in range(1, len(first) + 1))
    return FirstLine(False, why, names)


def no_header(first: Sequence[str]) -> str:
    """What of the first line is no name of a column; empty where all are names."""
    for field in first:
        value = field.strip()
        if value in ("", "\\N"):
            return "it has a field without a value"
        if NUMBER.match(value) or TIME.match(value):
            return f"{value[:40]!r} is a value"
    if twice := next((field for field in first if first.count(field) > 1), None):
        return f"{twice[:40]!r} stands in it twice"
    return ""


def unusable(first: Sequence[str]) -> str:
    """What is wrong with a line that has no value, and could name columns but for this; empty where it has values."""
    values = [field.strip() for field in first]
    if any(value == "\\N" or NUMBER.match(value) or TIME.match(value) for value in values) or not any(values):
        return ""
    if "" in values:
        return f"column {values.index('') + 1} has no name"
    twice = next((value for value in values if values.count(value) > 1), None)
    return f"two are named {twice[:40]}" if twice else ""


def over_values(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a word of the first row stands over nothing but numbers and times."""
    for at, word in enumerate(rows[0]):
        below = [row[at].strip() for row in rows[1:] if at < len(row) and row[at].strip()]
        if word.strip() and below and all(NUMBER.match(value) or TIME.match(value) for value in below):
            return True
    return False


def refuse_names(names: Sequence[str], where: str) -> None:
    if "" in (stripped := [name.strip() for name in names]):
        raise UsageError(f"{where}: column {stripped.index('') + 1} has no name; give each column one")


def shown_line(header: bool, why: str) -> str:
    """One line on what was taken."""
    return "line 1 is the header" if header else f"no header: line 1 is data, because {why}"
