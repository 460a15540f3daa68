"""Files that have grown since rows of them were stored: the import goes on with them, or says what is there twice otherwise.

What is stored is known by content: the first bytes of the file are all that it had, and the ledger says how far it was read.
"""

from __future__ import annotations

import codecs
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from inrush.errors import FileChanged, UsageError
from inrush.load import identity
from inrush.load.expand import STDIN
from inrush.load.identity import Content, Parts, date_of
from inrush.load.ledger import Header
from inrush.load.spool import packing_of
from inrush.study.formats import JSON_LINES
from inrush.targets.passwords import split_password

if TYPE_CHECKING:
    from inrush.load.call import Call
    from inrush.load.input import Input

#: How a packed file is written out.
UNPACKED_BY = {"gzip": "zcat", "bz2": "bzcat", "xz": "xzcat", "zstd": "zstdcat"}


#: Python's names of encodings that iconv has under others.
OF_ICONV = {
    "utf-8-sig": "UTF-8",
    "mac-roman": "MACINTOSH",
    "mac-cyrillic": "MAC-CYRILLIC",
    "shift_jis": "SHIFT_JIS",
}


@dataclass(frozen=True)
class Grown:
    """A file that another import has read, and what it has now."""

    content: Content
    of: Header
    #: Its number there.
    number: int
    #: A line ended with what it had.
    ended: bool

    @property
    def before(self) -> int:
        """Bytes that it had."""
        return self.of.sizes[self.number]


def grown_of(contents: Sequence[Content], others: Sequence[Header]) -> list[Grown]:
    """Those files that begin with all of a file of these imports, of several with the longest of the latest."""
    known = {file for other in others for file in other.files}
    stored = {
        of: (k, of[0], n)
        for k, other in enumerate(others)
        for n, of in enumerate(zip(other.sizes, other.files, strict=False))
    }
    found = []
    for content in contents:
        hits = [(*stored[s[:2]], s.ended) for s in content.starts if s[:2] in stored]
        if hits and content.digest not in known:
            k, _, n, ended = max(hits)
            found.append(Grown(content, others[k], n, ended))
    return found


def going_on(contents: Sequence[Content], grown: Sequence[Grown], parts: Parts) -> Header | None:
    """The import that was not finished and goes on with these files, as its header says it now; None where there is none.

    All files are its own, and none that has grown was read to its end: behind that nothing is read any more.
    """
    of = grown[0].of if grown else None
    if of is None or any(g.of.load != of.load for g in grown) or len(contents) != len(of.files):
        return None
    done = parts.get(of.load)
    # One without a line was not begun.
    if done is None or any(g.number in done and (done[g.number] or not g.ended) for g in grown):
        return None
    files, sizes, names = list(of.files), list(of.sizes), list(of.names)
    for g in grown:
        files[g.number], sizes[g.number], names[g.number] = g.content.digest, g.content.bytes, g.content.shown
    if sorted(files) != sorted(c.digest for c in contents):
        return None
    return replace(of, files=tuple(files), sizes=tuple(sizes), names=tuple(names))


def refuse(
    grown: Sequence[Grown],
    rows: Mapping[tuple[str, int], int],
    table: str,
    command: Callable[[Grown], str],
) -> None:
    """Raises UsageError where files have grown and their import cannot go on: their rows would be there twice.

    rows: of each file of an import. command: what loads the new rows of a file.
    """
    twice = [g for g in grown if rows.get((g.of.load, g.number))]
    if not twice:
        return
    g = twice[0]
    n, more = rows[g.of.load, g.number], ""
    them = "them" if n != 1 else "it"
    if others := len(twice) - 1:
        more = f" ({others:,} more {'files have' if others > 1 else 'file has'} grown too)"
    raise UsageError(
        f"{g.content.shown}: it has grown since import {g.of.load}{date_of(g.of)}, which stored {n:,} row{'s' * (n != 1)} of it in "
        f"table {table} when it had {g.before:,} bytes: this load would store {them} twice{more}. To keep {them} and load what is "
        f"new: `{command(g)}`; to load all of it anew: remove {them} from the table and give --again"
    )


