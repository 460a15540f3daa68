"""Quiet answers against an engine that was not measured."""

from __future__ import annotations

import json
from datetime import time
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.engines.sqlite.memory import stored, stored_column
from inrush.plan.oracle import oracle_plan
from inrush.run import oracle
from inrush.workload import Column, Operation, Table

BIG = 2**63 + 5
TABLE = {
    "columns": [
        {"name": "guid", "type": "u64"},
        {"name": "at", "type": "time_ms"},
        {"name": "v", "type": "f64"},
    ]
}


class Rows:
    """Three rows as `_core.generate` hands them over."""

    def __call__(self, table_json: str, seed: int, epoch_ns: int, first_row: int, rows: int) -> Any:
        batch = pa.table(
            {
                "guid": pa.array([BIG, 7, 8], pa.uint64()),
                "at": pa.array([1000, 2000, 3000], pa.timestamp("ms", tz="UTC")),
                "v": pa.array([0.5, 1.0, 1.5]),
            }
        )
        return pa.RecordBatchReader.from_batches(batch.schema, batch.to_batches())


def plan(engine: str, text: str, params: dict[str, str]) -> dict[str, Any]:
    types = {
        "duckdb": 'guid UBIGINT, "at" TIMESTAMPTZ, v DOUBLE',
        "sqlite": 'guid INTEGER, "at" INTEGER, v REAL',
    }
    return {
        "seed": 1,
        "epoch_ns": 0,
        "tables": [TABLE],
        "operations": [{"name": "q", "params": [{"name": n, "type": t} for n, t in params.items()]}],
        "labels": {
            "oracle": {
                "engine": engine,
                "tables": [
                    {
                        "index": 0,
                        "name": "t",
                        "create": [f"CREATE TABLE t ({types[engine]})"],
                        "first_row": 0,
                        "rows": 3,
                    }
                ],
                "operations": {"q": {"text": text, "params": list(params)}},
            }
        },
    }


def cells(rows: list[list[str | None]], params: dict[str, str]) -> list[dict[str, Any]]:
    if not rows:
        return [{"op": "q", "params": json.dumps(params), "row": oracle.NO_ROW, "value": None}]
    return [
        {"op": "q", "params": json.dumps(params), "row": n, "value": value}
        for n, row in enumerate(rows)
        for value in row
    ]


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@pytest.mark.parametrize(
    ("answer", "holds"),
    [
        ([[str(BIG), "1000", "0.5"], ["7", "2000", "1"]], True),
        ([[str(BIG - 2**64), "1000", "0.5"], ["7", "2000", "1.0"]], True),  # unsigned bits read as signed
        ([[str(BIG), "1000000", "0.5"], ["7", "2000000", "1"]], True),  # microseconds
        ([["7", "2000", "1"], [str(BIG), "1000", "0.5"]], True),  # another order
        ([[str(BIG), "1000", "0.5"]], False),
        ([[str(BIG), "1000", "0.5"], ["8", "2000", "1"]], False),
        ([[str(BIG), "1000", "0.5"], ["7", "2001", "1"]], False),
        ([[str(BIG), "1000", "0.5"], ["7", "2000", "1.01"]], False),
        ([[str(BIG), "1000", None], ["7", "2000", "1"]], False),
        ([], False),
    ],
)
def test_an_answer_is_right_in_any_wrapping_and_wrong_in_any_value(
    engine: str, answer: list[list[str | None]], holds: bool
) -> None:
    asked = plan(engine, 'SELECT guid, "at", v FROM t WHERE "at" <= ?', {"t1": "time_ms"})
    found = oracle.verdicts(asked, cells(answer, {"t1": "2000"}), Rows())
    assert [v.holds for v in found] == [holds], found


def test_an_empty_answer_is_an_answer() -> None:
    asked = plan("duckdb", 'SELECT guid FROM t WHERE "at" > ?', {"t1": "time_ms"})
    assert oracle.verdicts(asked, cells([], {"t1": "9000"}), Rows())[0].holds


