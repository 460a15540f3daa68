"""Rows in an order, and series at rates, of their own: planned, written, proven and asked for by key."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.errors import UsageError
from inrush.plan.plan import plan_study
from inrush.plan.planned import PlannedRun, StudyPlan
from inrush.run.call import StudyCall
from inrush.run.prepare import prepare
from inrush.study.reading import parse_study
from inrush.targets.deployment import Deployment
from tests.engines.border import Ran
from tests.engines.border import run as made
from tests.strategies import fake_servers, small_tree, workload_tree

ROWS = 6_000
ORDERS = ("key", "time", "random", "7 files")
#: Attributes of a control system: some change often, one has 30 % of all rows.
WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.values]
series = 40
period_s = 1
rates = { sigma = 0.8, pinned = 3, share = 0.3 }
identity = ["attribute", "at"]
layouts = { none = [], pk = ["identity"] }
columns = [
  { name = "attribute", type = "i32", gen = "cycle", from = 1, to = 40 },
  { name = "at", type = "time_us", gen = "sweep_time" },
  { name = "value", type = "f64", gen = "normal", mean = 20, sd = 3, bits = 20, null_share = 0.05 },
]
[operations.insert]
kind = "insert"
[operations.one]
kind = "query"
table = "values"
params.attribute = { gen = "key", column = "attribute" }
params.at = { gen = "key", column = "at" }
holds = ["asked"]
returns = ["attribute", "at", "value"]
sql.default = "SELECT attribute, at, value FROM {values} WHERE attribute = :attribute AND at = :at"
[operations.history]
kind = "query"
table = "values"
params.attribute = { gen = "of_series", column = "attribute" }
holds = ["asked"]
returns = ["attribute", "at", "value"]
sql.default = "SELECT attribute, at, value FROM {values} WHERE attribute = :attribute"
"""
STUDY = f"""
schema = 1
title = "Orders"
question = "Does the order of rows matter?"
expect = "It does."
workload = "w.toml"
engines = ["sqlite", "duckdb"]
layout = "pk"
factors.row_order = {json.dumps(ORDERS)}
schedule = {{ mode = "closed", at_least_s = 0 }}
repeats = {{ count = 1, order = "as_written", pilot = false }}
"""
WRITING = """
kind = "fixed_volume"
[roles.writers]
operation = "insert"
table = "values"
sessions = 2
batch_rows = 300
rows = { total = 6_000 }
"""
ASKING = """
kind = "mixed"
load = { rows = 6_000 }
[roles.users]
operation = "one"
calls = 200
[roles.historians]
operation = "history"
calls = 60
"""


def planned_of(tmp_path: Path, roles: str, *changes: str, workload: str = WORKLOAD) -> StudyPlan:
    (tmp_path / "w.toml").write_text(workload)
    (tmp_path / "s.toml").write_text(STUDY + roles)
    return prepare(StudyCall(str(tmp_path / "s.toml"), overrides=changes)).plan


def ran(run: PlannedRun, folder: Path, faults: list[str] | None = None) -> Ran:
    engine = run.plan["target"]["engine"]
    return made(Deployment(server(engine), Target(engine, "")), run.plan, folder, faults)


def rows_of(run: PlannedRun) -> list[dict[str, Any]]:
    """As the core makes them, in their order."""
    (table,) = run.plan["tables"]
    rows = table["source"]["events"]["rows"]
    stream = _core.generate(json.dumps(table), run.plan["seed"], run.plan["epoch_ns"], 0, rows)
    return pa.RecordBatchReader.from_stream(stream).read_all().to_pylist()


def by_order(plan: StudyPlan, engine: str = "sqlite") -> dict[str, PlannedRun]:
    return {r.labels["factors"]["row_order"]: r for r in plan.runs if r.labels["engine"] == engine}


def test_each_order_has_the_same_rows_in_its_own_sequence(tmp_path: Path) -> None:
    rows = {order: rows_of(run) for order, run in by_order(planned_of(tmp_path, WRITING)).items()}
    assert set(rows) == set(ORDERS)
    of = {order: [(row["attribute"], row["at"]) for row in found] for order, found in rows.items()}
    assert of["key"] == sorted(of["key"]) and len(set(of["key"])) == ROWS
    assert [at for _, at in of["time"]] == sorted(at for _, at in of["time"]) and of["time"] != of["key"]
    assert of["random"] not in (of["key"], of["time"])
    # In a file by key, files by time: the attribute falls only from one file to the next.
    falls = [later for earlier, later in pairwise(of["7 files"]) if later[0] < earlier[0]]
    assert len(falls) == 6 and [at for _, at in falls] == sorted(at for _, at in falls)
    whole = [sorted(map(str, found)) for found in rows.values()]
    assert all(found == whole[0] for found in whole)
    counts = Counter(attribute for attribute, _ in of["key"])
    assert abs(counts[4] / ROWS - 0.3) < 0.01, "series 3 is attribute 4, with 30 % of all rows"
    assert max(n for a, n in counts.items() if a != 4) > 3 * min(counts.values())


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_rows_of_every_order_are_written_and_proven_with_one_digest(engine: str, tmp_path: Path) -> None:
    digests = set()
    for n, (_, run) in enumerate(by_order(planned_of(tmp_path, WRITING), engine).items()):
        found = ran(run, tmp_path / str(n))
        assert found.last["event"] == "finished" and found.broken() == []
        digests |= {p["found"] for p in found.tables["proofs"] if p["item"].startswith("read_back")}
        assert any(p["item"] == "rows" and p["found"] == str(ROWS) for p in found.tables["proofs"])
    assert len(digests) == 1, digests