def command_of(g: Grown, of: Input, call: Call) -> str:
    """What loads the rows that a file has more than it had."""
    new = f"tail -c +{g.before + (1 if g.ended else 2)}"
    if of.shown == STDIN:
        read = " | ".join(["...", *([iconv(call.encoding)] if call.encoding else []), new])
    else:
        with Path(of.shown).open("rb") as file:
            packing = packing_of(file.read(6))
        name = shlex.quote(of.shown if not of.shown.startswith("-") else f"./{of.shown}")
        steps = [
            *([UNPACKED_BY[packing]] if packing else []),
            *([iconv(call.encoding)] if call.encoding else []),
            new,
        ]
        read = " | ".join([f"{steps[0]} {name}", *steps[1:]])
    words = [] if of.sniffed.format == JSON_LINES else ["--header", "no"]
    for option, value in call.written.items():
        if option != "skip":
            words += [f"--{option}", "none" if option == "quote" and not value else str(value)]
    if of.sniffed.header or of.sniffed.named:
        words += ["--columns", ",".join(c.name for c in of.sniffed.columns)]
    said: Mapping[str, Sequence[object]] = {
        "--format": [call.format],
        "--dates": [call.dates],
        "--date-format": call.date_formats,
        "--timezone": [call.timezone],
        "--into": [call.into and split_password(call.into)[0]],
        "--shard": [split_password(shard)[0] for shard in call.shards],
        "--key": [",".join(call.key)],
        "--server": [call.server],
        "--token-file": [call.token_file],
        "--ca": [call.ca],
        "--fingerprint": [call.fingerprint],
        "--table": [call.table],
    }
    words += [
        word for option, values in said.items() for value in values if value for word in (option, str(value))
    ]
    return f"{read} | inrush load - {shlex.join([*words, *(['--replica'] if call.replica else [])])}"


def iconv(encoding: str) -> str:
    name = codecs.lookup(encoding).name
    return f"iconv -f {OF_ICONV.get(name, name.upper())} -t UTF-8"


def refuse_changed(
    contents: Sequence[Content], others: Sequence[Header], rows: Mapping[str, int], parts: Parts, table: str
) -> None:
    """Raises UsageError for a file of an import that was not finished, under its name, and with other content."""
    here = [(content, identity.place_of(content.shown)) for content in contents]
    for other in reversed(others):
        if other.load not in parts or not rows.get(other.load):
            continue
        names = identity.places_of(name for n, name in enumerate(other.names) if n in parts[other.load])
        for content, at in here:
            if at in names and content.digest not in other.files:
                are = "are" if rows[other.load] != 1 else "is"
                raise UsageError(
                    f"{content.shown}: import {other.load}{date_of(other)} of {identity.names_of(other)} was not finished, and "
                    f"{rows[other.load]:,} of its rows {are} in table {table}; the file holds something else now, and rows that "
                    f"both have would be there twice. {ways(table)}"
                )


def ways(table: str) -> str:
    """To remove the rows of an import that cannot go on, or to keep them."""
    return (
        f"To remove them: delete them from table {table}, or empty it if it holds nothing else, and give --again; to keep them "
        "beside all rows of the file as it is now: --again alone"
    )


def with_rows(failed: FileChanged, rows: int, table: str) -> FileChanged:
    """A load that ended because a file changed, with the rows that are stored."""
    if not rows:
        return FileChanged(f"{failed}. No row of this import is in table {table}")
    return FileChanged(
        f"{failed}. {rows:,} row{'s' * (rows != 1)} of this import {'are' if rows != 1 else 'is'} in table {table} and stay"
        f"{'s' * (rows == 1)}: if the file has only grown, the same command goes on behind them; otherwise it is refused, and "
        f"says how to go on"
    )
