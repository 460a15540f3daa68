"""Reads by key of several rows: in the words of each engine, in a plan, and in a run beside updates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.plans import OpPlan, Unsupported
from inrush.errors import Problem, UsageError
from inrush.plan.lists import several_rows
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study, parse_study
from inrush.study.workload_file import parse_workload
from tests.strategies import small_tree
from tests.terminal import Inrush
from tests.test_by_key_statements import ALL, CHANGED, workload

TWO = {**CHANGED, "identity": ["k", "a"]}


def planned(engine: str, rows: int, table: Any = CHANGED) -> OpPlan | Unsupported:
    problems: list[Problem] = []
    tree = {**workload({"op": {"does": "read"}}), "tables": {"t": table}}
    of = parse_workload(tree, "w.toml", "w", problems)
    assert not problems, problems
    twin, made = server(engine), of.tables["t"]
    plan = replace(twin.plan_table(made, "none", "inrush_n"), keyed=True)
    found = twin.plan_row_call(several_rows(of.operations["op"], rows), made, plan)
    if isinstance(found, Unsupported):
        return found
    return replace(found, text=found.text.replace(plan.name, "T"))


@pytest.mark.parametrize("engine", ALL)
def test_a_statement_of_sql_compares_the_key_with_a_list(engine: str) -> None:
    marks = "?, ?, ?" if engine in ("mysql", "mariadb", "sqlite", "duckdb") else "$1, $2, $3"
    found = planned(engine, 3)
    assert isinstance(found, OpPlan), found
    assert found.text == f'SELECT "k", "a", "b", "version" FROM T WHERE "k" IN ({marks})'
    assert found.params == ("k_0", "k_1", "k_2")


def test_valkey_asks_for_each_row_in_one_pipeline() -> None:
    found = planned("valkey", 2)
    assert isinstance(found, OpPlan) and found.text.splitlines() == ['HGET T/$1 ""', 'HGET T/$2 ""']


def test_ndb_has_as_many_operations_in_one_transaction() -> None:
    found = planned("ndb", 2, TWO)
    assert isinstance(found, OpPlan) and found.directives is not None
    assert found.params == ("k_0", "a_0", "k_1", "a_1")
    assert found.directives["record"]["columns"] == ("k", "a", "k", "a")


@pytest.mark.parametrize("engine", [*ALL, "valkey"])
def test_a_key_of_several_columns_is_no_list_of_sql(engine: str) -> None:
    found = planned(engine, 2, TWO)
    assert isinstance(found, Unsupported) and "several columns (k, a)" in found.reason


def study_tree(roles: dict[str, Any], **more: Any) -> dict[str, Any]:
    return small_tree(
        kind="timed", roles=roles, load={"rows": 1_000}, engines=["sqlite"], factors={"n": [1, 4]},
        schedule={"mode": "closed", "measure_s": 1}, answer={"kind": "curve", "of": "r.keys_per_s", "along": "n"}, stop=[], **more
    )  # fmt: skip


def plan_of(roles: dict[str, Any]) -> Any:
    operations = {"look": {"does": "read"}, "take": {"does": "delete"}}
    study = parse_study(
        study_tree(roles), workload(operations), name="s", file="s.toml", workload_file="w.toml"
    )
    return plan_study(study, {"sqlite": server("sqlite")})


def test_each_row_of_a_call_is_drawn_by_itself_and_asked_for() -> None:
    plan = plan_of({"r": {"operation": "look", "sessions": 1, "keys_per_call": "@n"}})
    assert len(plan.block(1)) == 2
    for run in plan.block(1):
        (look,) = [o for o in run.plan["operations"] if o["name"] == "look"]
        n = run.labels["factors"]["n"]
        assert [p["name"] for p in look["params"]] == [f"k_{k}" for k in range(n)]
        assert len({p["gen"]["draw"] for p in look["params"]}) == n
        (asked,) = [a for a in look["holds"] if a["kind"] == "asked"]
        assert asked["keys"] == ["k"] * n and run.labels["keys_per_call"] == {"r": n}


def test_roles_that_share_a_read_ask_for_as_many_rows() -> None:
    shared = {"operation": "look", "sessions": 1}
    with pytest.raises(UsageError, match="another role calls look with"):
        plan_of({"r": {**shared, "keys_per_call": "@n"}, "other": shared})
    with pytest.raises(
        UsageError, match="operation take asks for no list of keys and reads no row by its key"
    ):
        plan_of({"r": {"operation": "take", "sessions": 1, "calls": 9, "keys_per_call": "@n"}})


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.ci
def test_rows_of_a_call_are_right_while_they_change(engine: str, inrush: Inrush, tmp_path: Path) -> None:
    """The studies' own workload, read 16 rows a call beside updates: each row has a version that it may have."""
    text = Path(load_study("keylookup-transactions", "xs").file).read_text()
    changed = text.replace(
        "[repeats]", '[roles.changers]\noperation = "change"\nsessions = 1\n\n[repeats]'
    ).replace('workload = "keylookup"', 'workload = "keylookup"')
    path = tmp_path / "beside.toml"
    path.write_text(changed)
    said = inrush(
        "run", str(path), engine, "--scale", "xs", "-P", "operations=16", "-P", "repeats.count=1", "--json"
    )
    assert said.code in (0, 3), said.err
    found = {(v["guard"], v["outcome"]) for v in said.json["verdicts"]}
    assert {("answers right", "pass"), ("rows proven", "pass")} <= found
    assert not {outcome for guard, outcome in found if guard in ("answers right", "rows proven")} - {
        "pass",
        "not checked",
    }
