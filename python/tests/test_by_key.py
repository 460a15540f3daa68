"""Operations of kind `key`: what a workload file may say of them, and what they become."""

from __future__ import annotations

from typing import Any

import pytest

from inrush.errors import Problem
from inrush.study.workload_file import parse_workload
from inrush.workload import Operation

TABLE = {
    "series": 100,
    "period_s": 1,
    "identity": ["k"],
    "layouts": {"pk": ["identity"]},
    "columns": [
        {"name": "k", "type": "u64", "gen": "sequence", "start": 0, "step": 1},
        {"name": "a", "type": "i32", "gen": "uniform", "from": 0, "to": 9},
        {"name": "b", "type": "f32", "gen": "uniform", "from": 0, "to": 9},
    ],
}


def read(operation: dict[str, Any], **table: Any) -> tuple[Operation | None, list[str]]:
    problems: list[Problem] = []
    tree = {
        "schema": 1,
        "epoch": "2026-01-01T00:00:00Z",
        "tables": {"t": {**TABLE, **table}, "u": TABLE},
        "operations": {"op": {"kind": "key", **operation}},
    }
    workload = parse_workload(tree, "w.toml", "w", problems)
    said = [f"{p.key}: {p.remedy}" for p in problems]
    return (None if said else workload.operations["op"]), said


def test_a_read_asks_for_whole_rows_by_their_identity_and_promises_them() -> None:
    operation, said = read({"does": "read", "table": "t", "keys": {"by": "zipf", "exponent": 1.1}})
    assert operation is not None, said
    assert (operation.kind, operation.does, operation.holds) == ("query", "read", ("asked",))
    assert operation.returns == ("k", "a", "b") and operation.compared == {"k": "k"}
    assert list(operation.params) == ["k"] and operation.key_rows is not None
    assert (operation.key_rows.by, operation.key_rows.exponent) == ("zipf", 1.1)


@pytest.mark.parametrize(("does", "params"), [("insert", ["k", "a", "b"]), ("delete", ["k"])])
def test_rows_that_come_and_go_are_drawn_once_each(does: str, params: list[str]) -> None:
    operation, said = read({"does": does, "table": "t"})
    assert operation is not None, said
    assert (operation.kind, operation.does, operation.holds) == ("execute", does, ())
    assert list(operation.params) == params
    assert operation.key_rows is not None and operation.key_rows.by == "each_once"
    _, said = read({"does": does, "table": "t", "keys": {"by": "uniform"}})
    assert said == [f'operations.op.keys: a row is {does.rstrip("e")}ed once, so its keys are by = "each_once"; write that, or remove it']  # fmt: skip


def test_all_mistakes_of_an_operation_by_key_are_said_at_once() -> None:
    _, said = read(
        {
            "does": "reed",
            "table": "t",
            "sql": {"default": "SELECT 1"},
            "columns": ["a"],
            "keys": {"table": "u"},
        },
        identity=["b"],
    )
    assert any("reed" not in s and s.startswith("operations.op.does") for s in said), said
    for part in ("has no sql", "changes columns; remove it", "is of type f32", "its own table, t"):
        assert sum(part in s for s in said) == 1, (part, said)
    _, said = read({})
    assert any("write does = one of read, insert, update, write, delete" in s for s in said), said
    assert any("write table" in s for s in said), said


def test_what_is_of_operations_by_key_is_refused_of_others() -> None:
    _, said = read({"kind": "query", "does": "read", "table": "t", "sql": {"default": "SELECT 1"}})
    assert said == ['operations.op.does: only kind = "key" has does; remove it']


def test_rows_that_change_need_a_column_that_counts_their_changes() -> None:
    _, said = read({"does": "update", "table": "t"})
    assert len(said) == 1 and "need one column that counts their changes; t has none" in said[0]
