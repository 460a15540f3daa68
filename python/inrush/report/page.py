"""The page's HTML: sections in the order a reader asks, everything escaped. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from inrush.guards.study import roles
from inrush.guards.verdicts import Outcome, by_guard, is_embedded, survives
from inrush.report.charts import Figure
from inrush.report.draw import asset
from inrush.report.published import published_rows
from inrush.stats import quantity
from inrush.stats.answer import Answer, name, plain, times
from inrush.stats.claims import COLUMNS, claim_rows, judged_claims
from inrush.stats.effects import effects
from inrush.stats.points import Analysis, Measured, Point, PointSummary, say

Cells = Sequence[str]
#: Where a live page says what is going on.
NOW_BEGINS, NOW_ENDS = "<!--now-->", "<!--/now-->"
#: Latency quantiles of the point table.
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
#: A page's first tables; the rest is one click away.
ROWS_OPEN = 40


@dataclass(frozen=True)
class Live:
    """Of a study that still runs: runs sealed and planned, and how often the browser loads the page again."""

    sealed: int
    planned: int
    every_s: int


def page(
    analysis: Analysis,
    answer: Answer | None,
    figures: Sequence[Figure],
    themes: Mapping[str, Any],
    script: str,
    live: Live | None = None,
) -> str:
    """The whole page. script: the bundle that sets `vegaEmbed`; without figures it is left out."""
    study = analysis.study
    title = str(study.get("title") or study.get("study") or "inrush")
    specs = chart_specs(figures)
    body = "\n".join(section for section in (
        top(analysis), f"<h1>{escape(title)}</h1>", asked(study), live_banner(analysis, live), banner(analysis),
        answered(analysis, answer),
        section("Verdicts", guards_table(analysis)),
        section("Figures", figure_cards(figures, specs)),
        section("Published claims, tried here", claims_table(analysis)),
        section("Published beside ours", published_table(analysis, answer)),
        section("What each factor costs", effects_table(analysis, answer)),
        section("Every point", points_table(analysis, answer)),
        section("Stopped, unsupported and left out", absent_table(analysis)),
        section("Settings, durability, versions", settings(analysis)),
        section("Machine", machine(analysis)),
        section("Order of runs", runs_table(analysis, answer)),
        section("Reproduce", reproduce(analysis)),
    ) if section)  # fmt: skip
    return shell(title, body, specs, themes, script, live.every_s if live else None)


def shell(
    title: str,
    body: str,
    specs: Sequence[Mapping[str, Any]],
    themes: Mapping[str, Any],
    script: str,
    renew_s: int | None = None,
) -> str:
    """A whole offline page around sections and charts; without charts the bundle that draws them is left out.

    renew_s: the browser loads it again so often, without a script.
    """
    renewed = f'<meta http-equiv="refresh" content="{renew_s}">\n' if renew_s else ""
    if specs:
        scripts = (
            f'<script type="module">{script}</script>\n'
            f'<script type="application/json" id="specs">{data(specs)}</script>\n'
            f'<script type="application/json" id="themes">{data(themes)}</script>\n'
        )
    else:
        scripts = '<script type="application/json" id="specs">[]</script><script type="application/json" id="themes">{}</script>\n'
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)} · inrush</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'{renewed}<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<style>{asset('report.css')}</style></head>\n<body><main>\n{body}\n"
        "<footer>Made by inrush from sealed runs. Intervals are 95 % unless they say otherwise; percentiles come from merged "
        "histograms.</footer></main>\n"
        f'{scripts}<script type="module">{asset("report.js")}</script>\n</body></html>\n'
    )


def chart_specs(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    return [{"id": f"fig-{f.name}".replace("/", "-"), "spec": f.spec} for f in figures]


def data(value: Any) -> str:
    """JSON that cannot end its script element early."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def section(title: str, inner: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{inner}</section>" if inner else ""


def top(analysis: Analysis) -> str:
    study = analysis.study
    what = " · ".join(str(study[k]) for k in ("study", "scale", "id") if study.get(k))
    return f'<header class="top"><span><b>inrush</b> {escape(what)}</span><button id="theme" type="button">Dark</button></header>'


def asked(study: Mapping[str, Any]) -> str:
    parts = []
    if study.get("question"):
        parts.append(f'<p class="question">{escape(str(study["question"]))}</p>')
    if study.get("scale") in ("xs", "s"):
        parts.append(
            f'<p class="expected">Asked here at scale {escape(str(study["scale"]))}: with fewer rows and values than the question says.</p>'
        )
    if study.get("expect"):
        parts.append(
            f'<p class="expected"><b>Expected, written before the first run</b><br>{escape(str(study["expect"]))}</p>'
        )
    return "\n".join(parts)


