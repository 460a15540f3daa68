"""What a command line says of the first line of a text file and of its columns. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inrush.errors import UsageError
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


def refuse_names(names: Sequence[str], where: str) -> None:
    if "" in (stripped := [name.strip() for name in names]):
        raise UsageError(f"{where}: column {stripped.index('') + 1} has no name; give each column one")


def shown_line(header: bool, why: str) -> str:
    """One line on what was taken."""
    return "line 1 is the header" if header else f"no header: line 1 is data, because {why}"
