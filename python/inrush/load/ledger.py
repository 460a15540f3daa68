"""The ledger of loads: statements, and what its first line says of an import. Pure.

It lies beside the table, in the same schema, so that every way to that table finds it. A chunk has a line, written in the
transaction that stores the chunk's rows, with the sums of those rows. An import has a line of its own before these, with
a document: which files by content, into which table, begun when, over how many rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inrush.engines.base.sql import literal, quote
from inrush.errors import UsageError
from inrush.plan.ledger import BEFORE_FILE, LEDGER, SUMS, ledger_statements

Doc = dict[str, Any]

#: What stands as it is in a document, beside letters and digits; anything else of ASCII, which JSON is, as its number.
PLAIN = "_.-~,: []{}"
ENCODED = [(c, f"%{ord(c):02X}") for c in map(chr, range(32, 127)) if not c.isalnum() and c not in PLAIN]
#: The sign that begins a number comes first where they are made, and last where they are read.
ENCODED.sort(key=lambda pair: pair[0] != "%")

#: Import that stands for the ledger itself; its line holds the ledger's identity.
OWN = "ledger"


@dataclass(frozen=True)
class Header:
    """What the first line of an import says. One on every shard."""

    #: Name of the import in the ledger.
    load: str
    #: The same for every attempt to load these files into this table; `again` counts the attempts.
    base: str
    again: int
    #: `schema.table` as the server resolves it.
    table: str
    #: Digests of the files' content in the order of their numbers, and what they were called.
    files: tuple[str, ...]
    names: tuple[str, ...]
    chunk_rows: int
    #: UTC, to the microsecond; orders the imports of a table.
    began: str
    #: Of this shard's table.
    rows_before: int
    #: This shard's place among how many.
    place: int
    shards: int
    #: What the sums of its lines are, in their order; empty: it has none.
    items: tuple[Mapping[str, Any], ...] = ()
    #: Column -> logical type that its values were read as.
    types: Mapping[str, str] = field(default_factory=dict)
    #: How its files are read and its rows placed: `reading.reading_of`.
    reading: Mapping[str, Any] = field(default_factory=dict)
    #: Bytes of the files.
    sizes: tuple[int, ...] = ()


def ledger_name(schema: str) -> str:
    return f"{quote(schema)}.{LEDGER}"


def ask_headers(name: str) -> str:
    return f"SELECT load_id, {SUMS} FROM {name} WHERE file_no = {BEFORE_FILE}"


def another_version(name: str) -> UsageError:
    """A ledger whose lines this version cannot read: its imports are not recognised, so going on could store rows twice."""
    return UsageError(
        f"{name}: another version of inrush wrote this ledger, and this version cannot read it; finish with that version, "
        f"or rename the table {name}: a new ledger is made then, which does not know the rows that are stored"
    )


def headers(rows: Iterable[Sequence[Any]], name: str, table: str | None) -> list[Header]:
    """Of the rows of `ask_headers`, those of this table, the latest last; of two of one import, the later one.

    name: of the ledger. table: None for all. Raises UsageError for a line of another version.
    """
    first_lines: dict[str, Header] = {}
    for load, text in rows:
        if load == OWN:
            continue
        try:
            document = json.loads(decoded(str(text)))
            lists = {key: tuple(document[key]) for key in ("files", "names", "items", "sizes")}
            header = Header(**{**document, **lists})
        except (ValueError, KeyError, TypeError) as e:
            raise another_version(name) from e
        if table in (None, header.table) and (
            header.load not in first_lines or first_lines[header.load].began < header.began
        ):
            first_lines[header.load] = header
    return sorted(first_lines.values(), key=lambda header: (header.began, header.load))


def note_header(name: str, header: Header) -> str:
    """Percent-encoded: no engine finds anything to interpret in it."""
    return _line(name, header.load, _document(header))


def change_header(name: str, header: Header) -> str:
    """In one statement: rows that are stored always have the line of their import."""
    return (
        f"UPDATE {name} SET {SUMS} = {literal(_document(header))} "
        f"WHERE load_id = {literal(header.load)} AND file_no = {BEFORE_FILE}"
    )


def _document(header: Header) -> str:
    return encoded(json.dumps(vars(header), separators=(",", ":")))


def encoded(text: str) -> str:
    """Percent-encoded; of megabytes, as the names of 10^5 files are."""
    for char, number in ENCODED:
        text = text.replace(char, number)
    return text


def decoded(text: str) -> str:
    for char, number in reversed(ENCODED):
        text = text.replace(number, char)
    return text


def ask_identity(name: str) -> str:
    return f"SELECT MIN({SUMS}) AS n FROM {name} WHERE load_id = {literal(OWN)}"


def note_identity(name: str, identity: str) -> str:
    return _line(name, OWN, identity)


def _line(name: str, load: str, text: str) -> str:
    return f"{ledger_statements(load, name)['insert']} ({literal(load)}, {BEFORE_FILE}, 0, 0, 0, '', {literal(text)})"


def ask_rows(name: str, loads: Sequence[str]) -> str:
    """(import, rows, lines) of those that have lines."""
    return (
        f"SELECT load_id, SUM(row_count) AS n, COUNT(*) AS k FROM {name} "
        f"WHERE load_id IN ({', '.join(map(literal, loads))}) AND file_no >= 0 GROUP BY load_id"
    )


def ask_ended(name: str, loads: Sequence[str]) -> str:
    """(import, files that were read to their end)."""
    return (
        f"SELECT load_id, SUM(is_last) AS n FROM {name} "
        f"WHERE load_id IN ({', '.join(map(literal, loads))}) AND file_no >= 0 GROUP BY load_id"
    )


def ask_files(name: str, loads: Sequence[str]) -> str:
    """(import, number of a file with lines, whether it was read to its end, its rows)."""
    return (
        f"SELECT load_id, file_no, MAX(is_last) AS n, SUM(row_count) AS k FROM {name} "
        f"WHERE load_id IN ({', '.join(map(literal, loads))}) AND file_no >= 0 GROUP BY load_id, file_no"
    )


def ask_rejected(name: str, loads: Sequence[str]) -> str:
    """(import, file, chunk, position) of chunks that ended a file, or came without rows that a server refused."""
    return (
        f"SELECT load_id, file_no, chunk_no, goes_on FROM {name} WHERE load_id IN ({', '.join(map(literal, loads))}) "
        "AND file_no >= 0 AND (is_last = 1 OR goes_on LIKE '%\"refused\"%')"
    )


def ask_sums(name: str, loads: Sequence[str], lacking: bool = False) -> str:
    """(import, file, chunk, position, sums) of every chunk: each shard has the sums of all its rows.

    lacking: of those alone that came without rows which a server refused."""
    where = f"load_id IN ({', '.join(map(literal, loads))}) AND file_no >= 0"
    some = " AND goes_on LIKE '%\"refused\"%'" if lacking else ""
    return f"SELECT load_id, file_no, chunk_no, goes_on, {SUMS} FROM {name} WHERE {where}{some}"
