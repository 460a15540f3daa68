"""Results side by side in text."""

from __future__ import annotations

from dataclasses import replace

from inrush.analysis.points import Analysis, analyse
from inrush.report.summary import compare_lines
from tests import synthetic

TRUTH = {("duckdb", b): s for b, s in ((200, 3.0), (1000, 1.0))}


def analysed(survives: str, folder: str) -> Analysis:
    record = synthetic.study(TRUTH, blocks=2)
    durability = {"survives": survives, "window_s": 0.0, "because": {"path": f"{folder}/run.duckdb"}}
    runs = [replace(r, summary={**r.summary, "durability": durability}) for r in record.runs]
    return analyse(replace(record, runs=runs))


def test_two_results_of_equal_durability_are_not_told_apart_by_their_files() -> None:
    lines = compare_lines(analysed("POWER_LOSS", "a"), analysed("POWER_LOSS", "b"))
    assert not any("durability" in line for line in lines)


def test_a_result_that_promises_less_is_named_with_both_promises() -> None:
    lines = compare_lines(analysed("POWER_LOSS", "a"), analysed("PROCESS_CRASH", "b"))
    assert (
        "! durability of duckdb differs (power loss; process crash): the faster one may simply promise less"
        in lines
    )


def test_results_without_a_point_in_common_are_said_to_have_none() -> None:
    other = analyse(synthetic.study({("sqlite", 200): 1.0}, blocks=2))
    assert "no point was measured by both" in compare_lines(analysed("POWER_LOSS", "a"), other)
