"""Columns `char(n)`: texts of at most n characters of a character set, without blanks at their end. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from inrush.study.document import Node
from inrush.workload import CHARSETS

CHAR = re.compile(r"char\((\d+)\)\Z")
#: What MySQL takes at most.
MOST = 255
#: Characters of a UUID as text.
UUID_CHARS = 36
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
        return _blank(gen.get("pattern", ""))
    texts = (
        gen.get("values", ()) if kind == "categorical" else [gen.get("value")] if kind == "constant" else ()
    )
    return next(
        filter(None, (_text_problem(text, chars, charset) for text in texts if isinstance(text, str))), ""
    )


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
