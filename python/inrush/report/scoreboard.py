"""The scoreboard: every claim ever frozen, what came of it, and how good they are together. One offline page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from inrush.model.score import board
from inrush.predict.board import (
    BOARD_HEADER,
    Entry,
    beside,
    board_row,
    counts,
    groups,
    knee_line,
    knees,
    schedule_line,
    schedules,
    scores_of,
)
from inrush.report.charts import PERCENT, Figure, Row, finished, inline, scale_of
from inrush.report.html import number, section, table
from inrush.report.page import chart_specs, figure_cards, shell
from inrush.stats.quantity import show
from inrush.text import number as plain_number
from inrush.text import percent

BADGES = {
    "confirmed": "pass",
    "inconclusive": "note",
    "rejected": "invalid-badge",
    "invalid": "invalid-badge",
    "open": "note",
}


def write_scoreboard(entries: Sequence[Entry], path: Path) -> None:
    """Writes the page; entries: claims, oldest first, with their scores."""
    from inrush.report.draw import script, themes

    figures = charts(entries)
    html = scoreboard_page(entries, figures, themes(), script() if figures else "")
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".tmp")
    half.write_text(html, encoding="utf-8")
    half.replace(path)


def scoreboard_page(
    entries: Sequence[Entry], figures: Sequence[Figure], themes: Mapping[str, Any], script: str
) -> str:
    specs = chart_specs(figures)
    caption = ", ".join(f"{n} {verdict}" for verdict, n in counts(entries).items()) or "nothing claimed yet"
    body = "\n".join(part for part in (
        '<header class="top"><span><b>inrush</b> scoreboard</span><button id="theme" type="button">Dark</button></header>',
        "<h1>Predictions, scored</h1>",
        '<p class="question">Each claim was frozen with its hash before the run that it is about, and scored once.</p>',
        f'<div class="answer"><span class="label">Claims</span><p class="said">{escape(caption)}.</p></div>',
        section("Together", together(entries)),
        section("Beside simpler claims", beside_table(entries)),
        section("Knees", knees_table(entries)),
        section("Figures", figure_cards(figures, specs)),
        section("Every claim", claims_table(entries)),
    ) if part)  # fmt: skip
    return shell("Predictions, scored", body, specs, themes, script)


def together(entries: Sequence[Entry]) -> str:
    whole = board([s for _, s in scores_of(entries)])
    if whole is None:
        return '<p class="expected">No claim has a score yet.</p>'
    rows = [board_row("all", whole)]
    for name, of in groups(entries).items():
        rows += [board_row(f"{name}: {k}", b) for k, b in of.items()]
    caption = (
        "Error: |observed − claimed| / observed. Inside: share of observations in their interval, with its own 95 % interval. "
        "Skill: 1 − |error| / |error of a simpler claim| on logs; 100 % is perfect, 0 % no better."
    )
    header = [BOARD_HEADER[0], *(f"#{h}" for h in BOARD_HEADER[1:6]), BOARD_HEADER[6]]
    cells = [[escape(r[0]), *(number(c) for c in r[1:6]), escape(r[6])] for r in rows]
    return f'<p class="expected">{escape(caption)}</p>{table(header, cells)}'


def knees_table(entries: Sequence[Entry]) -> str:
    """Empty, and left out of the page, where no run went beyond a claimed knee."""
    found, right = knees(entries), schedules(entries)
    schedule = f'<p class="expected">{escape(schedule_line(right))}.</p>' if right else ""
    if not found:
        return schedule
    caption = f"{knee_line(found)}. Seen: the load at which proportion would have reached the highest rate of a curve that levelled off."
    rows = [
        [
            escape(k.name),
            number(f"{k.claimed:.3g}"),
            number(f"{k.seen:.3g}"),
            number(percent(k.error, 1)),
        ]
        for k in found
    ]
    return f'<p class="expected">{escape(caption)}</p>{table(["claim", "#claimed", "#seen", "#off by"], rows)}{schedule}'


def beside_table(entries: Sequence[Entry]) -> str:
    rows = [
        [
            escape(b.name),
            number(str(b.n)),
            number(percent(b.median_error, 1)),
            number(percent(b.p90_error, 1)),
        ]
        for b in beside(entries)
    ]
    return table(["", "#n", "#median error", "#p90 error"], rows)


def claims_table(entries: Sequence[Entry]) -> str:
    header = [
        "claim, and its hash",
        "verdict",
        "#at",
        "#claimed",
        "#interval",
        "#observed",
        "#off by",
        "model",
        "full",
    ]
    return table(header, [claim_cells(doc, s) for doc, s in reversed(entries)])


def claim_cells(doc: Mapping[str, Any], s: Mapping[str, Any] | None) -> list[str]:
    made, figure = doc["forecast"], doc["figure"]
    verdict = "open" if s is None else str(s["verdict"])
    held = s if s is not None and verdict != "invalid" else None
    bounds = f"{show(made['lo'], figure)} to {show(made['hi'], figure)}"
    seen = (
        f"{held['bottleneck_seen']}, claimed {made['bottleneck']}"
        if held and held["bottleneck_seen"]
        else (made["bottleneck"] or "")
    )
    return [
        f"{escape(str(doc['id']))}<br><code>{doc['sha256'][:12]}</code>", f'<span class="badge {BADGES[verdict]}">{verdict}</span>',
        number(f"{doc['along']} {plain_number(made['x'])}"), number(show(made["median"], figure)), number(bounds),
        number(show(held["observed"], figure)) if held else "",
        number(percent(held['error'], 1)) if held else "", escape(str(made["model"])), escape(seen),
    ]  # fmt: skip


def charts(entries: Sequence[Entry]) -> list[Figure]:
    """Claimed against observed, and errors by reach; none without scores."""
    import altair as alt

    rows: list[Row] = []
    for doc, s in scores_of(entries):
        made = doc["forecast"]
        rows.append({"id": doc["id"], "ratio": s.observed / made["median"], "low": made["lo"] / made["median"],
                     "high": made["hi"] / made["median"], "reach": made["reach"], "model": made["model"],
                     "inside": "inside" if s.inside else "outside", "error": s.error, "error_shown": percent(s.error, 1)})  # fmt: skip
    if not rows:
        return []
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("id:N", title=None, sort=None, axis=alt.Axis(labelLimit=300)),
        color=alt.Color("inside:N", title=None, sort=["inside", "outside"], legend=alt.Legend(orient="top")),
    )
    spread = scale_of([v for r in rows for v in (r["ratio"], r["low"], r["high"])])
    tip = ["id:N", "model:N", alt.Tooltip("ratio:Q", format=".3f", title="observed / claimed")]
    line = alt.Chart(inline([{"one": 1.0}])).mark_rule(strokeDash=[4, 4], style="whisker").encode(x="one:Q")
    each = alt.layer(
        base.mark_rule(strokeWidth=3, opacity=0.45).encode(
            x=alt.X("low:Q", title="observed / claimed", scale=spread), x2="high:Q"
        ),
        base.mark_point(filled=True, size=70).encode(x=alt.X("ratio:Q", scale=spread), tooltip=tip),
        line,
    )
    reach = (
        alt.Chart(inline(rows))
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("reach:Q", title="target over the largest load measured", scale=alt.Scale(zero=False)),
            y=alt.Y("error:Q", title="error", axis=alt.Axis(labelExpr=PERCENT)),
            color=alt.Color("model:N", title=None, legend=alt.Legend(orient="top")),
            tooltip=["id:N", alt.Tooltip("error_shown:N", title="error")],
        )
    )
    first = finished(each) | {"height": max(120, 24 * len(rows))}
    return [
        Figure("claims", "Observed over claimed", "Points are runs, lines the claimed intervals; 1 is a perfect claim.", first),
        Figure("reach", "Errors by reach", "How far beyond the largest load measured a claim went, and how wrong it was.", finished(reach)),
    ]  # fmt: skip
