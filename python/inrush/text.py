"""Plain text for terminals and pipes: columns that line up. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def columns(
    rows: Sequence[Sequence[str]], header: Sequence[str] | None = None, right: Sequence[int] = ()
) -> list[str]:
    """Rows as lines with two blanks between columns; `right`: columns that are aligned to the right."""
    every = [list(header), *map(list, rows)] if header else [list(r) for r in rows]
    if not every:
        return []
    widths = [max(len(row[i]) for row in every) for i in range(len(every[0]))]

    def cell(i: int, text: str) -> str:
        return text.rjust(widths[i]) if i in right else text.ljust(widths[i])

    return ["  ".join(cell(i, text) for i, text in enumerate(row)).rstrip() for row in every]
