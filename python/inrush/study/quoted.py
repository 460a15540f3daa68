"""Words for NULL in quotes: the reader takes a field in quotes for a text, never for NULL, and so does the choice of types.

Python's `csv` does not say which fields were quoted, nor where a quote stands in a field without quotes around it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from inrush.study.types import QUOTED, TextKind, kind_of

#: Words that files write for NULL; the first that lets most columns have a type of their own is taken.
NULL_WORDS = ("", "NA", "NULL", "null", "N/A", "None", "\\N", "-")
#: The same in quotes, as `with_quotes` gives them.
QUOTED_WORDS = frozenset(f'"{word}"' for word in NULL_WORDS)


def kind_of_field(field: str) -> TextKind:
    """field: as of `with_quotes`."""
    return QUOTED if field in QUOTED_WORDS else kind_of(field)


def with_quotes(record: list[str], lines: Sequence[str], delimiter: str) -> list[str]:
    """The record with the quotes around those of its fields that would be a word for NULL without them.

    lines: of the file, that the record stands in.
    """
    text = "".join(lines)
    if '"' not in text or not any(word in text for word in QUOTED_WORDS):
        return record
    written = field_of(delimiter).findall(text)
    if len(written) < len(record):
        return record
    return [field if field in QUOTED_WORDS else value for value, field in zip(record, written, strict=False)]


def has_misplaced_quote(lines: Sequence[str], delimiter: str, given_up: bool) -> bool:
    """Whether the core's reader rejects the record for a quote in a field without quotes around it.

    One behind blanks alone (`1, "a"`) is rejected; any other is a part of the text, but behind a record that was given up.
    lines: of the file, that the record stands in.
    """
    text = "".join(lines)
    if not behind_blanks(delimiter).search(text) and not (given_up and '"' in text):
        return False
    fields = [field for field in field_of(delimiter).findall(text) if '"' in field and field[0] != '"']
    return bool(fields) and (given_up or any(field.lstrip(" \t")[0] == '"' for field in fields))


@lru_cache
def behind_blanks(delimiter: str) -> re.Pattern[str]:
    """Where a field may begin with blanks and a quote; inside of quotes too."""
    return re.compile(rf'(?:^|{re.escape(delimiter)})[ \t]+"', re.MULTILINE)


@lru_cache
def field_of(delimiter: str) -> re.Pattern[str]:
    """A field as it is written, in its group, and what ends it."""
    end = re.escape(delimiter)
    return re.compile(rf'("[^"]*(?:""[^"]*)*"|[^{end}\r\n]*)(?:{end}|[\r\n]+|\Z)')
