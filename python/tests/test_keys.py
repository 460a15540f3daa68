"""Keys over a whole table: what a study may say of them, what a plan says they cover, and where they are read."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inrush import _core
from inrush.engines import server
from inrush.errors import UsageError
from inrush.plan.keys import DRAWS, different_rows
from inrush.plan.plan import canonical, plan_study
from inrush.plan.planned import StudyPlan
from inrush.report.plan_text import plan_lines
from inrush.study.reading import load_study, parse_study
from tests.strategies import fake_servers, small_tree, workload_tree
from tests.terminal import Inrush

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
    page = {"kind": "together", "members": ["port_at", "pc_top"]}
    workload["operations"]["key_page"] = page
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
        ({"by": "each_once"}, {"kind": "each_once"}),
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
    assert f"from {rows:,} rows of port_data_counters" in note
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
        (port_at(keys={"rows": 2_000_000}), "which has 1,000,000"),
        (port_at(params={"guid": {"gen": "key", "column": "nothing"}, "port": {"gen": "key", "column": "port"},
                         "at": {"gen": "key", "column": "added_on"}}), "nothing"),
        (port_at(params={"guid": {"gen": "of_series", "column": "guid"}, "port": {"gen": "constant", "value": 1},
                         "at": {"gen": "now_minus", "seconds": 1}}, keys={"by": "uniform"}), "no parameter is"),
        (port_at(table="port_data_counters", keys={"by": "own_range", "rows": 3}), "4 sessions"),
    ],
)  # fmt: skip
def test_what_no_keys_can_be_is_refused_with_its_remedy(operation: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        study_of(operation)


def test_keys_of_rows_that_nobody_has_loaded_are_refused() -> None:
    with pytest.raises(UsageError, match="no row of port_data_counters is loaded"):
        study_of(port_at(), rows=0)


# --- by role and as a factor


def laws(plan: StudyPlan) -> dict[str, Any]:
    """Values of the factors -> law in the core's plan."""
    return {
        ", ".join(str(v) for v in r.labels["factors"].values()): next(
            o["keys"][0]["by"] for o in r.plan["operations"] if o["name"] == "port_at"
        )
        for r in plan.block(1)
        if r.labels["engine"] == "duckdb"
    }


def role(**changes: Any) -> dict[str, Any]:
    return {"roles": {"users": {"operation": "port_at", "sessions": 2, **changes}}}


ZIPF, HOT = (
    {"kind": "zipf", "exponent": 1.1},
    {"kind": "hot_set", "draws_ppm": 900_000, "rows_ppm": 10_000},
)
SHARES = {"share_of_draws": 0.9, "share_of_rows": 0.01}


@pytest.mark.parametrize(
    ("factors", "keys", "found"),
    [
        ({"keys": ["uniform", "own_range"]}, "@keys", {"uniform": {"kind": "uniform"}, "own_range": {"kind": "own_range"}}),
        ({"law": ["uniform", "zipf", "hot_set"]}, {"by": "@law", "exponent": 1.1, **SHARES},
         {"uniform": {"kind": "uniform"}, "zipf": ZIPF, "hot_set": HOT}),
        ({"skew": [0.5, 1.1]}, {"by": "zipf", "exponent": "@skew"}, {"0.5": {"kind": "zipf", "exponent": 0.5}, "1.1": ZIPF}),
        ({"keys": [{"name": "flat", "by": "uniform", "exponent": 1.0}, {"name": "skewed", "by": "zipf", "exponent": 1.1}]},
         {"by": "@keys.by", "exponent": "@keys.exponent"}, {"flat": {"kind": "uniform"}, "skewed": ZIPF}),
    ],
)  # fmt: skip
def test_a_law_of_keys_and_its_parameters_can_be_factors(factors: Any, keys: Any, found: Any) -> None:
    plan = study_of(port_at(), factors=factors, **role(keys=keys))
    assert laws(plan) == found
    assert len({r.hash for r in plan.runs}) == len(plan.runs)
    assert all(_core.check_plan(json.dumps(dict(r.plan))) == [] for r in plan.runs)
    covered = {json.dumps(r.labels["keys"]["port_at"]["by"]) for r in plan.runs}
    assert covered == {json.dumps(by) for by in found.values()}, "the plan says what each point covers"


