"""Reading a TOML file: the one place where studies touch the disk."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from inrush.errors import Problem, UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: A study is a page of text; what is larger was named by mistake.
MAX_BYTES = 4 << 20
#: Parts of a dotted key: ours have three. The parser keeps every prefix of a key, and so memory by the square of its parts.
MOST_PARTS = 64
#: A part of a key, quoted or not; the dot between two of them; anything else. A quote that is not closed takes the rest of its
#: line, so that every character is looked at once.
TOKEN = re.compile(
    r"""(?P<part>"[^"\\]*(?:\\.[^"\\]*)*"?|'[^']*'?|[A-Za-z0-9_-]+)|(?P<dot>[ \t]*\.[ \t]*)|."""
)


def read_toml(path: Path) -> dict[str, Any]:
    """Raises UsageError where the text cannot be read or is not TOML."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    if len(raw) > MAX_BYTES:
        raise UsageError(f"{path}: more than {MAX_BYTES >> 20} MiB; a study file is a page of text")
    return parse_toml(raw, str(path))


def parse_toml(raw: bytes, file: str) -> dict[str, Any]:
    try:
        text = raw.decode()
        if line := line_of_long_key(text):
            remedy = f"has a key of more than {MOST_PARTS} parts; write fewer dots"
            raise UsageError([Problem(file, f"line {line}", "", remedy)])
        document: dict[str, Any] = tomllib.loads(text)
        return document
    except UnicodeDecodeError as error:
        problem = Problem(file, f"byte {error.start}", "", "is not UTF-8; save the file as UTF-8")
    except tomllib.TOMLDecodeError as error:
        problem = Problem(file, "the text", "", f"is not TOML: {error}")
    except (RecursionError, ValueError, OverflowError) as error:
        problem = Problem(file, "the text", "", f"is not TOML we can read: {type(error).__name__}")
    raise UsageError([problem])


def line_of_long_key(text: str) -> int:
    """The first line with a key of more than MOST_PARTS parts; 0: none."""
    for number, line in enumerate(text.split("\n"), 1):
        dots, behind_part = 0, False
        for token in TOKEN.finditer(line) if line.count(".") >= MOST_PARTS else ():
            if token["dot"]:
                dots = dots + 1 if behind_part else 0
            elif not token["part"]:
                dots = 0
            behind_part = bool(token["part"])
            if dots >= MOST_PARTS:
                return number
    return 0


def toml_value(text: str) -> Any:
    """A value as the right-hand side of `key = value`; a bare word is a text."""
    if line_of_long_key(text):
        return text
    try:
        found = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text
    return found["value"] if set(found) == {"value"} else text
