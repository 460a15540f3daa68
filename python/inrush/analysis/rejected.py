"""Rows of files that did not fit their columns and were not stored, over all runs of a study. Pure."""

from __future__ import annotations

from inrush.analysis.points import Analysis
from inrush.stats.files import is_pipeline, rejected_rows


def reject_lines(analysis: Analysis) -> list[str]:
    """A sentence for each table of which rows were rejected, and where they are."""
    lines = []
    for table, each in by_table(analysis).items():
        if not any(rejected for rejected, _ in each):
            continue
        few, many = (span([pair[i] for pair in each]) for i in (0, 1))
        held = sum(rejected > 0 for rejected, _ in each)
        where = "in every run" if held == len(each) else f"in {held} of {len(each)} runs"
        piped = any(is_pipeline(m.run) for m in analysis.runs)
        file = "rejects/" if piped else f"reject-{table}.csv"
        lines.append(
            f"{table}: {few} of {many} rows rejected, {where}; {file} in the folder of a run has each with line and reason"
        )
    return lines


def by_table(analysis: Analysis) -> dict[str, list[tuple[int, int]]]:
    """Table -> (rows rejected, of how many) of each run."""
    found: dict[str, list[tuple[int, int]]] = {}
    for m in analysis.runs:
        for table, counts in rejected_rows(m.run).items():
            found.setdefault(table, []).append(counts)
    return found


def span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
