"""The line about a run that has ended: how long it took, its rate, and whether its proofs hold. Pure but for its tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from inrush.analysis.wording import name as name_of
from inrush.plan.calibration import is_price
from inrush.report.live.clock import StudyClock
from inrush.results.store import SealedRun
from inrush.stats.files import rejected_rows
from inrush.stats.measures import whole, writing_roles
from inrush.stats.quantity import rate_of, show
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from inrush.text import show_s


def ended_line(clock: StudyClock, doc: Mapping[str, Any]) -> str:
    took = show_s(clock.took_s[-1])
    where = f"[{clock.n}/{clock.of}] {clock.point}"
    if not is_price(clock.point):
        where += " (pilot)" if clock.block == 0 else f" (block {clock.block})"
    if doc["status"] == "done":
        return f"{where}: {took}"
    return f"{where}: failed after {took}: {doc['failure']['message']}"


def found_line(run: SealedRun, answer: Mapping[str, Any] | None = None) -> str:
    """`431 k rows/s, 26 of 26 proofs hold`; empty for a run that proves nothing, such as one on the null engine.

    answer: the study's own. The line has this run's part of the answer, by the same clock and the same rows.
    """
    proofs = run.table("proofs").column("holds").to_pylist()
    if run.doc.get("status") != "done" or not proofs:
        return ""
    record = RunRecord(run.id, run.plan, run.env, run.doc, run.tables)
    writers = {whole(role) for role in writing_roles(run.plan)}
    in_steps = bool(record.labels.get("steps"))
    figure = run_figure(figures_of_run(record), str(answer["of"]) if answer else None, writers, in_steps)
    holds = f"{sum(proofs)} of {len(proofs)} proofs hold"
    line = ", ".join(filter(None, [figure, holds])) if all(proofs) else f"NO FIGURE: {holds}"
    return with_rejected(line, record)


def run_figure(figures: Mapping[str, float], of: str | None, writers: Collection[str], in_steps: bool) -> str:
    """`134 k rows/s (rate of load)`: the answer's figure, of a fixed job its rate; without the name where one role works.

    of: the answer's figure. Without one, rows of all that write side by side; steps follow one another, and their rows
    have no rate together.
    """
    stated = stated_figure(figures, of, writers) if of else None
    if stated is not None:
        roles = {whole(name.rsplit(".", 1)[0]) for name in figures if name.endswith(".ops")}
        named = "" if roles == {stated.rsplit(".", 1)[0]} else f" ({name_of(stated)})"
        return show(figures[stated], stated) + named
    rows_per_s = None if in_steps else written_per_s(figures, writers)
    if not rows_per_s:
        return ""
    return show(rows_per_s, "x.rows_per_s") + (" by all that write" if len(writers) > 1 else "")


def stated_figure(figures: Mapping[str, float], of: str, writers: Collection[str]) -> str | None:
    """What the report's first sentence states of the answer's figure; None where this run has not measured it."""
    role, metric = of.rsplit(".", 1)
    if metric == "makespan_s":
        of = rate_of(of, {name for name, value in figures.items() if value > 0}, role in writers)
    elif metric == "keeps_up" or metric.endswith("_share"):
        of = f"{role}.rows_per_s"
    return of if of in figures else None


def with_rejected(line: str, run: RunRecord) -> str:
    """The line, with rows of files that did not fit and were not stored."""
    rejected = sum(n for n, _ in rejected_rows(run).values())
    return f"{line}, {rejected:,} rows rejected" if rejected else line


def written_per_s(figures: Mapping[str, float], writers: Iterable[str]) -> float | None:
    """Rows of all roles that write side by side, over the time of the longest; None where none of them has a rate."""
    rated = [role for role in writers if f"{role}.rows_per_s" in figures]
    took_s = max((figures[f"{role}.makespan_s"] for role in rated), default=0.0)
    if not took_s:
        return None
    return sum(figures[f"{role}.rows_per_s"] * figures[f"{role}.makespan_s"] for role in rated) / took_s
