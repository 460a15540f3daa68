"""The same question over the same rows has one answer, however an engine spells it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from inrush.guards.agreement import difference, disagreements
from inrush.stats.record import RunRecord
from tests import synthetic

BIG = str(2**64 - 1)


def answered(engine: str, rows: list[list[str | None]], seed: int = 1) -> RunRecord:
    cells: list[dict[str, Any]] = [
        {"segment": 4, "op": "top", "params": "{}", "row": r, "col": c, "name": f"c{c}", "value": v}
        for r, row in enumerate(rows)
        for c, v in enumerate(row)
    ]
    run = synthetic.run(engine)
    return replace(
        run, plan={**run.plan, "seed": seed}, tables={**run.tables, "answers": pa.Table.from_pylist(cells)}
    )


def test_spelling_and_order_make_no_difference() -> None:
    a = answered("duckdb", [[BIG, "1.50", "2026-01-01 00:00:00"], ["7", "0.1", "x"]])
    b = answered("postgresql", [["7", "0.1000000000001", "y"], [BIG, "1.5", "1767225600000"]])
    assert disagreements([a, b]) == (1, [])


def test_an_instant_is_the_same_in_milliseconds_and_in_microseconds() -> None:
    duckdb = answered("duckdb", [["1767225619000000", "5"], ["1767225620000000", None]])
    assert disagreements([duckdb, answered("sqlite", [["1767225619000", "5"], ["1767225620000", None]])]) == (
        1,
        [],
    )
    _, detail = disagreements([duckdb, answered("sqlite", [["1767225619001", "5"], ["1767225620000", None]])])
    assert len(detail) == 1


def test_an_unsigned_number_kept_as_a_negative_one_is_the_same() -> None:
    assert disagreements([answered("duckdb", [[BIG, "1"]]), answered("postgresql", [["-1", "1"]])]) == (1, [])


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ([[str(2**64 - 2), "1.5"]], "differ"),  # a float would not see it
        ([[BIG, "1.5000001"]], "differ"),
        ([[BIG, None]], "differ"),
        ([[BIG, "1.5"], ["1", "1"]], "1 and 2 rows"),
        ([[BIG]], "2 and 1 columns"),
    ],
)
def test_a_wrong_value_row_or_column_is_told(other: list[list[str | None]], words: str) -> None:
    _, detail = disagreements([answered("duckdb", [[BIG, "1.5"]]), answered("sqlite", other)])
    assert len(detail) == 1 and words in detail[0] and "duckdb and sqlite" in detail[0]


def test_different_rows_are_different_questions() -> None:
    assert disagreements([answered("duckdb", [["1"]]), answered("sqlite", [["2"]], seed=2)]) == (0, [])


def test_values_swapped_between_rows_are_told() -> None:
    assert difference({0: ["1", "2"], 1: ["3", "4"]}, {0: ["1", "2"], 1: ["4", "3"]})
