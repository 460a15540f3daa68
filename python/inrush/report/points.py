"""The table of every point: its factors, its figures, its percentiles. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from inrush.analysis.answer import Answer
from inrush.analysis.overview import rate_figure
from inrush.analysis.percentiles import quantile_s
from inrush.analysis.points import Analysis, Point, PointSummary, roles, say
from inrush.analysis.verdicts import Outcome
from inrush.analysis.wording import centre, name, plain
from inrush.report.html import Cells, number, table
from inrush.stats import quantity
from inrush.stats.extremes import largest_said, shown_value, without_value

#: Latency quantiles of the point table.
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def points_table(analysis: Analysis, answer: Answer | None) -> str:
    if answer is None:
        return ""
    figures = point_figures(analysis, answer)
    counted = [p for p in analysis.points if any(m.counts and m.point == p for m in analysis.runs)]
    varied = [f for f in analysis.factors if len({dict(p).get(f) for p in counted}) > 1 or f == "engine"]
    shared = tuple(
        (k, v) for k, v in (counted[0] if counted else ()) if k in analysis.factors and k not in varied
    )
    quantiles = shown_quantiles(analysis)
    header = [*varied, "#runs", *(f"#{name(f)} [95 %]" for f in intervalled(analysis, answer))]
    header += [f"#{name(f)}" for f in figures] + [
        f"#latency of {role}: {', '.join(of)}" for role, of in quantiles.items()
    ]
    rows = [
        point_row(analysis, p, intervalled(analysis, answer), figures, quantiles, varied, answer.figure)
        for p in counted
    ]
    caption = (
        f"Rates, times and the answer's figure: geometric mean over runs and its interval, of fewer than {quantity.LEAST_RUNS} runs "
        "their range. Other percentiles: of all calls of all runs, merged."
    )
    at = f" Every point: {say(shared)}." if shared else ""
    notes = "".join(f'<p class="expected">{escape(line)}</p>' for line in unseen_servers(analysis))
    return f'<p class="expected">{caption}{escape(at)}</p>' + table(header, rows, "cards points") + notes


def unseen_servers(analysis: Analysis) -> list[str]:
    """Why a server on the client's machine has no figures of its CPU."""
    found = dict.fromkeys(
        (m.run.engine, str(why))
        for m in analysis.runs
        if m.counts and (why := m.run.summary.get("server_unseen"))
    )
    return [f"CPU of the server of {engine} is not known: {why}." for engine, why in found]


def intervalled(analysis: Analysis, answer: Answer) -> list[str]:
    """The rate, and the answer's own figure behind it."""
    return list(dict.fromkeys((rate_figure(analysis, answer.figure), answer.figure)))


def point_figures(analysis: Analysis, answer: Answer) -> list[str]:
    """Beside the answer's own figure: rates and CPU, where they were measured."""
    wanted = [
        "client.busy_cores",
        "server.busy_cores",
        "instrument.busy_cores",
        "engine.busy_cores",
    ]
    measured = {k for m in analysis.runs if m.counts for k, v in m.figures.items() if v}
    return [f for f in wanted if f in measured and f != answer.figure]


def timed_roles(analysis: Analysis) -> list[str]:
    held = {role for _, role in analysis.latencies}
    return [r for r in roles(analysis) if r in held]


def shown_quantiles(analysis: Analysis) -> dict[str, dict[str, float]]:
    """Role -> name -> share of the latency quantiles that some point has calls enough for."""
    found = {
        role: {
            name: q
            for name, q in QUANTILES.items()
            if any(quantile_s(analysis, p, role, q) is not None for p in analysis.points)
        }
        for role in timed_roles(analysis)
    }
    return {role: of for role, of in found.items() if of}


def point_row(
    analysis: Analysis,
    point: Point,
    headed: Sequence[str],
    figures: Sequence[str],
    quantiles: Mapping[str, Mapping[str, float]],
    varied: Sequence[str],
    asked: str,
) -> Cells:
    """headed: figures with an interval; a point that only reads has none of them. asked: the answer's figure."""
    held = dict(point)
    cells = [
        escape(held[f]) if isinstance(held.get(f), str) else number(plain(held[f]) if f in held else "–")
        for f in varied
    ]
    summaries = {f: s for f in headed for s in analysis.summaries(f) if s.point == point}
    runs = sum(m.counts and m.point == point for m in analysis.runs)
    outliers = max((s.outliers for s in summaries.values()), default=0)
    cells.append(number(f"{runs}{f' ({outliers} outlying)' if outliers else ''}"))
    cells += [lines_of(summed(summaries[f])) if f in summaries else number("–") for f in headed]
    for figure in figures:
        values = analysis.values(figure).get(point, {})
        mark = " INVALID" if values and analysis.broken(figure, point) else ""
        cells.append(number(quantity.show(centre(values), figure) + mark if values else "–"))
    return cells + [lines_of(percentiles(analysis, point, role, of, asked)) for role, of in quantiles.items()]


def summed(s: PointSummary) -> list[str]:
    """The figure, and below it its interval or what is known in its place."""
    mark = f"{f' ({s.few})' if s.few else ''}{' INVALID' if s.outcome is Outcome.INVALID else ''}"
    if s.interval is not None and not quantity.says_nothing(s.interval):
        value, _, bounds = quantity.show_interval(s.interval, s.figure).partition(" [")
        return [value + mark, f"[{bounds}"]
    if s.failed:
        return [f"{s.lacks} in {s.failed} of {len(s.values)} runs{mark}"]
    value = quantity.show(s.centre, s.figure) + mark
    if len(s.values) == 1:
        return [value, "one run"]
    return [value, f"{quantity.show(min(s.values), s.figure)} to {quantity.show(max(s.values), s.figure)}"]


def percentiles(
    analysis: Analysis, point: Point, role: str, of: Mapping[str, float], asked: str
) -> list[str]:
    """A line for each percentile, in the order of the column's name."""
    found = []
    for named, q in of.items():
        figure = f"{role}.latency_{named.replace('.', '')}_s"
        figures = [m.figures for m in analysis.runs if m.counts and m.point == point]
        runs = analysis.values(figure).get(point, {}) if figure == asked else {}
        value = centre(runs) if runs else quantile_s(analysis, point, role, q)
        mark = " INVALID" if value is not None and analysis.broken(figure, point) else ""
        few, lacks = largest_said(figure, figures) if runs else "", without_value(figure, figures)
        found.append(
            "–" if value is None else shown_value(value, quantity.show(value, figure), few, lacks) + mark
        )
    return found if set(found) != {"–"} else ["–"]


def lines_of(lines: Sequence[str]) -> str:
    """A cell of numbers, one below the other."""
    return f'<td class="num">{"<br>".join(escape(line) for line in lines)}</td>'