@pytest.mark.parametrize(
    ("logical", "asked"),
    [("time_ms", "1767225600123"), ("time_us", "1767225600123456"), ("u64", str(2**64 - 5))],
)
def test_a_key_of_any_type_finds_its_row_in_the_oracle(logical: str, asked: str) -> None:
    sqlite = oracle.Oracle("sqlite")
    sqlite.database.execute("CREATE TABLE t (k INTEGER)")
    kept = int(asked) - (2**64 if logical == "u64" else 0)
    sqlite.database.execute(f"INSERT INTO t VALUES ({kept})")
    assert sqlite.ask("SELECT k FROM t WHERE k = ?", [oracle.value_of(asked, logical)], [logical]) == [
        (kept,)
    ]


def test_a_whole_mean_is_still_a_float() -> None:
    asked = plan("duckdb", "SELECT guid, avg(v) FROM t GROUP BY guid", {})
    assert oracle.verdicts(asked, cells([["7", "1"], ["8", "1.5"], [str(BIG), "0.5"]], {}), Rows())[0].holds


COLUMNS = {
    "u64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "i64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "f64": (pa.float64(), st.floats(allow_nan=False)),
    "bool": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.text("aé'\0")),
    "time_ms": (pa.timestamp("ms", "UTC"), st.integers(-(2**40), 2**40)),
    "time_us": (pa.timestamp("us", "UTC"), st.integers(-(2**50), 2**50)),
    "list<f64>": (pa.list_(pa.float64()), st.lists(st.floats(allow_nan=False), max_size=3)),
}


@given(st.sampled_from(sorted(COLUMNS)), st.data())
def test_a_column_is_kept_as_its_cells_one_by_one_are(logical: str, data: st.DataObject) -> None:
    kind, cells = COLUMNS[logical]
    column = pa.array(data.draw(st.lists(st.none() | cells, max_size=8)), kind)
    assert stored_column(column, logical) == stored(column.to_pylist(), logical)


def test_nan_is_nan_in_both_answers_and_no_number_is() -> None:
    rows: list[list[str | None]] = [["1", "NaN"], ["2", "inf"], ["3", "0.5"], ["4", "NaN"]]
    expected = [(3, 0.5), (4, float("nan")), (2, float("inf")), (1, float("nan"))]
    assert oracle.compare("q", rows, expected).holds
    assert not oracle.compare("q", rows, [*expected[:3], (1, 7.0)]).holds
    assert not oracle.compare("q", rows, [(3, float("nan")), *expected[1:]]).holds
    shuffled = [row[1:] for row in rows]
    assert oracle.compare("q", shuffled, [row[1:] for row in expected]).holds


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_query_that_the_oracle_refuses_is_told_and_never_taken_for_right(engine: str) -> None:
    asked = plan(engine, "SELECT no_such_function(guid) FROM t", {})
    (found,) = oracle.verdicts(asked, cells([["7"]], {}), Rows())
    assert not found.holds
    assert f"{engine}, the oracle, cannot answer it" in found.found
    assert "no_such_function" in found.found and f"write sql.{engine}" in found.found


@pytest.mark.parametrize("told", ["08:30:00", "08:30:00.25", "23:59:59.000001", "00:00:00"])
def test_a_time_of_day_is_the_oracle_s_in_its_one_form(told: str) -> None:
    assert oracle.plain(time.fromisoformat(told.ljust(15, "0") if "." in told else told)) == told


def test_addresses_are_not_held_against_texts_which_have_another_order() -> None:
    column = Column("host", "inet", gen={"kind": "any"})
    tables = {"t": Table("t", (column, Column("n", "i64", gen={"kind": "any"})))}
    top = Operation("top", "query", "t", sql={"default": "SELECT max(n) FROM {t}"})
    asked = (["top"], {"top": top})
    assert oracle_plan("duckdb", *asked, tables, {"t": 10}) is None
    numbers = {"t": Table("t", tables["t"].columns[1:])}
    assert oracle_plan("duckdb", *asked, numbers, {"t": 10}) is not None
