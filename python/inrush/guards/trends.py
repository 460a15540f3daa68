"""The guard that says when a run measured no one state: calls take longer, or less, the longer it lasts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from inrush.guards.guard import Guard
from inrush.guards.verdicts import Figures, Verdict, noted, passed
from inrush.stats.growing import GrownTable, growing_tables
from inrush.stats.measures import measured_windows, whole, writing_roles
from inrush.stats.quantity import show
from inrush.stats.record import RunRecord
from inrush.stats.trends import Trend, service_trends
from inrush.text import listed, show_s

NAME = "service time steady"
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


def grew(role: str, growths: Sequence[GrownTable]) -> str:
    """`Readers queried t while it grew from 0 to 50,000 rows (2.50 MB); their times hold for that size only`"""
    each = [
        f"{g.table} while it grew from {g.begin_rows:,} to {g.end_rows:,} rows"
        + (f" ({show(g.end_bytes, 'bytes')})" if g.end_bytes else "")
        for g in growths
    ]
    return f"{role[:1].upper()}{role[1:]} queried {listed(each)}; their times hold for that size only"


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


def rows_written(run: RunRecord) -> int:
    windows, writers = measured_windows(run), {whole(role) for role in writing_roles(run.plan)}
    return sum(
        s["rows"] for s in run.rows("repetitions") if s["segment"] in windows and whole(s["role"]) in writers
    )


GUARDS = (
    Guard(NAME, service_time_steady, "Too few intervals to see a trend"),
    Guard(ONE_SIZE, table_of_one_size, "No role reads a table that another one writes", of_run=True),
)
