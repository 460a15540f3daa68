"""Figures of pipelines: every file before any summary, then by size, by run, by parallelism, and what each part spends. Pure.

Drawn from the table `files` and from resources, like all figures from what was sealed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt
import numpy as np

from inrush.analysis.answer import Answer, groups
from inrush.analysis.points import Analysis, Measured, Point, is_number, say
from inrush.analysis.wording import say_bytes
from inrush.report.charts import (
    HEIGHT,
    PERCENT,
    WIDTH,
    Chart,
    Figure,
    Row,
    Spec,
    along,
    finished,
    inline,
    is_log,
    scale_of,
    ticks,
)
from inrush.stats import stats
from inrush.stats.files import Files, files_of
from inrush.text import number, percent

MB = 1e6
#: Panels under one another; more are a book.
MOST_PANELS = 6
MOST_GROUPS = 6
LEVEL = 0.95

Loaded = dict[float, list[tuple[Measured, Files]]]


def pipeline_figures(analysis: Analysis, answer: Answer) -> list[Figure]:
    """Nothing for a study without files."""
    every = list(loads(analysis, answer))
    drawn = (
        (boxes, f"Ingest rate of a file by {words(answer)}"),
        (repeatability, "Repeatability: the runs over one another"),
        (multiples, f"File after file, by {words(answer)}"),
        (convergence, "How soon the median is known"),
    )
    # One kind after the other, so that groups stand side by side; the samples themselves once, before any summary.
    summaries = [
        Figure(f"pipeline-{n}-{draw.__name__}", title + (f": {say(group)}" if group else ""), *made)
        for draw, title in drawn
        for n, (group, of) in enumerate(every)
        if (made := draw(of, answer)) is not None
    ]
    return [*files_figure(every, answer), *summaries]


def words(answer: Answer) -> str:
    return {"file_bytes": "size"}.get(along(answer), along(answer))


def shown(answer: Answer, value: float) -> str:
    return say_bytes(along(answer), value) if along(answer).endswith("_bytes") else number(value)


def panel_name(answer: Answer, value: float) -> str:
    """A size says what it is, a bare number does not."""
    caption = shown(answer, value)
    return caption if along(answer).endswith("_bytes") else f"{along(answer)} {caption}"


def loads(analysis: Analysis, answer: Answer) -> Iterator[tuple[Point, Loaded]]:
    """Group -> value of the swept factor -> its counted runs with their files."""
    factor = along(answer)
    for group, of in list(groups(analysis, answer.figure, factor, ()).items())[:MOST_GROUPS]:
        found: Loaded = {}
        for m in analysis.runs:
            value = dict(m.point).get(factor)
            if m.counts and m.point in of and is_number(value) and (files := files_of(m.run)) is not None:
                found.setdefault(float(value), []).append((m, files))  # type: ignore[arg-type]
        if found:
            yield group, dict(sorted(found.items()))


def rates(of: Sequence[tuple[Measured, Files]]) -> np.ndarray:
    return np.concatenate([files.bytes_per_s for _, files in of]) / MB


# Box and whisker: the sample is a file.


def boxes(of: Loaded, answer: Answer) -> tuple[str, Spec] | None:
    from inrush.report.curves import five_numbers

    order = [shown(answer, v) for v in of]
    rows: list[Row] = []
    out: list[Row] = []
    for value, runs in of.items():
        y = rates(runs)
        five = five_numbers(y)
        rows.append({"x": shown(answer, value), "n": len(y), **five})
        out += [{"x": shown(answer, value), "y": float(v)} for v in y if v < five["low"] or v > five["high"]]
    values = [r[k] for r in rows for k in ("low", "high")] + [r["y"] for r in out]
    y_scale = scale_of(values)
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("x:O", sort=order, title=words(answer), axis=alt.Axis(labelAngle=0))
    )
    tip = [alt.Tooltip("x:N", title=words(answer)), alt.Tooltip("n:Q", title="files"),
           *(alt.Tooltip(f"{k}:Q", format=".4g") for k in ("low", "q1", "median", "q3", "high"))]  # fmt: skip
    layers: list[Chart] = [
        base.mark_rule(style="whisker").encode(
            y=alt.Y("low:Q", scale=y_scale, title="MB/s of a file", axis=ticks(values, is_log(y_scale))),
            y2="high:Q",
        ),
        base.mark_bar(style="box", size=22).encode(y=alt.Y("q1:Q", scale=y_scale), y2="q3:Q", tooltip=tip),
        base.mark_line(style="medians").encode(y=alt.Y("median:Q", scale=y_scale)),
        base.mark_point(style="median", filled=True, size=22).encode(
            y=alt.Y("median:Q", scale=y_scale), tooltip=tip
        ),
    ]
    if out:
        layers.append(
            alt.Chart(inline(out))
            .mark_point(style="dot", size=16)
            .encode(x=alt.X("x:O", sort=order), y=alt.Y("y:Q", scale=y_scale))
        )
    caption = (
        "One sample is one file: its bytes divided by the time from its first byte read to its last row stored. Box: quartiles; "
        "whiskers: last file within 1.5 box lengths; points: files beyond; red line: medians."
    )
    return caption, finished(alt.layer(*layers))


# Every point, before any summary.


def files_figure(every: Sequence[tuple[Point, Loaded]], answer: Answer) -> list[Figure]:
    """All files of all groups in one figure: a panel a value, a colour a group."""
    values = sorted({value for _, of in every for value in of})
    chosen = values[-MOST_PANELS:]
    drawn = []
    for value in chosen:
        rows: list[Row] = [
            {"x": k, "y": float(s), "series": say(group) or "all", "run": f"run {m.run.block}"}
            for group, of in every
            for m, files in of.get(value, ())
            for k, s in enumerate(files.elapsed_s, 1)
        ]
        chart = panel(rows, "", "files of a run, in the order they began", value == chosen[-1])
        seconds = [float(str(r["y"])) for r in rows]
        y_scale = scale_of(seconds)
        title = f"{panel_name(answer, value)}, s"
        tip = [
            alt.Tooltip("series:N", title="group"),
            alt.Tooltip("run:N"),
            alt.Tooltip("y:Q", title="s", format=".4g"),
        ]
        y = alt.Y("y:Q", title=title, scale=y_scale, axis=ticks(seconds, is_log(y_scale)))
        chart = chart.encode(y=y, tooltip=tip)
        drawn.append(chart)
    if not drawn:
        return []
    note = "" if len(chosen) == len(values) else f" The {len(chosen)} largest of {len(values)}."
    caption = f"Seconds from first byte read to last row stored, one point a file, a colour a group; all counted runs.{note}"
    return [Figure("pipeline-files", "Every file of every run, in its order", caption, stacked(drawn))]


def panel(rows: Sequence[Row], y_title: str, x_title: str, last: bool, whole: bool = True) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(inline(rows))
        .mark_point(filled=True, size=26, opacity=0.8)
        .encode(
            x=alt.X("x:Q", axis=alt.Axis(title=x_title if last else None, labels=last, ticks=last, tickMinStep=1 if whole else alt.Undefined)),
            y=alt.Y("y:Q", title=y_title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=3, format=".3~g")),
            color=alt.Color("series:N", title=None, legend=alt.Legend(orient="top", symbolOpacity=1, labelLimit=260, offset=4)),
            tooltip=["series:N", alt.Tooltip("y:Q", format=".4g")],
        )
        .properties(width=WIDTH, height=HEIGHT // 3)
    )  # fmt: skip
    return chart


def stacked(drawn: Sequence[Chart]) -> Spec:
    chart: alt.VConcatChart = alt.vconcat(*drawn, spacing=8)
    chart.resolve = alt.Resolve(scale=alt.ScaleResolveMap(x="shared", color="shared"))
    return finished(chart)


# The same size again: do the runs agree?


def repeatability(of: Loaded, answer: Answer) -> tuple[str, Spec] | None:
    """At the value found, else at the largest: shares of files by their rate, a line a run."""
    value = answered(of, answer)
    if len(of[value]) < 2:
        return None
    rows = []
    for m, files in of[value]:
        y = np.sort(files.bytes_per_s / MB)
        rows += [
            {"x": float(v), "y": k / len(y), "share": percent(k / len(y)), "series": f"run {m.run.block}"}
            for k, v in enumerate(y, 1)
        ]
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("x:Q", title=f"MB/s of a file, {words(answer)} {shown(answer, value)}", scale=alt.Scale(zero=False)),
        y=alt.Y("y:Q", title="share of files at most so fast", axis=alt.Axis(labelExpr=PERCENT)),
        color=alt.Color("series:N", title=None, legend=alt.Legend(orient="top")),
        tooltip=["series:N", alt.Tooltip("x:Q", format=".4g"), alt.Tooltip("share:N", title="files")],
    )  # fmt: skip
    chart = alt.layer(base.mark_line(interpolate="step-after"), base.mark_point(filled=True, size=22))
    return (
        "Lines that lie on one another are runs that repeat; one that stands apart is a run that did not.",
        finished(chart),
    )


def answered(of: Loaded, answer: Answer) -> float:
    """The value that the answer names where it is one of these, else the largest."""
    best = [float(b) for p in answer.parts for b in p.best if is_number(b) and float(b) in of]
    return best[0] if best else max(of)


# Small multiples.


def multiples(of: Loaded, answer: Answer) -> tuple[str, Spec] | None:
    """Rate of each file over the time of a typical run, a panel for each value; worth drawing for parallel pipelines."""
    if all(int(files.pipeline.max()) == 0 for runs in of.values() for _, files in runs):
        return None
    drawn = []
    chosen = list(of.items())[:MOST_PANELS]
    top = max(float(files.bytes_per_s.max()) for _, runs in chosen for _, files in runs) / MB
    for value, runs in chosen:
        _, files = sorted(runs, key=lambda pair: pair[0].figures.get(answer.figure, 0.0))[len(runs) // 2]
        rows: list[Row] = [
            {"x": float(t), "y": float(y) / MB, "series": f"pipeline {p + 1}"}
            for t, y, p in zip(files.start_s, files.bytes_per_s, files.pipeline, strict=True)
        ]
        chart = panel(
            rows,
            f"{panel_name(answer, value)}, MB/s",
            "time at which the file began, s",
            value == chosen[-1][0],
            whole=False,
        )
        chart.encoding.y.scale = alt.Scale(domain=[0, 1.05 * top])
        chart.encoding.color.legend = None
        drawn.append(chart)
    caption = "Of each value its median run; a colour a pipeline. Files that slow down together wait for the same resource."
    return caption, stacked(drawn)


# Convergence.


def convergence(of: Loaded, answer: Answer) -> tuple[str, Spec] | None:
    """Running median over files in the order measured, with its interval by order statistics."""
    value = answered(of, answer)
    y = rates(sorted(of[value], key=lambda pair: (pair[0].run.block, pair[0].run.order)))
    rows: list[Row] = []
    for n in range(6, len(y) + 1):
        interval = stats.quantile_interval(y[:n], 0.5, LEVEL)
        if np.isfinite(interval.low) and np.isfinite(interval.high):
            rows.append({"x": n, "y": interval.value, "low": interval.low, "high": interval.high})
    if len(rows) < 2:
        return None
    base = alt.Chart(inline(rows)).encode(x=alt.X("x:Q", title="files so far", scale=alt.Scale(zero=False)))
    y_scale = alt.Scale(zero=False)
    tip = [
        alt.Tooltip("x:Q", title="files"),
        *(alt.Tooltip(f"{k}:Q", format=".4g") for k in ("low", "y", "high")),
    ]
    chart = alt.layer(
        base.mark_area(opacity=0.2, line=False).encode(y=alt.Y("low:Q", scale=y_scale, title="median MB/s of a file"), y2="high:Q"),
        base.mark_line().encode(y=alt.Y("y:Q", scale=y_scale), tooltip=tip),
    )  # fmt: skip
    caption = (
        f"Running median of {words(answer)} {shown(answer, value)} over the files of all runs, with its 95 % interval by order "
        "statistics. Files of one run are not independent: the interval between runs is that of the answer."
    )
    return caption, finished(chart)
