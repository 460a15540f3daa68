"""The time line of a run's steps, with cores, disk and sizes below on one time axis. Pure."""

from __future__ import annotations

import altair as alt

from inrush.analysis.answer import Answer
from inrush.analysis.points import Analysis
from inrush.report.charts import HEIGHT, WIDTH, Figure, Row, finished, inline, label
from inrush.report.drawn import shown_points
from inrush.report.time_lines import panel_chart, stacked
from inrush.report.timeline import Panel, drawn_panels, panels, typical_runs
from inrush.stats.quantity import show
from inrush.stats.record import RunRecord
from inrush.stats.steps import INDEXES, ROWS, WHOLE, number, segments_of_steps, step_windows, total

MB = 1e6
#: How the names of such counters begin.
PROGRESS = "progress:"
#: Height of one step's bar with its room.
BAR = 22


def step_lines(analysis: Analysis, answer: Answer) -> list[Figure]:
    """One typical run per engine, of a study with steps."""
    found = []
    for n, m in enumerate(typical_runs(analysis, answer.figure, shown_points(analysis, answer))):
        bars = step_bars(m.run)
        if not bars:
            continue
        held = [*drawn_panels(panels(m.run), m.run), *progress_panel(m.run), *size_panel(m.run)]
        drawn: list[alt.Chart | alt.LayerChart] = [bar_chart(bars, last=not held)]
        drawn += [panel_chart(p, last=p is held[-1]) for p in held]
        found.append(Figure(
            f"steps-{n}", f"The steps of a run: {label(m.point, analysis)}",
            f"Run {m.run.run_id}, the one nearest the median. Each bar is a step, with its length; what was sized between two "
            "steps stands below. Drag to move, scroll to zoom: all panels follow.",
            finished(stacked(drawn)),
            ((answer.figure, m.point),),
        ))  # fmt: skip
    return found


def step_bars(run: RunRecord) -> list[Row]:
    """Times in s from the begin of the first step."""
    windows = step_windows(run)
    if not windows:
        return []
    begin_ns = min(start for start, _ in windows.values())
    kinds = run.labels.get("steps", {})
    cut = {step for step, s in segments_of_steps(run).items() if s["ended_by"] == "limit"}
    return [
        {
            "t": round((start - begin_ns) / 1e9, 4),
            "end": round((end - begin_ns) / 1e9, 4),
            "step": step,
            "do": str(kinds.get(step, "")),
            "length": show((end - start) / 1e9, "duration_s") + (", cut at its limit" if step in cut else ""),
        }
        for step, (start, end) in windows.items()
    ]


def size_panel(run: RunRecord) -> list[Panel]:
    """Tables and indexes by the engine's own figures, each time that they were probed."""
    begin_ns = min(start for start, _ in step_windows(run).values())
    looks: list[dict[str, float]] = []
    segment = -1
    for row in run.rows("sizes"):
        size = number(row["value"])
        if size is None:
            continue
        # A look has each figure once: where one comes again, the next look has begun.
        if row["segment"] != segment or row["name"] in looks[-1]:
            segment = row["segment"]
            looks.append({"t": row["t_ns"] / 1e9})
        looks[-1][str(row["name"])] = size
    rows: list[Row] = []
    for sizes in sorted(looks, key=lambda of: of["t"]):
        t = round(sizes["t"] - begin_ns / 1e9, 4)
        for series, kinds in (("tables", (*ROWS, *WHOLE)), ("indexes", INDEXES)):
            rows.append({"t": max(t, 0.0), "y": total(sizes, kinds) / MB, "series": series})
    rows = [row for row in rows if any(r["y"] for r in rows if r["series"] == row["series"])]
    return [Panel("size, MB", rows)] if len({row["t"] for row in rows}) > 1 else []


def progress_panel(run: RunRecord) -> list[Panel]:
    """Shares that the server reports of what its statements do; each phase of one begins anew."""
    begin_ns = min(start for start, _ in step_windows(run).values())
    rows: list[Row] = [
        {
            "t": round((row["t_ns"] - begin_ns) / 1e9, 4),
            "y": share,
            "series": command_of(str(row["name"])),
        }
        for row in run.rows("counters")
        if str(row["name"]).startswith(PROGRESS) and (share := number(row["value"])) is not None
    ]
    return [Panel("progress", rows)] if len({row["t"] for row in rows}) > 1 else []


def command_of(name: str) -> str:
    """Without its phase, which is as long as a legend is wide."""
    return name.removeprefix(PROGRESS).partition(",")[0]


def bar_chart(bars: list[Row], last: bool) -> alt.LayerChart:
    order = [bar["step"] for bar in bars]
    base = alt.Chart(inline(bars)).encode(
        y=alt.Y("step:N", title=None, sort=order, axis=alt.Axis(labelLimit=160)),
        tooltip=["step:N", "do:N", "length:N", alt.Tooltip("t:Q", title="begin, s", format=".4g")],
    )
    axis = alt.Axis(title="time in the run, s" if last else None, labels=last, ticks=last)
    drawn = base.mark_bar(height=BAR * 0.6, cornerRadius=2).encode(
        x=alt.X("t:Q", axis=axis),
        x2="end:Q",
        color=alt.Color("do:N", title=None, legend=alt.Legend(orient="top", offset=4)),
    )
    # A short step has no room inside: its length stands behind it.
    text = base.mark_text(style="absent", align="left", dx=4).encode(
        x=alt.X("end:Q", axis=axis), text="length:N"
    )
    chart = alt.layer(drawn, text, width=WIDTH, height=max(HEIGHT // 4, BAR * len(bars)))
    assert isinstance(chart, alt.LayerChart), "nothing here asks for facets"
    return chart
