"""What was found by looking at a file: its format, its columns, and how many of its rows said so. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inrush.border.table import WrittenAs
from inrush.errors import UsageError
from inrush.study.formats import NAMED_FORMATS
from inrush.study.value_types import Evidence

#: Rows that decide on types; values that fit them no longer are rejected by line when they are read.
SAMPLE_ROWS = 200_000
#: Rows that are in memory at once.
PART_ROWS = 10_000


@dataclass(frozen=True)
class Found:
    """A column as it is written in the file."""

    name: str
    type: str
    nulls: int
    #: Of text files, which do not say their types.
    evidence: Evidence | None = None
    #: Characters of the longest of its texts that were looked at.
    longest: int = 0
    #: Of a Parquet column of times: the least and the greatest that were looked at, s since 1970.
    span_s: tuple[int, int] | None = None
    #: Of a text, the least time of each form that its values may have (iso, dmy, mdy), µs since 1970.
    least_us: tuple[int | None, ...] = (None, None, None)
    #: Of MySQL's text: a value holds a NUL, so that the column is one of bytes.
    nul: bool = False
    #: Parquet's own type of a column whose values go in as texts.
    spelled: str = ""


@dataclass(frozen=True)
class Sniffed:
    format: str  # csv, tsv, mysql, ndjson, parquet
    header: bool
    #: What is not usual for the format.
    written: WrittenAs
    columns: tuple[Found, ...]
    #: Rows looked at (of Parquet, rows of the file); all of the file where there are fewer than SAMPLE_ROWS.
    rows: int
    #: No later row has a value of another type: all rows were looked at, or the file says its types.
    complete: bool
    #: Why its first line is no header.
    no_header: str = ""
    #: The columns have names that a command line gave them.
    named: bool = False
    #: All rows were looked at for NULL and for the longest text.
    every_row: bool = True
    #: A value with a backslash, in a format that inrush chose and in which backslashes escape; empty: there is none.
    escaped: str = ""
    #: A name or a value in quotes, in a format that inrush chose and in which they are a part of it; empty: there is none.
    quoted: str = ""

    @property
    def has_names(self) -> bool:
        """Its fields are known by the names of their columns, not by their places."""
        return self.header or self.format in NAMED_FORMATS


def kind_with_room(kind: str, complete: bool) -> str:
    """Later rows may hold larger integers than those that were looked at."""
    return "i64" if kind == "i32" and not complete else kind


def distinct_names(columns: Sequence[Found], of: str) -> tuple[Found, ...]:
    """Names that differ when a database ignores case. of: the file as it is shown. Raises UsageError for others."""
    seen: set[str] = set()
    for number, column in enumerate(columns, start=1):
        if not column.name:
            raise UsageError(f"{of}: column {number} has no name; name it in the file")
        if column.name.lower() in seen:
            raise UsageError(
                f"{of}: two columns are named {column.name}, but for upper and lower case; rename one in the file"
            )
        seen.add(column.name.lower())
    return tuple(columns)
