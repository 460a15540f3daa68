"""Bytes stored: of the rows that are there, by the engine's own sizes, beside the forecast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis.stored import header, stored_points, stored_rows
from inrush.guards.analyse import analyse
from inrush.stats.record import RunRecord, StudyRecord
from inrush.stats.stored import stored
from tests import synthetic

SECOND = 10**9
#: 8 + 4 + 8 bytes of values.
COLUMNS = [
    {"name": "guid", "type": "u64"},
    {"name": "port", "type": "i32"},
    {"name": "at", "type": "time_ms"},
]
AFTER, DURING = 4, 2


def probed(sizes: Mapping[str, Any], segment: int = AFTER) -> list[dict[str, Any]]:
    return [{"segment": segment, "t_ns": 1, "name": k, "value": str(v)} for k, v in sizes.items()]


def of_sizes(
    sizes: Mapping[str, Any], label: str = "after", during: Mapping[str, Any] | None = None, **how: Any
) -> RunRecord:
    """A run that wrote 1,000 rows of 20 bytes in each repetition; samples of 50 rows each half second."""
    more = {
        "sizes": [*probed(during or {}, DURING), *probed(sizes)],
        "segments": [{"segment": AFTER, "kind": "probe", "label": label}],
    }
    run = synthetic.run(rows=1_000, more=more, **how)
    role = {
        **run.plan["segments"][1]["roles"][0],
        "work": {"kind": "rows", "table": 0, "batch_rows": 25, "rows": 1_000, "first_row": 0},
        "schedule": {"kind": "samples", "every_ns": SECOND // 2, "parts": 2},
    }
    measure = {**run.plan["segments"][1], "roles": [role]}
    segments = [run.plan["segments"][0], measure, {"kind": "probe", "label": label}]
    return replace(
        run, plan={**run.plan, "tables": [{"name": "t", "columns": COLUMNS}], "segments": segments}
    )


def test_bytes_are_those_of_the_last_repetitions_rows() -> None:
    found = stored(
        of_sizes({"table:t": 30_000, "indexes:t": 10_000, "log:wal": 10**9}, makespan_s=[1.0, 1.0])
    )
    assert found is not None
    assert (found.rows, found.value_bytes, found.row_bytes, found.index_bytes) == (
        1_000,
        20_000,
        30_000,
        10_000,
    )
    assert found.share == pytest.approx(2.0)
    assert (found.rows_per_s, found.value_bytes_per_s, found.bytes_per_s) == (100, 2_000, 4_000)


def test_each_index_of_sqlite_counts() -> None:
    found = stored(of_sizes({"table:t": 30_000, "index:a": 4_000, "index:b": 6_000, "file": 99_000}))
    assert found is not None
    assert found.index_bytes == 10_000


def test_a_whole_database_counts_where_tables_have_no_figure() -> None:
    found = stored(of_sizes({"disk": 50_000, "wal": 1, "tsm": 2}))
    assert found is not None
    assert (found.row_bytes, found.index_bytes) == (50_000, 0)


def test_samples_of_sizes_while_rows_came_in_are_not_the_end() -> None:
    found = stored(of_sizes({"table:t": 30_000}, during={"table:t": 1, "indexes:t": 7}))
    assert found is not None
    assert (found.row_bytes, found.index_bytes) == (30_000, 0)


@pytest.mark.parametrize("sizes", [{}, {"table:t": "NULL"}, {"log:wal": 10**9}, {"table:t": 0}])
def test_without_sizes_there_is_no_figure(sizes: Mapping[str, Any]) -> None:
    assert stored(of_sizes(sizes)) is None


def test_rows_that_were_deleted_have_no_bytes_a_row() -> None:
    assert stored(of_sizes({"table:t": 30_000}, label="retain")) is None


def test_the_table_has_the_median_run_of_the_largest_point() -> None:
    runs = [
        of_sizes({"table:t": bytes_}, factors={"rows": rows}, block=block)
        for rows in (10, 20)
        for block, bytes_ in enumerate((30_000, 50_000, 90_000), 1)
    ]
    study = synthetic.study({("duckdb", 200): 1.0})
    points = stored_points(analyse(StudyRecord(study.study, runs, [])))
    assert len(points) == 1
    cells = dict(zip(header(points), stored_rows(points)[0], strict=True))
    assert cells["#stored / values"] == "2.50"
    assert cells["#B/row, values"] == "20.0"
    # 100 rows/s of 50 bytes, and of 20 bytes twice.
    assert (cells["#an hour"], cells["#an hour, planned"]) == ("18.0 MB", "14.4 MB")
    assert (cells["#a day"], cells["#a day, planned"]) == ("432 MB", "346 MB")


def test_rows_of_inserts_without_an_answer_count_where_the_proof_found_them() -> None:
    run = of_sizes({"table:t": 30_000})
    proofs = [
        {"segment": 3, "table": "t", "item": f"unanswered({at}..{at + 250})", "found": found, "holds": True}
        for at, found in ((0, "whole"), (250, "none"), (500, "in part, 50 of 250 rows"))
    ]
    tables = {**run.tables, "proofs": synthetic.table("proofs", [*run.rows("proofs"), *proofs])}
    found = stored(replace(run, tables=tables, _rows={}))
    assert found is not None
    assert found.rows == 1_000 + 250 + 50