def live_banner(analysis: Analysis, live: Live | None) -> str:
    """What is going on, and what is missing in what follows."""
    if live is None:
        return ""
    measured = {p for p in analysis.points if any(m.counts and m.point == p for m in analysis.runs)}
    told = {str(m.run.labels.get("point", "")) for m in analysis.runs if m.point in measured}
    planned = dict.fromkeys(str(r["point"]) for r in analysis.study.get("planned", ()) if r["block"] > 0)
    missing = [p for p in planned if p not in told]
    without = f"{len(missing)} point{'s have' if len(missing) != 1 else ' has'} no measured run yet"
    listed = f"<details><summary>{without}</summary>{escape(', '.join(missing))}</details>" if missing else ""
    return (
        f'<div class="banner live" role="status"><b>LIVE</b> {NOW_BEGINS}{NOW_ENDS}<p>Drawn from {live.sealed} of {live.planned} '
        f"runs; this page renews itself every {live.every_s} s. Answers and intervals will change until all runs are "
        f"sealed.</p>{listed}</div>"
    )


def banner(analysis: Analysis) -> str:
    if analysis.valid:
        return ""
    broken = [g for g, v in by_guard(analysis.verdicts).items() if v[0][1].outcome is Outcome.INVALID]
    return f'<div class="banner" role="alert">INVALID. {escape(", ".join(broken).capitalize())}: see the verdicts before any figure.</div>'


def answered(analysis: Analysis, answer: Answer | None) -> str:
    if answer is None or not answer.parts:
        said = '<p class="said">No counted run measured what was asked.</p>'
    else:
        shown = [f'<p class="said">{escape(p.sentence)}.</p>' for p in answer.parts]
        said = "\n".join(shown[:6])
        if len(shown) > 6:
            said += f"<details><summary>{len(shown) - 6} more groups</summary>{''.join(shown[6:])}</details>"
    crossed = "".join(
        f'<p><span class="badge note">limit crossed</span> {escape(c)}</p>' for c in analysis.crossed
    )
    kind = "answer" if analysis.valid else "answer invalid"
    return f'<div class="{kind}"><span class="label">Answer</span> {badge(analysis.outcome)}\n{said}{crossed}</div>'


def badge(outcome: Outcome) -> str:
    words = {
        Outcome.PASS: ("pass", "valid"),
        Outcome.NOTE: ("note", "valid, with notes"),
        Outcome.INVALID: ("invalid-badge", "INVALID"),
    }
    kind, word = words[outcome]
    return f'<span class="badge {kind}">{word}</span>'


def guards_table(analysis: Analysis) -> str:
    """One line per guard: the worst outcome, how often, the worst sentence and where; what passed, one click away."""
    rows: dict[bool, list[Cells]] = {False: [], True: []}
    held = by_guard(analysis.verdicts)
    for guard, found in sorted(held.items(), key=lambda item: -item[1][0][1].outcome.weight):
        worst = found[0][1].outcome
        same = [(where, v) for where, v in found if v.outcome is worst]
        where = same[0][0]
        spread = f"{len(same)}&nbsp;of&nbsp;{len(found)}&nbsp;runs" if where else "study"
        told = prose(same[0][1].sentence) + (
            f" <code>{escape(where)}</code>" if where and len(same) < len(found) else ""
        )
        mark = {
            Outcome.PASS: ("pass", "pass"),
            Outcome.NOTE: ("note", "note"),
            Outcome.INVALID: ("invalid-badge", "INVALID"),
        }[worst]
        rows[worst is Outcome.PASS].append(
            [escape(guard), f'<span class="badge {mark[0]}">{mark[1]}</span>', spread, f"<span>{told}</span>"]
        )
    header = ["guard", "verdict", "in", "what was found"]
    doubted, passed = (table(header, rows[p], "guards") for p in (False, True))
    count = len(rows[True])
    said = f"{count} guard{'s' * (count != 1)} passed in every run"
    return doubted + (
        f"<details{'' if doubted else ' open'}><summary>{said}</summary>{passed}</details>" if passed else ""
    )


