"""The report: one offline page, figures as files, and the last lines of the terminal.

Everything shown can be derived again from the sealed runs; nothing is fetched when the page opens.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from inrush.analysis.answer import answer
from inrush.analysis.overview import overview
from inrush.analysis.points import Analysis, Point, say
from inrush.analysis.rejected import reject_lines
from inrush.analysis.verdicts import Outcome, Verdict, by_guard, of_runs
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.guards.run import conditions_last
from inrush.report.asked import asked_lines
from inrush.report.first_sentence import first_sentence
from inrush.report.next_command import next_command
from inrush.report.overview import text_table
from inrush.report.summary import crossed_lines
from inrush.stats.figure_names import grouped_figures
from inrush.stats.measures import study_record
from inrush.stats.record import StudyRecord
from inrush.text import counted

#: Points that the closing line names where figures are invalid.
POINTS_NAMED = 3


def write_report(results: Any, path: Path) -> Analysis:
    """Writes the page for one study's `store.Results` (or a StudyRecord); returns what it says."""
    from inrush.report.draw import script, themes  # altair and vl-convert take a second to import
    from inrush.report.figures import figures
    from inrush.report.page import page

    analysis = analyse(recorded(results))
    found = answer(analysis)
    write_page(path, page(analysis, found, figures(analysis, found), themes(), script()))
    return analysis


def write_page(path: Path, html: str) -> None:
    """Whole or not at all: a browser may be looking."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".tmp")
    half.write_text(html, encoding="utf-8")
    half.replace(path)


def write_figures(results: Any, folder: Path, formats: tuple[str, ...] = ("png", "svg", "pdf")) -> list[Path]:
    """Writes every figure of the report in the formats asked; returns the files."""
    from inrush.report.draw import FORMATS, render
    from inrush.report.figures import figures

    unknown = [f for f in formats if f not in FORMATS]
    if unknown:
        raise UsageError(
            f"figures cannot be written as {', '.join(unknown)}; formats are {', '.join(FORMATS)}"
        )
    analysis = analyse(recorded(results))
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures(analysis, answer(analysis)):
        for format in formats:
            path = folder / f"{figure.name}.{format}"
            path.write_bytes(render(figure, format))
            written.append(path)
    return written


def closing_lines(results: Any) -> list[str]:
    """What was found, a row for each engine, the verdict and the next command; and rows of files that were not stored, if any."""
    analysis = results if isinstance(results, Analysis) else analyse(recorded(results))
    found = answer(analysis)
    seen = overview(analysis, found)
    rows = text_table(analysis, seen)
    return [
        *crossed_lines(analysis),
        first_sentence(analysis, found, seen),
        *(["", *rows, ""] if rows else []),
        *asked_lines(analysis),
        *reject_lines(analysis),
        verdict_line(analysis),
        next_command(analysis, found),
    ]


def verdict_line(analysis: Analysis) -> str:
    """`valid: …` or `INVALID: …`, with what stands in the way and how many notes there are."""
    held = by_guard(analysis.verdicts)
    broken = by_guard(analysis.invalidating)
    notes = conditions_last(g for g, v in held.items() if v[0][1].outcome is Outcome.NOTE)
    beside = beside_the_result(analysis)
    runs = sum(m.run.block > 0 for m in analysis.runs)
    noted = f"; with a note on: {', '.join(notes)}" if notes else ""
    if broken:
        guard, its_verdicts = next(iter(broken.items()))
        sentence = its_verdicts[0][1].sentence + of_runs(its_verdicts, len(held[guard]))
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        figures = analysis.undecided(v for _, v in its_verdicts)
        points = shown_points(points_of(analysis, its_verdicts))
        of = " at ".join(part for part in (figures, points) if part)
        return f"INVALID: {guard}{f' ({of})' if of else ''}: {sentence}{more}"
    return f"valid: {runs} measured run{'s' * (runs != 1)}, all figures behind the answer and the limits are valid{beside}{noted}"


def points_of(analysis: Analysis, verdicts: Iterable[tuple[str, Verdict]]) -> list[Point]:
    """Points at which these verdicts hold, if others are left; run ids and verdicts as `Analysis.invalidating` has them."""
    of_run = {m.run.run_id: [m.point] for m in analysis.runs}
    points = dict.fromkeys(p for run, v in verdicts for p in (v.points or of_run.get(run, [])))
    return [] if set(points) >= set(analysis.points) else list(points)


def shown_points(points: Iterable[Point]) -> str:
    """The first of them by name, and how many more there are."""
    names = list(dict.fromkeys(map(say, points)))
    more = [counted(len(names) - POINTS_NAMED, "more point")] * (len(names) > POINTS_NAMED)
    return "; ".join([*names[:POINTS_NAMED], *more])


def beside_the_result(analysis: Analysis) -> str:
    """Figures that are invalid and decide nothing, and where; a pilot enters none.

    An answer of kind `keeps_up` rests on `in_time_share` alone: how long its samples took is said beside it, and left out
    where it is invalid.
    """
    found = [
        (v, [m.point])
        for m in analysis.runs
        for v in m.verdicts
        if (m.counts or m.run.confirms) and v.outcome is Outcome.INVALID and v.figures
    ] + [
        (v, list(v.points or analysis.points))
        for v in analysis.study_verdicts
        if v.outcome is Outcome.INVALID and v.figures
    ]
    if not found:
        return ""
    figures = dict.fromkeys(name for v, _ in found for name in v.figures or ())
    points = shown_points(point for _, of in found for point in of)
    return f"; also INVALID (not used in the answer): {grouped_figures(figures)} (at {points})"


def recorded(results: Any) -> StudyRecord:
    return results if isinstance(results, StudyRecord) else study_record(results)