def test_the_rows_that_keys_are_of_can_be_a_factor_and_the_law_stays_the_operations() -> None:
    keys = {"by": "zipf", "exponent": 1.1}
    plan = study_of(port_at(keys=keys), factors={"keyed": [1_000, 5_000]}, **role(keys={"rows": "@keyed"}))
    stated = [o["keys"][0] for r in plan.block(1) for o in r.plan["operations"] if o["name"] == "port_at"]
    assert {s["rows"] for s in stated} == {1_000, 5_000} and all(s["by"] == ZIPF for s in stated)


def test_roles_that_draw_differently_have_an_operation_each_and_those_that_draw_alike_share_it() -> None:
    roles = {
        "users": {"operation": "port_at", "sessions": 4, "keys": "own_range"},
        "robots": {"operation": "port_at", "keys": {"by": "zipf", "exponent": 1.1, "rows": 5_000}},
        "others": {"operation": "port_at"},
    }
    plan = study_of(port_at(), factors={}, roles=roles)
    document = plan.runs[0].plan
    measured = next(s for s in document["segments"] if s.get("phase") == "measure")
    called = {r["name"]: [o["operation"] for o in r["operations"]] for r in measured["roles"]}
    assert called == {"users": ["port_at/users"], "robots": ["port_at/robots"], "others": ["port_at/others"]}
    stated = {o["name"]: o["keys"][0] for o in document["operations"] if "keys" in o}
    assert stated == {
        "port_at/users": {"table": 0, "first_row": 0, "rows": 1_000_000, "by": {"kind": "own_range"}},
        "port_at/robots": {"table": 0, "first_row": 0, "rows": 5_000, "by": ZIPF},
        "port_at/others": {"table": 0, "first_row": 0, "rows": 1_000_000, "by": {"kind": "uniform"}},
    }
    assert set(plan.runs[0].labels["keys"]) == set(stated)
    assert _core.check_plan(json.dumps(dict(document))) == []
    same = {name: {**of, "keys": "own_range"} for name, of in roles.items()}
    shared = study_of(port_at(), factors={}, roles=same).runs[0].plan["operations"]
    assert [o["name"] for o in shared if "keys" in o] == ["port_at"]


def test_a_page_asks_for_the_keys_of_the_role_that_opens_it() -> None:
    roles = {
        "users": {"operation": "key_page", "table": "port_data_counters", "keys": "own_range"},
        "others": {"operation": "key_page", "table": "port_data_counters"},
    }
    document = study_of(port_at(), factors={}, roles=roles).runs[0].plan
    operations = {o["name"]: o for o in document["operations"]}
    assert operations["key_page/users"]["members"] == ["port_at/users", "pc_top"]
    assert operations["port_at/users"]["keys"][0]["by"] == {"kind": "own_range"}
    assert operations["port_at/others"]["keys"][0]["by"] == {"kind": "uniform"}
    assert _core.check_plan(json.dumps(dict(document))) == []


