"""The table of engines: in the terminal, as Markdown and in the page. The same rows and words everywhere. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from inrush.analysis.comparability import refused
from inrush.analysis.overview import Cell, EngineRow, Overview, where
from inrush.analysis.points import Analysis, say
from inrush.analysis.settled import like_the_best
from inrush.analysis.verdicts import WITH_NOTES
from inrush.engines import title
from inrush.metrics import unit_of
from inrush.report.html import Cells, number, table
from inrush.stats.extremes import shown_value
from inrush.stats.figure_names import kind_and_quantile, said_figures
from inrush.stats.quantity import show_known
from inrush.text import BestLine, columns, percent

NONE = "–"
MARK = "!"
MARK_WORDS = f"{MARK}: INVALID; the line of its engine says which figure, and by which guard"
#: Columns of a terminal.
WIDEST = 60
#: Of figures of a table that grew while it was read.
GROWING = f"{WITH_NOTES}, growing"
#: The same in the terminal's table, and the line below it.
IN_SHORT = {WITH_NOTES: "valid*", GROWING: "growing*"}
NOTED_WORDS = "*: with notes; the report lists them"


def text_table(analysis: Analysis, seen: Overview | None) -> list[str]:
    """Lines for a terminal: at most WIDEST columns for ordinary names; what needs words stands below the table."""
    if seen is None or not seen.rows:
        return []
    rows = [
        (
            row.engine,
            rate_cell(row.rate),
            time_cell(row.write),
            time_cell(row.read),
            NONE if row.idle_share is None else percent(row.idle_share),
            row.survives or NONE,
            IN_SHORT.get(verdict_word(row), verdict_word(row)),
        )
        for row in seen.rows
    ]
    noted = [NOTED_WORDS] if any(row[-1] in IN_SHORT.values() for row in rows) else []
    noted += [MARK_WORDS] if any(text.endswith(MARK) for row in rows for text in row[1:4]) else []
    header = ("engine", rate_unit(seen.rate), "write", "read", "idle", "survives", "verdict")
    lines = columns(rows, header, right=(1, 2, 3, 4))
    wide = max(map(len, lines)) > WIDEST
    if wide:
        lines = columns([(*row[:5], row[6]) for row in rows], (*header[:5], header[6]), right=(1, 2, 3, 4))
    best = best_engines(analysis, seen)
    lines[1:] = [
        BestLine(line) if row.engine in best else line for line, row in zip(lines[1:], seen.rows, strict=True)
    ]
    return [*lines, *noted, *legend(analysis, seen), *([survives_words(seen)] if wide else [])]


def best_engines(analysis: Analysis, seen: Overview) -> set[str]:
    """Engines of the best rate, and those that cannot be distinguished from it; nothing where they are not compared."""
    every, again = analysis.values(seen.rate), analysis.fresh(seen.rate)
    sound = {
        row.point: (again.get(row.point) if row.fresh else None) or every[row.point]
        for row in seen.rows
        if row.point is not None and row.rate is not None and not row.broken and not row.undecided
    }
    if len(sound) < 2 or refused(analysis):
        return set()
    found = like_the_best(sound, seen.rate)
    return {str(dict(point)["engine"]) for point in found} if len(found) < len(sound) else set()


def survives_words(seen: Overview) -> str:
    """`acknowledged rows survive: power loss`, or what they survive on each engine."""
    held = {row.engine: row.survives or NONE for row in seen.rows}
    each = set(held.values())
    words = each.pop() if len(each) == 1 else ", ".join(f"{engine} {word}" for engine, word in held.items())
    return f"acknowledged rows survive: {words}"


def legend(analysis: Analysis, seen: Overview) -> list[str]:
    """What the columns hold, where each engine was measured, and why a row is invalid."""
    held = [
        f"{column}: {percentile_words(figure)}, all runs together"
        for column, figure in (("write", seen.write), ("read", seen.read))
        if figure
    ]
    if any(row.idle_share is not None for row in seen.rows):
        held.append("idle: CPU of the client's machine")
    own = {row.engine: where(row, seen, analysis) for row in seen.rows if row.point}
    alike = next(iter(own.values())) if len(set(own.values())) == 1 else ""
    at = ", ".join(word for word in (say(seen.condition), alike) if word)
    each = [f"{engine} {place}" for engine, place in own.items() if place and not alike]
    return [
        *held,
        *([f"at {at}"] if at else []),
        *([f"at {'; '.join(each)}"] if each else []),
        *(f"{row.engine}: INVALID: {broken_words(row)}" for row in seen.rows if row.broken or row.undecided),
        *(f"{row.engine}: no runs: {row.absent}" for row in seen.rows if row.absent),
    ]


def markdown(analysis: Analysis, seen: Overview | None, sentence: str) -> list[str]:
    """The sentence and the table, for a document."""
    if seen is None or not seen.rows:
        return [sentence]
    names, rows = full_table(analysis, seen)
    aligned = ["---:" if name.startswith("#") else "---" for name in names]
    return [
        sentence,
        "",
        markdown_row([name.removeprefix("#") for name in names]),
        markdown_row(aligned),
        *(markdown_row(row) for row in rows),
    ]


def markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def html_table(analysis: Analysis, seen: Overview | None) -> str:
    if seen is None or not seen.rows:
        return ""
    names, rows = full_table(analysis, seen)
    numeric = [name.startswith("#") for name in names]
    cells: list[Cells] = [
        [number(text) if right else escape(text) for text, right in zip(row, numeric, strict=True)]
        for row in rows
    ]
    return table(names, cells, "cards engines")


def full_table(analysis: Analysis, seen: Overview) -> tuple[list[str], list[list[str]]]:
    """Names of columns (# in front of numbers) and cells as text, with the words that a terminal has no room for."""
    places = [where(row, seen, analysis) for row in seen.rows]
    names = [
        "engine",
        *(["at"] if any(places) else []),
        f"#{rate_unit(seen.rate)}",
        f"#{column_name('writes', seen.write)}",
        f"#{column_name('reads', seen.read)}",
        "#CPU idle (client's share)",
        "acknowledged rows survive",
        "#runs",
        "verdict",
    ]
    rows = [
        [
            title(row.engine),
            *([place or NONE] if any(places) else []),
            *(marked(text, cell) for text, cell in ((rate_cell(row.rate), row.rate), (time_cell(row.write), row.write), (time_cell(row.read), row.read))),
            headroom_words(row),
            row.survives or NONE,
            str(row.runs) if row.point else NONE,
            long_verdict(row),
        ]
        for row, place in zip(seen.rows, places, strict=True)
    ]  # fmt: skip
    # A study without such calls (of pipelines, say) has no column for them.
    empty = {
        f"#{column_name(what, None)}"
        for what, figure in (("writes", seen.write), ("reads", seen.read))
        if figure is None
    }
    kept = [k for k, name in enumerate(names) if name not in empty]
    return [names[k] for k in kept], [[row[k] for k in kept] for row in rows]


# --- cells


def rate_unit(figure: str) -> str:
    """`rows/s` of rows_per_s; the word of a figure that is no rate."""
    metric = figure.rsplit(".", 1)[1]
    if metric == "makespan_s":
        return "takes"
    unit = unit_of(metric)
    return unit if unit.endswith("/s") else " ".join(kind_and_quantile(metric)).strip()


def rate_cell(cell: Cell | None) -> str:
    """Without its unit, which stands above: `1.9 M`."""
    if cell is None:
        return NONE
    shown = cell_value(cell)
    for unit in ("rows/s", "calls/s", "keys/s", "/s"):
        shown = shown.removesuffix(unit).rstrip()
    return shown + (MARK if cell.broken else "")


def time_cell(cell: Cell | None) -> str:
    if cell is None:
        return NONE
    return cell_value(cell) + (MARK if cell.broken else "")


def cell_value(cell: Cell) -> str:
    return shown_value(cell.value, show_known(cell.value, cell.interval, cell.figure), cell.few, cell.lacks)


def marked(text: str, cell: Cell | None) -> str:
    """With the word in place of the terminal's mark."""
    return f"{text.removesuffix(MARK)} INVALID" if cell is not None and cell.broken else text


def headroom_words(row: EngineRow) -> str:
    """`61 % (client 4 %)`: of the processors of the client's machine, which a server on it shares."""
    if row.idle_share is None:
        return NONE
    client = f" (client {percent(row.client_share)})" if row.client_share is not None else ""
    return f"{percent(row.idle_share)}{client}"


def verdict_word(row: EngineRow) -> str:
    if row.point is None:
        return "not measured" if row.runs else "no runs"
    if row.undecided:
        return "INVALID"
    if row.growing:
        return GROWING
    return WITH_NOTES if row.noted or row.broken else "valid"


def long_verdict(row: EngineRow) -> str:
    """With what is invalid, or why there is no run: words that a terminal's table has no room for."""
    if row.absent:
        return f"{verdict_word(row)}: {row.absent}"
    if row.undecided:
        return f"INVALID: {broken_words(row)}"
    return f"{verdict_word(row)}{f'; INVALID: {broken_words(row)}' if row.broken else ''}"


def broken_words(row: EngineRow) -> str:
    """`latency p99 of readers (client on time)`; `no decision (decisions hold on time)` where each figure stands"""
    open_ = [f"no decision ({', '.join(row.open)})"] if row.open else []
    return "; ".join(
        [*open_, *([f"{said_figures(row.broken)} ({', '.join(row.guards)})"] if row.broken else [])]
    )


def column_name(what: str, figure: str | None) -> str:
    if figure is None:
        return f"p99 of {what}"
    return f"{kind_and_quantile(figure.rsplit('.', 1)[1])[1]} of {what}"


def percentile_words(figure: str) -> str:
    """`p99 of writers, sample until stored`"""
    role, metric = figure.rsplit(".", 1)
    kind, quantile = kind_and_quantile(metric)
    return f"{quantile} of {role}" + (", whole samples" if kind == "sample" else "")
