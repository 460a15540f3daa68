"""Columns `char(n)`: texts of at most n characters of a character set, without blanks at their end. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from inrush.study.document import Node
from inrush.workload import CHARSETS, TYPES

CHAR = re.compile(r"char\((\d+)\)\Z")
#: What MySQL takes at most.
MOST = 255
#: What stands for a number in the pattern of a `format`: its width, and how it is written. `%%` is a %.
FIELD = re.compile(r"%(?:%|0?(\d*)([dxc]))")
#: Values of a `%c` that give a character one can see, of one byte.
LETTERS = (-64, 29)
#: Generators of numbers with an end on both sides.
RANGES = ("cycle", "shuffled", "uniform")
#: Characters of a UUID as text.
UUID_CHARS = TYPES["uuid"].longest
#: MySQL's character set -> Python's: its latin1 is that of Windows.
CODECS = {"latin1": "cp1252", "utf8mb4": "utf-8"}


def parse_chars(members: Mapping[str, Node]) -> tuple[int, str]:
    """(n, character set) of a column with type `char(n)`; (0, …) of any other."""
    usual = CHARSETS[0]
    kind = members["type"].value if "type" in members else None
    found = CHAR.match(kind) if isinstance(kind, str) else None
    if found is None:
        if "charset" in members:
            members["charset"].problem("`charset` is of columns with type char(n)")
        return 0, usual
    chars = int(found[1])
    if not 1 <= chars <= MOST:
        members["type"].problem(f"char(n) has 1 to {MOST} characters; longer ones are of type text")
        chars = MOST
    charset = members["charset"].text(CHARSETS, "character set") if "charset" in members else usual
    return chars, charset or usual


def char_problem(gen: Mapping[str, Any], chars: int, charset: str) -> str:
    """What a generator gives that a column of so many characters cannot hold, and what to do; empty: nothing."""
    kind = gen["kind"]
    if kind == "foreign":
        return char_problem(gen["of"], chars, charset)
    if kind == "uuid" and chars < UUID_CHARS:
        return f"a UUID has {UUID_CHARS} characters; write char({UUID_CHARS})"
    if kind == "text":
        if gen.get("max_bytes", 0) > chars:
            return f"max_bytes is {gen['max_bytes']}; at most {chars}, or a longer char(n)"
        if " " in gen.get("alphabet", ""):
            return "the alphabet has a blank, which char(n) loses at the end of a value; leave it out, or write type text"
    if kind == "format":
        if gen.get("pad_to"):
            return "pad_to pads with blanks, which char(n) adds and takes away itself; leave it out"
        return _format_problem(str(gen.get("pattern", "")), gen.get("fields", ()), chars, charset)
    texts = (
        gen.get("values", ()) if kind == "categorical" else [gen.get("value")] if kind == "constant" else ()
    )
    return next(
        filter(None, (_text_problem(text, chars, charset) for text in texts if isinstance(text, str))), ""
    )


def _format_problem(pattern: str, fields: Sequence[Any], chars: int, charset: str) -> str:
    """Of the longest text that the fields can make. One without bounds counts as its width, or one character."""
    left = iter(fields)

    def longest(part: re.Match[str]) -> str:
        if part[0] == "%%":
            return "%"
        low, high = _bounds(next(left, None))
        return "0" * max(int(part[1] or 1), *(_length(v, part[2]) for v in (low, high) if v is not None), 1)

    text = FIELD.sub(longest, pattern)
    if len(text) > chars:
        return f"the longest text has {len(text)} characters; at most {chars}, or a longer char(n)"
    kinds = [part[2] for part in FIELD.finditer(pattern) if part[0] != "%%"]
    for kind, field in zip(kinds, fields, strict=False):
        low, high = _bounds(field)
        if kind == "c" and not (LETTERS[0] <= (low or 0) and (high or 0) <= LETTERS[1]):
            return "%c is the letter a + value; give it values from 0 to 25"
    return _text_problem(text, chars, charset) or _blank(pattern)


def _bounds(field: Any) -> tuple[int | None, int | None]:
    """The least and the greatest whole number of a generator, None where it has no bound that is written down."""
    gen = field if isinstance(field, Mapping) else {}
    if gen.get("kind") == "flag":
        return 0, 1
    values = gen.get("values") if gen.get("kind") == "categorical" else [gen.get("value")]
    if isinstance(values, Sequence) and values and all(isinstance(v, int) for v in values):
        return min(values), max(values)
    low, high = ("from", "to") if gen.get("kind") in RANGES else ("min", "max")
    least, most = gen.get(low), gen.get(high)
    return (
        math.floor(least) if isinstance(least, (int, float)) else None,
        math.ceil(most) if isinstance(most, (int, float)) else None,
    )


def _length(value: int, kind: str) -> int:
    """Of a number as the pattern writes it: a negative one in hexadecimal has all its 64 bits."""
    if kind == "c":
        return 1
    return len(str(value)) if kind == "d" else 16 if value < 0 else len(f"{value:x}")


def _text_problem(text: str, chars: int, charset: str) -> str:
    if len(text) > chars:
        return f"{text!r} has {len(text)} characters; at most {chars}, or a longer char(n)"
    try:
        text.encode(CODECS[charset])
    except UnicodeEncodeError:
        return f'{text!r} has characters that {charset} lacks; leave them out, or write charset = "utf8mb4"'
    return _blank(text)


def _blank(text: str) -> str:
    if text.endswith(" "):
        return f"{text!r} ends in a blank, which char(n) loses; leave it out, or write type text"
    return ""
