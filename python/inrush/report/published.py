"""Figures that others published, beside ours, with the hardware of both named. Pure."""

from __future__ import annotations

import altair as alt
import numpy as np

from inrush.report.charts import Figure, Row, finished, inline, scale_of
from inrush.stats import quantity
from inrush.stats.answer import name
from inrush.stats.points import Analysis, is_number, lower_is_better


def beside_published(analysis: Analysis) -> list[Figure]:
    rows = [r for r in published_rows(analysis) if is_number(r["value"])]
    found = []
    for n, claim in enumerate(dict.fromkeys(r["claim"] for r in rows)):
        mine = [r for r in rows if r["claim"] == claim]
        if not any(r["whose"] == "ours" for r in mine):
            continue
        chart = (
            alt.Chart(inline(mine))
            .mark_point(filled=True, size=90)
            .encode(
                x=alt.X("value:Q", title=mine[0]["unit"], scale=scale_of([r["value"] for r in mine])),
                y=alt.Y("who:N", title=None, sort=[r["who"] for r in mine], axis=alt.Axis(labelLimit=260)),
                color=alt.Color(
                    "whose:N", title=None, sort=["ours", "published"], legend=alt.Legend(orient="top")
                ),
                tooltip=["who:N", alt.Tooltip("value:Q", format=".4g"), "hardware:N"],
            )
        )
        found.append(Figure(
            f"published-{n}", f"Published beside ours: {claim}",
            "Different hardware and years: a place to stand, not a race. The table names the machines.", finished(chart),
        ))  # fmt: skip
    return found


def published_rows(analysis: Analysis) -> list[Row]:
    """Claims of others, each followed by ours where the study says which figure stands beside it.

    Ours is the median at the best point that agrees with the claim's `where`, per engine.
    """
    rows: list[Row] = []
    for p in analysis.study.get("published") or ():
        for who, given in dict(p["values"]).items():
            value = int(given) if isinstance(given, float) and given.is_integer() else given
            rows.append({"claim": p["claim"], "unit": p["unit"], "who": f"{who} ({p['source']})", "value": value,
                         "whose": "published", "hardware": p["hardware"], "about": p.get("about", "")})  # fmt: skip
        figure = p.get("beside")
        if not figure:
            continue
        best: dict[str, float] = {}
        for point, of in analysis.values(figure).items():
            held = dict(point)
            if all(held.get(k) == v for k, v in dict(p.get("where") or {}).items()):
                value, engine = float(np.median(list(of.values()))), str(held["engine"])
                choose = min if lower_is_better(figure) else max
                best[engine] = choose(best.get(engine, value), value)
        host = hardware(analysis)
        rows += [
            {"claim": p["claim"], "unit": p["unit"], "who": f"{engine} (ours)", "value": float(f"{in_unit(value, p['unit']):.4g}"),
             "whose": "ours", "hardware": host, "about": name(figure)}
            for engine, value in best.items()
        ]  # fmt: skip
    return rows


def hardware(analysis: Analysis) -> str:
    """Ours, as the others' is told: processor, cores, memory."""
    env = analysis.runs[0].run.env if analysis.runs else {}
    told = [str(env.get("cpu_model", "this machine"))]
    if "cpu_logical" in env:
        told.append(f"{env['cpu_logical']} cores")
    if "mem_total_bytes" in env:
        told.append(quantity.show(float(env["mem_total_bytes"]), "bytes"))
    return ", ".join(told)


def in_unit(value: float, unit: str) -> float:
    """Our seconds in the unit of a claim; figures in other units are ours already."""
    return value * {"ms": 1e3, "us": 1e6, "µs": 1e6, "min": 1 / 60, "h": 1 / 3600}.get(
        unit.split("/")[0].strip(), 1.0
    )