def prose(text: str) -> str:
    """A sentence with its `code` as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def figure_cards(figures: Sequence[Figure], specs: Sequence[Mapping[str, Any]]) -> str:
    cards = []
    halves = 0
    stacked = ["vconcat" in f.spec for f in figures]
    for n, (figure, spec) in enumerate(zip(figures, specs, strict=True)):
        # Two to a row; a half without a neighbour takes the row.
        alone = not stacked[n] and halves % 2 == 0 and (n + 1 == len(figures) or stacked[n + 1])
        halves = 0 if stacked[n] else halves + 1
        wide = ' class="wide"' if stacked[n] or alone else ""
        cards.append(
            f'<figure{wide}><h3>{escape(figure.title)}</h3><div class="chart" id="{escape(spec["id"])}" role="img" '
            f'aria-label="{escape(figure.title)}"></div><figcaption>{escape(figure.caption)}</figcaption></figure>'
        )
    return f'<div class="figures">{"".join(cards)}</div>' if cards else ""


def claims_table(analysis: Analysis) -> str:
    judged = judged_claims(analysis)
    if not judged:
        return ""
    return table(COLUMNS[:-1], [[escape(cell) for cell in row[:-1]] for row in claim_rows(judged)])


def published_table(analysis: Analysis, answer: Answer | None) -> str:
    rows = [
        [escape(str(r["claim"])), escape(str(r["who"])), number(f"{plain(r['value'])} {escape(str(r['unit']))}"),
         escape(str(r["hardware"])), escape(str(r["about"]))]
        for r in published_rows(analysis, answer)
    ]  # fmt: skip
    return table(["claim", "whose", "#figure", "hardware", "remark"], rows)


def effects_table(analysis: Analysis, answer: Answer | None) -> str:
    if answer is None:
        return ""
    rows = [
        [escape(e.factor), number(plain(e.base)), number(plain(e.value)),
         number(times(e.ratio)),
         "not distinguishable from 1" if e.ratio.holds(1.0) else "", number(str(e.points)), number(str(e.ratio.n))]
        for e in effects(analysis, answer.figure)
    ]  # fmt: skip
    told = f"{name(answer.figure).capitalize()} at one value over that at the first, all else equal; paired by block."
    header = ["factor", "#from", "#to", "#ratio [95 %]", "", "#points", "#blocks"]
    return f'<p class="expected">{told}</p>{table(header, rows)}' if rows else ""


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


def quantile_s(analysis: Analysis, point: Point, role: str, q: float) -> float | None:
    """None where a point has no such role, or fewer calls than the quantile needs for one beyond it."""
    histogram = analysis.latencies.get((point, role))
    enough = histogram is not None and histogram.n * (1 - q) >= 1
    return histogram.quantile_ns(q) / 1e9 if histogram is not None and enough else None


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
            "–" if s is None else quantity.show_interval(s.interval, s.figure) if s.interval else "one run"
        )
    )
    for figure in figures:
        values = sorted(analysis.values(figure).get(point, {}).values())
        cells.append(number(quantity.show(values[len(values) // 2], figure) if values else "–"))
    for role, _, q in quantiles:
        value = quantile_s(analysis, point, role, q)
        cells.append(number("–" if value is None else quantity.show(value, "latency_s")))
    return cells


def absent_table(analysis: Analysis) -> str:
    rows = [[escape(say(a.point)), escape(a.why), escape(a.reason)] for a in analysis.record.absent]
    rows += [
        [f"{escape(say(m.point))} <code>{escape(m.run.run_id)}</code>", "no figures", escape(next(v.sentence for v in m.verdicts if v.hides))]
        for m in analysis.runs if m.hidden
    ]  # fmt: skip
    return table(["point", "why", "reason"], rows)


def settings(analysis: Analysis) -> str:
    """Per engine: version, what an acknowledged row survives, and the settings that were read back."""
    rows, lists = [], []
    for engine, m in first_of_each_engine(analysis).items():
        held = {str(r["name"]): str(r["value"]) for r in m.run.rows("settings")}
        version = version_of(held)
        durable = survives(m.run).replace("_", " ").lower() or "not recorded"
        rows.append(
            [
                escape(engine),
                escape(version),
                escape(durable),
                escape(target_of(m)),
            ]
        )
        if held:
            lines = "".join(
                f"<tr><td>{escape(k)}</td><td><code>{escape(v)}</code></td></tr>"
                for k, v in sorted(held.items())
            )
            lists.append(
                f'<details><summary>{len(held)} settings of {escape(engine)}</summary><div class="scroll"><table>{lines}</table></div></details>'
            )
    return (
        table(["engine", "version", "an acknowledged row survives", "target"], rows) + "".join(lists)
        if rows
        else ""
    )


def target_of(m: Measured) -> str:
    """Where it ran; an embedded engine has a file for each run."""
    return (
        "in our process, a new file for each run"
        if is_embedded(m.run)
        else str(m.run.plan["target"].get("url", ""))
    )


def version_of(settings: Mapping[str, str]) -> str:
    """The engine's own word, else the first setting that is called a version and looks like one."""
    named = [v for k, v in settings.items() if "version" in k.lower() and any(c.isdigit() for c in v)]
    return settings.get("version") or next(iter(named), "not recorded")


