"""Tables keyed by UUIDs: stored as the engine's own type where it has one, proven, and looked up by key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan.plan import plan_study
from inrush.plan.planned import PlannedRun
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment

from .border import run
from .servers import written

SERVERS = ("postgresql", "timescaledb", "mysql", "mariadb", "clickhouse")
ENGINES = ("duckdb", "sqlite", *SERVERS)
#: Every row has a UUID of its own in `devices`, every series in `readings`: there a key has ten rows.
WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.devices]
identity = ["id"]
layouts = { none = [], pk = ["identity"] }
columns = [
  { name = "id", type = "uuid", gen = "uuid" },
  { name = "owner", type = "uuid", gen = "foreign", stream = "owners", column = "id", series = 40, of = { gen = "uuid" }, null_share = 0.1 },
  { name = "n", type = "i64", gen = "sequence", start = 0, step = 1 },
]
[tables.readings]
series = 200
period_s = 1
identity = ["id", "seen_at"]
layouts = { none = [], pk = ["identity"] }
columns = [
  { name = "id", type = "uuid", gen = "uuid" },
  { name = "seen_at", type = "time_ms", gen = "sweep_time" },
  { name = "owner", type = "uuid", gen = "foreign", stream = "owners", column = "id", series = 40, of = { gen = "uuid" }, null_share = 0.1 },
  { name = "n", type = "i64", gen = "sequence", start = 0, step = 1 },
]
[operations.look]
kind = "query"
table = "devices"
params.id = { gen = "key", column = "id", list = true }
holds = ["asked"]
returns = ["id", "owner", "n"]
sql.default = "SELECT id, owner, n FROM {table} WHERE id IN (:id)"
[operations.follow]
kind = "query"
table = "readings"
params.id = { gen = "key", column = "id", list = true }
holds = ["asked"]
returns = ["id", "seen_at", "owner", "n"]
sql.default = "SELECT id, seen_at, owner, n FROM {table} WHERE id IN (:id)"
sql.influxdb.columns = ["id", "time", "owner", "n"]
sql.influxdb.text = '''
SELECT id, owner, n FROM {table} WHERE id = :id'''
"""
STUDY = """
schema = 1
title = "UUIDs"
question = "Is each found by its key?"
expect = "Yes."
workload = "w.toml"
kind = "mixed"
engines = ["duckdb"]
layout = "pk"
load = { rows = 2_000 }
schedule = { mode = "closed" }
factors.method = ["bulk", "multirow"]
repeats = { count = 1, pilot = false }
[roles.users]
operation = "OPERATION"
keys_per_call = 3
calls = 200
"""
LOOKS = {"devices": "look", "readings": "follow"}
#: (engine, method, table)
WAYS = [
    *product(ENGINES, ("bulk", "multirow"), LOOKS),
    *product(("postgresql", "timescaledb"), ("unnest",), LOOKS),
    ("influxdb", "bulk", "readings"),
]


def planned(engine: str, method: str, table: str, folder: Path, rows: str = "2_000") -> PlannedRun:
    (folder / "w.toml").write_text(WORKLOAD)
    (folder / "s.toml").write_text(STUDY.replace("OPERATION", LOOKS[table]).replace("2_000", rows))
    study = load_study(str(folder / "s.toml"), overrides=[f'factors.method=["{method}"]'], engines=[engine])
    (found,) = plan_study(study, {engine: server(engine)}).block(1)
    return found


@pytest.fixture
def deployment(
    engine: str, method: str, table: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Deployment]:
    if server(engine).embedded:
        yield Deployment(server(engine), Target(engine, ""))
        return
    deployment = Deployment(server(engine), request.getfixturevalue(engine))
    yield deployment
    deployment.drop_leftover(planned(engine, method, table, tmp_path).plan)


@pytest.mark.parametrize(("engine", "method", "table"), WAYS)
def test_every_row_is_proven_and_found_by_its_key(
    engine: str, method: str, table: str, deployment: Deployment, folder: Path, tmp_path: Path
) -> None:
    ran = run(deployment, planned(engine, method, table, tmp_path).plan, folder)
    assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last
    assert not ran.broken(), ran.broken()
    items = {p["item"] for p in ran.tables["proofs"]}
    assert {"rows", "read_back"} <= items
    assert {item for item in items if "hash" in item} == hashes(engine, "id", "owner")
    assert not ran.tables["failures"], ran.tables["failures"]
    users = ran.totals("users")
    assert (users["ok"], users["wrong"]) == (200, 0)


@pytest.mark.parametrize(
    ("engine", "method", "table"), [*product(ENGINES, ("bulk",), LOOKS), ("influxdb", "bulk", "readings")]
)
def test_an_answer_with_rows_of_other_keys_is_wrong(
    engine: str, method: str, table: str, deployment: Deployment, folder: Path, tmp_path: Path
) -> None:
    plan = dict(planned(engine, method, table, tmp_path).plan)
    plan["operations"] = [
        {**o, "text": o["text"].replace("WHERE", "WHERE n < 3 OR")} for o in plan["operations"]
    ]
    ran = run(deployment, plan, folder)
    assert {f["outcome"] for f in ran.tables["failures"]} == {"wrong"}
    assert ran.totals("users")["ok"] == 0


