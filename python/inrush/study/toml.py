"""Reading a TOML file: the one place where studies touch the disk."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from inrush.errors import Problem, StudyInvalid, UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: A study is a page of text; what is larger was named by mistake.
MAX_BYTES = 4 << 20


def read_toml(path: Path) -> dict[str, Any]:
    """Raises StudyInvalid where the text is not TOML, UsageError where it cannot be read."""
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
        document: dict[str, Any] = tomllib.loads(raw.decode())
        return document
    except UnicodeDecodeError as error:
        problem = Problem(file, f"byte {error.start}", "", "is not UTF-8; save the file as UTF-8")
    except tomllib.TOMLDecodeError as error:
        problem = Problem(file, "the text", "", f"is not TOML: {error}")
    except (RecursionError, ValueError, OverflowError) as error:
        problem = Problem(file, "the text", "", f"is not TOML we can read: {type(error).__name__}")
    raise StudyInvalid([problem])


def toml_value(text: str) -> Any:
    """A value as the right-hand side of `key = value`; a bare word is a text."""
    try:
        found = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text
    return found["value"] if set(found) == {"value"} else text
