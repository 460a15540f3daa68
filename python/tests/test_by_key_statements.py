"""Calls by key in the words of each engine, and what a plan makes of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.plans import OpPlan, Unsupported
from inrush.engines.base.twin import Twin
from inrush.engines.valkey import SETS
from inrush.errors import Problem, UsageError
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.study.reading import parse_study
from inrush.study.workload_file import parse_workload
from inrush.workload import Column, Operation, Table
from tests.strategies import FakeServer, small_tree
from tests.test_by_key import TABLE

VERSION = {"name": "version", "type": "u64", "gen": "version"}
CHANGED = {**TABLE, "layouts": {"none": [], "pk": ["identity"]}, "columns": [*TABLE["columns"], VERSION]}  # type: ignore[misc]
ALL = ("postgresql", "timescaledb", "mysql", "mariadb", "sqlite", "duckdb")
SET = {
    "postgresql": 'UPDATE T SET "a" = $1, "version" = $2 WHERE "k" = $3',
    "mysql": 'UPDATE T SET "a" = ?, "version" = ? WHERE "k" = ?',
}
VALUES = {"postgresql": "$1, $2, $3, $4", "mysql": "?, ?, ?, ?"}
UPSERT = {
    "postgresql": 'ON CONFLICT ("k") DO UPDATE SET "a" = excluded."a", "version" = excluded."version"',
    "mysql": 'ON DUPLICATE KEY UPDATE "a" = VALUES("a"), "version" = VALUES("version")',
}


def workload(operations: dict[str, Any]) -> dict[str, Any]:
    made = {name: {"kind": "key", "table": "t", **operation} for name, operation in operations.items()}
    return {"schema": 1, "epoch": "2026-01-01T00:00:00Z", "tables": {"t": CHANGED}, "operations": made}


def planned(engine: str | Twin, does: str, layout: str = "pk") -> OpPlan | Unsupported:
    problems: list[Problem] = []
    columns = {"columns": ["a"]} if does in ("update", "write") else {}
    of = parse_workload(workload({"op": {"does": does, **columns}}), "w.toml", "w", problems)
    assert not problems
    twin, table = server(engine) if isinstance(engine, str) else engine, of.tables["t"]
    plan = replace(twin.plan_table(table, layout, "inrush_n"), keyed=layout == "pk")
    found = twin.plan_row_call(of.operations["op"], table, plan)
    if isinstance(found, Unsupported):
        return found
    return replace(found, text=found.text.replace(plan.name, "T"))


@pytest.mark.parametrize("engine", ALL)
def test_every_sql_engine_has_a_prepared_statement_for_each_call(engine: str) -> None:
    marks = "mysql" if engine in ("mysql", "mariadb", "sqlite", "duckdb") else "postgresql"
    upsert = UPSERT["mysql" if engine in ("mysql", "mariadb") else "postgresql"]
    insert = f'INSERT INTO T ("k", "a", "b", "version") VALUES ({VALUES[marks]})'
    one = "?" if marks == "mysql" else "$1"
    columns = ("k", "a", "b", "version")
    texts = {
        "read": (f'SELECT "k", "a", "b", "version" FROM T WHERE "k" = {one}', ("k",)),
        "insert": (insert, columns),
        "update": (SET[marks], ("a", "version", "k")),
        "write": (f"{insert} {upsert}", columns),
        "delete": (f'DELETE FROM T WHERE "k" = {one}', ("k",)),
    }
    for does, (text, params) in texts.items():
        found = planned(engine, does)
        assert isinstance(found, OpPlan)
        assert (found.text, found.params) == (text, params), does
    refused = planned(engine, "write", layout="none")
    assert isinstance(refused, Unsupported) and "take a layout with the identity first" in refused.reason


@pytest.mark.parametrize("engine", ["clickhouse", "questdb"])
def test_what_an_engine_cannot_is_unsupported_with_its_reason(engine: str) -> None:
    found = planned(engine, "read")
    assert isinstance(found, OpPlan) and found.params == ("k",), found
    for does in ("insert", "update", "write", "delete"):
        answer = planned(engine, does)
        assert isinstance(answer, Unsupported) and answer.reason.startswith(f"no {does} by key: "), answer


def test_valkey_names_the_row_that_it_reads_and_deletes_and_sets_all_columns_of_others() -> None:
    for does, text in {"read": 'HGET T/$1 ""', "delete": 'HDEL T/$1 ""'}.items():
        assert planned("valkey", does) == OpPlan(text, params=("k",))
    columns = ("k", "a", "b", "version")
    for does in ("insert", "update", "write"):
        found = planned("valkey", does)
        assert isinstance(found, OpPlan) and (found.text, found.params) == ("", columns), does
        record = {"does": does, "table": "inrush_n.t", "columns": columns}
        assert found.directives == {"record": record}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"columns": [*CHANGED["columns"], {"name": "l", "type": "list_i64", "gen": "array"}]}, "column l is of type list_i64"),
        ({"identity": []}, "the table needs an identity"),
    ],
)  # fmt: skip
def test_valkey_sets_no_row_with_a_value_that_is_no_parameter_and_none_without_a_key(
    changes: Any, why: str
) -> None:
    twin = server("valkey")
    columns = tuple(Column(c["name"], c["type"]) for c in changes.get("columns", CHANGED["columns"]))
    table = Table("t", columns, identity=tuple(changes.get("identity", ("k",))))
    plan = twin.plan_table(table, "none", "inrush_n")
    for does in SETS:
        found = twin.plan_row_call(Operation("op", "execute", table="t", does=does), table, plan)
        assert isinstance(found, Unsupported) and why in found.reason


def test_an_update_of_some_columns_keeps_the_rows_own_values_of_the_others_where_it_sets_whole_rows() -> None:
    study = study_of({"change": {"does": "update", "columns": ["a"]}}, {"a": role("change")})
    kinds = {p["name"]: p["gen"]["kind"] for p in operation_of(study, "change")["params"]}
    assert kinds == {"k": "key", "a": "changed", "version": "changed"}, "by a statement"
    study = study_of(
        {"change": {"does": "update", "columns": ["a"]}}, {"a": role("change")}, engines=["valkey"]
    )
    change = operation_of(study, "change")
    assert {p["name"]: p["gen"]["kind"] for p in change["params"]} == {**kinds, "b": "key"}
    assert change["directives"]["record"]["does"] == change["does"] == "update"


def test_influxdb_reads_the_point_of_a_key_with_its_columns_in_order() -> None:
    problems: list[Problem] = []
    columns = [
        {"name": "port", "type": "i64", "gen": "cycle", "from": 1, "to": 100},
        {"name": "at", "type": "time_ms", "gen": "sweep_time"},
        {"name": "v", "type": "i64", "gen": "uniform", "from": 0, "to": 9},
    ]
    tree = workload({"op": {"does": "read"}})
    tree["tables"] = {"t": {**TABLE, "identity": ["port", "at"], "columns": columns}}
    of, twin = parse_workload(tree, "w.toml", "w", problems), server("influxdb")
    plan = twin.plan_table(of.tables["t"], "none", "inrush_n")
    found = twin.plan_row_call(of.operations["op"], of.tables["t"], plan)
    assert not problems and isinstance(found, OpPlan)
    assert found.text.endswith(""" WHERE "port" = '$1' AND "time" = $2"""), found.text
    assert found.params == ("port", "at")
    assert found.directives == {"columns": ("port", "time", "v")}
    refused = twin.plan_row_call(replace(of.operations["op"], does="update"), of.tables["t"], plan)
    assert isinstance(refused, Unsupported) and refused.reason.startswith("no update by key: a point")


def test_an_engine_whose_twin_says_nothing_of_calls_by_key_refuses_in_one_line() -> None:
    found = planned(FakeServer("postgresql"), "read")
    assert found == Unsupported("postgresql has no calls by key (read)")


# --- plans


def study_of(operations: dict[str, Any], roles: dict[str, Any], **changes: Any) -> StudyPlan:
    tree = small_tree(
        factors={"readers": [4]}, stop=[], kind="mixed", load={"rows": 1000}, roles=roles, layout="pk",
        engines=["sqlite"], workload="w", schedule={"measure_s": 1},
    ) | changes  # fmt: skip
    study = parse_study(tree, workload(operations), name="small", file="s.toml", workload_file="w.toml")
    return plan_study(study, {engine: server(engine) for engine in tree["engines"]})


def operation_of(study: StudyPlan, name: str) -> Any:
    (found,) = (o for o in study.runs[0].plan["operations"] if o["name"] == name)
    return found


def role(operation: str, **changes: Any) -> dict[str, Any]:
    return {"operation": operation, "sessions": "@readers", **changes}


OPERATIONS: dict[str, Any] = {
    "look": {"does": "read", "keys": {"by": "own_range"}},
    "put": {"does": "insert", "keys": {"rows": 500}},
    "take": {"does": "delete"},
    "change": {"does": "update", "columns": ["a"]},
}


def test_inserts_add_rows_behind_those_that_are_loaded_and_the_proof_knows_all() -> None:
    plan = study_of(OPERATIONS, {name: role(name) for name in OPERATIONS}).runs[0].plan
    operations = {o["name"]: o for o in plan["operations"]}
    assert {n: o.get("does") for n, o in operations.items() if n in OPERATIONS} == {
        "look": "read", "put": "insert", "take": "delete", "change": "update"
    }  # fmt: skip
    keys = {n: (o["keys"][0]["first_row"], o["keys"][0]["rows"], o["keys"][0]["by"]["kind"])
            for n, o in operations.items() if n in OPERATIONS}  # fmt: skip
    assert keys == {
        "look": (0, 1000, "own_range"), "put": (1000, 500, "each_once"),
        "take": (0, 1000, "each_once"), "change": (0, 1000, "uniform"),
    }  # fmt: skip
    assert [p["gen"]["kind"] for p in operations["change"]["params"]] == ["changed", "changed", "key"]
    (proof,) = [p for s in plan["segments"] if s["kind"] == "proof" for p in s["proofs"]]
    assert (proof["first_row"], proof["rows"]) == (0, 1500)
    assert _core.check_plan(json.dumps(dict(plan))) == []


@pytest.mark.parametrize(
    ("operations", "roles", "changes", "said"),
    [
        ({"put": {"does": "insert"}}, {"a": role("put")}, {}, "say how many rows it may insert"),
        ({"take": {"does": "delete"}}, {"a": role("take", keys="uniform")}, {}, "rows come and go once"),
        ({"change": {"does": "update"}}, {"a": role("change"), "b": role("change")}, {}, "a, b call change at the same time"),
        ({"change": {"does": "update"}}, {"a": role("change")}, {"load": {"rows": 10_000_001}}, "10,000,000 rows at most"),
        ({"change": {"does": "update"}}, {"a": role("change")}, {"row_order": "random"}, "sweep by sweep"),
        ({"change": {"does": "update"}, "other": {"does": "update", "columns": ["b"]}},
         {"a": role("change"), "b": role("other")}, {}, "change the same columns, as change does"),
        ({"look": {"does": "read"}}, {"a": role("look", depth=64)}, {}, "has 1 call in flight at most"),
        ({"take": {"does": "delete"}, "look": {"does": "read"}},
         {"a": {"operations": {"take": 1, "look": 1}, "sessions": "@readers"}}, {}, "take asks for each row once"),
    ],
)  # fmt: skip
def test_what_calls_by_key_cannot_mean_is_refused_with_its_remedy(
    operations: Any, roles: Any, changes: Any, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        study_of(operations, roles, **changes)
