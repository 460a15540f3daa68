"""Ranges of a large table that are read back: which rows they are among, by which the core limits its wait."""

from __future__ import annotations

from inrush.engines import server
from inrush.plan.ranges import RANGE_ROWS, RANGES, ranges_by_key
from inrush.study.reading import load_study

ROWS = 400_000_000


def test_some_series_are_read_back_among_all_rows_of_their_table() -> None:
    table = load_study("archive-load", None).workload.tables["att_scalar_devdouble_ro"]
    found = ranges_by_key(server("sqlite"), table, "SELECT * FROM t", ROWS, seed=1)
    assert RANGES - 1 <= len(found) <= RANGES, "the one with the pinned series is left out"
    for part in found:
        assert (part.first_row, part.rows) == (0, ROWS)
        read = 0 if part.series is None else part.series["count"] * ROWS // table.series
        assert 0 < read < RANGE_ROWS, "a limit by the rows read back would end a look at the whole table"
