"""The rows that a load did not store, by file, line, column and reason."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.load.expand import STDIN

if TYPE_CHECKING:
    from inrush.load.input import Input

#: Twin of HEADER in rust/rows/src/rows/files/reject.rs.
HEADER = b"file,line,column,reason,text\n"
#: How the names of files end that have the rows which a server refused.
REFUSED = ".csv.refused"
#: Of a rejected row, in a line.
SHOWN_CHARS = 80


@dataclass(frozen=True)
class Reasons:
    """What rows were rejected for, as a person reads it."""

    #: `a.csv, line 1: column name: not UTF-8`.
    first: str
    #: `most of them, 701: column v: not an integer`; one of them where all are different.
    most: str


def reasons_of(rejects: Path) -> Reasons:
    """Of a reject file that has a row at least."""
    counts: Counter[str] = Counter()
    first = ""
    with rejects.open(newline="", encoding="utf-8", errors="replace") as lines:
        # Before Python 3.11 no line with a NUL was read.
        for row in csv.DictReader(line.replace("\0", " ") for line in lines):
            why = f"column {row['column']}: {row['reason']}" if row["column"] else row["reason"]
            first = first or f"{row['file']}, line {row['line']}: {why}"
            counts[why] += 1
    ((why, n),) = counts.most_common(1)
    if len(counts) == 1:
        return Reasons(first, f"all of them for {why}")
    return Reasons(
        first,
        f"{n:,} of them for {why}" if 2 * n <= sum(counts.values()) else f"most of them, {n:,}, for {why}",
    )


def first_reasons(rejects: Path, most: int) -> tuple[list[str], int]:
    """The first rows of a reject file as a person reads them, and how many it has."""
    shown, count = [], 0
    with rejects.open(newline="", encoding="utf-8", errors="replace") as lines:
        for count, row in enumerate(csv.DictReader(line.replace("\0", " ") for line in lines), start=1):
            if count <= most:
                why = f"column {row['column']}: {row['reason']}" if row["column"] else row["reason"]
                shown.append(f"{row['file']}, line {row['line']}: {why}: {row['text'][:SHOWN_CHARS]}")
    return shown, count


def called_of(inputs: Sequence[Input], read: Sequence[str]) -> dict[str, str]:
    """What was unpacked, or made of Parquet, as the core is told of it -> what it is of. read: of each, the file that the core reads."""
    shown = ("standard input" if one.shown == STDIN else str(Path(one.shown).absolute()) for one in inputs)
    return {at: name for at, name in zip(read, shown, strict=True) if str(Path(at)) != name}


def merge_rejects(
    own: Path, called: Mapping[str, str] | None = None, columns: Sequence[str] = ()
) -> Path | None:
    """The reject files of all inputs as one, in their order, each with what the server refused behind; None when nothing was
    rejected. called: file that was read -> the one that it was unpacked from. columns: of the table, as rows went into it."""
    names = {_field(path): _field(name) for path, name in (called or {}).items()}
    found = sorted((own / "rejects").glob("*.csv"))
    refused = {
        path: notes for path in sorted((own / "rejects").glob(f"*{REFUSED}")) if (notes := notes_of(path))
    }
    if not found and not refused:
        return None
    into = own / "rejected.csv"
    with into.open("wb") as out:
        out.write(HEADER)
        for path in sorted([*found, *refused]):
            if path in refused:
                rows = (noted_row(note["text"], columns).encode() for note in refused[path])
                out.writelines(_renamed(rows, names))
                continue
            with path.open("rb") as part:
                part.readline()
                if names:
                    out.writelines(_renamed(part, names))
                else:  # they may be millions
                    shutil.copyfileobj(part, out, 1 << 20)
    return into


def _field(text: str) -> bytes:
    """As a file is named at the beginning of a rejected row: twin of `quote` in rust/rows/src/rows/files/reject.rs."""
    quoted = '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n\r') else text
    return f"{quoted},".encode(errors="surrogateescape")


def _renamed(lines: Iterable[bytes], names: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """The rows of one file, which the first of them names."""
    at = name = b""
    for number, line in enumerate(lines):
        if number == 0:
            at, name = next((pair for pair in names.items() if line.startswith(pair[0])), (b"", b""))
        # What was unpacked has a digest in its name, which no line within a row begins with.
        yield name + line[len(at) :] if at and line.startswith(at) else line


def notes_of(path: Path) -> list[dict[str, Any]]:
    """Rows that a server refused: `Note` in rust/load/src/client/refused.rs, in the order of their file, each once."""
    # One that a kill cut is of no chunk that was sent again.
    whole = (line for line in path.read_bytes().split(b"\n") if line.endswith(b"}"))
    read = [json.loads(line) for line in whole]
    return [note for _, note in sorted({note["row"]: note for note in read}.items())]


def refused_by_file(rejects: Path) -> dict[int, list[int]]:
    """Number of a file -> numbers of its good rows that a server refused."""
    found = {path: [int(note["row"]) for note in notes_of(path)] for path in rejects.glob(f"*{REFUSED}")}
    return {int(path.name.partition(".")[0]): rows for path, rows in found.items() if rows}


def with_names(message: str, names: Mapping[int, str]) -> str:
    """What a load server says of files by their numbers, by their names."""

    def name(found: re.Match[str]) -> str:
        return f"of {names.get(int(found[1]) - 1, f'file {found[1]}')} ("

    return re.sub(r"of file (\d+) \(", name, message)


#: DuckDB of a value that it does not take; columns are numbered from 0.
NO_CAST = re.compile(r"type mismatch in AppendDataChunk, expected (.+?), got \S+ for column (\d+)")


def with_column(message: str, columns: Sequence[str]) -> str:
    """What DuckDB says of a value that its column does not take, by the column's name; any other message as it is."""
    return NO_CAST.sub(lambda found: f"column {columns[int(found[2])]}: no value of type {found[1]}", message)


def noted_row(text: str, columns: Sequence[str]) -> str:
    """A row that a server refused, as it stands in a reject file: with the column where its reason has that."""
    if NO_CAST.search(text) is None:
        return text
    [row] = csv.reader(io.StringIO(text, newline=""))
    found = NO_CAST.fullmatch(row[3])
    if found is None:
        return text
    out = io.StringIO(newline="")
    changed = [*row[:2], columns[int(found[2])], f"no value of type {found[1]}", *row[4:]]
    csv.writer(out, lineterminator="\n").writerow(changed)
    return out.getvalue()


def with_remedy(message: str) -> str:
    """A load that more rows were rejected of than its limit takes, in the words of the command line; any other message as it is."""
    found = re.search(
        r"(?:plan: )?(\d+) rows rejected, more than reject_limit = (\d+); (.*)", message, re.DOTALL
    )
    if found is None:
        # There is no plan on the command line that loads files.
        return message.removeprefix("plan: ")
    return (
        f"{int(found[1]):,} rows rejected, more than --reject-limit {found[2]} takes; {found[3]}; rows that were stored by "
        "then stay stored, and the same command with a higher limit goes on"
    )
