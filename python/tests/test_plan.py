"""Laws of planning: the same from the same, nothing lost, nothing that contradicts itself."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inrush.engines import server
from inrush.errors import UsageError
from inrush.plan.cost import cost
from inrush.plan.plan import canonical, plan_hash, plan_study
from inrush.plan.planned import PlannedRun, StudyPlan
from inrush.plan.stops import stopped
from inrush.report.plan_text import plan_lines
from inrush.study.forms import Best
from inrush.study.reading import load_study, parse_study
from inrush.study.study import Study
from tests.strategies import (
    FakeServer,
    each_family_first,
    embedded_servers,
    fake_servers,
    shipped_files,
    small_tree,
    workload_tree,
)

GOLDEN = Path(__file__).parent / "golden" / "plan.json"
WORKLOAD = workload_tree()


def study_of(**changes: Any) -> Study:
    return parse_study(
        small_tree(**changes), WORKLOAD, name="small", file="small.toml", workload_file="workload.toml"
    )


def planned(**changes: Any) -> StudyPlan:
    return plan_study(study_of(**changes), fake_servers())


def golden_plan() -> dict[str, Any]:
    """A run of the shipped writers study on the real DuckDB twin: two tables, a page, repetitions, proofs."""
    study = load_study("telemetry-writers", scale="xs", engines=["duckdb"])
    run = next(
        r
        for r in plan_study(study, {"duckdb": server("duckdb")}).block(1)
        if r.labels["factors"] == {"writers": 4}
    )
    return dict(run.plan)


def drive(run: PlannedRun, label: str = "measure") -> dict[str, Any]:
    return next(s for s in run.plan["segments"] if s["kind"] == "drive" and s["label"] == label)


def role(run: PlannedRun, name: str) -> dict[str, Any]:
    return next(r for r in drive(run)["roles"] if r["name"] == name)


# --- the same from the same ------------------------------------------------------------------------------


def test_the_golden_plan_is_still_what_we_write() -> None:
    """After a wanted change: INRUSH_BLESS=1 writes it anew; read the difference before you commit it."""
    if os.environ.get("INRUSH_BLESS") == "1":
        GOLDEN.write_text(json.dumps(golden_plan(), indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    assert json.loads(GOLDEN.read_text()) == json.loads(canonical(golden_plan()))


@cache
def planned_at_xs(path: Path) -> StudyPlan:
    return plan_study(load_study(str(path), "xs"), embedded_servers())


@pytest.mark.parametrize("path", each_family_first())
def test_equal_studies_give_plans_of_equal_bytes(path: Path) -> None:
    one, two = planned_at_xs(path), plan_study(load_study(str(path), "xs"), embedded_servers())
    assert [canonical(r.plan) for r in one.runs] == [canonical(r.plan) for r in two.runs]
    assert one.hash == two.hash


@given(seed=st.integers(0, 2**40))
@settings(max_examples=25, deadline=None)
def test_the_seed_moves_order_and_rows_and_nothing_else(seed: int) -> None:
    study = study_of()
    one, other = (
        plan_study(replace(study, repeats=replace(study.repeats, seed=s)), fake_servers())
        for s in (seed, seed + 1)
    )
    assert {r.plan["seed"] for r in one.runs} == {seed}
    assert one.hash != other.hash
    assert [r.point for r in one.block(0)] == [r.point for r in other.block(0)], "the pilot ascends"
    for block in range(1, 4):
        assert Counter(r.point for r in one.block(block)) == Counter(r.point for r in other.block(block))


def test_a_hash_tells_runs_apart_and_not_where_they_ran() -> None:
    plan = planned()
    assert len({r.hash for r in plan.runs}) == len(plan.runs)
    run = plan.runs[0]
    moved = {
        **run.plan,
        "run_id": "elsewhere",
        "target": {**run.plan["target"], "url": "postgresql://there/db"},
        "watch": {**run.plan["watch"], "processes": {"server": [1]}, "data_dir": "/there"},
    }
    assert plan_hash(run.plan) == plan_hash(moved) == run.hash
    assert plan_hash({**run.plan, "seed": 8}) != run.hash


# --- points, blocks, order -------------------------------------------------------------------------------


def test_every_block_holds_every_point_once() -> None:
    plan = planned()
    points = {p.id for p in plan.points}
    assert len(points) == 2 * 3
    for block in range(4):
        assert Counter(r.point for r in plan.block(block)) == Counter(points)
        assert [r.order for r in plan.block(block)] == list(range(len(points)))


def test_the_pilot_ascends_however_the_file_is_written() -> None:
    plan = planned(factors={"batch_rows": [1000, 200, 500]})
    assert [r.labels["factors"]["batch_rows"] for r in plan.block(0)] == [200, 200, 500, 500, 1000, 1000]


#: One point an engine, and nothing that a pilot decides.
SINGLE = {"factors": {"batch_rows": [200]}, "repeats": {"count": 1, "seed": 7}, "stop": []}


def test_one_point_that_runs_once_has_no_pilot_unless_it_is_asked_for() -> None:
    alone = planned(**SINGLE)
    assert [(r.block, r.order) for r in alone.runs] == [(1, 0), (1, 1)]
    assert alone.document()["repeats"]["pilot"] is False
    assert any("without a pilot" in line for line in plan_lines(alone))
    asked = planned(**{**SINGLE, "repeats": {"count": 1, "seed": 7, "pilot": True}})
    assert [r.block for r in asked.runs] == [0, 0, 1, 1]
    assert any("once in a pilot" in line for line in plan_lines(asked))


def test_a_plan_of_several_servers_says_that_unequal_durability_is_refused() -> None:
    def said(*engines: str, **changes: object) -> list[str]:
        study = load_study("quickstart", engines=engines)
        plan = plan_study(replace(study, **changes), {e: server(e) for e in engines})
        return [line for line in plan_lines(plan) if "--unequal-durability" in line]

    (line,) = said("mysql", "postgresql")
    assert line.startswith("note: mysql and postgresql are asked")
    assert not said("postgresql") and not said("postgresql", "null") and not said("duckdb", "sqlite")
    assert not said("mysql", "postgresql", unequal_durability=True)


@pytest.mark.parametrize(
    ("why", "changes"),
    [
        ("several blocks", {"repeats": {"count": 2, "seed": 7}}),
        ("several points of an engine", {"factors": {"batch_rows": [200, 500]}}),
        ("a stop rule", {"stop": [{"along": "batch_rows", "above": {"writers.makespan_s": 90}}]}),
        ("a search", {"search": {"along": "batch_rows", "of": "writers.rows_per_s", "at_least": 1}}),
    ],
)
def test_a_pilot_that_decides_something_is_made(why: str, changes: dict[str, Any]) -> None:
    assert planned(**{**SINGLE, **changes}).block(0), why


def test_a_study_of_many_points_can_do_without_a_pilot() -> None:
    plan = planned(repeats={"count": 2, "seed": 7, "pilot": False}, stop=[])
    assert [r.block for r in plan.all_runs if r.point in plan.planned] == [1] * 6 + [2] * 6


@pytest.mark.parametrize("rule", ["stop", "search"])
def test_what_reads_the_pilot_cannot_do_without_it(rule: str) -> None:
    search = {"along": "batch_rows", "of": "writers.rows_per_s", "at_least": 1}
    changes = {"search": search, "stop": []} if rule == "search" else {}
    with pytest.raises(UsageError, match=r"repeats.pilot is false; .*the pilot; remove this line"):
        planned(repeats={"count": 2, "seed": 7, "pilot": False}, **changes)


def test_engines_run_next_to_each_other_and_take_turns_at_being_first() -> None:
    plan = planned(factors={"batch_rows": [100 * n for n in range(1, 9)]})
    firsts: Counter[str] = Counter()
    for block in range(1, 4):
        runs = plan.block(block)
        for a, b in zip(runs[::2], runs[1::2], strict=True):
            assert a.labels["factors"] == b.labels["factors"]
            assert {a.labels["engine"], b.labels["engine"]} == {"duckdb", "sqlite"}
            firsts[a.labels["engine"]] += 1
    assert firsts["duckdb"] == firsts["sqlite"]


def test_removing_a_value_leaves_the_order_of_the_others() -> None:
    values = [100 * n for n in range(1, 9)]
    all_runs, fewer = planned(factors={"batch_rows": values}), planned(factors={"batch_rows": values[:-1]})
    kept = [
        r.labels["factors"]["batch_rows"]
        for r in all_runs.block(2)
        if r.labels["factors"]["batch_rows"] < 800
    ]
    assert list(dict.fromkeys(kept)) == list(
        dict.fromkeys(r.labels["factors"]["batch_rows"] for r in fewer.block(2))
    )


# --- what a run does -------------------------------------------------------------------------------------


def test_writers_write_their_volume_and_it_is_proven() -> None:
    run = planned().runs[0]
    work = role(run, "writers")["work"]
    assert work == {"kind": "rows", "table": 0, "first_row": 0, "rows": 5000, "batch_rows": 200}
    (proof,) = next(s for s in run.plan["segments"] if s["kind"] == "proof")["proofs"]
    assert (proof["first_row"], proof["rows"]) == (0, 5000)
    assert proof["read_back"]
    assert [p["rows"] for p in drive(run)["repeat"]["proofs"]] == [5000]


def test_rows_of_a_session_grow_with_the_sessions_and_rows_in_total_do_not() -> None:
    def rows(form: dict[str, int], sessions: int) -> int:
        roles = {
            "writers": {
                "operation": "insert",
                "table": "port_errors",
                "batch_rows": 10,
                "rows": form,
                "sessions": sessions,
            }
        }
        return int(role(planned(factors={}, roles=roles, stop=[]).runs[0], "writers")["work"]["rows"])

    assert [rows({"total": 1000}, n) for n in (1, 4)] == [1000, 1000]
    assert [rows({"per_session": 1000}, n) for n in (1, 4)] == [1000, 4000]


def test_a_list_of_tables_gives_a_writer_role_a_table_and_one_page_over_them() -> None:
    plan = plan_study(load_study("telemetry-writers", "xs"), fake_servers())
    run = plan.runs[0]
    assert [r["name"] for r in drive(run)["roles"]] == [
        "writers/port_data_counters",
        "writers/port_errors",
        "readers",
    ]
    page = next(o for o in run.plan["operations"] if o["kind"] == "together")
    assert page["members"] == ["pc_top", "pe_alert"], "the members that look at these tables"
    assert role(run, "readers")["until"] == {"kind": "role", "name": "writers"}


def test_points_that_only_read_find_their_tables_filled_and_last_the_measured_time() -> None:
    plan = plan_study(load_study("telemetry-mixed", "xs"), fake_servers())
    run = next(r for r in plan.runs if r.labels["factors"] == {"n": 2, "combination": "all, read only"})
    loads = drive(run, "load")["roles"]
    assert [r["work"]["rows"] for r in loads] == [2000, 2000, 2000]
    (readers,) = drive(run)["roles"]
    assert readers["until"] == {"kind": "time", "ns": 300_000_000}
    assert "repeat" not in drive(run)
    assert [p["rows"] for p in next(s for s in run.plan["segments"] if s["kind"] == "proof")["proofs"]] == [
        2000
    ] * 3


@pytest.mark.parametrize("path", shipped_files(), ids=lambda p: p.stem)
def test_every_reference_inside_a_plan_is_met(path: Path) -> None:
    for run in planned_at_xs(path).runs:
        names = {o["name"] for o in run.plan["operations"]}
        assert len(names) == len(run.plan["operations"])
        for operation in run.plan["operations"]:
            assert set(operation["members"]) <= names
            assert operation.get("table", -1) < len(run.plan["tables"])
        for segment in run.plan["segments"]:
            for one in segment.get("roles", ()):
                assert {w["operation"] for w in one["operations"]} <= names
                if one["until"]["kind"] == "role":
                    ends = one["until"]["name"]
                    assert any(r["name"].split("/")[0] == ends for r in segment["roles"])
            assert set(segment.get("operations", ())) <= names


def test_a_served_engine_drops_what_a_killed_run_left_and_an_embedded_one_has_nothing_to_drop() -> None:
    served, embedded = FakeServer("duckdb"), FakeServer("sqlite")
    embedded.embedded = True  # type: ignore[misc]
    plan = plan_study(study_of(), {"duckdb": served, "sqlite": embedded})
    first = {r.labels["engine"]: r.plan["segments"][0]["statements"][0] for r in plan.runs}
    assert first["duckdb"].startswith("DROP SCHEMA")
    assert first["sqlite"].startswith("CREATE SCHEMA")


# --- what cannot be done ---------------------------------------------------------------------------------


def test_a_batch_larger_than_its_volume_is_an_error_and_not_an_equal_point() -> None:
    with pytest.raises(UsageError) as caught:
        planned(factors={"batch_rows": [1000, 9000]})
    (problem,) = caught.value.problems
    assert (problem.key, problem.value) == ("roles.writers.batch_rows", "9,000")


def test_the_best_of_another_study_is_cut_to_the_volume_and_says_so() -> None:
    study = load_study("telemetry-volume", "xs")
    found = [Best({"engine": "duckdb"}, 2000), Best({"engine": "sqlite", "table": "port_data_counters"}, 500)]
    plan = plan_study(study, fake_servers(), best={"telemetry-batch": found})
    batch = {
        (r.labels["engine"], r.labels["factors"]["rows"]): r.labels["batch_rows"]["writers"]
        for r in plan.runs
    }
    assert batch[("duckdb", 5000)] == 2000
    assert batch[("duckdb", 1000)] == 1000
    assert batch[("sqlite", 5000)] == 500
    assert any("cut to the 1,000 rows" in note for note in plan.document()["notes"])


def test_what_an_engine_cannot_do_is_shown_with_its_reason() -> None:
    plan = plan_study(
        study_of(
            factors={"batch_rows": [200], "method": ["bulk", "multirow"]}, engines=["duckdb", "postgresql"]
        ),
        fake_servers(),
    )
    assert {(m.engine, m.factors["method"]) for m in plan.unsupported} == {("postgresql", "bulk")}
    assert "it has copy, multirow" in plan.unsupported[0].reason
    assert {r.point for r in plan.runs}.isdisjoint({m.point for m in plan.unsupported})
    assert plan.document()["unsupported"][0]["factors"] == {"batch_rows": 200, "method": "bulk"}


def test_a_transport_may_be_a_factor_where_a_server_has_the_choice_and_is_refused_elsewhere() -> None:
    study = study_of(
        factors={"batch_rows": [200], "transport": ["tcp", "unix"]},
        options={engine: {"transport": "@transport"} for engine in ("duckdb", "postgresql")},
        engines=["duckdb", "postgresql"],
    )
    plan = plan_study(study, {engine: server(engine) for engine in ("duckdb", "postgresql")})
    assert {(m.engine, m.factors["transport"]) for m in plan.unsupported} == {("duckdb", "unix")}
    assert plan.unsupported[0].reason == "duckdb has no transport unix; it has tcp"
    asked = {(r.labels["engine"], r.plan["target"]["options"]["transport"]) for r in plan.block(1)}
    assert asked == {("duckdb", "tcp"), ("postgresql", "tcp"), ("postgresql", "unix")}


def test_an_engine_with_one_writer_keeps_its_sessions_and_says_so() -> None:
    plan = plan_study(load_study("telemetry-writers", "xs"), fake_servers())
    run = next(r for r in plan.runs if r.labels["engine"] == "sqlite" and r.labels["factors"]["writers"] == 4)
    assert role(run, "writers/port_errors")["sessions"] == 4
    assert any("one" in note or "1 session write" in note for note in run.labels["notes"])


# --- stop rules ------------------------------------------------------------------------------------------


def test_a_crossed_limit_stops_larger_values_of_the_same_sweep_alone() -> None:
    plan = planned()
    measured = {
        "duckdb batch_rows=500": {"writers.makespan_s": 91.0},
        "sqlite batch_rows=200": {"writers.makespan_s": 90.0},
    }
    found = stopped(plan, measured)
    assert set(found) == {"duckdb batch_rows=1000"}
    assert found["duckdb batch_rows=1000"].reason == "writers.makespan_s = 91 > 90 at batch_rows = 500"


def test_all_limits_of_a_rule_must_be_crossed_and_a_missing_figure_crosses_none() -> None:
    rule = [{"along": "batch_rows", "above": {"writers.makespan_s": 120, "readers.latency_s": 120}}]
    plan = planned(stop=rule)
    only_one = {"duckdb batch_rows=200": {"writers.makespan_s": 130.0}}
    assert stopped(plan, only_one) == {}
    both = {"duckdb batch_rows=200": {"writers.makespan_s": 130.0, "readers.latency_s": 121.0}}
    assert set(stopped(plan, both)) == {"duckdb batch_rows=500", "duckdb batch_rows=1000"}


@given(limits=st.lists(st.floats(0, 200), min_size=6, max_size=6))
@settings(max_examples=50, deadline=None)
def test_more_crossings_never_stop_less(limits: list[float]) -> None:
    plan = planned()
    measured = {p.id: {"writers.makespan_s": v} for p, v in zip(plan.points, limits, strict=True)}
    fewer = {k: v for i, (k, v) in enumerate(measured.items()) if i % 2}
    assert set(stopped(plan, fewer)) <= set(stopped(plan, measured))


# --- cost ------------------------------------------------------------------------------------------------


def test_the_pilot_replaces_the_forecast() -> None:
    plan = planned()
    ten = cost(plan, {p.id: 10.0 for p in plan.points}, done=len(plan.block(0)))
    assert ten.seconds == pytest.approx(10.0 * 3 * len(plan.points))


@pytest.mark.slow
def test_a_larger_scale_never_costs_less() -> None:
    for path in shipped_files():
        studies = [load_study(str(path), scale) for scale in ("xs", "full")]
        # Calls in flight together need a server; its twin plans without one.
        servers = embedded_servers() | {
            e: server(e) for e in studies[0].engines if path.parent.name == "keylookup"
        }
        small, full = (cost(plan_study(study, servers)) for study in studies)
        assert small.seconds <= full.seconds
        assert small.rows <= full.rows


def test_every_shipped_study_is_a_matter_of_seconds_at_xs() -> None:
    for path in shipped_files():
        found = cost(planned_at_xs(path))
        # Forecasts are of usual rates; `bulkindex-keys` has 66 loads of half a million rows.
        assert found.seconds < 150, path
        assert found.peak_bytes < 100 << 20


# --- a lost connection -----------------------------------------------------------------------------------


def test_how_long_a_session_tries_to_come_back_is_in_the_plan_where_the_study_says_it() -> None:
    def said(**changes: Any) -> set[int | None]:
        found = planned(**changes)
        return {s.get("retry_ns") for r in found.runs for s in r.plan["segments"] if s["kind"] == "drive"}

    assert said() == {None}, "plans that do not ask for it stay as they were, byte for byte"
    assert said(schedule={"retry_s": 5}) == {None}
    assert said(schedule={"retry_s": 30.5}) == {30_500_000_000}
    assert said(schedule={"retry_s": 0}) == {0}, "the first failure to connect again ends the run"


@pytest.mark.parametrize("wrong", [-1, "long", 2e7])
def test_a_time_to_come_back_that_is_none_is_refused_by_its_key(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"schedule\.retry_s"):
        study_of(schedule={"retry_s": wrong})
