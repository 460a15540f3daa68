"""What a command line says of the first line of a text file and of its columns. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inrush.errors import Problem, refuse
from inrush.study.formats import TEXT_FORMATS


@dataclass(frozen=True)
class FirstLineGiven:
    """What a command line says of the first line and of the columns' names."""

    header: bool | None = None
    #: Of files without a header.
    columns: tuple[str, ...] = ()
    #: Of a text file: csv, tsv or mysql.
    format: str | None = None


NOTHING_SAID = FirstLineGiven()


def read_said(header: str | None, columns: str | None, format: str | None = None) -> FirstLineGiven:
    """`--header yes|no`, `--columns a,b,c` and `--format NAME`. Raises UsageError with all that is wrong."""
    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    refuse(first_line_problems(header, names, format))
    return FirstLineGiven(None if header is None else header == "yes", names, format)


def first_line_problems(header: str | None, names: Sequence[str], format: str | None) -> Iterator[Problem]:
    if format not in (None, *TEXT_FORMATS):
        yield Problem.sentence(
            f"--format {format}: write {', '.join(TEXT_FORMATS[:-1])} or {TEXT_FORMATS[-1]}"
        )
    if header not in (None, "yes", "no"):
        yield Problem.sentence(f"--header {header}: write yes or no")
    if "" in names:
        yield Problem.sentence(f"--columns: column {names.index('') + 1} has no name; give each column one")
    if header == "yes" and names:
        yield Problem.sentence(
            "--columns: line 1 names the columns; leave it out, or give --header no if line 1 is data"
        )


def shown_line(header: bool, why: str) -> str:
    """One line on what was taken."""
    return "line 1 is the header" if header else f"no header: line 1 is data, because {why}"
