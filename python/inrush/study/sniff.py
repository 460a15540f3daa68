"""What a file of rows is: its format, its columns and their types, by looking at its first rows.

Texts are looked at by the core, whose reader stores them (rust/rows/src/rows/files/sample); over the files of one table
`chosen` decides, and says what is in doubt. Parquet says its types itself.
"""

from __future__ import annotations

import json
import re
import stat
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from inrush.border.table import WrittenAs
from inrush.errors import UsageError
from inrush.study.formats import DELIMITERS, NAMED_FORMATS, usual_null
from inrush.study.found import SAMPLE_ROWS, Found, Sniffed, distinct_names, kind_with_room
from inrush.study.parquet import OF_ENCRYPTED, OF_PARQUET, sniff_parquet
from inrush.study.said import NOTHING_SAID, TextSaid
from inrush.study.value_types import KINDS, NOTHING, NULL_WORDS, Evidence, FilePlace, Seen, choose

Doc = Mapping[str, Any]
#: Of rows that have more fields than the first line.
TOO_MANY = re.compile(r"line (\d+): too many fields: (\d+) for \d+")
#: The place of the word for NULL that is empty.
BLANK = NULL_WORDS.index("")
#: Of a title, in a line.
SHOWN_CHARS = 40


class FileLook(NamedTuple):
    """One of many files, as the core looked at it."""

    #: Bytes, times of the last write and the last change in ns, number on its disk.
    stamp: tuple[int, int, int, int]
    #: Of one that is not long.
    digest: str | None
    #: The place of the file that stands for it.
    like: int | None
    #: What was found; None of a file that is packed or Parquet.
    sample: str | None


def look_at(paths: Sequence[str], sample_rows: int, said: TextSaid, alike: bool) -> list[FileLook | str]:
    """All of them at once; why, for one that cannot be read. alike: one stands for others."""
    from inrush import _core

    words = {"header": said.header, "columns": said.columns, "format": said.format, "written": said.written}
    found = _core.sample_files(paths, json.dumps(words), sample_rows, alike)
    return [one if isinstance(one, str) else FileLook(*one) for one in found]


def sniff(path: Path, sample_rows: int = SAMPLE_ROWS, said: TextSaid = NOTHING_SAID) -> Sniffed:
    """sample_rows: that decide on types. Raises UsageError for files that cannot be read, are empty or have no columns."""
    if problem := not_a_file(path):
        raise UsageError(problem)
    try:
        with path.open("rb") as file:
            head = file.read(len(OF_PARQUET))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    if head == OF_PARQUET:
        return sniff_parquet(path, sample_rows)
    if head == OF_ENCRYPTED:
        raise UsageError(
            f"{path}: is Parquet that is encrypted, and inrush has no key; write it in the clear"
        )
    [looked] = look_at([str(path)], sample_rows, said, False)
    if isinstance(looked, str):
        raise UsageError(f"{path}: {looked}")
    if looked.sample is None:
        raise UsageError(f"{path}: is not text; inrush reads CSV, TSV, MySQL text, JSON lines and Parquet")
    return sniffed(json.loads(looked.sample), str(path), said)


def not_a_file(path: Path) -> str:
    """What to say of a pipe, a socket or a device: it can be read once, or never ends. Empty for all else."""
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind):
        return ""
    said = "a pipe" if stat.S_ISFIFO(kind) else "a socket" if stat.S_ISSOCK(kind) else "a device"
    return f"{path}: is {said}, and files are read more than once; write what it gives into a file"


class Empty(UsageError):
    """A file without a row."""


def sniffed(sample: Doc, shown: str, said: TextSaid) -> Sniffed:
    """By what the core found. shown: the file's name. Raises UsageError for a file that it cannot read, Empty for one of no rows."""
    if "empty" in sample:
        raise Empty(f"{shown}: {sample['empty']}")
    if "refused" in sample:
        raise UsageError(f"{shown}: {refused(str(sample['refused']), said)}")
    number = said.written.get("skip", 0) + 1
    if why := odd_first_line(sample, number) or titled(sample, number) or unparted(sample, said.written):
        raise UsageError(f"{shown}: {why}")
    kind, complete = str(sample["format"]), bool(sample["complete"])
    null = word_for_null(kind, sample["columns"], said.written.get("null"))
    columns = [found_column(column, null, complete) for column in sample["columns"]]
    written = WrittenAs(**said.written)
    for name, there, usual in (
        ("delimiter", sample["delimiter"], DELIMITERS[kind]),
        ("null", null, usual_null(kind)),
    ):
        written.pop(name, None)  # type: ignore[misc]
        written.update({name: there} if there != usual else {})  # type: ignore[misc]
    return Sniffed(
        format=kind,
        header=sample["header"],
        written=written,
        columns=distinct_names(columns, shown),
        rows=sample["rows"],
        complete=complete,
        no_header=sample["no_header"],
        named=bool(said.columns) and kind not in NAMED_FORMATS,
        every_row=complete,
        escaped=sample["escaped"],
        quoted=sample["quoted"],
    )


