"""Latency: quantile curves from merged histograms. Pure."""

from __future__ import annotations

import altair as alt
import numpy as np

from inrush.analysis.answer import Answer
from inrush.analysis.points import Analysis, roles
from inrush.border.pipeline import each_role
from inrush.report.charts import (
    Figure,
    Row,
    finished,
    in_time_units,
    inline,
    is_log,
    label,
    labels,
    scale_of,
    ticks,
)
from inrush.report.drawn import series_of, shown_points
from inrush.results.histogram import Histogram
from inrush.stats import quantity
from inrush.text import percent

#: Fewer calls are no curve.
LEAST_CALLS = 10


def percentiles(analysis: Analysis, answer: Answer) -> list[Figure]:
    """x = -log10(1 - q), so that every nine is as wide as the last; one figure per role."""
    wanted = shown_points(analysis, answer)
    found = []
    for role in roles(analysis):
        held = {
            p: h
            for (p, r), h in analysis.latencies.items()
            if r == role and p in wanted and h.calls >= LEAST_CALLS
        }
        if not held:
            continue
        names = labels(list(held), analysis)
        rows = [
            row
            for p, h in held.items()
            for row in quantile_rows(h, series_of(analysis, f"{role}.latency_p99_s", names[p], {p: {}}))
        ]
        if not rows:
            continue
        without = [
            f"{percent(h.failed / h.calls, 2)} of {label(p, analysis)}" for p, h in held.items() if h.failed
        ]
        slower = f" These are slower than all others: {', '.join(without)}." if without else ""
        marks = {
            0.0: "0 %",
            **{float(k): f"{100 - 10 ** (2 - k):.10g} %" for k in range(1, 9)},
        }
        last = max(r["x"] for r in rows)
        shown = {k: v for k, v in marks.items() if k <= last + 0.05}
        texts = " : ".join(f"abs(datum.value - {k}) < 0.001 ? '{v}'" for k, v in shown.items()) + " : ''"
        x = alt.X(
            "x:Q",
            title="percentile",
            axis=alt.Axis(values=list(shown), labelExpr=texts),
        )
        values = [r["latency"] for r in rows]
        y_scale = scale_of(values)
        chart = (
            alt.Chart(inline(rows))
            .mark_line(interpolate="step-before")
            .encode(
                x=x,
                y=alt.Y("latency:Q", scale=y_scale, axis=in_time_units(ticks(values, is_log(y_scale))), title="latency"),
                color=alt.Color("series:N", title=None, legend=alt.Legend(orient="top", columns=1, labelLimit=300)),
                tooltip=["series:N", alt.Tooltip("q:N", title="quantile"), alt.Tooltip("shown:N", title="latency"), alt.Tooltip("n:Q", format=",", title="calls")],
            )
        )  # fmt: skip
        closed = (
            " Closed schedule: a call was due when the one before had ended, so latency contains no queueing."
        )
        found.append(Figure(
            f"latency-{role}", f"Latency of {role}",
            "From merged histograms of all runs; a curve ends at 1 − 1/n, or at calls without a time." + slower
            + (closed if is_closed(analysis, role) else ""),
            finished(chart),
            tuple((f"{role}.latency_p99_s", p) for p in held),
        ))  # fmt: skip
    return found


def quantile_rows(histogram: Histogram, series: str) -> list[Row]:
    last = np.log10(histogram.calls) if histogram.calls > 1 else 0.0
    nines = np.unique(np.round(np.append(np.arange(0, last, 0.05), last), 4))
    return [
        {
            "x": float(x),
            "q": f"{100 * (1 - 10**-x):.6g} %",
            "latency": ns / 1e9,
            "shown": quantity.show(ns / 1e9, "latency_s"),
            "series": series,
            "n": histogram.calls,
        }
        for x in nines
        if np.isfinite(ns := histogram.quantile_ns(1 - 10 ** -float(x)))
    ]


def is_closed(analysis: Analysis, role: str) -> bool:
    return all(
        r["schedule"]["kind"] == "closed"
        for m in analysis.runs
        for _, r in each_role(m.run.plan)
        if r["name"].split("/")[0] == role
    )
