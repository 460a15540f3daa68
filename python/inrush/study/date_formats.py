"""Dates by a pattern that a command line gives, such as `%d.%m.%y %H:%M`: read by the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inrush.errors import UsageError


@dataclass(frozen=True)
class DateFormat:
    text: str
    #: The coarsest type that holds its times: date, time_ms, time_us.
    kind: str

    def reads(self, value: str) -> bool:
        from inrush import _core

        return _core.date_format(self.text, [value])[1][0]


def read_formats(words: Sequence[str]) -> dict[str, DateFormat]:
    """Column, or "" for all that are written so, -> its format. words: `FORMAT` or `COLUMN=FORMAT`. Raises UsageError."""
    from inrush import _core

    found: dict[str, DateFormat] = {}
    for word in words:
        column, sign, text = word.partition("=")
        if not sign or "%" in column:
            column, text = "", word
        if column in found:
            raise UsageError(
                f"--date-format {word}: {column or 'all columns'} had {found[column].text} before"
            )
        try:
            found[column] = DateFormat(text, _core.date_format(text, [])[0])
        except _core.CoreFailure as failure:
            why = str(failure.args[1]).removeprefix("plan: ")
            raise UsageError(f"--date-format {word}: {why}") from None
        except UnicodeEncodeError:
            raise UsageError(f"--date-format {word!r}: is not UTF-8") from None
    return found
