"""NDB on a real cluster: every type it has, rows by their keys at any depth, its errors, and lies about answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study
from inrush.targets import marks
from inrush.targets.deployment import Deployment

from .border import Ran, run

pytestmark = pytest.mark.ci

STUDY = str(Path(__file__).parent / "ndb.toml")
ROWS, CALLS = 5_000, 20_000
KEY = ("guid", "seen_at")


@pytest.fixture
def deployment(ndb: Target) -> Iterator[Deployment]:
    deployment = Deployment(server("ndb"), ndb)
    yield deployment
    deployment.drop_leftover(planned())


def planned() -> dict[str, Any]:
    """A load with its proofs."""
    study = load_study(STUDY, engines=["ndb"])
    plan = next(iter(plan_study(study, {"ndb": server("ndb")}).block(1))).plan
    return {**plan, "operations": list(plan["operations"])}


def called(
    does: str, depth: int, *, keys: Sequence[str] = KEY, first_row: int = 0, each: int = 1, holds: bool = True
) -> dict[str, Any]:
    """The same, with calls by key between load and proof. each: keys of a call. first_row: of those that are asked for."""
    plan = planned()
    table = plan["tables"][0]
    columns = [c["name"] for c in table["columns"]]
    types = {c["name"]: c["type"] for c in table["columns"]}
    named = list(keys) if does in ("read", "delete") else columns
    params = [
        {"name": f"{name}_{k}", "type": types[name], "gen": {"kind": "key", "keys": 0, "draw": k, "column": name}}
        for k in range(each)
        for name in named
    ]  # fmt: skip
    asked = {"kind": "asked", "table": 0, "columns": columns, "keys": named * each}
    law = {"kind": "each_once"} if does in ("insert", "delete") else {"kind": "uniform"}
    plan["operations"].append({
        "name": does,
        "does": does,
        "kind": "query" if does == "read" else "execute",
        "table": 0,
        "text": "",
        "directives": {"record": {"does": does, "table": table["name"], "columns": named * each}},
        "method": "",
        "params": params,
        "keys": [{"table": 0, "first_row": first_row, "rows": ROWS, "by": law}],
        "members": [],
        "holds": [asked] if holds and does == "read" else [],
        "deadline_ns": 0,
    })  # fmt: skip
    role = {
        "name": "callers",
        "operations": [{"operation": does, "weight": 1}],
        "sessions": 2,
        "depth": depth,
        "schedule": {"kind": "closed", "think_ns": 0, **({"refill": "half"} if depth > 1 else {})},
        "work": {"kind": "calls", "count": ROWS if law["kind"] == "each_once" else CALLS // each},
        "until": {"kind": "work"},
    }
    drive = {"kind": "drive", "label": "call", "phase": "measure", "roles": [role], "limit_ns": 60 * 10**9}
    at = next(k for k, segment in enumerate(plan["segments"]) if segment["kind"] == "proof")
    plan["segments"] = [*plan["segments"][:at], drive, *plan["segments"][at:]]
    return plan


def outcomes(ran: Ran) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for failure in ran.tables["failures"]:
        found[failure["outcome"]] = found.get(failure["outcome"], 0) + failure["count"]
    return found


def test_every_type_is_stored_proven_and_read_back(deployment: Deployment, folder: Path) -> None:
    ran = run(deployment, planned(), folder)
    assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last
    assert not ran.broken() and not ran.tables["failures"], (ran.broken(), ran.tables["failures"])
    assert {p["item"] for p in ran.tables["proofs"]} >= {"rows", "read_back"}
    assert ran.totals("writers")["rows"] == ROWS
    settings = {row["name"]: row["value"] for row in ran.tables["settings"]}
    assert settings["replicas"] == "2" and "ndb-" in settings["version"], settings
    sizes = [row for row in ran.tables["sizes"] if row["name"].startswith("table:")]
    assert sizes and all(float(row["value"]) > 100 * ROWS for row in sizes), ran.tables["sizes"]


@pytest.mark.parametrize("depth", [1, 64])
def test_every_answer_is_the_row_that_was_asked_for(deployment: Deployment, folder: Path, depth: int) -> None:
    ran = run(deployment, called("read", depth), folder)
    assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last
    callers = ran.totals("callers")
    assert (callers["ok"], callers["errors"], callers["rows"]) == (CALLS, 0, CALLS), ran.tables["failures"]
    left = [row for row in ran.tables["sends"] if row["role"] == "callers"]
    sends = sum(row["sends"] for row in left)
    assert 0 < sends <= CALLS and (depth == 1 or sends < CALLS / 8), sends
    assert sum(row["bytes"] for row in left) > 50 * CALLS


def test_a_call_of_several_keys_gives_the_rows_of_all(deployment: Deployment, folder: Path) -> None:
    ran = run(deployment, called("read", 16, each=5), folder)
    callers = ran.totals("callers")
    assert (callers["ok"], callers["errors"], callers["rows"]) == (CALLS // 5, 0, CALLS), ran.tables[
        "failures"
    ]


@pytest.mark.parametrize("depth", [1, 64])
def test_keys_that_do_not_exist_are_missing_or_no_rows(
    deployment: Deployment, folder: Path, depth: int
) -> None:
    """Half of the keys are of rows behind the last one: nothing is promised of them, and nothing comes."""
    ran = run(deployment, called("read", depth, first_row=ROWS // 2), folder)
    callers = ran.totals("callers")
    assert callers["errors"] == 0 and CALLS * 0.45 < callers["rows"] < CALLS * 0.55, callers


@pytest.mark.parametrize("depth", [1, 64])
def test_a_row_that_was_deleted_is_missing_from_its_answer(
    deployment: Deployment, folder: Path, depth: int
) -> None:
    plan = called("read", depth)
    deletes = called("delete", depth)
    plan["operations"].append(deletes["operations"][-1])
    for operation in plan["operations"][-2:]:
        del operation["does"]  # a driver that knows of the deletes asks for no such row
    plan["operations"][-1]["keys"][0]["rows"] = ROWS // 2
    delete = next(s for s in deletes["segments"] if s["kind"] == "drive" and s["label"] == "call")
    delete["roles"][0].update(name="deleters", work={"kind": "calls", "count": ROWS // 2})
    at = next(k for k, s in enumerate(plan["segments"]) if s.get("label") == "call")
    plan["segments"].insert(at, {**delete, "label": "delete"})
    ran = run(deployment, plan, folder)
    assert ran.totals("deleters")["ok"] == ROWS // 2, ran.tables["failures"]
    missing = outcomes(ran)["missing"]
    assert ran.totals("callers")["errors"] == missing and CALLS * 0.45 < missing < CALLS * 0.55
    assert ran.broken(), "the proof misses them too"


def test_a_key_that_is_there_is_refused_and_to_delete_one_that_is_not_changes_no_row(
    deployment: Deployment, folder: Path
) -> None:
    ran = run(deployment, called("insert", 64), folder)
    # The run ends at so many failures, and calls of both sessions that are in flight then have no answer.
    assert set(outcomes(ran)) - {"lost"} == {"refused"} and outcomes(ran).get("lost", 0) <= 2 * 64
    assert any("(630)" in failure["first_message"] for failure in ran.tables["failures"])
    assert not ran.broken()
    second = run(deployment, called("delete", 64, first_row=ROWS), folder / "second")
    callers = second.totals("callers")
    assert (callers["ok"], callers["rows"], outcomes(second)) == (ROWS, 0, {}) and not second.broken()


@pytest.mark.parametrize("depth", [1, 64])
def test_a_call_that_finds_no_row_where_one_must_be_is_missing_at_once(
    deployment: Deployment, folder: Path, depth: int
) -> None:
    """Half of the rows are deleted behind the driver's back, between the load and the deletes of all."""
    plan = called("delete", depth)
    quiet = {**called("delete", depth)["operations"][-1], "name": "behind"}
    del quiet["does"]
    quiet["keys"] = [{**quiet["keys"][0], "rows": ROWS // 2}]
    plan["operations"].append(quiet)
    at = next(k for k, s in enumerate(plan["segments"]) if s.get("label") == "call")
    drive = plan["segments"][at]
    role = {**drive["roles"][0], "name": "others", "operations": [{"operation": "behind", "weight": 1}]}
    role["work"] = {"kind": "calls", "count": ROWS // 2}
    plan["segments"].insert(at, {**drive, "label": "behind", "roles": [role]})
    ran = run(deployment, plan, folder)
    assert ran.totals("others")["ok"] == ROWS // 2
    found = outcomes(ran)
    # After many failures in a row a session ends.
    assert set(found) - {"lost"} == {"missing"} and found["missing"] >= 100, found
    said = [f["first_message"] for f in ran.tables["failures"] if f["outcome"] == "missing"]
    assert any(text.startswith("no row was deleted; row ") for text in said), said


def test_a_lie_about_an_answer_is_wrong(deployment: Deployment, folder: Path) -> None:
    for depth, name in ((1, "one"), (64, "many")):
        ran = run(deployment, called("read", depth), folder / name, ["lie"])
        assert outcomes(ran).get("wrong", 0) + outcomes(ran).get("missing", 0) > 0, name
        assert ran.totals("callers")["errors"] == sum(outcomes(ran).values())


@pytest.mark.parametrize("lie", ["drop", "swap", "cut_ms", "null_to_zero", "round_f32", "lose"])
def test_a_lie_about_rows_breaks_a_proof(deployment: Deployment, folder: Path, lie: str) -> None:
    ran = run(deployment, planned(), folder, [lie])
    assert "read_back" in {p["item"] for p in ran.broken()}, ran.last


def test_what_is_not_inrushs_is_found_and_stays(deployment: Deployment) -> None:
    home = "inrush_test_foreign"
    twin = server("ndb")
    table = {
        "kind": "create_table",
        "table": f"{home}.t",
        "columns": [{"name": "k", "wire": "Unsigned", "key": True}],
    }
    try:
        deployment.ask({"text": "create", "directives": {"ndb": table}})
        assert marks.foreign_objects(deployment, [home, "inrush_test_nothing"]) == [home]
        for statement in twin.drop_namespace(home):
            deployment.ask(statement)
        assert marks.foreign_objects(deployment, [home]) == [home], "it does not bear the mark"
    finally:
        for statement in twin.drop_foreign_object(home):
            deployment.ask(statement)
    assert marks.foreign_objects(deployment, [home]) == []


def test_a_lock_has_one_holder_and_is_no_foreign_object(deployment: Deployment) -> None:
    name, twin = "inrush_test_lock", server("ndb")
    try:
        for statement in twin.lock(name, "me on here: 1"):
            deployment.ask(statement)
        with pytest.raises(_core.CoreFailure, match="already exists") as refused:
            for statement in twin.lock(name, "another"):
                deployment.ask(statement)
        assert refused.value.args[0] == "statement"
        assert twin.parse_holder(deployment.ask(twin.ask_holder(name))) == "me on here: 1"
        assert marks.foreign_objects(deployment, [name]) == []
    finally:
        for statement in twin.drop_namespace(name):
            deployment.ask(statement)
    with pytest.raises(_core.CoreFailure) as gone:
        deployment.ask(twin.ask_holder(name))
    assert gone.value.args[0] == "statement"


def test_a_statement_in_words_and_an_address_without_a_cluster_are_one_line_each(
    deployment: Deployment,
) -> None:
    with pytest.raises(_core.CoreFailure, match="ndb has no language") as refused:
        deployment.ask("SELEKT 1")
    assert refused.value.args[0] == "statement"
