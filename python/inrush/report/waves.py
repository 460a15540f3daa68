"""Is there a wave? Throughput of a typical run with its period marked, and the spectrum that decides it. Pure."""

from __future__ import annotations

import altair as alt
import numpy as np

from inrush.analysis.answer import Answer
from inrush.analysis.points import Analysis
from inrush.analysis.waves import claimed_points
from inrush.guards.waves import cause_said
from inrush.report.charts import HEIGHT, WIDTH, Figure, Row, finished, inline, label
from inrush.report.drawn import shown_points
from inrush.report.timeline import thinned, typical_runs
from inrush.stats import series
from inrush.stats.waves import RoleWave, waves_of_run
from inrush.text import percent

#: Figures of a report, and of them those of one run.
MOST_FIGURES, MOST_ROLES = 6, 3
#: Periods that are drawn, so that each can be seen.
MOST_PERIODS = 24
#: Bins of a spectrum, each with its highest power.
BINS = 240


def wave_figures(analysis: Analysis, answer: Answer) -> list[Figure]:
    """Of the typical run of each engine, and of points with a wave that several runs agree on: the roles that swing first."""
    points = list(dict.fromkeys([*claimed_points(analysis), *shown_points(analysis, answer)]))
    found: list[Figure] = []
    for m in typical_runs(analysis, answer.figure, points):
        judged = sorted(waves_of_run(m.run), key=lambda w: w.wave.p)
        found += [
            Figure(
                f"wave-{len(found) + n}", f"Does throughput of {w.of.name} swing? {label(m.point, analysis)}",
                f"Run {m.run.run_id}. {verdict(w)} Above: throughput{marked(w)}. Below: power of each period over noise of the same "
                "memory; a wave exceeds the dashed line.",
                finished(chart(w)),
                ((answer.figure, m.point),),
            )
            for n, w in enumerate(judged[:MOST_ROLES])
        ]  # fmt: skip
    return found[:MOST_FIGURES]


def verdict(w: RoleWave) -> str:
    if not w.wave.found:
        return "No wave: no period stands out of the noise."
    said = f"A wave of ±{percent(w.wave.amplitude)} every {w.period_s:.3g} s"
    if w.artefact is not None:
        return f"{said}, an artefact of the generator: {w.artefact}."
    return f"{said}. {cause_said(w)}"


def marked(w: RoleWave) -> str:
    if not w.wave.found:
        return ""
    shown = f", {MOST_PERIODS} periods of it" if len(w.of.t_s) > MOST_PERIODS * w.wave.period else ""
    return f"{shown}, a rule each {w.period_s:.3g} s at its low"


def chart(w: RoleWave) -> alt.VConcatChart:
    return alt.vconcat(course(w), powers(w), spacing=16)


def course(w: RoleWave) -> alt.LayerChart:
    """Throughput over time; from the highest of some first values on the rules come at equal distances."""
    t = w.of.t_s - w.of.t_s[0]
    wanted = np.ones(len(t), np.bool_)
    if w.wave.found:
        wanted = t <= MOST_PERIODS * w.period_s
    rows = thinned(t[wanted], w.of.rate[wanted], w.of.name)
    y = alt.Y(
        "y:Q",
        title=w.of.unit,
        scale=alt.Scale(domain=[0, 1.08 * (max(r["y"] for r in rows) or 1.0)], nice=False),
        axis=alt.Axis(tickCount=4, format="~s", labelExpr="datum.value === 0 ? '0' : datum.label"),
    )
    x = alt.X("t:Q", title="time, s", scale=alt.Scale(nice=False))
    line = alt.Chart(inline(rows)).mark_line(interpolate="step-after").encode(x=x, y=y)
    rules = (
        alt.Chart(inline(lows(w, float(t[wanted][-1]))))
        .mark_rule(strokeDash=[3, 3], style="whisker")
        .encode(x="t:Q")
    )
    layers = [line, rules] if w.wave.found else [line]
    drawn: alt.LayerChart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT // 3)
    return drawn


def lows(w: RoleWave, until_s: float) -> list[Row]:
    """Times of the lowest point of the mean period, again and again."""
    phase = (np.arange(len(w.of.rate)) % w.wave.period) / w.wave.period
    bins = np.minimum((phase * 20).astype(int), 19)
    means = np.array([w.of.rate[bins == b].mean() if (bins == b).any() else np.inf for b in range(20)])
    first_s = (int(means.argmin()) + 0.5) / 20 * w.period_s
    return [{"t": round(float(at), 4)} for at in np.arange(first_s, until_s, w.period_s)]


def powers(w: RoleWave) -> alt.LayerChart:
    spectrum = series.spectrum(w.of.rate)
    assert spectrum is not None, "its series was looked at for waves"
    rows = highest(spectrum, w.of.dt_s)
    top = 1.1 * max(spectrum.threshold, max(r["power"] for r in rows))
    x = alt.X(
        "period:Q",
        title="period, s",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~g"),
    )
    y = alt.Y(
        "power:Q",
        title="over noise",
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(tickCount=4),
    )
    line = alt.Chart(inline(rows)).mark_line().encode(x=x, y=y, tooltip=["period:Q", "power:Q"])
    rule = (
        alt.Chart(inline([{"power": spectrum.threshold}]))
        .mark_rule(strokeDash=[6, 4], style="ideal")
        .encode(y="power:Q")
    )
    drawn: alt.LayerChart = alt.layer(line, rule).properties(width=WIDTH, height=HEIGHT // 3)
    return drawn


def highest(spectrum: series.Spectrum, dt_s: float) -> list[Row]:
    """Of each bin of periods, equal on a log axis, the highest power."""
    logs = np.log(spectrum.period)
    bins = np.minimum(((logs - logs.min()) / (np.ptp(logs) or 1.0) * BINS).astype(int), BINS - 1)
    best: dict[int, int] = {}
    for i, b in enumerate(bins.tolist()):
        if b not in best or spectrum.ratio[i] > spectrum.ratio[best[b]]:
            best[b] = i
    return [
        {"period": float(f"{spectrum.period[i] * dt_s:.4g}"), "power": float(f"{spectrum.ratio[i]:.4g}")}
        for _, i in sorted(best.items())
    ]
