"""What an operation promises of its answers: how a workload says it, and what stands in the plan."""

from __future__ import annotations

from typing import Any

import pytest

from inrush.engines import server
from inrush.errors import UsageError
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study, parse_study
from inrush.study.shipped import SHIPPED
from inrush.study.study import Study
from inrush.study.toml import read_toml
from tests.strategies import workload_tree

DIALECTS = ("duckdb", "sqlite", "postgresql", "mysql", "clickhouse", "influxdb")
#: Of these some cannot ask more than a key.
BY_KEY = (*DIALECTS, "valkey")


def holds_of(engine: str, study: str, operation: str, *overrides: str) -> list[dict[str, Any]]:
    plan = plan_study(load_study(study, "xs", overrides, [engine]), {engine: server(engine)})
    found = next(o for o in plan.runs[0].plan["operations"] if o["name"] == operation)
    holds: list[dict[str, Any]] = found["holds"]
    assert all(len(h.get("keys", found["params"])) == len(found["params"]) for h in holds)
    return holds


def look_up(changes: dict[str, Any] | None = None, load: int | None = 2_000) -> Study:
    """The shipped look-ups, with another operation."""
    tree = read_toml(SHIPPED / "telemetry" / "lookups.toml")
    del tree["scale"], tree["expected"]
    tree["factors"]["keys_per_call"] = [2]
    if load is None:
        tree.pop("load")
    workload = workload_tree()
    workload["operations"]["job_look"] |= changes or {}
    return parse_study(tree, workload, name="x", file="x.toml", workload_file="workload.toml")


def refused(changes: dict[str, Any], load: int | None = 2_000) -> str:
    with pytest.raises(UsageError) as problem:
        plan_study(look_up(changes, load), {e: server(e) for e in ("duckdb", "sqlite")})
    return str(problem.value)


@pytest.mark.parametrize("engine", BY_KEY)
def test_look_ups_promise_the_rows_of_the_keys_that_they_ask_for(engine: str) -> None:
    (hold,) = holds_of(engine, "telemetry-lookups", "job_look", "keys_per_call=[3]")
    assert hold["kind"] == "asked" and hold["keys"] == ["jobid"] * 3
    assert hold["columns"] == ["jobid", "added_on", "nodes", "cpu_util", "network_bytes"]


@pytest.mark.parametrize("engine", DIALECTS)
def test_rows_regenerate_knows_the_keys_that_rows_were_asked_for_by(engine: str) -> None:
    (hold,) = holds_of(engine, "telemetry-queries", "mpi_rank")
    assert hold["kind"] == "rows_regenerate" and hold["keys"] == ["jobid"]
    (hold,) = holds_of(engine, "telemetry-queries", "pc_last")
    assert "keys" not in hold and "may_be_empty" not in hold


def test_an_answer_may_be_empty_where_the_workload_says_so() -> None:
    tree = {"holds": ["rows_regenerate"], "may_be_empty": True}
    plan = plan_study(look_up(tree), {e: server(e) for e in ("duckdb", "sqlite")})
    found = next(o for o in plan.runs[0].plan["operations"] if o["name"] == "job_look")
    assert found["holds"][0]["may_be_empty"] is True
    assert "may_be_empty" in refused({"holds": ["asked"], "may_be_empty": True})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"returns": ["nodes"]}, "asked needs"),
        ({"params": {}, "sql": {"default": "SELECT jobid, added_on, nodes, cpu_util, network_bytes FROM {job_info}"}}, "a key"),
        ({"sql": {"default": "SELECT jobid, added_on, nodes, cpu_util, network_bytes FROM {job_info} WHERE jobid IN (:jobs) LIMIT 5"}},
         "LIMIT"),
        ({"params": {"jobs": {"gen": "of_series", "column": "jobid", "list": True}, "t": {"gen": "now_minus", "seconds": 5}},
          "sql": {"default": "SELECT jobid, added_on, nodes, cpu_util, network_bytes FROM {job_info} "
                  "WHERE jobid IN (:jobs) AND added_on > :t"}}, ":t"),
    ],
)  # fmt: skip
def test_asked_is_refused_where_the_rows_of_a_key_are_not_the_whole_answer(
    changes: dict[str, Any], expected: str
) -> None:
    assert expected in refused(changes)


def test_a_statement_that_may_return_rows_of_other_keys_has_no_keys() -> None:
    text = "SELECT jobid, added_on, nodes, cpu_util, network_bytes FROM {job_info} WHERE jobid IN (:jobs)"
    for more, keys in (("", ["jobid"] * 2), (" OR nodes = 1", None)):
        plan = plan_study(
            look_up({"holds": ["rows_regenerate"], "sql": {"default": text + more}}),
            {e: server(e) for e in ("duckdb", "sqlite")},
        )
        found = next(o for o in plan.runs[0].plan["operations"] if o["name"] == "job_look")
        assert found["holds"][0].get("keys") == keys


def test_asked_needs_rows_that_lie_there_before() -> None:
    assert "load" in refused({}, load=None)
