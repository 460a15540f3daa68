"""The time line of a run's steps, with cores, disk and sizes below on one time axis. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from inrush.analysis.answer import Answer
from inrush.analysis.points import Analysis
from inrush.report.charts import HEIGHT, WIDTH, Figure, Row, finished, inline, label
from inrush.report.drawn import shown_points
from inrush.report.over_time import panels
from inrush.report.panel_lines import MOST_LINES, legible, names, others_said, together
from inrush.report.time_lines import panel_charts, stacked, time_scale
from inrush.report.timeline import THROUGHPUT, Panel, drawn_panels, typical_runs
from inrush.stats.quantity import show
from inrush.stats.record import RunRecord
from inrush.stats.steps import INDEXES, ROWS, WHOLE, number, segments_of_steps, step_windows, total

MB = 1e6
#: How the names of such counters begin.
PROGRESS = "progress:"
#: Height of one step: its words, and its bar below them.
ROW = 28
#: Steps with a row of their own; the shorter ones of a kind share one.
MOST_STEPS = 12


def step_lines(analysis: Analysis, answer: Answer) -> list[Figure]:
    """One typical run per engine, of a study with steps."""
    found = []
    for n, m in enumerate(typical_runs(analysis, answer.figure, shown_points(analysis, answer))):
        bars = in_rows(step_bars(m.run))
        if not bars:
            continue
        did = by_kind(drawn_panels(panels(m.run), m.run), kinds_of_roles(m.run))
        held = legible([*did, *progress_panel(m.run), *size_panel(m.run)])
        until_s = max(bar["end"] for bar in bars)
        drawn: list[alt.Chart | alt.LayerChart] = [
            bar_chart(bars, not held, time_scale(held, until_s)),
            *panel_charts(held, until=until_s),
        ]
        found.append(Figure(
            f"steps-{n}", f"The steps of a run: {label(m.point, analysis)}",
            f"Run {m.run.run_id}, the one nearest the median. Each bar is a step, with its kind and its length; what was sized between two "
            f"steps stands below.{shared_said(bars)} Drag to move, scroll to zoom: all panels follow.{others_said(held)}",
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
            "s": (end - start) / 1e9,
            "length": length_said((end - start) / 1e9) + (", cut at its limit" if step in cut else ""),
        }
        for step, (start, end) in windows.items()
    ]


def length_said(s: float) -> str:
    return show(s, "duration_s")


def in_rows(bars: Sequence[Row]) -> list[Row]:
    """The bars with the `row` that each stands in, and with its words beside the first of a row.

    The longest steps have rows of their own; where there are more, the shorter ones of a kind share a row.
    """
    own = {bar["step"] for bar in sorted(bars, key=lambda bar: -bar["s"])[:MOST_STEPS]}
    shorter: dict[str, list[Row]] = {}
    for bar in bars:
        if bar["step"] not in own:
            shorter.setdefault(bar["do"], []).append(bar)
    own |= {of[0]["step"] for of in shorter.values() if len(of) == 1}
    found, said = [], set()
    for bar in bars:
        alone, of = bar["step"] in own, shorter.get(bar["do"], [])
        row = bar["step"] if alone else f"others {bar['do']}"
        words = (
            f"{bar['step']} ({bar['do']}), {bar['length']}"
            if alone
            else f"{len(of)} other steps ({bar['do']}), {length_said(sum(b['s'] for b in of))} together"
        )
        found.append({**bar, "row": row, "words": "" if row in said else words})
        said.add(row)
    return found


def shared_said(bars: Sequence[Row]) -> str:
    if all(bar["row"] == bar["step"] for bar in bars):
        return ""
    return f" Beside the {MOST_STEPS} longest steps those of a kind share a row; the table of steps has each of them."


def kinds_of_roles(run: RunRecord) -> dict[str, str]:
    """Role of a step that is one role -> the step's kind. Roles beside one another keep their names."""
    kinds = run.labels.get("steps", {})
    return {step: str(do) for step, do in kinds.items() if do != "roles"}


def by_kind(panels: Sequence[Panel], kinds: Mapping[str, str]) -> list[Panel]:
    """What many steps did one after the other is one line for each kind: the bars say which step it was."""
    return [
        together(panel, kinds_called(panel, kinds))
        if panel.title in THROUGHPUT and len(names([panel])) > MOST_LINES
        else panel
        for panel in panels
    ]


def kinds_called(panel: Panel, kinds: Mapping[str, str]) -> dict[str, str]:
    """Line -> `load, 54 steps`; of the only step of a kind nothing."""
    steps: dict[str, list[str]] = {}
    for name in names([panel]):
        if name in kinds:
            steps.setdefault(kinds[name], []).append(name)
    return {name: f"{do}, {len(of)} steps" for do, of in steps.items() if len(of) > 1 for name in of}


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


def bar_chart(bars: Sequence[Row], last: bool, span: alt.Scale) -> alt.LayerChart:
    """A step's words stand above its bar and begin at the left: names of any length have room there on any screen."""
    order = list(dict.fromkeys(bar["row"] for bar in bars))
    base = alt.Chart(inline(bars)).encode(
        y=alt.Y("row:N", title=None, sort=order, axis=None),
        tooltip=["step:N", "do:N", "length:N", alt.Tooltip("t:Q", title="begin, s", format=".4g")],
    )
    axis = alt.Axis(title="time in the run, s" if last else None, labels=last, ticks=last)
    drawn = base.mark_bar(style="step", height=ROW * 0.3, yOffset=ROW * 0.25, cornerRadius=2).encode(
        x=alt.X("t:Q", axis=axis, scale=span), x2="end:Q"
    )
    text = base.mark_text(style="absent", align="left", dy=-ROW * 0.15).encode(x=alt.value(0), text="words:N")
    chart = alt.layer(drawn, text, width=WIDTH, height=max(HEIGHT // 4, ROW * len(order)))
    assert isinstance(chart, alt.LayerChart), "nothing here asks for facets"
    return chart
