"""Keys over a whole table: what a study may say of them, what a plan says they cover, and where they are read."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from inrush import _core
from inrush.engines import server
from inrush.errors import StudyInvalid
from inrush.plan.keys import DRAWS, different_rows
from inrush.plan.plan import StudyPlan, canonical, plan_study
from inrush.report.summary import plan_lines
from inrush.study.study import load_study, parse_study
from tests.strategies import fake_servers, small_tree, workload_tree

ROLE = {"operation": "port_at", "sessions": "@readers"}


def port_at(**changes: Any) -> dict[str, Any]:
    """A row of the ports' counters by its whole key."""
    return {
        "kind": "query",
        "table": "port_data_counters",
        "params": {
            "guid": {"gen": "key", "column": "guid"},
            "port": {"gen": "key", "column": "port"},
            "at": {"gen": "key", "column": "added_on"},
        },
        "sql": {"default": "SELECT xmit_data FROM {port_data_counters} WHERE guid = :guid AND port = :port AND added_on = :at"},
    } | changes  # fmt: skip


def study_of(operation: dict[str, Any], rows: int = 1_000_000, **changes: Any) -> StudyPlan:
    workload = workload_tree()
    workload["operations"]["port_at"] = operation
    tree = small_tree(
        factors={"readers": [4]}, stop=[], kind="mixed", roles={"users": ROLE}, load={"rows": rows}
    )
    study = parse_study(
        tree | {"schedule": {"measure_s": 1}} | changes,
        workload,
        name="small",
        file="small.toml",
        workload_file="w.toml",
    )
    return plan_study(study, fake_servers())


def asking(plan: StudyPlan, name: str = "port_at") -> dict[str, Any]:
    found: dict[str, Any] = next(o for o in plan.runs[0].plan["operations"] if o["name"] == name)
    return found


def test_the_parameters_of_a_call_are_of_one_row_of_all_that_are_loaded() -> None:
    plan = study_of(port_at())
    operation = asking(plan)
    assert operation["keys"] == [{"table": 0, "first_row": 0, "rows": 1_000_000, "by": {"kind": "uniform"}}]
    assert [p["gen"] for p in operation["params"]] == [
        {"kind": "key", "keys": 0, "draw": 0, "column": column} for column in ("guid", "port", "added_on")
    ]
    assert [p["type"] for p in operation["params"]] == ["u64", "i32", "time_ms"]
    assert _core.check_plan(json.dumps(dict(plan.runs[0].plan))) == []


@pytest.mark.parametrize(
    ("keys", "by"),
    [
        ({"by": "zipf", "exponent": 1.1}, {"kind": "zipf", "exponent": 1.1}),
        (
            {"by": "hot_set", "share_of_draws": 0.9, "share_of_rows": 0.01},
            {"kind": "hot_set", "draws_ppm": 900_000, "rows_ppm": 10_000},
        ),
        ({"by": "own_range"}, {"kind": "own_range"}),
        ({"by": "uniform", "rows": 5_000}, {"kind": "uniform"}),
        ({"rows": "ports"}, {"kind": "uniform"}),
    ],
)
def test_every_law_reaches_the_core_and_the_plan_says_what_it_covers(
    keys: dict[str, Any], by: dict[str, Any]
) -> None:
    plan = study_of(port_at(keys=keys))
    (stated,) = asking(plan)["keys"]
    assert stated["by"] == by
    rows = {5_000: 5_000, "ports": 50_000}.get(keys.get("rows", 0), 1_000_000)
    assert stated["rows"] == rows
    covered = plan.runs[0].labels["keys"]["port_at"]
    assert (covered["rows"], covered["by"], covered["table"]) == (rows, by, "port_data_counters")
    assert 0 < covered["different_rows_per_million_draws"] <= rows
    assert covered["names_a_row"]
    (note,) = [n for n in plan.runs[0].labels["notes"] if n.startswith("port_at draws keys")]
    assert f"from {rows:_} rows of port_data_counters" in note
    assert any(note in line for line in plan_lines(plan))
    assert _core.check_plan(json.dumps(dict(plan.runs[0].plan))) == []


