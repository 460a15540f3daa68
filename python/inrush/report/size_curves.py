"""The report's figure of sizes over rows, where a study asks for them (`record.sizes_s`)."""

from __future__ import annotations

import altair as alt

from inrush.analysis.answer import Answer
from inrush.analysis.points import Analysis, Point
from inrush.report.charts import Figure, Row, finished, inline, label
from inrush.report.timeline import typical_runs
from inrush.stats.sizes import sizes_over_rows

MB = 1e6


def size_curves(analysis: Analysis, answer: Answer, points: list[Point]) -> list[Figure]:
    """One figure per engine: its run nearest the median."""
    found = []
    for n, m in enumerate(typical_runs(analysis, answer.figure, points)):
        rows: list[Row] = [
            {"x": float(x), "y": float(y) / MB, "series": name}
            for name, (at, size) in sizes_over_rows(m.run).items()
            for x, y in zip(at, size, strict=True)
        ]
        if len({r["x"] for r in rows}) < 2:
            continue
        chart = (
            alt.Chart(inline(rows))
            .mark_line(point=True)
            .encode(
                x=alt.X("x:Q", title="rows stored", axis=alt.Axis(format="~s")),
                y=alt.Y("y:Q", title="size, MB", scale=alt.Scale(zero=True)),
                color=alt.Color("series:N", title=None, legend=alt.Legend(orient="top", columns=1)),
                tooltip=[alt.Tooltip("series:N"), alt.Tooltip("x:Q", title="rows", format=","), alt.Tooltip("y:Q", title="MB", format=".4g")],
            )
        )  # fmt: skip
        found.append(Figure(
            f"sizes-{n}", f"Sizes over rows: {label(m.point, analysis)}",
            f"Run {m.run.run_id}, the one nearest the median; as the engine itself reports them while rows come in.",
            finished(chart),
        ))  # fmt: skip
    return found
