"""Lists of keys: how many, in which form, drawn how; and what a mix leaves out that an engine cannot do."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from inrush import _core
from inrush.analysis.comparability import unequal_mix
from inrush.engines import server
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.guards.equality import equal_work
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.stats.quantity import show
from inrush.stats.record import RunRecord, StudyRecord
from inrush.stats.run_figures import figures_of_run
from inrush.study.reading import load_study, parse_study
from inrush.study.shipped import SHIPPED
from inrush.study.study import Study
from inrush.study.toml import read_toml
from tests import synthetic
from tests.strategies import fake_servers, small_tree, workload_tree

ENGINES = (
    "duckdb",
    "sqlite",
    "postgresql",
    "mysql",
    "mariadb",
    "clickhouse",
    "influxdb",
    "valkey",
    "questdb",
)


def lookups(engine: str, keys: int) -> StudyPlan:
    study = load_study("telemetry-lookups", "xs", [f"keys_per_call=[{keys}]"], [engine])
    return plan_study(study, {engine: server(engine)})


def looking(plan: StudyPlan) -> dict[str, Any]:
    found: dict[str, Any] = next(o for o in plan.runs[0].plan["operations"] if o["name"] == "job_look")
    return found


@pytest.mark.parametrize("keys", [1, 3, 1024])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_statement_has_a_placeholder_for_every_key(engine: str, keys: int) -> None:
    operation = looking(lookups(engine, keys))
    assert [p["name"] for p in operation["params"]] == [f"jobs_{k}" for k in range(keys)]
    assert {p["gen"]["kind"] for p in operation["params"]} == {"key"}
    assert len({p["gen"]["draw"] for p in operation["params"]}) == keys
    assert len(re.findall(r"\?|\$\d+", operation["text"])) == keys
    assert ":jobs" not in operation["text"]


def test_the_forms_of_a_list() -> None:
    assert looking(lookups("postgresql", 3))["text"].endswith("WHERE jobid IN ($1, $2, $3)")
    assert looking(lookups("mysql", 3))["text"].endswith("WHERE jobid IN (?, ?, ?)")
    assert looking(lookups("influxdb", 2))["text"].endswith("WHERE (jobid = '$1' OR jobid = '$2')")
    first, second = looking(lookups("valkey", 2))["text"].splitlines()
    assert first.startswith("HVALS inrush_") and first.endswith(".job_info/$1") and second.endswith("/$2")


def test_the_oracle_is_asked_for_the_same_keys() -> None:
    expected = lookups("postgresql", 3).runs[0].labels["oracle"]["operations"]["job_look"]
    assert expected["params"] == ["jobs_0", "jobs_1", "jobs_2"] and expected["text"].count("?") == 3


def test_keys_per_second_are_those_of_calls_that_were_answered() -> None:
    plan = lookups("duckdb", 100)
    assert plan.runs[0].labels["keys_per_call"] == {"users": 100}
    run = synthetic.run(rows=50_000, batch_rows=1_000, makespan_s=2.0, totals={"ok": 40})
    assert "writers.keys_per_s" not in figures_of_run(run)
    figures = figures_of_run(labelled(run, keys_per_call={"writers": 100}))
    assert figures["writers.keys_per_s"] == pytest.approx(40 * 100 / 2.0)
    assert figures["writers.ops_per_s"] == pytest.approx(40 / 2.0)
    assert figures["writers.attempts_per_s"] == pytest.approx(50 / 2.0)
    assert show(figures["writers.keys_per_s"], "writers.keys_per_s") == "2.00 k keys/s"


def labelled(run: RunRecord, **labels: Any) -> RunRecord:
    return replace(run, summary={**run.summary, "labels": {**run.labels, **labels}}, _rows={})


def workload_with(**params: Any) -> dict[str, Any]:
    tree = workload_tree()
    tree["operations"]["job_look"]["params"] |= params
    return tree


def study_of(roles: dict[str, Any], workload: dict[str, Any] | None = None) -> StudyPlan:
    tree = small_tree(factors={"readers": [1]}, stop=[], kind="mixed", roles=roles, load={"rows": 100})
    study = parse_study(
        tree | {"schedule": {"measure_s": 1}},
        workload or workload_tree(),
        name="small",
        file="small.toml",
        workload_file="w.toml",
    )
    return plan_study(study, fake_servers())


ROLE = {"operation": "job_look", "sessions": "@readers"}


def test_a_list_without_a_length_has_one_key() -> None:
    assert len(looking(study_of({"one": ROLE}))["params"]) == 1


@pytest.mark.parametrize(
    ("roles", "workload", "said"),
    [
        ({"one": {**ROLE, "operation": "pc_top", "keys_per_call": 3}}, None, "pc_top asks for no list of keys"),
        ({"one": {**ROLE, "keys_per_call": 3}, "two": {**ROLE, "keys_per_call": 4}}, None, "calls job_look with 3 keys"),
        ({"one": ROLE}, workload_with(jobs={"gen": "now_minus", "seconds": 1, "list": True}), "keys of a list are drawn"),
        ({"one": ROLE}, workload_with(more={"gen": "uniform", "from": 1, "to": 2, "list": True}), "an operation has one list"),
        ({"one": {**ROLE, "keys_per_call": 40_000}}, None, "to 30,000"),
    ],
)  # fmt: skip
def test_what_is_no_list_is_said(roles: dict[str, Any], workload: dict[str, Any] | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        study_of(roles, workload)


def test_a_list_that_is_not_compared_as_one_is_said() -> None:
    tree = workload_tree()
    tree["operations"]["job_look"]["sql"]["default"] = "SELECT jobid FROM {job_info} WHERE jobid = :jobs"
    with pytest.raises(UsageError, match=r"a list is compared as key IN \(:jobs\)"):
        study_of({"one": ROLE}, tree)


@pytest.mark.parametrize(
    ("dialect", "text", "form"),
    [
        ("influxdb", "SELECT jobid FROM {job_info} WHERE jobid IN (:jobs)", "key = :jobs"),
        ("mysql", "SELECT jobid FROM {job_info} WHERE jobid = :jobs", r"key IN \(:jobs\)"),
    ],
)
def test_a_list_that_is_not_written_as_its_engine_writes_one_is_said(
    dialect: str, text: str, form: str
) -> None:
    tree = workload_tree()
    tree["operations"]["job_look"] |= {"holds": []}
    tree["operations"]["job_look"]["sql"][dialect] = text
    said = rf"operations\.job_look\.sql\.{dialect} .*a list is compared as {form}"
    with pytest.raises(UsageError, match=said):
        study_of({"one": ROLE}, tree)


# --- what an engine cannot do


def test_a_mix_goes_on_without_what_the_engine_cannot_do_and_says_so() -> None:
    study = load_study("telemetry-queries", "xs", engines=["influxdb"])
    plan = plan_study(study, {"influxdb": server("influxdb")})
    assert not plan.unsupported
    run = plan.runs[0]
    (drive,) = [s for s in run.plan["segments"] if s.get("phase") == "measure"]
    asked = {o["operation"] for o in drive["roles"][0]["operations"]}
    assert asked == set(study.roles["users"].operations) - {"x_job_net"}
    assert run.labels["left_out"] == {"x_job_net": "InfluxQL joins no measurements"}
    assert any("x_job_net is unsupported (InfluxQL joins" in note for note in run.labels["notes"])


def test_a_role_that_can_do_nothing_makes_its_point_unsupported() -> None:
    study = load_study(
        "telemetry-queries", "xs", ["roles.users.operations={x_job_net=1}"], engines=["influxdb"]
    )
    plan = plan_study(study, {"influxdb": server("influxdb")})
    assert not plan.runs and {m.reason for m in plan.unsupported} == {
        "x_job_net: InfluxQL joins no measurements"
    }


def page_study(operations: dict[str, int], members: list[str]) -> Study:
    """Users of telemetry's queries, where the page shows other things."""
    workload = read_toml(SHIPPED / "telemetry" / "workload.toml")
    workload["operations"]["page"]["members"] = members
    tree = read_toml(SHIPPED / "telemetry" / "queries.toml")
    tree |= {"scale": {}, "engines": ["influxdb"]}
    tree["roles"]["users"]["operations"] = operations
    return parse_study(tree, workload, name="queries", file="queries.toml", workload_file="workload.toml")


