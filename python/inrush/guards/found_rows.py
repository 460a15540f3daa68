"""Did the queries find anything? One that finds no row is fast, and its time says little of one that does. Pure."""

from __future__ import annotations

from collections import Counter

from inrush.analysis.run_facts import is_instrument
from inrush.analysis.verdicts import Figures, Verdict, noted, passed
from inrush.guards.guard import About, Guard
from inrush.stats.measures import measured_windows
from inrush.stats.record import RunRecord
from inrush.text import counted

NAME = "queries found rows"


def queries_found_rows(run: RunRecord, _: Figures) -> Verdict | None:
    """Of each role and query with an answer; a query over a table that is still empty rightly finds nothing."""
    calls, rows = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    queries = {o["name"] for o in run.plan.get("operations", ()) if o["kind"] in ("query", "together")}
    windows = measured_windows(run)
    for i in run.rows("intervals") if queries and not is_instrument(run.engine) else ():
        if i["op"] in queries and i["segment"] in windows:
            calls[i["role"], i["op"]] += i["ops"] - i["errors"]
            rows[i["role"], i["op"]] += i["rows"]
    asked = {of: n for of, n in calls.items() if n}
    empty = {of: n for of, n in asked.items() if not rows[of]}
    if empty:
        each = "; ".join(f"{op} of {role}: {counted(n, 'call')}, no row" for (role, op), n in empty.items())
        return noted(
            NAME,
            f"{each}. A query that finds nothing is fast: look at its parameters, and at what its table held by then",
            size=sum(empty.values()),
        )
    return passed(NAME, f"Rows were found by each of {len(asked)} queries") if asked else None


GUARDS = (Guard(About.ANSWERS, NAME, queries_found_rows, "No query was answered"),)
