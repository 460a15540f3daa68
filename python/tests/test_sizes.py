"""Sizes over rows: joined by time, within one repetition, never across two."""

from __future__ import annotations

import numpy as np
import pytest

from inrush.analysis.answer import answer
from inrush.guards.analyse import analyse
from inrush.report.figures import figures
from inrush.stats.sizes import rows_at, rows_written, sizes_over_rows
from tests import synthetic
from tests.synthetic import SECOND

ROWS = 100_000


def sampled(name: str, t_s: float, value: object) -> dict[str, object]:
    return {"segment": 2, "t_ns": round(t_s * SECOND), "name": name, "value": str(value)}


def test_a_size_stands_over_the_rows_stored_when_it_was_told() -> None:
    """The synthetic run writes evenly from second 1 to second 11."""
    samples = [sampled("table:t", t, 50 * ROWS * (t - 1) / 10) for t in (1.0, 3.5, 6.0, 11.0)]
    samples += [sampled("table:t", 12.0, 1e12), {**sampled("table:t", 6.0, 1e12), "segment": 5}]
    run = synthetic.run("duckdb", makespan_s=10.0, rows=ROWS, more={"sizes": samples})
    (curve,) = sizes_over_rows(run).values()
    assert curve[0] == pytest.approx([0, ROWS / 4, ROWS / 2, ROWS], rel=0.01)
    assert curve[1] == pytest.approx(50 * curve[0], rel=0.01, abs=1)


def test_rows_begin_again_with_each_repetition() -> None:
    run = synthetic.run("duckdb", makespan_s=[10.0, 10.0], rows=ROWS)
    first, second = rows_written(run)
    assert first[1][-1] == second[1][-1] == ROWS
    assert (np.diff(first[1]) >= 0).all()
    assert (
        rows_at([first, second], 6.0) == rows_at([first, second], 16.0) == pytest.approx(ROWS / 2, rel=0.01)
    )
    assert rows_at([first, second], 0.5) is None


def test_a_table_that_is_not_there_has_no_size() -> None:
    samples = [sampled("table:t", 5.0, None), sampled("wal", 5.0, 7)]
    run = synthetic.run("duckdb", makespan_s=10.0, rows=ROWS, more={"sizes": samples})
    assert list(sizes_over_rows(run)) == ["wal"]


def test_a_report_draws_sizes_where_they_were_sampled() -> None:
    samples = [sampled("table:t", 1 + t / 10, 1e6 * t) for t in range(1, 10)]
    record = synthetic.study(
        {("duckdb", 100): 2.0, ("duckdb", 200): 2.0}, spread=0.01, more={"sizes": samples}
    )
    analysis = analyse(record)
    names = [f.name for f in figures(analysis, answer(analysis))]
    assert "sizes-0" in names
    analysis = analyse(synthetic.study({("duckdb", 100): 2.0, ("duckdb", 200): 2.0}, spread=0.01))
    assert "sizes-0" not in [f.name for f in figures(analysis, answer(analysis))]
