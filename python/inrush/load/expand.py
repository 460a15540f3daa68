"""The files that the words of a command line name: names, patterns, and - for standard input."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inrush.errors import UsageError
from inrush.study.patterns import matching
from inrush.study.sniff import not_a_file

STDIN = "-"
#: Words that lead nowhere, in one message.
SHOWN = 5


def expand(words: Sequence[str]) -> list[str]:
    """Files of words that may be patterns, each once, in order of name within a pattern. Raises UsageError."""
    names: dict[str, None] = {}
    missing = []
    for word in words:
        if word == STDIN:
            names[word] = None
            continue
        try:
            matched = matching(word)
        except OSError as error:
            raise UsageError(f"{word}: cannot be read ({error.strerror or error})") from error
        if not matched:
            missing.append(word)
        names.update(dict.fromkeys(matched))
    if missing:
        more = [f"and {len(missing) - SHOWN:,} more"] if len(missing) > SHOWN else []
        raise UsageError("; ".join([*map(no_file, missing[:SHOWN]), *more]))
    return list(names)


def no_file(word: str) -> str:
    if not word:
        return "'': names no file; give files or patterns, or - for standard input"
    if Path(word).is_dir():
        return f"{word}: is a folder; '{word.rstrip('/')}/*' means its files"
    if problem := not_a_file(Path(word)):
        return f"{problem}, or load it as standard input: -"
    return f"{word}: there is no such file"
