"""Imports that were begun and not finished: which they are, and which of their files are in the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from inrush.load import identity, ledger
from inrush.load.ledger import Header
from inrush.load.ledgers import Ledgers, Rows


def lines_of_unfinished(stored: Sequence[Header], rows: Rows, parts: identity.Parts) -> list[str]:
    """Of which imports a part is in the table: their files may be in it again, changed, under a new import."""
    return [
        f"import {other.load}{identity.date_of(other)} of {identity.names_of(other)} was not finished, and "
        f"{rows[other.load]:,} of its rows are in the table; if a file was changed since, its rows are there twice now"
        for other in stored
        if other.load in parts
    ]


def parts_of(
    ledgers: Ledgers, stored: Sequence[Header], also: Iterable[str]
) -> tuple[identity.Parts, dict[tuple[str, int], int]]:
    """Of imports that were not finished, which files are in the table, and which of these to their end.

    Then the rows of each file of theirs and of those `also`, by import and number.
    """
    left = unfinished(ledgers, stored)
    parts: dict[str, dict[int, bool]] = {load: {} for load in left}
    rows: dict[tuple[str, int], int] = {}
    if not (asked := sorted({*left, *also})):
        return parts, rows
    question = ledger.ask_files(ledgers.name, asked)
    # A chunk that was cut may have its line on some shards alone.
    for lines in ledgers.at_once(lambda k: ledgers.ask(k, question)):
        for load, number, ended, n in lines:
            of = (str(load), int(number))
            rows[of] = rows.get(of, 0) + int(n)
            if (files := parts.get(of[0])) is not None:
                files[of[1]] = files.get(of[1], False) or bool(int(ended))
    return parts, rows


def unfinished(ledgers: Ledgers, imports: Sequence[Header]) -> tuple[str, ...]:
    """The names of those of which not every file was stored to its end."""
    if not imports:
        return ()
    loads = [header.load for header in imports]
    ended = {str(load): int(n) for load, n in ledgers.ask(0, ledger.ask_ended(ledgers.name, loads))}
    return tuple(h.load for h in imports if ended.get(h.load, 0) < len(h.files))