def planned_page(operations: dict[str, int], members: list[str]) -> StudyPlan:
    return plan_study(page_study(operations, members), {"influxdb": server("influxdb")})


def test_a_page_goes_on_without_the_member_that_the_engine_cannot_answer_and_says_so() -> None:
    plan = planned_page({"page": 1}, ["pc_top", "x_job_net", "mpi_node"])
    assert not plan.unsupported
    run = plan.runs[0]
    (page,) = [o for o in run.plan["operations"] if o["name"] == "page"]
    assert page["members"] == ["pc_top", "mpi_node"]
    assert {o["name"] for o in run.plan["operations"] if o["kind"] == "query"} == {"pc_top", "mpi_node"}
    assert run.labels["left_out"] == {"x_job_net of page": "InfluxQL joins no measurements"}
    assert any(
        "goes on without" in n and "x_job_net of page is unsupported" in n for n in run.labels["notes"]
    )
    assert _core.check_plan(json.dumps(dict(run.plan))) == []


def test_a_page_that_can_show_nothing_goes_from_its_mix_and_alone_makes_its_point_unsupported() -> None:
    mixed = planned_page({"page": 1, "pc_top": 2}, ["x_job_net"])
    assert not mixed.unsupported
    assert mixed.runs[0].labels["left_out"] == {"page": "InfluxQL joins no measurements"}
    assert {o["name"] for o in mixed.runs[0].plan["operations"] if o["kind"] != "insert"} == {"pc_top"}
    alone = planned_page({"page": 1}, ["x_job_net"])
    assert not alone.runs
    assert {m.reason for m in alone.unsupported} == {"x_job_net: InfluxQL joins no measurements"}


def test_figures_of_a_lighter_mix_are_marked() -> None:
    whole = [synthetic.run(engine="duckdb", block=b) for b in (1, 2)]
    lighter = [
        labelled(synthetic.run(engine="influxdb", block=b), left_out={"x": "no joins"}) for b in (1, 2)
    ]
    assert unequal_mix(analyse(StudyRecord(synthetic.STUDY, whole))) is None
    found = analyse(StudyRecord(synthetic.STUDY, [*whole, *lighter]))
    assert unequal_mix(found) == "influxdb without x"
    verdict = equal_work(found)
    assert verdict is not None and "lighter mix" in verdict.sentence
