"""Words for NULL in quotes: the reader takes a field in quotes for a text, never for NULL, and so does the choice of types.

Python's `csv` does not say which fields were quoted. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from inrush.study.types import QUOTED, Kind, kind_of

#: Words that files write for NULL; the first that lets most columns have a type of their own is taken.
NULL_WORDS = ("", "NA", "NULL", "null", "N/A", "None", "\\N", "-")
#: The same in quotes, as `with_quotes` gives them.
QUOTED_WORDS = frozenset(f'"{word}"' for word in NULL_WORDS)


def kind_of_field(field: str) -> Kind:
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


@lru_cache
def field_of(delimiter: str) -> re.Pattern[str]:
    """A field as it is written, in its group, and what ends it."""
    end = re.escape(delimiter)
    return re.compile(rf'("[^"]*(?:""[^"]*)*"|[^{end}\r\n]*)(?:{end}|[\r\n]+|\Z)')
