"""The table of the figures that a question asks for: the same rows for every engine, and why a cell is empty. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from inrush.analysis.asked import asked_figures, cell, goes_without, place, points_of
from inrush.analysis.overview import engines
from inrush.analysis.points import Analysis
from inrush.analysis.wording import name
from inrush.engines import title
from inrush.report.html import number, table
from inrush.text import columns

NONE = "–"
#: Points that stand side by side; more of them stand below each other, where the figures are fewer than they are.
MOST_COLUMNS = 6


def asked_table(analysis: Analysis) -> str:
    """A row for each figure, a column for each point, or the other way round; a line for each empty cell's reason."""
    header, rows, notes = asked_cells(analysis)
    if not rows:
        return ""
    cells = [[escape(row[0]), *(number(text) for text in row[1:])] for row in rows]
    return table([header[0], *(f"#{point}" for point in header[1:])], cells, "cards") + "".join(
        f"<p>{escape(note)}</p>" for note in notes
    )


def asked_lines(analysis: Analysis) -> list[str]:
    """The same for a terminal."""
    header, rows, notes = asked_cells(analysis)
    right = tuple(range(1, len(header)))
    return [*columns([tuple(row) for row in rows], tuple(header), right=right), *notes, ""] if rows else []


def asked_cells(analysis: Analysis) -> tuple[Sequence[str], list[list[str]], list[str]]:
    figures = asked_figures(analysis)
    points = [(engine, p) for engine in engines(analysis) for p in points_of(analysis, engine)]
    header = ["figure", *(", ".join(filter(None, (title(e), place(analysis, p)))) for e, p in points)]
    rows = [[name(figure), *(cell(analysis, p, figure) or NONE for _, p in points)] for figure in figures]
    if rows and len(points) > max(MOST_COLUMNS, len(figures)):
        header, *rows = map(list, zip(*[["point", *header[1:]], *rows], strict=True))
    notes = [
        f"{NONE} {title(engine)} goes without {what}."
        for engine in engines(analysis)
        for what in goes_without(analysis, engine, figures)
    ]
    return header, rows if points else [], notes