@pytest.mark.parametrize(
    ("factors", "changes", "said"),
    [
        ({"keys": ["uniform", "often"]}, {"keys": "@keys"}, "often"),
        ({"keys": ["uniform", "zipf"]}, {"keys": "@keys"}, r"zipf needs parameters: write \{ by = .@keys., exponent"),
        ({"keys": ["uniform", "zipf"]}, {"keys": {"by": "@keys"}}, "exponent"),
        ({"keys": ["uniform", "own_range"]}, {"keys": {"by": "@keys", "exponent": 1.0}}, "exponent"),
        ({"skew": [0.5, 11]}, {"keys": {"by": "zipf", "exponent": "@skew"}}, "above 0 up to 10"),
        ({"keys": ["uniform", "own_range"]}, {"keys": "@key"}, "key"),
        ({"n": [1, 2]}, {"keys": {"rows": "@n"}, "operation": "pc_top", "table": "port_data_counters"}, "asks for no key"),
        ({"n": [1, 2]}, {"keys": {}, "sessions": "@n"}, "write a law"),
        ({"n": [1, 2_000_000]}, {"keys": {"rows": "@n"}}, "which has 1,000,000"),
    ],
)  # fmt: skip
def test_what_no_keys_of_a_role_can_be_is_refused_with_its_remedy(
    factors: Any, changes: Any, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        study_of(port_at(), factors=factors, **role(**changes))


#: Every call writes the number of the row that it found by its key into a table of the test's own.
OBSERVED = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.jobs]
series = 2_000
identity = ["jobid"]
layouts = { none = [], pk = ["identity"] }
columns = [{ name = "jobid", type = "i64", gen = "sequence", start = 1000, step = 1 }]
[operations.look]
kind = "execute"
table = "jobs"
params.jobid = { gen = "key", column = "jobid" }
sql.default = "INSERT INTO seen SELECT jobid - 1000 FROM {table} WHERE jobid = :jobid"
"""
STUDY = """
schema = 1
title = "Keys"
question = "Which keys?"
expect = "Those of the law."
workload = "keys-workload.toml"
kind = "mixed"
engines = ["sqlite"]
layout = "pk"
load = { rows = 2_000 }
schedule = { mode = "closed" }
repeats = { count = 1, order = "as_written", pilot = false }
"""
CALLS = 400


def seen(inrush: Inrush, tmp_path: Path, study: str) -> list[int]:
    """Numbers of the rows that were looked up, from 0, in the order of the calls."""
    (tmp_path / "keys-workload.toml").write_text(OBSERVED)
    (tmp_path / "keys.toml").write_text(STUDY + study)
    file = tmp_path / "seen.sqlite"
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE seen (row INTEGER)")
        db.commit()
    said = inrush("run", str(tmp_path / "keys.toml"), f"sqlite:///{file}", "--force", "--json")
    assert said.code in (0, 3), said.err
    with contextlib.closing(sqlite3.connect(file)) as db:
        return [row for (row,) in db.execute("SELECT row FROM seen ORDER BY rowid")]


@pytest.mark.ci
def test_a_run_draws_its_keys_by_the_law_of_its_point(inrush: Inrush, tmp_path: Path) -> None:
    found = seen(
        inrush, tmp_path,
        f"""
        factors.law = ["uniform", "zipf", "hot_set"]
        [roles.users]
        operation = "look"
        calls = {CALLS}
        keys = {{ by = "@law", exponent = 3.0, share_of_draws = 1.0, share_of_rows = 0.005 }}
        """,
    )  # fmt: skip
    assert len(found) == 3 * CALLS, "every key found its row"
    different = [len(set(found[k * CALLS : (k + 1) * CALLS])) for k in range(3)]
    # 363 of 2,000 are expected, with a standard deviation of 5; Zipf's first row has 83 % of the draws.
    assert different[0] > 330 and different[1] < 40 and different[2] <= 10


def test_two_roles_of_one_run_draw_by_a_law_each(inrush: Inrush, tmp_path: Path) -> None:
    found = seen(
        inrush, tmp_path,
        f"""
        factors.first = [10]
        [roles.users]
        operation = "look"
        calls = {CALLS}
        [roles.robots]
        operation = "look"
        calls = {CALLS}
        keys = {{ rows = "@first" }}
        """,
    )  # fmt: skip
    assert len(found) == 2 * CALLS
    # Two of 400 uniform draws are expected among the first ten rows of 2,000.
    assert CALLS <= sum(row < 10 for row in found) < CALLS + 20


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


def test_what_stands_beside_an_unknown_law_is_not_called_unknown() -> None:
    with pytest.raises(UsageError) as refused:
        study_of(port_at(keys={"by": "zpf", "exponent": 20}))
    assert "zpf" in str(refused.value) and "exponent" not in str(refused.value)
