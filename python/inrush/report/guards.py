"""The tables of guards: what limits the figures, before the charts, and what passed, behind them. Pure."""

from __future__ import annotations

from html import escape

from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Outcome, by_guard
from inrush.report.html import Cells, outcome_word, prose, table


def doubts_table(analysis: Analysis) -> str:
    """Guards that failed, and those that limit a figure: what a reader must know before any chart."""
    return table(GUARDS, guard_rows(analysis)[Outcome.NOTE], "guards") or (
        '<p class="expected">Nothing: every guard passed wherever it had something to check.</p>'
        if any(m.counts for m in analysis.runs)
        else ""
    )


def passed_table(analysis: Analysis) -> str:
    """What passed, and what had nothing to check, one click away."""
    rows = guard_rows(analysis)
    passed, unchecked = (table(GUARDS, rows[o], "guards") for o in (Outcome.PASS, Outcome.NOT_CHECKED))
    count, idle = len(rows[Outcome.PASS]), len(rows[Outcome.NOT_CHECKED])
    said = f"{count} guard{'s' * (count != 1)} passed wherever there was something to check"
    nothing = f"{idle} guard{'s' * (idle != 1)} had nothing to check"
    return (f"<details><summary>{said}</summary>{passed}</details>" if passed else "") + (
        f"<details><summary>{nothing}</summary>{unchecked}</details>" if unchecked else ""
    )


GUARDS = ("guard", "verdict", "in", "what was found")


def guard_rows(analysis: Analysis) -> dict[Outcome, list[Cells]]:
    """One line per guard: the worst outcome, how often, the worst sentence and where; what is invalid stands with the notes."""
    rows: dict[Outcome, list[Cells]] = {Outcome.NOTE: [], Outcome.PASS: [], Outcome.NOT_CHECKED: []}
    held = by_guard(analysis.verdicts)
    for guard, found in sorted(held.items(), key=lambda item: -item[1][0][1].outcome.weight):
        worst = found[0][1].outcome
        same = [(where, v) for where, v in found if v.outcome is worst]
        where = same[0][0]
        spread = f"{len(same)}&nbsp;of&nbsp;{len(found)}&nbsp;runs" if where else "study"
        sentence = prose(same[0][1].sentence) + (
            f" · {'the worst ' * (len(same) > 1)}run&nbsp;<code>{escape(where)}</code>"
            if where and len(found) > 1
            else ""
        )
        shown_in = Outcome.NOTE if worst is Outcome.INVALID else worst
        rows[shown_in].append([escape(guard), outcome_word(worst), spread, f"<span>{sentence}</span>"])
    return rows