def first_of_each_engine(analysis: Analysis) -> dict[str, Measured]:
    found: dict[str, Measured] = {}
    for m in analysis.runs:
        found.setdefault(m.run.engine, m)
    return found


def machine(analysis: Analysis) -> str:
    if not analysis.runs:
        return ""
    env = analysis.runs[0].run.env
    first = ("cpu_model", "cpu_logical", "mem_total_bytes", "os", "kernel", "data_filesystem", "disk_write_bytes_per_s",
             "disk_fsync_per_s", "core_build_profile", "inrush", "git_commit", "python")  # fmt: skip
    shown = [[escape(k), fact(k, env[k])] for k in first if k in env]
    others = [[escape(k), fact(k, v)] for k, v in sorted(env.items()) if k not in first]
    more = (
        f"<details><summary>{len(others)} more facts</summary>{table(['fact', 'value'], others)}</details>"
        if others
        else ""
    )
    return table(["fact", "value"], shown) + more


def fact(key: str, value: Any) -> str:
    """A fact of the machine as people read it; lists of packages in a line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{escape(str(k))}&nbsp;{escape(str(v))}" for k, v in value.items())
    if isinstance(value, float | int) and not isinstance(value, bool) and key.endswith(("bytes", "_per_s")):
        figure = "bytes" if key.endswith("bytes") else "bytes_per_s" if key.endswith("bytes_per_s") else ""
        return escape(quantity.show(value, figure) if figure else f"{quantity.digits(value)} /s")
    return f"<code>{escape(str(value))}</code>"


def runs_table(analysis: Analysis, answer: Answer | None) -> str:
    """In the order they ran: pilot first, then shuffled blocks."""
    figure = answer.figure if answer else ""
    rows = []
    for m in sorted(analysis.runs, key=lambda m: (m.run.block, m.run.order)):
        value = m.figures.get(figure)
        shown = "hidden" if m.hidden else quantity.show(value, figure) if value is not None else "–"
        block = (
            "pilot" if m.run.block == 0 else f"{m.run.block} fresh" if m.run.confirms else str(m.run.block)
        )
        rows.append([number(block), number(str(m.run.order)), escape(say(m.point)), number(shown), outcome_word(m.outcome),
                     f"<code>{escape(m.run.run_id)}</code>"])  # fmt: skip
    header = ["#block", "#order", "point", f"#{name(figure)}" if figure else "#figure", "verdict", "run"]
    whole = table(header, rows)
    told = (
        '<p class="expected">The pilot ascends and enters no figure; every later block holds every point once, shuffled. Fresh '
        "repeats come last, with other rows: of the points found best, and only to say what these are.</p>"
    )
    return told + (
        f"<details><summary>{len(rows)} runs</summary>{whole}</details>" if len(rows) > ROWS_OPEN else whole
    )


def outcome_word(outcome: Outcome) -> str:
    kind = {Outcome.PASS: "pass", Outcome.NOTE: "note", Outcome.INVALID: "invalid-badge"}[outcome]
    return f'<span class="badge {kind}">{"INVALID" if outcome is Outcome.INVALID else outcome.value}</span>'


def reproduce(analysis: Analysis) -> str:
    study = analysis.study
    study_name = str(study.get("study", "STUDY"))
    scale = f" --scale {study['scale']}" if study.get("scale") else ""
    changed = "".join(f" -P {o}" for o in study.get("overrides") or ())
    commands = str(study.get("command") or f"inrush run {study_name}{scale}{changed}")
    facts = [
        ["seed", str(study.get("seed", (study.get("repeats") or {}).get("seed", "")))],
        ["plan", str(study.get("plan_hash") or study.get("hash") or "")],
        ["inrush", str(analysis.runs[0].run.env.get("inrush", "")) if analysis.runs else ""],
        ["results", str(study.get("id", ""))],
    ]
    rows = [[escape(k), f"<code>{escape(v)}</code>"] for k, v in facts if v]
    return f"<pre>{escape(commands)}\ninrush report {escape(str(study.get('id', '')))}</pre>" + table(
        ["fact", "value"], rows
    )


def table(header: Sequence[str], rows: Sequence[Cells], kind: str = "") -> str:
    """Cells are HTML already; a header that starts with # is of numbers. Nothing for no rows."""
    if not rows:
        return ""
    head = "".join(
        f'<th class="num">{escape(h[1:])}</th>' if h.startswith("#") else f"<th>{escape(h)}</th>"
        for h in header
    )
    body = "".join(
        "<tr>" + "".join(c if c.startswith("<td") else f"<td>{c}</td>" for c in row) + "</tr>\n"
        for row in rows
    )
    return f'<div class="scroll"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'


def number(text: str) -> str:
    return f'<td class="num">{escape(text)}</td>'
