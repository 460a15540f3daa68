"""An answer as a table: every value that was tried, what was measured there, and what is decided of it; and as a document. Pure."""

from __future__ import annotations

from html import escape
from math import isfinite
from typing import Any

from inrush.analysis.answer import Answer
from inrush.analysis.parts import APART, FEW, Part, Try
from inrush.analysis.points import Analysis, say
from inrush.analysis.settled import beside
from inrush.analysis.wording import name, say_bytes, shown, times
from inrush.report.html import number, table
from inrush.stats.quantity import says_nothing
from inrush.stats.stats import Interval
from inrush.text import columns, counted

#: Kind -> what a ratio of it is.
RATIOS = {
    "best": "times worse than the best",
    "comparison": "times worse than the best",
    "curve": "times the first",
    "scaling": "speed-up",
}


def answer_table(analysis: Analysis, found: Answer) -> str:
    """A detail of the page, but open where a part is invalid: a table for each group, and what belongs to none."""
    opened = " open" if any(part.invalid for part in found.parts) else ""
    each = "".join(part_table(analysis, found, part) for part in found.parts)
    remarks = "".join(f'<p class="part">{escape(remark)}.</p>' for remark in found.remarks)
    return f"<details{opened}><summary>In detail: {escape(name(found.figure))}</summary>{each}{remarks}</details>"


def part_table(analysis: Analysis, found: Answer, part: Part) -> str:
    group, mark = group_of(analysis, part), '<span class="badge invalid-badge">INVALID</span>'
    above = f'<p class="expected">{escape(group)}</p>' if group else ""
    above += f'<p class="part">{mark} {escape(part.invalid)}.</p>' if part.invalid else ""
    rows = [
        [*map(number, cells[:-1]), escape(cells[-1])]
        for cells in (row(analysis, found, part, t) for t in part.tries)
    ]
    *names, last = header(found)
    return above + table([*(f"#{h}" for h in names), last], rows, "cards")


def answer_lines(analysis: Analysis, found: Answer | None) -> list[str]:
    """The same for a terminal: a row for each value, of a part that is invalid the reason alone."""
    if found is None:
        return []
    rows = [
        (group_of(analysis, part), *row(analysis, found, part, t)) for part in found.parts for t in part.tries
    ]
    grouped = len({cells[0] for cells in rows}) > 1
    lines = columns(rows, ("", *header(found))) if grouped else columns([r[1:] for r in rows], header(found))
    return [
        *(lines if rows else []),
        *(f"answer: INVALID: {part.invalid}" for part in found.parts if part.invalid),
        *(f"answer: {remark}" for remark in found.remarks),
    ]


def group_of(analysis: Analysis, part: Part) -> str:
    return say(tuple((k, v) for k, v in part.group if k in analysis.factors))


def header(found: Answer) -> list[str]:
    ratio = RATIOS.get(found.kind)
    return [found.along, f"{name(found.figure)} [95 %]", *([f"{ratio} [95 %]"] if ratio else []), ""]


def row(analysis: Analysis, found: Answer, part: Part, t: Try) -> list[str]:
    """The value, its figure, the ratio where its kind has one, and what is decided of it."""
    return [
        say_bytes(found.along, t.value) + beside(analysis, t.point, part.group, found.along),
        figure_of(analysis, found, t),
        *([ratio_of(t, part)] if found.kind in RATIOS else []),
        decided(t, part),
    ]


def figure_of(analysis: Analysis, found: Answer, t: Try) -> str:
    """Of the fresh repeats where there are any, with that of the search behind it."""
    searched = shown(analysis, t.runs, found.figure)
    return f"{shown(analysis, t.fresh, found.figure)} (in the search {searched})" if t.fresh else searched


def ratio_of(t: Try, part: Part) -> str:
    """By the runs that stand beside it; of the search where only the best has fresh ones."""
    if t.ratio is None:
        return "–"
    in_search = not t.fresh and any(other.fresh for other in part.tries)
    return times(t.ratio) + (" in the search" if in_search else "")


def decided(t: Try, part: Part) -> str:
    """`best: the largest value tried`, `late: 1 of 2,400 samples … (in 1 of 3 runs)`, `too few runs to distinguish (2 of 3)`"""
    noted = part.note and t.value == (part.best[0] if part.best else part.tries[-1].value)
    if t.word in (FEW, APART):
        return f"{t.word} {t.because}".rstrip()
    because = t.because.removeprefix(f"{t.word} ")
    detail = "; ".join(filter(None, [because, part.note if noted else ""]))
    of_runs = "" if t.count is None else f" (in {t.count} of {counted(t.counted or 0, 'run')})"
    return ": ".join(filter(None, [t.word, detail])) + of_runs


def document(analysis: Analysis, found: Answer | None, sentence: str) -> dict[str, Any] | None:
    """For programs: what was asked, what was decided of each value, and why a part states nothing."""
    if found is None:
        return None
    return {
        "kind": found.kind,
        "figure": found.figure,
        "along": found.along,
        "sentence": sentence,
        "valid": not any(part.invalid for part in found.parts),
        "parts": [part_document(part) for part in found.parts],
        "remarks": list(found.remarks),
    }


def part_document(part: Part) -> dict[str, Any]:
    return {
        "group": dict(part.group),
        "best": list(part.best),
        "interval": bounds(part.interval),
        "invalid": part.invalid,
        "note": part.note,
        "tried": [
            {
                "value": t.value,
                "point": dict(t.point),
                "runs": [v if isfinite(v) else None for v in t.runs.values()],
                "fresh": [v if isfinite(v) else None for v in t.fresh.values()],
                "decided": t.word,
                "because": t.because,
                "in_runs": t.count,
                "of_runs": t.counted,
                "ratio": bounds(t.ratio),
            }
            for t in part.tries
        ],
    }


def bounds(interval: Interval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    held = {"value": interval.value}
    return held if says_nothing(interval) else {**held, "low": interval.low, "high": interval.high}
