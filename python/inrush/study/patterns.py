"""The files that a pattern names, as `*`, `?`, `[a-z]` and `**` do in a shell."""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import Path

from inrush.errors import UsageError


def matching(word: str) -> list[str]:
    """The file of this name, or those that the pattern names; none of a folder. Raises OSError, UsageError."""
    if os.path.isfile(word):  # noqa: PTH113  of 10^5 words
        return [word]
    if not word or Path(word).is_dir():  # neither is a pattern
        return []
    try:
        return in_one_folder(word) if is_of_one_folder(word) else pattern(word)
    except ValueError as error:
        raise UsageError(f"{word}: is no pattern of files ({error})") from error


def is_of_one_folder(word: str) -> bool:
    """Whether a pattern stands in its last part alone."""
    folder, _, last = word.rpartition("/")
    return not re.search(r"[*?[]", folder) and "**" not in last and last not in ("", ".", "..")


def in_one_folder(word: str) -> list[str]:
    """As `pattern`. The folder says of its entries what they are: no file is asked for. Raises OSError."""
    path = Path(word)
    folder, is_named = str(path.parent), re.compile(fnmatch.translate(path.name)).match
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if is_named(entry.name) and entry.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return []
    before = "" if folder == "." else folder.rstrip("/") + "/"
    return [before + name for name in names]


def pattern(word: str) -> list[str]:
    path = Path(word)
    if path.is_absolute():
        return sorted(
            str(p) for p in Path(path.anchor).glob(str(path.relative_to(path.anchor))) if p.is_file()
        )
    return sorted(str(p) for p in Path().glob(word) if p.is_file())
