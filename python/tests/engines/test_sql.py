from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.engines import server
from inrush.engines.base import checksum, sql
from inrush.engines.base.plans import OpPlan, TablePlan, Unsupported
from inrush.workload import Column, Operation, Table

TABLES = {"errors": '"run"."errors"'}


def test_a_repeated_name_is_bound_twice_by_marks_and_once_by_numbers() -> None:
    text = "SELECT * FROM {errors} WHERE a >= :t0 AND b < :t1 AND c > :t0"
    assert sql.bind(text, TABLES) == (
        'SELECT * FROM "run"."errors" WHERE a >= ? AND b < ? AND c > ?',
        ("t0", "t1", "t0"),
    )
    assert sql.bind(text, TABLES, sql.dollar) == (
        'SELECT * FROM "run"."errors" WHERE a >= $1 AND b < $2 AND c > $1',
        ("t0", "t1"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ':no', '{errors}'",
        "SELECT 'it''s :no'",
        'SELECT ":no", "{errors}"',
        "SELECT a::int FROM t",
        "SELECT 1 -- :no {errors}\n",
        "SELECT /* :no\n{errors} */ 1",
        "SELECT a[1:n]",
    ],
)
def test_literals_names_comments_and_casts_hold_no_parameters(text: str) -> None:
    assert sql.bind(text, TABLES) == (text, ())


def test_a_cast_after_a_parameter_stays_a_cast() -> None:
    assert sql.bind("SELECT :x::int", {}, sql.dollar) == ("SELECT $1::int", ("x",))


def test_a_table_that_is_not_in_the_workload_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="other"):
        sql.bind("SELECT * FROM {other}", TABLES)


@given(st.text())
def test_quoting_doubles_every_quote_and_nothing_else(name: str) -> None:
    assert sql.quote(name)[1:-1].replace('""', '"') == name
    assert sql.literal(name)[1:-1].replace("''", "'") == name


@given(st.text())
def test_a_literal_is_never_taken_for_parameters(text: str) -> None:
    assert sql.bind(f"SELECT {sql.literal(text)}", {}) == (f"SELECT {sql.literal(text)}", ())


def test_a_statement_prefers_its_dialect_and_says_why_it_is_missing() -> None:
    plans = {"errors": TablePlan('"e"', (), (), (), {})}
    op = Operation(
        "q", "query", "errors", sql={"default": "SELECT 1 FROM {errors}", "duckdb": "SELECT 2 FROM {table}"}
    )
    assert sql.statement(op, "sqlite", plans) == OpPlan('SELECT 1 FROM "e"')
    assert sql.statement(op, "duckdb", plans) == OpPlan('SELECT 2 FROM "e"')
    refused = Operation("q", "query", sql={"default": "SELECT 1"}, unsupported={"sqlite": "no MERGE"})
    assert sql.statement(refused, "sqlite", {}) == Unsupported("no MERGE")
    assert isinstance(sql.statement(Operation("q", "query"), "sqlite", {}), Unsupported)


def test_every_whole_column_is_multiplied_with_the_first_two_keys_once() -> None:
    table = Table(
        "t",
        tuple(Column(name, "u64") for name in ("guid", "port", "at", "x")),
        identity=("guid", "port", "at"),
    )
    items = checksum.checksum_items(table, unsigned_is_signed=True)
    pairs = [(i["key"], i["value"]) for i in items if i["kind"] == "product"]
    assert pairs == [("guid", "port"), ("guid", "at"), ("guid", "x"), ("port", "at"), ("port", "x")]


def test_floats_are_summed_only_when_their_fraction_is_known() -> None:
    table = Table(
        "t",
        (
            Column("a", "f64", gen={"kind": "normal", "bits": 20}),
            Column("b", "f64"),
            Column("c", "f32", gen={}),
        ),
    )
    items = [dict(i) for i in checksum.checksum_items(table, False) if i["kind"] == "sum_scaled"]
    assert items == [
        {"kind": "sum_scaled", "column": "a", "bits": 20},
        {"kind": "sum_scaled", "column": "c", "bits": checksum.DEFAULT_FLOAT_BITS},
    ]


@pytest.mark.parametrize("name", ["adbc", "duckdb", "postgresql", "sqlite"])
def test_every_method_of_a_twin_plans_an_insert_and_no_other_does(name: str) -> None:
    twin = server(name)
    table = Table("plain", (Column("a", "i64", {"gen": "uniform"}), Column("t", "text", {"gen": "text"})))
    plans = {"plain": twin.plan_table(table, "none", "run")}
    insert = Operation("insert", "insert", table="plain")
    for method in twin.methods:
        planned = twin.plan_operation(insert, method, plans)
        assert isinstance(planned, OpPlan) and planned.method == method
    refused = twin.plan_operation(insert, "telepathy", plans)
    assert isinstance(refused, Unsupported) and all(m in refused.reason for m in twin.methods)


def test_a_loss_of_many_columns_is_told_once_in_the_order_of_columns() -> None:
    columns = tuple(Column(f"c{k}", ty, {}) for k, ty in enumerate(["u64", "text", "i32", "u64"]))
    assert sql.losses(Table("plain", columns), {"text": "T", "u64": "U"}) == ("U", "T")