@pytest.mark.parametrize("column", ["id", "owner"])
@pytest.mark.parametrize(("engine", "method", "table"), list(product(ENGINES, ("bulk",), LOOKS)))
def test_one_bit_of_one_uuid_that_changed_breaks_its_hash_and_the_read_back(
    engine: str, method: str, table: str, column: str, deployment: Deployment, folder: Path, tmp_path: Path
) -> None:
    plan = dict(planned(engine, method, table, tmp_path).plan)
    row = a_row(plan)
    only = [{**key, "first_row": row["n"], "rows": 1} for key in plan["operations"][1]["keys"]]
    plan["operations"] = [plan["operations"][0], {**plan["operations"][1], "keys": only}]
    plan["segments"] = [
        *segments(plan, "load", upto=True),
        {
            "kind": "control",
            "label": "change",
            "statements": change(engine, plan["tables"][0]["name"], column, flipped(row[column]), row["n"]),
            "limit_ns": 30 * 10**9,
        },
        *segments(plan, "load", upto=False),
    ]
    ran = run(deployment, plan, folder)
    assert ran.last["event"] == "finished", ran.last
    broken = {p["item"] for p in ran.broken() if not p["item"].startswith("difference")}
    assert broken == {"read_back", *hashes(engine, column)}
    # Every call asks for that row, and has an answer without it or with another value in it.
    assert (ran.totals("users")["ok"], ran.totals("users")["errors"]) == (0, 200)
    assert {f["outcome"] for f in ran.tables["failures"]} == {"missing" if column == "id" else "wrong"}


@pytest.mark.parametrize(("engine", "method", "table"), [("influxdb", "bulk", "readings")])
def test_one_bit_of_a_point_that_changed_breaks_the_read_back(
    engine: str, method: str, table: str, deployment: Deployment, folder: Path, tmp_path: Path
) -> None:
    plan = dict(planned(engine, method, table, tmp_path).plan)
    row = a_row(plan)
    at_ns = round(row["seen_at"].timestamp() * 1_000) * 1_000_000
    database, _, measurement = plan["tables"][0]["name"].replace('"', "").partition("..")
    line = f'{measurement},id={row["id"]} owner="{flipped(row["owner"])}" {at_ns}'

    def at(event: Mapping[str, Any]) -> None:
        if event["event"] == "paused":
            written(deployment.target, database, line.encode())

    pause = {"kind": "pause", "label": "change", "action": "change"}
    plan["segments"] = [*segments(plan, "load", upto=True), pause, *segments(plan, "load", upto=False)]
    ran = run(deployment, plan, folder, at_event=at)
    assert ran.last["event"] == "finished", ran.last
    assert {p["item"] for p in ran.broken() if not p["item"].startswith("difference")} == {"read_back"}


@pytest.mark.parametrize(
    ("engine", "own"),
    [
        ("postgresql", "uuid NOT NULL"),
        ("timescaledb", "uuid NOT NULL"),
        ("duckdb", "UUID NOT NULL"),
        ("mysql", "CHAR(36) NOT NULL"),
        ("mariadb", "CHAR(36) NOT NULL"),
        ("sqlite", "TEXT NOT NULL"),
        ("clickhouse", "String"),
    ],
)
def test_the_type_in_the_table_is_the_engines_own_where_it_has_one(
    engine: str, own: str, tmp_path: Path
) -> None:
    plan = planned(engine, "bulk", "devices", tmp_path).plan
    create = next(s for s in plan["segments"] if s["label"] == "create")
    assert any(f'"id" {own},' in statement for statement in create["statements"]), create["statements"]


@pytest.mark.parametrize("table", LOOKS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_plan_says_which_uuids_of_a_large_table_no_sum_proves(
    engine: str, table: str, tmp_path: Path
) -> None:
    def unseen(rows: str) -> list[str]:
        notes = planned(engine, "bulk", table, tmp_path, rows).plan["labels"]["notes"]
        return [note for note in notes if "UUIDs (" in note]

    said = f"{table}: UUIDs (id, owner) are in no count or sum of {engine}; read-back alone proves them"
    assert unseen("10_000_000") == []
    assert unseen("10_000_200") == ([] if engine in SERVERS else [said])


def hashes(engine: str, *columns: str) -> set[str]:
    """The figures that a server sums over UUIDs; the other engines are read back alone."""
    return {f"sum_hash({column})" for column in columns} if engine in SERVERS else set()


def a_row(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The first after the 700th that has an owner."""
    made = _core.generate(json.dumps(plan["tables"][0]), plan["seed"], plan["epoch_ns"], 700, 100)
    rows: list[dict[str, Any]] = pa.RecordBatchReader.from_stream(made).read_all().to_pylist()
    return next(row for row in rows if row["owner"] is not None)


def flipped(uuid: str) -> str:
    """With another last bit."""
    return f"{uuid[:-1]}{int(uuid[-1], 16) ^ 1:x}"


def change(engine: str, table: str, column: str, value: str, n: int) -> list[str]:
    """Statements that put another value into the row with this n."""
    if engine != "clickhouse":
        return [f"UPDATE {table} SET {column} = '{value}' WHERE n = {n}"]
    # An update is asynchronous there, and none of a key: the table is copied.
    copy = table.replace("devices", "copied").replace("readings", "copied")
    columns = ["id", *(["seen_at"] if "readings" in table else []), "owner", "n"]
    values = ", ".join(f"if(n = {n}, '{value}', {c})" if c == column else c for c in columns)
    return [
        f"CREATE TABLE {copy} AS {table}",
        f"INSERT INTO {copy} ({', '.join(columns)}) SELECT {values} FROM {table}",
        f"DROP TABLE {table}",
        f"RENAME TABLE {copy} TO {table}",
    ]


def segments(plan: Mapping[str, Any], label: str, upto: bool) -> list[dict[str, Any]]:
    """Those up to this one, or after it."""
    at = next(k for k, s in enumerate(plan["segments"]) if s["label"] == label) + 1
    return list(plan["segments"][:at] if upto else plan["segments"][at:])
