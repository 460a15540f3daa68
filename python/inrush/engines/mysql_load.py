"""Texts of the tables that `inrush load --create` makes on MySQL and MariaDB: a length by the longest text sampled. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from inrush.engines.sampled import Sampled
from inrush.workload import Table

#: Later values have room: a column takes texts so many times as long as the longest that was sampled.
ROOM = 2
#: Lengths of a VARCHAR in characters. InnoDB stores what can be longer than 255 bytes outside of a page that is full: 64 is
#: the shortest such length, and a wide table is not refused for it.
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
#: Bytes of a character in utf8mb4, at most.
CHARACTER_BYTES = 4
#: Longer texts -> bytes that the type holds.
LONGER = {"TEXT": 2**16 - 1, "MEDIUMTEXT": 2**24 - 1}
LONGEST = "LONGTEXT"
#: Bytes of a row at most, texts that are no VARCHAR left out; each of these, and each number, takes up to so many.
ROW_BYTES, FIELD_BYTES = 65_535, 12
LENGTH = re.compile(r"(?:VAR)?CHAR\((\d+)\)")


def text_type(longest: int) -> str:
    """longest: characters of the longest text sampled; 0 where there was none, which says nothing of later ones."""
    if longest == 0:
        return "TEXT"
    chars = ROOM * longest
    if chars <= LENGTHS[-1]:
        return f"VARCHAR({next(length for length in LENGTHS if chars <= length)})"
    fitting = (kind for kind, most in LONGER.items() if chars * CHARACTER_BYTES <= most)
    return next(fitting, LONGEST)


def types(table: Table, usual: Mapping[str, str], sampled: Sampled) -> dict[str, str]:
    """Column -> its type. usual: column -> the type it has where nothing was sampled.

    Where all VARCHARs together are longer than a row may be, the longest of them become TEXT, which holds as much.
    """
    found = {
        c.name: text_type(sampled.longest[c.name])
        if c.type == "text" and c.name in sampled.longest
        else usual[c.name]
        for c in table.columns
    }
    while row_bytes(found) > ROW_BYTES and (longest := longest_varchar(found)):
        found[longest] = "TEXT"
    return found


def row_bytes(types: Mapping[str, str]) -> int:
    return sum(map(field_bytes, types.values())) + len(types) // 8 + 1


def field_bytes(kind: str) -> int:
    """With the two bytes of its length."""
    found = LENGTH.fullmatch(kind)
    return CHARACTER_BYTES * int(found[1]) + 2 if found else FIELD_BYTES


def longest_varchar(types: Mapping[str, str]) -> str | None:
    """The column whose VARCHAR is the longest, the first of several; None where there is none."""
    varchars = [name for name, kind in types.items() if kind.startswith("VARCHAR(")]
    return max(varchars, key=lambda name: field_bytes(types[name]), default=None)
