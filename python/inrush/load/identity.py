"""Which import is it? By what its files hold and which table they go into, not by how either is spelled. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from os import path
from typing import NamedTuple

from inrush.errors import UsageError
from inrush.load.ledger import Header

#: Files that a message names.
SHOWN = 3


class Start(NamedTuple):
    """The first bytes of a file, with which a line ends; or, not ended, its next byte ends it."""

    bytes: int
    digest: str
    ended: bool


class Content(NamedTuple):
    """One file by what it holds, unpacked."""

    shown: str
    digest: str
    bytes: int
    #: Those that are as long as a stored file.
    starts: tuple[Start, ...] = ()
    #: It has no rows: to have it twice stores nothing twice.
    vacant: bool = False


def base_id(contents: Sequence[Content], table: str, database: str) -> str:
    """The same content into the same table of the same database, in any order, under any name.

    database: the identity of its ledger. Raises UsageError for a file that is there twice.
    """
    digests = sorted(c.digest for c in contents)
    return hashlib.sha256(json.dumps([digests, table, database]).encode()).hexdigest()[:16]


def refuse_twice(contents: Sequence[Content]) -> None:
    """Raises UsageError where two files hold the same: their rows would be stored twice."""
    first: dict[str, str] = {}
    for content in contents:
        if content.vacant:
            continue
        if (known := first.setdefault(content.digest, content.shown)) != content.shown:
            raise UsageError(
                f"{content.shown}: holds the same as {known}, so that its rows would be stored twice; leave it out, or "
                "--again loads both"
            )


#: Import -> number of each of its files with rows in the table -> whether all of them are; only of imports that were not finished.
Parts = Mapping[str, Mapping[int, bool]]


def refuse_stored(
    contents: Sequence[Content],
    others: Sequence[Header],
    rows: Mapping[str, int],
    table: str,
    parts: Parts | None = None,
) -> None:
    """Raises UsageError for files that another import has stored, or has stored in part. rows: of each import by its ledger."""
    stored: dict[str, tuple[str, Header, bool]] = {}
    for other in reversed(others):
        if rows.get(other.load, 0):
            part = (parts or {}).get(other.load)
            whole = {
                n: part is None or part.get(n, False)
                for n in range(len(other.files))
                if part is None or n in part
            }
            # Of two files with one content the first, as of two imports.
            named = [(other.files[n], other.names[n], is_whole) for n, is_whole in whole.items()]
            stored.update((digest, (name, other, is_whole)) for digest, name, is_whole in reversed(named))
    found = [(c, *stored[c.digest]) for c in contents if c.digest in stored and not c.vacant]
    if found:
        said = []
        for content, name, other, is_whole in found[:SHOWN]:
            how = ("" if is_whole else " in part") + ("" if name == content.shown else f" as {name}")
            said.append(f"{content.shown} was stored{how} by import {other.load}{date_of(other)}")
        if len(found) > SHOWN:
            said.append(f"and so were {len(found) - SHOWN:,} more of {len(contents):,} files")
        left = [other for _, _, other, _ in found if other.load in (parts or {})]
        on = (
            f"; import {left[0].load} was not finished: with its files as they were, its command goes on"
            if left
            else ""
        )
        raise UsageError(
            f"table {table}: {'; '.join(said)}; leave such files out, or --again loads them once more{on}"
        )


def namesake(
    contents: Sequence[Content], others: Sequence[Header], rows: Mapping[str, int], parts: Parts | None = None
) -> str:
    """That a file of the same name and other content is stored: it may have grown, and its rows are loaded once more.

    others: in the order in which they were begun. Empty where there is none.
    """
    here = [(content, place_of(content.shown)) for content in contents]
    for other in reversed(others):
        if not rows.get(other.load):
            continue
        part = (parts or {}).get(other.load)
        names = places_of(name for n, name in enumerate(other.names) if part is None or n in part)
        for content, at in here:
            if at in names:
                return (
                    f"{content.shown}: import {other.load}{date_of(other)} stored a file of this name and other content, and its "
                    "rows stay in the table; rows that both files have are there twice afterwards"
                )
    return ""


def places_of(names: Iterable[str]) -> set[str]:
    return {place_of(name) for name in names}


def place_of(name: str) -> str:
    """The same however it is spelled; links stay as they are."""
    return path.abspath(name)  # noqa: PTH100


def names_of(header: Header) -> str:
    """What its files were called, the first of many."""
    more = [f"and {len(header.names) - SHOWN:,} more"] if len(header.names) > SHOWN else []
    return ", ".join([*header.names[:SHOWN], *more])


def date_of(header: Header) -> str:
    """` of 2026-11-22 15:00 UTC`; nothing where it is not known."""
    return f" of {header.began[:16].replace('T', ' ')} UTC" if header.began else ""


def check_same(own: Header, contents: Sequence[Content], places: Sequence[Header | None]) -> None:
    """Raises UsageError where an import of this name is of other files, or lies on other shards. places: its headers."""
    if sorted(own.files) != sorted(c.digest for c in contents):
        raise UsageError(f"--import-id {own.base}: that import is of other files ({names_of(own)})")
    for k, header in enumerate(places):
        if header is None or (header.place, header.shards) != (k, len(places)):
            raise UsageError(
                f"import {own.load} was begun on {own.shards} shards in another order, where its rows lie; give the shards as "
                "they were, or --again loads the files anew"
            )


def numbers(own: Header, contents: Sequence[Content]) -> tuple[int, ...]:
    """The number of each file in the ledger; files that hold the same have theirs in order."""
    free: dict[str, deque[int]] = {}
    for number, digest in enumerate(own.files):
        free.setdefault(digest, deque()).append(number)
    return tuple(free[content.digest].popleft() for content in contents)