def refused(why: str, said: TextSaid) -> str:
    """Why no row can be read, with what to do where all have more fields than the header has names."""
    found = TOO_MANY.search(why)
    if found is None or said.columns or said.header is False:
        return why
    skip = f"--skip {int(found[1]) - 1}"
    return f"{why}; give {skip} if line {found[1]} names the columns, or {skip} --header no --columns NAME,…"


def odd_first_line(sample: Doc, number: int) -> str:
    """Of a line that programs put before the header, and that is no row: what it is, and what to do. Empty of others.

    number: of the line.
    """
    first = sample["columns"][0]
    if str(first["name"]).startswith("\ufeff"):
        return "begins with two byte order marks, and the second one is no part of a name; take one off: tail -c +4 FILE"
    values = {seen["value"] for seen in first["kinds"] if seen["line"] == number}
    is_alone = not any(seen["line"] == number and seen["value"] for seen in sample["columns"][-1]["kinds"])
    if not sample["header"] and len(sample["columns"]) == 2 and "sep=" in values and is_alone:
        mark = {"\t": "tab"}.get(sample["delimiter"], sample["delimiter"])
        return f"line {number} names the delimiter to Excel, and is no row; give --skip {number} --delimiter '{mark}'"
    return ""


def titled(sample: Doc, number: int) -> str:
    """Of a first line that is alone above all rows, as a title is above a header: what to do. Empty of others."""
    found = [TOO_MANY.match(f"line {line}: {why}") for line, why in sample["problems"]]
    places, (column, *others) = [(one[1], one[2]) for one in found if one], sample["columns"]
    if not places or others or not sample["header"] or not all(found):
        return ""
    # Prose may have a delimiter in it too.
    [(fields, _)] = Counter(fields for _, fields in places).most_common(1)
    line = next(int(line) for line, of in places if of == fields)
    values = sum(seen["count"] for seen in column["kinds"])
    values += sum(seen["count"] for seen in column["words"] if seen["of"] != BLANK)
    # A column of texts with a delimiter in some of them goes on below these.
    if values > line - number - 1:
        return ""
    return (
        f"line {number} ({column['name'][:SHOWN_CHARS]!r}) has one field, and line {line} begins rows of {fields}; give "
        f"--skip {line - 1} to leave out what stands above them, or --delimiter if there is one column"
    )


def unparted(sample: Doc, written: WrittenAs) -> str:
    """That lines of one column would have more, if what parts a number's digits were between fields; empty of others."""
    mark, (first, *others) = written.get("thousands"), sample["columns"]
    if (
        mark not in (",", ";", "|")
        or "delimiter" in written
        or others
        or not sample["header"]
        or mark not in first["name"]
    ):
        return ""
    return (
        f"has one column, {first['name']!r}, for --thousands says what {mark!r} is; if it is between fields too, and such numbers are "
        f"in quotes, give --delimiter '{mark}'"
    )


def word_for_null(format: str, columns: Sequence[Doc], said: str | None) -> str:
    """The one that is said; else the first of the words in the columns that lets most of them have a type of their own."""
    if said is not None:
        return said
    if format != "csv":
        return usual_null(format)
    there = {seen["of"] for column in columns for seen in column["words"]}
    words = [word for at, word in enumerate(NULL_WORDS) if word == "" or at in there]
    return max(words, key=lambda word: sum(choose(evidence_of(column, word)).typed for column in columns))


def found_column(column: Doc, null: str, complete: bool) -> Found:
    """By the evidence of this file alone."""
    evidence = evidence_of(column, null)
    kind = kind_with_room(choose(evidence).fit.type, complete)
    words = {word_of(seen, null): seen["count"] for seen in column["words"]}
    longest = max([column["longest"], *(len(word) for word in words if word != null)])
    least = tuple(column["least_us"])
    return Found(
        column["name"], kind, words.get(null, 0), evidence, longest, least_us=least, nul=column["nul"]
    )


def word_of(seen: Doc, null: str) -> str:
    """The word for NULL that was counted. Behind those that inrush knows stands the one that a command line said."""
    return NULL_WORDS[seen["of"]] if seen["of"] < len(NULL_WORDS) else null


def evidence_of(column: Doc, null: str) -> Evidence:
    """Of its values but this word; another word for NULL is a text."""
    kinds = {
        KINDS[seen["of"]]: Seen(seen["count"], FilePlace(0, seen["line"], seen["value"]))
        for seen in column["kinds"]
    }
    for seen in column["words"]:
        if word_of(seen, null) != null:
            before = kinds.get(NOTHING, Seen(0))
            place = FilePlace(0, seen["line"], seen["value"])
            first = place if before.first is None else min(place, before.first)
            kinds[NOTHING] = Seen(before.number + seen["count"], first)
    return Evidence(kinds)
