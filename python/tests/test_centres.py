"""One centre of a figure, one rule of its interval, and what two runs show, in every line of a result."""

from __future__ import annotations

from typing import Any

import pytest

from inrush.analysis.answer import Answer, answer
from inrush.analysis.overview import overview
from inrush.analysis.parts import APART, BEST
from inrush.analysis.points import Analysis
from inrush.analysis.sentence import sentence
from inrush.report.answer_table import answer_lines
from inrush.report.curves import boxes
from inrush.report.overview import text_table
from inrush.report.point_lines import point_lines
from inrush.report.points import points_table
from tests import synthetic
from tests.test_sentence import compared

MS = 10**6
#: Calls of the runs of a point: one run 33 times as long as the other, as a disk with a limit has them.
LIE_APART = {"key": (1.56, 51.1), "time": (569.0, 1224.0)}
CENTRE_MS = (1.56 * 51.1) ** 0.5


def by_order(of: dict[str, tuple[float, ...]] = LIE_APART) -> tuple[Analysis, Answer]:
    """Row order -> the latency of all calls of each run, in ms; a comparison of their p50."""
    runs = [
        synthetic.run(
            "postgresql", {"row_order": order}, block, makespan_s=0.01, reader_ns=[int(ms * MS)] * 3
        )
        for order, values in of.items()
        for block, ms in enumerate(values, start=1)
    ]
    asked = {"kind": "comparison", "of": "readers.latency_p50_s", "along": "row_order", "per": ["engine"]}
    analysis = synthetic.analysed(runs, {"answer": asked})
    found = answer(analysis)
    assert found is not None
    return analysis, found


def rows_of(spec: Any) -> list[dict[str, Any]]:
    """Rows of all layers of a chart."""
    return [row for rows in spec["datasets"].values() for row in rows]


def test_a_figure_has_one_centre_in_sentence_table_points_answer_and_chart() -> None:
    """The sentence said 1.6 ms, the points 8.94, and the ring in the chart stood at 26 ms."""
    analysis, found = by_order()
    seen = overview(analysis, found)
    assert seen is not None
    row = seen.rows[0]
    assert row.stated is not None and row.read is not None
    assert row.stated.value == row.read.value == pytest.approx(CENTRE_MS / 1e3, rel=0.01)
    assert "has a latency of 8.9 ms (p50 of readers)" in sentence(analysis, found, seen)
    assert any(" 8.9 ms " in line for line in text_table(analysis, seen))
    assert "8.9" in next(line for line in point_lines(analysis, found, found.figure) if "key" in line)
    assert "8.9" in " ".join(answer_lines(analysis, found))
    assert "8.9" in points_table(analysis, found)
    rows = rows_of(boxes(analysis, found)[0].spec)
    drawn = [r for r in rows if r.get("x") == "key" and "block" not in r]
    assert drawn and all(r["y"] == pytest.approx(CENTRE_MS, rel=0.01) for r in drawn)


def test_all_points_of_so_many_runs_have_an_interval_or_none() -> None:
    """One row said "too few for an interval" beside another of as many runs with one, 40 times wide."""
    analysis, found = by_order()
    key, time = (
        next(line for line in point_lines(analysis, found, found.figure) if f"{order} " in line)
        for order in ("key", "time")
    )
    assert "8.94 (1.56 to 51" in key
    assert "[" not in key and "[" not in time and "to 1,2" in time
    three, found = by_order({"key": (1.56, 51.1, 9.0), "time": (569.0, 1224.0, 700.0)})
    assert all("[" in line for line in point_lines(three, found, found.figure)[2:])


def test_two_runs_that_lie_apart_are_not_called_the_same() -> None:
    """834 ms [569, 1,224] was "not distinguishable" from 1.56 to 51.1 ms: a factor of 16 read as "the same"."""
    analysis, found = by_order()
    said = sentence(analysis, found)
    assert "not distinguishable" not in said and "time was slower in each of 2 runs" in said
    assert "3 runs are the least for an interval" in said
    assert [t.word for t in found.parts[0].tries] == [BEST, APART]
    assert any(line.endswith("differs in each of 2 runs") for line in answer_lines(analysis, found))


def test_two_runs_that_overlap_are_too_few_to_tell_apart() -> None:
    analysis = compared({("duckdb", "key"): (1.0e6, 1.3e6), ("duckdb", "time"): (1.2e6, 1.0e6)}, "row_order")
    found = answer(analysis)
    assert found is not None
    for said in (sentence(analysis, found), " ".join(answer_lines(analysis, found))):
        assert "not distinguishable" not in said
        assert "too few runs to distinguish" in said and "2 of 3" in said


def test_a_curve_of_two_runs_does_not_say_that_nothing_changed() -> None:
    """37 ms with 80,000 rows was "not distinguishable from 10,000 rows", which took 10.9 ms."""
    runs = [
        synthetic.figured("duckdb", {"rows": rows}, block, 0, {"load.duration_s": s})
        for rows, values in ((10_000, (0.003, 0.04)), (80_000, (0.055, 0.060)))
        for block, s in enumerate(values, start=1)
    ]
    asked = {"kind": "curve", "of": "load.duration_s", "along": "rows", "per": ["engine"]}
    analysis = synthetic.analysis_with(runs, {"answer": asked})
    found = answer(analysis)
    assert found is not None
    said = sentence(analysis, found)
    assert "not distinguishable" not in said
    assert "more in each of 2 runs" in said and "3 runs are the least for an interval" in said
    assert [t.word for t in found.parts[0].tries] == ["", APART]


def test_best_of_two_runs_says_what_it_cannot_tell() -> None:
    runs = [
        synthetic.figured("duckdb", {"batch_rows": b}, block, 0, {synthetic.MAKESPAN: s})
        for b, values in ((200, (1.0, 1.4)), (2_000, (0.1, 0.6)), (20_000, (0.3, 0.2)))
        for block, s in enumerate(values, start=1)
    ]
    analysis = synthetic.analysis_with(runs, {})
    found = answer(analysis)
    assert found is not None
    for said in (sentence(analysis, found), " ".join(answer_lines(analysis, found))):
        assert "not distinguishable" not in said
        assert "too few runs to distinguish" in said and "2,000" in said
        assert "200 " in said and "in each of 2 runs" in said
