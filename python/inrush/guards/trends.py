"""The guard that says when a run measured no one state: calls take longer, or less, the longer it lasts. Pure."""

from __future__ import annotations

from math import log

from inrush.analysis.moved import SERVICE_TIME
from inrush.analysis.verdicts import Figures, Verdict, noted, passed
from inrush.guards.guard import About, Guard
from inrush.stats.growing import grew, growing_tables
from inrush.stats.record import RunRecord
from inrush.stats.trends import Trend, rows_written, service_trends
from inrush.text import show_s

NAME = SERVICE_TIME
ONE_SIZE = "table of one size"


def service_time_steady(run: RunRecord, _: Figures) -> Verdict | None:
    """Of every role, within a repetition; a note, since the figures are what was asked for, and of no one size."""
    trends = service_trends(run)
    moved = {role: t for role, t in trends.items() if t.found}
    if moved:
        each = "; ".join(sentence(role, t) for role, t in moved.items())
        most = max(abs(log(t.times)) for t in moved.values())
        return noted(NAME, f"{each}. {because(run, moved)}", size=most)
    if not trends:
        return None
    return passed(NAME, f"No trend of service times was found: {', '.join(trends)}")


def table_of_one_size(run: RunRecord, _: Figures) -> Verdict | None:
    """What a role reads while another writes it has no one size: figures of it say nothing of a much larger table."""
    growing = growing_tables(run)
    if growing:
        each = "; ".join(grew(role, growths) for role, growths in growing.items())
        return noted(ONE_SIZE, each, size=max(g.end_rows for growths in growing.values() for g in growths))
    return None


def sentence(role: str, t: Trend) -> str:
    word = "rises" if t.times > 1 else "falls"
    return f"{role}: service time {word} to {t.times:.2g} times within {show_s(t.seconds)} (p = {t.p:.1g})"


def because(run: RunRecord, moved: dict[str, Trend]) -> str:
    rows = rows_written(run)
    if rows and any(t.times > 1 for t in moved.values()):
        return (
            f"Meanwhile {rows:,.0f} rows were written: this run measured a growing table, and its means and percentiles are "
            "of no one size. Read them over the rows"
        )
    if any(t.times > 1 for t in moved.values()):
        return "No table grew: look for what else did (temperature, other work, memory)"
    return "The first calls met a colder state than the last: a longer `warm_s` leaves them out"


GUARDS = (
    Guard(About.COURSE, NAME, service_time_steady, "Too few intervals to see a trend"),
    Guard(
        About.COURSE,
        ONE_SIZE,
        table_of_one_size,
        "No role reads a table that another one writes",
        of_run=True,
    ),
)
