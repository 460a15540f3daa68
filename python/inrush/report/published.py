"""Figures that others published, beside ours, with the hardware of both named. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from inrush.analysis.answer import Answer
from inrush.analysis.effects import effects
from inrush.analysis.points import Analysis, Point, is_number, say
from inrush.analysis.wording import centre, name, plain
from inrush.metrics import lower_is_better
from inrush.report.charts import Figure, Row, finished, inline, scale_of
from inrush.stats import quantity
from inrush.study.claims import ANSWER, COST_OF, DIVIDED_BY


def beside_published(analysis: Analysis, answer: Answer | None) -> list[Figure]:
    rows = [r for r in published_rows(analysis, answer) if is_number(r["value"])]
    found = []
    for n, claim in enumerate(dict.fromkeys(r["claim"] for r in rows)):
        mine = [r for r in rows if r["claim"] == claim]
        if not any(r["origin"] == "ours" for r in mine):
            continue
        chart = (
            alt.Chart(inline(mine))
            .mark_point(filled=True, size=90)
            .encode(
                x=alt.X("value:Q", title=mine[0]["unit"], scale=scale_of([r["value"] for r in mine])),
                y=alt.Y("name:N", title=None, sort=[r["name"] for r in mine], axis=alt.Axis(labelLimit=260)),
                color=alt.Color(
                    "origin:N", title=None, sort=["ours", "published"], legend=alt.Legend(orient="top")
                ),
                tooltip=["name:N", alt.Tooltip("value:Q", format=".4g"), "hardware:N"],
            )
        )
        found.append(Figure(
            f"published-{n}", f"Published beside ours: {claim}",
            "Hardware and years differ, so this is no contest. The table names the machines.", finished(chart),
        ))  # fmt: skip
    return found


def published_rows(analysis: Analysis, answer: Answer | None) -> list[Row]:
    """Claims of others, each followed by ours where the study says what stands beside it."""
    rows: list[Row] = []
    host = hardware(analysis)
    for p in analysis.study.get("published") or ():
        for label, given in dict(p["values"]).items():
            value = int(given) if isinstance(given, float) and given.is_integer() else given
            rows.append({"claim": p["claim"], "unit": p["unit"], "name": f"{label} ({p['source']})", "value": value,
                         "origin": "published", "hardware": p["hardware"], "about": p.get("about", "")})  # fmt: skip
        rows += [
            {"claim": p["claim"], "unit": p["unit"], "name": f"{label} (ours)", "value": value, "origin": "ours",
             "hardware": host, "about": about}
            for label, value, about in ours(analysis, answer, p)
        ]  # fmt: skip
    return rows


def ours(analysis: Analysis, answer: Answer | None, claim: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
    """Name, value and what it is. `beside` names one of our figures, a quotient of two, `answer` (the value that the study
    found best, per group) or `cost of <factor>` (in % of the answer's figure)."""
    beside, where = str(claim.get("beside") or ""), dict(claim.get("where") or {})
    if beside == ANSWER:
        return [
            (say(tuple((k, v) for k, v in part.group if k not in where)) or "best", part.best[0], f"best {answer.along}")
            for part in (answer.parts if answer else ())
            if answer and part.best and agrees(part.group, where)
        ]  # fmt: skip
    if beside.startswith(COST_OF):
        factor = beside.removeprefix(COST_OF)
        found = effects(analysis, answer.figure) if answer else []
        return [
            (f"{factor} {plain(e.base)} to {plain(e.value)}", round(100 * (e.ratio.value - 1), 1),
             f"95 %: {100 * (e.ratio.low - 1):.1f} to {100 * (e.ratio.high - 1):.1f}")
            for e in found
            if e.factor == factor
        ]  # fmt: skip
    return at_best_points(analysis, beside, where, claim["unit"]) if beside else []


def at_best_points(
    analysis: Analysis, figure: str, where: Mapping[str, Any], unit: str
) -> list[tuple[str, Any, str]]:
    """The centre of the runs at the best valid point that agrees with the claim's `where`, per engine. figure: or a quotient of two."""
    over, _, under = figure.partition(DIVIDED_BY)
    best: dict[str, float] = {}
    for point, of in quotients(analysis, over, under).items():
        broken = any(analysis.broken(one, point) for one in (over, under) if one)
        if of and not broken and agrees(point, where):
            value, engine = centre(of), str(dict(point)["engine"])
            choose = min if lower_is_better(over) else max
            best[engine] = choose(best.get(engine, value), value)
    called = DIVIDED_BY.join(name(one) for one in (over, under) if one)
    return [(e, float(f"{in_unit(value, unit):.4g}"), called) for e, value in best.items()]


def quotients(analysis: Analysis, over: str, under: str) -> Mapping[Point, Mapping[int, float]]:
    """Point -> block -> one figure by another of the same run; without `under` the one figure."""
    found = analysis.values(over)
    if not under:
        return found
    by = analysis.values(under)
    return {
        point: {
            block: value / by[point][block] for block, value in of.items() if by.get(point, {}).get(block)
        }
        for point, of in found.items()
    }


def agrees(point: Point, where: Mapping[str, Any]) -> bool:
    held = dict(point)
    return all(held.get(k) == v for k, v in where.items())


def hardware(analysis: Analysis) -> str:
    """This machine, as those of others are described: processor, cores, memory."""
    env = analysis.runs[0].run.env if analysis.runs else {}
    facts = [str(env.get("cpu_model", "this machine"))]
    if "cpu_logical" in env:
        facts.append(f"{env['cpu_logical']} cores")
    if "mem_total_bytes" in env:
        facts.append(quantity.show(float(env["mem_total_bytes"]), "bytes"))
    return ", ".join(facts)


def in_unit(value: float, unit: str) -> float:
    """Our seconds in the unit of a claim; figures in other units are ours already."""
    return value * {"ms": 1e3, "us": 1e6, "µs": 1e6, "min": 1 / 60, "h": 1 / 3600}.get(
        unit.split("/")[0].strip(), 1.0
    )
