"""The table of every point: its factors, its figures, its percentiles. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from statistics import median

from inrush.analysis.answer import Answer
from inrush.analysis.percentiles import quantile_s
from inrush.analysis.points import Analysis, Point, PointSummary, roles
from inrush.analysis.wording import name, plain
from inrush.guards.verdicts import Outcome
from inrush.report.html import Cells, number, table
from inrush.stats import quantity

#: Latency quantiles of the point table.
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def points_table(analysis: Analysis, answer: Answer | None) -> str:
    if answer is None:
        return ""
    figures = point_figures(analysis, answer)
    varied = list(analysis.factors)
    quantiles = shown_quantiles(analysis)
    header = [*varied, "#runs", f"#median {name(answer.figure)}", "#mean [95 %]"]
    header += [f"#{name(f)}" for f in figures] + [f"#{q} of {role}" for role, q, _ in quantiles]
    summaries = {s.point: s for s in analysis.summaries(answer.figure)}
    counted = [p for p in analysis.points if any(m.counts and m.point == p for m in analysis.runs)]
    rows = [point_row(analysis, p, summaries.get(p), figures, quantiles, varied) for p in counted]
    told = "Mean: geometric, over runs. Percentiles: of all calls of all runs, merged."
    return f'<p class="expected">{told}</p>' + table(header, rows)


def point_figures(analysis: Analysis, answer: Answer) -> list[str]:
    """Beside the answer's own figure: rates and CPU, where they were measured."""
    role = answer.figure.rsplit(".", 1)[0]
    wanted = [
        f"{role}.rows_per_s",
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


def shown_quantiles(analysis: Analysis) -> list[tuple[str, str, float]]:
    """(role, name, share) of the latency quantiles that some point has calls enough for."""
    return [
        (role, name, q)
        for role in timed_roles(analysis)
        for name, q in QUANTILES.items()
        if any(quantile_s(analysis, p, role, q) is not None for p in analysis.points)
    ]


def point_row(
    analysis: Analysis,
    point: Point,
    s: PointSummary | None,
    figures: Sequence[str],
    quantiles: Sequence[tuple[str, str, float]],
    varied: Sequence[str],
) -> Cells:
    """s: the headline figure; None for a point that does not have it, e.g. one that only reads."""
    held = dict(point)
    cells = [
        escape(held[f]) if isinstance(held.get(f), str) else number(plain(held[f]) if f in held else "–")
        for f in varied
    ]
    runs = sum(m.counts and m.point == point for m in analysis.runs)
    flag = f" ({s.outliers} outlying)" if s and s.outliers else ""
    cells.append(number(f"{runs}{flag}"))
    cells.append(number(quantity.show(s.median, s.figure) if s else "–"))
    cells.append(
        number(
            "–"
            if s is None
            else quantity.show_interval(s.interval, s.figure)
            if s.interval
            else f"failed in {s.failed} of {len(s.values)} runs"
            if s.failed
            else "one run"
            if len(s.values) == 1
            else f"{quantity.show(min(s.values), s.figure)} to {quantity.show(max(s.values), s.figure)}"
        )
    )
    if s is not None and s.outcome is Outcome.INVALID:
        cells[-2:] = [number(f"{quantity.show(s.median, s.figure)} INVALID"), cells[-1]]
    for figure in figures:
        values = list(analysis.values(figure).get(point, {}).values())
        mark = " INVALID" if values and analysis.broken(figure, point) else ""
        cells.append(number(quantity.show(median(values), figure) + mark if values else "–"))
    for role, named, q in quantiles:
        value = quantile_s(analysis, point, role, q)
        figure = f"{role}.latency_{named.replace('.', '')}_s"
        mark = " INVALID" if value is not None and analysis.broken(figure, point) else ""
        cells.append(number("–" if value is None else quantity.show(value, "latency_s") + mark))
    return cells