def test_a_list_of_keys_draws_a_row_for_each() -> None:
    study = load_study("telemetry-lookups", "xs", ["keys_per_call=[3]"], ["duckdb"])
    plan = plan_study(study, {"duckdb": server("duckdb")})
    draws = [p["gen"]["draw"] for p in asking(plan, "job_look")["params"]]
    assert len(set(draws)) == 3
    assert plan.runs[0].labels["keys"]["job_look"]["rows"] == 2_000


def test_plans_without_keys_say_nothing_of_them() -> None:
    plan = plan_study(load_study("telemetry-mixed", "xs"), fake_servers())
    assert '"keys"' not in canonical(plan.runs[0].plan)


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (port_at(keys={"by": "often"}), "often"),
        (port_at(keys={"by": "zipf"}), "exponent"),
        (port_at(keys={"by": "zipf", "exponent": 0}), "above 0 up to 10"),
        (port_at(keys={"by": "hot_set", "share_of_draws": 1.5, "share_of_rows": 0.1}), "above 0 up to 1"),
        (port_at(keys={"by": "uniform", "exponent": 1.0}), "exponent"),
        (port_at(keys={"table": "nowhere"}), "nowhere"),
        (port_at(keys={"table": "job_info"}), "guid"),
        (port_at(keys={"rows": 2_000_000}), "which has 1_000_000"),
        (port_at(params={"guid": {"gen": "key", "column": "nothing"}, "port": {"gen": "key", "column": "port"},
                         "at": {"gen": "key", "column": "added_on"}}), "nothing"),
        (port_at(params={"guid": {"gen": "of_series", "column": "guid"}, "port": {"gen": "constant", "value": 1},
                         "at": {"gen": "now_minus", "seconds": 1}}, keys={"by": "uniform"}), "no parameter is"),
        (port_at(table="port_data_counters", keys={"by": "own_range", "rows": 3}), "4 sessions"),
    ],
)  # fmt: skip
def test_what_no_keys_can_be_is_refused_with_its_remedy(operation: dict[str, Any], said: str) -> None:
    with pytest.raises(StudyInvalid, match=said):
        study_of(operation)


def test_keys_of_rows_that_nobody_has_loaded_are_refused() -> None:
    with pytest.raises(StudyInvalid, match="no row of port_data_counters is loaded"):
        study_of(port_at(), rows=0)


# --- how many different rows


@pytest.mark.parametrize(
    "by",
    [
        {"kind": "uniform"},
        {"kind": "own_range"},
        {"kind": "zipf", "exponent": 0.99},
        {"kind": "zipf", "exponent": 1.0},
        {"kind": "zipf", "exponent": 1.5},
        {"kind": "hot_set", "draws_ppm": 900_000, "rows_ppm": 10_000},
    ],
)
@pytest.mark.parametrize("rows", [1, 50, 200_000])
def test_different_rows_are_those_of_the_law_summed_one_by_one(by: dict[str, Any], rows: int) -> None:
    draws = 100_000
    p = np.full(rows, 1 / rows)
    if by["kind"] == "zipf":
        p = np.arange(1, rows + 1, dtype=np.float64) ** -by["exponent"]
        p /= p.sum()
    elif by["kind"] == "hot_set" and rows > 1:
        hot = max(rows // 100, 1)
        p[:hot], p[hot:] = 0.9 / hot, 0.1 / (rows - hot)
    expected = float(np.sum(1 - (1 - p) ** draws))
    assert different_rows(by, rows, draws) == pytest.approx(expected, rel=1e-3)


def test_a_million_draws_hardly_repeat_a_row_of_a_large_table_and_always_one_of_a_small() -> None:
    assert different_rows({"kind": "uniform"}, 10**12) == pytest.approx(DRAWS, rel=1e-5)
    assert different_rows({"kind": "uniform"}, 65_536) == pytest.approx(65_536, rel=1e-3)
    assert different_rows({"kind": "zipf", "exponent": 1.1}, 10**9) < 0.5 * DRAWS
