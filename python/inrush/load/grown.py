"""Files that have grown since rows of them were stored: the import goes on with them, or says what is there twice otherwise.

What is stored is known by content: the first bytes of the file are all that it had, and the ledger says how far it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inrush.errors import InrushError, UsageError
from inrush.load import identity
from inrush.load.identity import Content, Parts, date_of
from inrush.load.ledger import Header

#: What the core says of a file that is not as it was.
CHANGED = "it changed while it was loaded"


@dataclass(frozen=True)
class Grown:
    """A file that another import has read, and what it has now."""

    content: Content
    of: Header
    #: Its number there.
    number: int

    @property
    def before(self) -> int:
        """Bytes that it had."""
        return self.of.sizes[self.number]


def grown_of(
    contents: Sequence[Content], others: Sequence[Header], is_start: Callable[[Content, int, str], bool]
) -> list[Grown]:
    """Of the imports, the latest first, those files that are the beginning of one of these. is_start: (file, bytes, digest)."""
    found: dict[str, Grown] = {}
    for other in reversed(others):
        places = {Path(name).name: n for n, name in enumerate(other.names) if n < len(other.sizes)}
        for content in contents:
            n = places.get(Path(content.shown).name)
            if n is None or content.shown in found or not 0 < other.sizes[n] < content.bytes:
                continue
            if is_start(content, other.sizes[n], other.files[n]):
                found[content.shown] = Grown(content, other, n)
    return [*found.values()]


def going_on(contents: Sequence[Content], grown: Sequence[Grown], parts: Parts) -> Header | None:
    """The import that was not finished and goes on with these files, as its header says it now; None where there is none.

    All files are its own, and none that has grown was read to its end: behind that nothing is read any more.
    """
    of = grown[0].of if grown else None
    if of is None or any(g.of.load != of.load for g in grown) or len(contents) != len(of.files):
        return None
    if any(parts.get(of.load, {}).get(g.number, True) for g in grown):
        return None
    files, sizes, names = list(of.files), list(of.sizes), list(of.names)
    for g in grown:
        files[g.number], sizes[g.number], names[g.number] = g.content.digest, g.content.bytes, g.content.shown
    if sorted(files) != sorted(c.digest for c in contents):
        return None
    return replace(of, files=tuple(files), sizes=tuple(sizes), names=tuple(names))


def refuse(grown: Sequence[Grown], rows: Mapping[str, int], table: str) -> None:
    """Raises UsageError where files have grown and their import cannot go on: their rows would be there twice."""
    if not grown:
        return
    g = grown[0]
    more = f" (and {len(grown) - 1:,} more of the files are such)" if len(grown) > 1 else ""
    raise UsageError(
        f"{g.content.shown}: it has grown since import {g.of.load}{date_of(g.of)}, which stored {rows[g.of.load]:,} rows in table "
        f"{table} when it had {g.before:,} bytes: they would be there twice{more}. To keep them and load what is new: "
        f"`tail -c +{g.before + 1} {g.content.shown} | inrush load -` with --header no and --columns; to load all of it anew: "
        "remove them from the table and give --again"
    )


def refuse_changed(
    contents: Sequence[Content], others: Sequence[Header], rows: Mapping[str, int], parts: Parts, table: str
) -> None:
    """Raises UsageError for a file of an import that was not finished, under its name, and with other content."""
    for other in reversed(others):
        if other.load not in parts or not rows.get(other.load):
            continue
        for content in contents:
            numbers = [
                n for n, name in enumerate(other.names) if name == content.shown and n in parts[other.load]
            ]
            if numbers and content.digest not in other.files:
                raise UsageError(
                    f"{content.shown}: import {other.load}{date_of(other)} of {identity.names_of(other)} was not finished, and "
                    f"{rows[other.load]:,} of its rows are in table {table}; the file holds something else now, and rows that both "
                    f"have would be there twice. {ways(table)}"
                )


def ways(table: str) -> str:
    """To remove the rows of an import that cannot go on, or to keep them."""
    return (
        f"To remove them: delete them from table {table}, or empty it if it holds nothing else, and give --again; to keep them "
        "beside all rows of the file as it is now: --again alone"
    )


def with_rows(failed: InrushError, rows: int, table: str) -> InrushError:
    """A load that ended because a file changed, with the rows that are stored; any other failure as it is."""
    message = str(failed)
    if CHANGED not in message:
        return failed
    if not rows:
        return type(failed)(f"{message}. No row of this import is in table {table}")
    return type(failed)(
        f"{message}. {rows:,} row{'s' * (rows != 1)} of this import {'are' if rows != 1 else 'is'} in table {table} and stay"
        f"{'s' * (rows == 1)}: if the file has only grown, the same command goes on behind them; otherwise it is refused, and "
        f"says how to go on"
    )