def without(run: PlannedRun, lost: str, folder: Path) -> Ran:
    """The run on SQLite, in a database that keeps no row for which `lost` holds."""
    plan = json.loads(json.dumps(run.plan))
    table = plan["tables"][0]["name"]
    create = next(s for s in plan["segments"] if s["kind"] == "control")
    create["statements"].append(
        f"CREATE TRIGGER one AFTER INSERT ON {table} WHEN {lost} BEGIN DELETE FROM {table} "
        "WHERE attribute = NEW.attribute AND at = NEW.at; END"
    )
    return made(Deployment(server("sqlite"), Target("sqlite", "")), plan, folder)


def test_a_row_that_is_lost_of_an_order_is_named(tmp_path: Path) -> None:
    run = by_order(planned_of(tmp_path, WRITING))["random"]
    row = next(row for row in rows_of(run) if row["attribute"] == 4)
    at_us = row["at"] if isinstance(row["at"], int) else round(row["at"].timestamp() * 1e6)
    broken = without(run, f"NEW.attribute = 4 AND NEW.at = {at_us}", tmp_path / "run").broken()
    assert any("1 rows missing" in p["expected"] and "attribute=4" in p["expected"] for p in broken), broken


@pytest.mark.parametrize("order", ORDERS)
def test_calls_by_key_and_histories_of_a_series_get_exactly_their_rows(order: str, tmp_path: Path) -> None:
    found = ran(by_order(planned_of(tmp_path, ASKING))[order], tmp_path / "run")
    assert found.last["event"] == "finished" and found.broken() == []
    for role, calls in (("users", 200), ("historians", 60)):
        assert failures(found, role) == {} and found.totals(role)["ok"] == calls


def test_an_answer_with_a_row_too_few_is_caught_in_any_order(tmp_path: Path) -> None:
    for order in ("key", "random"):
        run = by_order(planned_of(tmp_path, ASKING))[order]
        found = without(run, "NEW.attribute = 4 AND NEW.value > 28", tmp_path / order)
        assert failures(found, "historians").keys() == {"missing"}, "only those of attribute 4 lack rows"


def failures(ran: Ran, role: str) -> dict[str, int]:
    """Outcome -> calls of a role, without those that were right."""
    found: Counter[str] = Counter()
    for row in ran.tables["failures"]:
        if row["role"] == role:
            found[row["outcome"]] += row["count"]
    return dict(found)


def changed(rates: Any = None, **changes: Any) -> StudyPlan:
    workload = workload_tree()
    if rates is not None:
        workload["tables"]["port_errors"]["rates"] = rates
    tree = small_tree(stop=[], **changes)
    study = parse_study(tree, workload, name="small", file="small.toml", workload_file="w.toml")
    return plan_study(study, fake_servers())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"row_order": "sideways"}, "an order is key, time, random, or `60 files`"),
        ({"factors": {"row_order": ["key", "0 files"]}}, "an order is key, time, random"),
        ({"rates": {"sigma": 4}}, "is 0 to 3"),
        ({"rates": {"sigma": 1, "pinned": 1}}, "are given together"),
        ({"rates": {"sigma": 1, "pinned": 10**9, "share": 0.5}}, "series, from 0"),
        ({"rates": {"sigma": 1, "pinned": 1, "share": 1}}, "above 0 and below 1"),
        ({"rates": {"pinned": 1, "share": 0.1}}, "sigma"),
    ],
)
def test_what_no_order_and_no_rates_can_be_is_refused_with_its_remedy(changes: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        changed(**changes)


def test_counters_at_unequal_rates_are_refused_by_the_core() -> None:
    plan = changed(rates={"sigma": 1})
    assert any(
        "series of this table differ in rate" in p
        for p in _core.check_plan(json.dumps(dict(plan.runs[0].plan)))
    )


def test_rows_by_time_at_one_rate_are_planned_as_without_an_order() -> None:
    assert [r.hash for r in changed(row_order="time").runs] == [r.hash for r in changed().runs]
    assert [r.hash for r in changed(row_order="key").runs] != [r.hash for r in changed().runs]


def test_samples_of_sweeps_need_sweeps() -> None:
    roles = {"writers": {"operation": "insert", "table": "port_errors", "samples": {"count": 3}}}
    with pytest.raises(UsageError, match="samples and deletes by age count sweeps"):
        changed(roles=roles, factors={}, row_order="random")


def test_keys_of_the_first_rows_are_refused_where_each_order_has_others(tmp_path: Path) -> None:
    workload = WORKLOAD.replace(
        "params.at = { gen", 'keys = { by = "uniform", rows = 300 }\nparams.at = { gen'
    )
    with pytest.raises(UsageError, match="the first rows of values are others in each order"):
        planned_of(tmp_path, ASKING, workload=workload)
    counted = workload.replace("rates = { sigma = 0.8, pinned = 3, share = 0.3 }", "")
    with pytest.raises(UsageError, match="the first rows of values"):
        planned_of(tmp_path, ASKING, workload=counted)
    assert planned_of(tmp_path, ASKING, 'row_order=["time"]', workload=counted).runs
