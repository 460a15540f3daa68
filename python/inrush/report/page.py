"""The page's HTML: sections in the order a reader asks, everything escaped. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from inrush.analysis.answer import Answer
from inrush.analysis.claims import COLUMNS, claim_rows, judged_claims
from inrush.analysis.comparability import left_out
from inrush.analysis.deciding import crossed
from inrush.analysis.effects import effects
from inrush.analysis.expected import expectation_marks
from inrush.analysis.overview import overview
from inrush.analysis.points import Analysis, say
from inrush.analysis.ran import ran_said
from inrush.analysis.rejected import by_table, reject_lines
from inrush.analysis.sentence import other_conditions
from inrush.analysis.stored import header, stored_points, stored_rows
from inrush.analysis.title import title_of
from inrush.analysis.verdicts import Outcome, Verdict, by_guard
from inrush.analysis.wording import TOO_FEW, name, plain, times
from inrush.report.answer_table import answer_table
from inrush.report.asked import asked_table
from inrush.report.charts import Figure
from inrush.report.client_hosts import client_hosts_table
from inrush.report.conditions import machine, settings
from inrush.report.draw import asset
from inrush.report.first_sentence import first_sentence
from inrush.report.footprint import HEADER, resource_rows
from inrush.report.guards import doubts_table, passed_table
from inrush.report.html import badge, data, number, outcome_word, section, table
from inrush.report.load_parts import loads_section
from inrush.report.overview import html_table
from inrush.report.points import points_table
from inrush.report.process_table import process_table
from inrush.report.published import published_rows
from inrush.report.steal import steal_table
from inrush.report.step_table import left_out_steps, steps_table
from inrush.stats import quantity
from inrush.stats.files import is_pipeline
from inrush.stats.quantity import says_nothing
from inrush.stats.stats import Interval
from inrush.text import percent
from inrush.workload import STORED_SHARE

#: A page's first rows and sentences; the rest is one click away.
ROWS_OPEN, OTHERS_OPEN = 40, 6


def page(
    analysis: Analysis,
    answer: Answer | None,
    figures: Sequence[Figure],
    themes: Mapping[str, Any],
    script: str,
) -> str:
    """The whole page. script: the bundle that sets `vegaEmbed`; without figures it is left out."""
    study = analysis.study
    title = title_of(study)
    specs = chart_specs(figures)
    body = "\n".join(section for section in (
        top(analysis), limits(analysis), f"<h1>{escape(title)}</h1>", asked(analysis), banner(analysis),
        answered(analysis, answer),
        section("What the question asks for", asked_table(analysis)),
        section("What is full, and where", resources_table(analysis)),
        section("What limits these figures", doubts_table(analysis)),
        section("Rejected rows", rejected_table(analysis)),
        section("Steal: processor time that the host took", steal_table(analysis)),
        section("Hosts of a fleet", client_hosts_table(analysis)),
        section("Loads of files", loads_section(analysis)),
        section("Figures", figure_cards(figures, specs)),
        section("Guards that passed", passed_table(analysis)),
        section("Published claims, tried here", claims_table(analysis)),
        section("Published beside ours", published_table(analysis, answer)),
        section("Steps", steps_table(analysis)), section("What each factor costs", effects_table(analysis, answer)),
        section("Bytes stored, planned and measured", stored_table(analysis)),
        section("Every point", points_table(analysis, answer)),
        section("Processes of the server", process_table(analysis)),
        section("Stopped, unsupported and left out", absent_table(analysis)),
        section("Settings, durability, versions", settings(analysis)),
        section("Machine", machine(analysis)),
        section("Order of runs", runs_table(analysis, answer)),
        section("Reproduce", reproduce(analysis)),
    ) if section)  # fmt: skip
    return shell(title, body, specs, themes, script)


def shell(
    title: str,
    body: str,
    specs: Sequence[Mapping[str, Any]],
    themes: Mapping[str, Any],
    script: str,
) -> str:
    """A whole offline page around sections and charts; without charts the bundle that draws them is left out."""
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
        f'<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<style>{asset('report.css')}</style></head>\n<body><main>\n{body}\n"
        "<footer>Made by inrush from sealed runs. Intervals are 95 % unless they say otherwise; percentiles come from merged "
        "histograms.</footer></main>\n"
        f'{scripts}<script type="module">{asset("report.js")}</script>\n</body></html>\n'
    )


def chart_specs(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    return [{"id": f"fig-{f.name}".replace("/", "-"), "spec": f.spec} for f in figures]


def top(analysis: Analysis) -> str:
    study = analysis.study
    what = " · ".join(str(study[k]) for k in ("study", "scale", "id") if study.get(k))
    return f'<header class="top"><span><b>inrush</b> {escape(what)}</span><button id="theme" type="button">Dark</button></header>'


def asked(analysis: Analysis) -> str:
    """The question, what ran for it, and what was expected, with the claims that judge the expectation."""
    study, parts = analysis.study, []
    if study.get("question"):
        parts.append(f'<p class="question">{escape(str(study["question"]))}</p>')
    if ran := ran_said(analysis):
        parts.append(f'<p class="expected"><b>What ran</b><br>{escape(ran)}.</p>')
    if study.get("expect"):
        marks = "".join(
            f'<br><span class="badge {MARKED[m.word]}">{m.word}</span> {escape(m.said)}'
            for m in expectation_marks(analysis)
        )
        parts.append(
            f'<p class="expected"><b>Expected, written before the first run</b><br>{escape(str(study["expect"]))}{marks}</p>'
        )
    return "\n".join(parts)


#: What became of the expectation -> the style of its mark.
MARKED = {"right": "pass", "wrong": "note", "not judged": "unchecked"}


def banner(analysis: Analysis) -> str:
    """What makes the result invalid, and at which points; other points and figures stand."""
    if analysis.valid:
        return ""
    broken = by_guard(analysis.invalidating)
    named = "; ".join(
        f"{guard} ({'; '.join(said)})"
        if (said := [*undecided(analysis, found), *places(analysis, found)])
        else guard
        for guard, found in broken.items()
    )
    return f'<div class="banner" role="alert">INVALID. {escape(named[:1].upper() + named[1:])}: see below before any figure.</div>'


def limits(analysis: Analysis) -> str:
    """Limits of `[accept]` that were crossed: what a reader sees first, whatever is invalid beside them."""
    said = [f'<p><span class="badge note">limit crossed</span> {escape(c)}</p>' for c in crossed(analysis)]
    return f'<div class="limits" role="alert">{"".join(said)}</div>' if said else ""


def undecided(analysis: Analysis, found: Sequence[tuple[str, Verdict]]) -> list[str]:
    """The figures that decide and that verdicts of one guard make invalid."""
    figures = analysis.undecided(v for _, v in found)
    return [figures] if figures else []


def places(analysis: Analysis, found: Sequence[tuple[str, Verdict]]) -> list[str]:
    """The points at which verdicts of one guard make something invalid; none where that is everywhere."""
    of_run = {m.run.run_id: m.point for m in analysis.runs}
    points = dict.fromkeys(
        point
        for where, v in found
        if v.outcome is Outcome.INVALID
        for point in ([of_run[where]] if where else v.points or analysis.points)
    )
    if len(points) >= len(analysis.points):
        return []
    first, *others = [say(point) for point in points]
    return [first + (f" and {len(others)} more" if others else "")]


def answered(analysis: Analysis, answer: Answer | None) -> str:
    """What was found, a row for each engine; the parts of the answer with their intervals below."""
    seen = overview(analysis, answer)
    said = f'<p class="said">{escape(first_sentence(analysis, answer, seen))}</p>'
    if answer is not None and answer.parts:
        said += f"\n{html_table(analysis, seen)}"
        said += other_answers(other_conditions(analysis, answer, seen)) + answer_table(analysis, answer)
    kind = "answer invalid" if analysis.answer_outcome is Outcome.INVALID else "answer"
    return f'<div class="{kind}"><span class="label">Answer</span> {badge(analysis.answer_outcome)}\n{said}</div>'


def other_answers(sentences: Sequence[str]) -> str:
    """What was found under the other conditions; the first of many, the rest one click away."""
    shown = [f'<p class="part">{escape(sentence)}</p>' for sentence in sentences]
    more = "".join(shown[OTHERS_OPEN:])
    folded = (
        f"<details><summary>{len(shown) - OTHERS_OPEN} more conditions</summary>{more}</details>"
        if more
        else ""
    )
    return "\n".join(shown[:OTHERS_OPEN]) + folded


def rejected_table(analysis: Analysis) -> str:
    """Rows of files that were not stored: sentences, and the share of each table at its worst run."""
    lines = reject_lines(analysis)
    if not lines:
        return ""
    worst = {table: max(each) for table, each in by_table(analysis).items()}
    rows = [
        [escape(table), number(f"{rejected:,}"), number(f"{of:,}"), number(percent(rejected / of, 2))]
        for table, (rejected, of) in worst.items()
        if rejected
    ]
    sentences = "".join(f'<p class="expected">{escape(line)}</p>' for line in lines)
    return sentences + table(["table", "#rejected", "#of", "#share"], rows)


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


def resources_table(analysis: Analysis) -> str:
    """Of pipelines: each resource, predicted from the small loads and compared with the larger ones."""
    if not any(is_pipeline(m.run) for m in analysis.runs):
        return ""
    rows = [[escape(cell) for cell in row] for row in resource_rows(analysis)]
    return table(HEADER, rows) if rows else ""


def claims_table(analysis: Analysis) -> str:
    judged = judged_claims(analysis)
    if not judged:
        return ""
    return table(COLUMNS[:-1], [[escape(cell) for cell in row[:-1]] for row in claim_rows(judged)])


def published_table(analysis: Analysis, answer: Answer | None) -> str:
    rows = [
        [escape(str(r["claim"])), escape(str(r["name"])), number(f"{plain(r['value'])} {escape(str(r['unit']))}"),
         escape(str(r["hardware"])), escape(str(r["about"]))]
        for r in published_rows(analysis, answer)
    ]  # fmt: skip
    return table(["claim", "source", "#figure", "hardware", "remark"], rows)


def stored_table(analysis: Analysis) -> str:
    points = stored_points(analysis)
    if not points:
        return ""
    note = (
        "The engine's own sizes after each run, without write-ahead logs: pages or parts with rows, and with indexes. "
        "Small tables are mostly pages that are not full yet, and parts that are merged or compressed later are still as they came in. "
        f"The forecast is {STORED_SHARE:g} times the bytes of the values."
    )
    rows = [[escape(row[0]), *(number(escape(cell)) for cell in row[1:])] for row in stored_rows(points)]
    return f'<p class="expected">{note}</p>' + table(header(points), rows)


def effects_table(analysis: Analysis, answer: Answer | None) -> str:
    if answer is None:
        return ""
    rows = [
        [escape(e.factor), number(plain(e.base)), number(plain(e.value)),
         number(times(e.ratio)),
         effect_word(e.ratio), number(str(e.points)), number(str(e.ratio.n))]
        for e in effects(analysis, answer.figure)
    ]  # fmt: skip
    caption = f"{name(answer.figure).capitalize()} at one value over that at the first, all else equal; paired by block."
    header = ["factor", "#from", "#to", "#ratio [95 %]", "", "#points", "#blocks"]
    return f'<p class="expected">{caption}</p>{table(header, rows)}' if rows else ""


def effect_word(ratio: Interval) -> str:
    if not ratio.holds(1.0):
        return ""
    return TOO_FEW if says_nothing(ratio) else "not distinguishable from 1"


def absent_table(analysis: Analysis) -> str:
    rows = [
        [escape(say(a.point)), "not needed" if a.searched else escape(a.why), escape(a.reason)]
        for a in analysis.record.absent
    ]
    rows += [
        [escape(say(point)), f"without {escape(operation)}", escape(reason)]
        for point, operations in left_out(analysis).items() for operation, reason in operations.items()
    ]  # fmt: skip
    rows += [
        [f"{escape(say(m.point))} <code>{escape(m.run.run_id)}</code>", "no figures", escape(next(v.sentence for v in m.verdicts if v.hides))]
        for m in analysis.runs if m.hidden
    ]  # fmt: skip
    rows += left_out_steps(analysis)
    return table(["point", "why", "reason"], rows)


def runs_table(analysis: Analysis, answer: Answer | None) -> str:
    """In the order they ran: pilot first, then shuffled blocks."""
    figure = answer.figure if answer else ""
    rows = []
    for m in sorted(analysis.runs, key=lambda m: (m.run.block, m.run.order)):
        value = m.figures.get(figure)
        shown = "hidden" if m.hidden else quantity.show(value, figure) if value is not None else "–"
        shown += " INVALID" if value is not None and not m.hidden and m.broken(figure) else ""
        block = (
            "pilot" if m.run.block == 0 else f"{m.run.block} fresh" if m.run.confirms else str(m.run.block)
        )
        rows.append([number(block), number(str(m.run.order)), escape(say(m.point)), number(shown), outcome_word(m.outcome),
                     f"<code>{escape(m.run.run_id)}</code>"])  # fmt: skip
    header = ["#block", "#order", "point", f"#{name(figure)}" if figure else "#figure", "verdict", "run"]
    whole = table(header, rows)
    piloted = (analysis.study.get("repeats") or {}).get("pilot", True)
    first = (
        "The pilot runs in ascending order and enters no figure; every later"
        if piloted
        else "There was no pilot; every"
    )
    caption = (
        f'<p class="expected">{first} block runs every point once, in shuffled order. Fresh '
        "repeats come last, with other rows. They run only the best points, to measure these again.</p>"
    )
    return caption + (
        f"<details><summary>{len(rows)} runs</summary>{whole}</details>" if len(rows) > ROWS_OPEN else whole
    )


def reproduce(analysis: Analysis) -> str:
    study = analysis.study
    study_name = str(study.get("study", "STUDY"))
    scale = f" --scale {study['scale']}" if study.get("scale") else ""
    changed = "".join(f" -P {shlex.quote(o)}" for o in study.get("overrides") or ())
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
