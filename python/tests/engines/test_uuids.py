"""Tables keyed by UUIDs: stored as the engine's own type where it has one, proven, and looked up by key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base import Target
from inrush.plan.plan import PlannedRun, plan_study
from inrush.run.site import Site
from inrush.study.study import load_study

from .border import run

ENGINES = ("duckdb", "sqlite", "postgresql", "mysql", "mariadb", "clickhouse")
WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.devices]
identity = ["id"]
layouts = { none = [], pk = ["identity"] }
columns = [
  { name = "id", type = "uuid", gen = "uuid" },
  { name = "owner", type = "uuid", gen = "foreign", stream = "owners", column = "id", series = 40, of = { kind = "uuid" }, null_share = 0.1 },
  { name = "n", type = "i64", gen = "sequence", start = 0, step = 1 },
]
[operations.look]
kind = "query"
table = "devices"
params.id = { gen = "key", column = "id", list = true }
holds = ["asked"]
returns = ["id", "owner", "n"]
sql.default = "SELECT id, owner, n FROM {table} WHERE id IN (:id)"
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
operation = "look"
keys_per_call = 3
calls = 200
"""


def planned(engine: str, method: str, folder: Path) -> PlannedRun:
    (folder / "w.toml").write_text(WORKLOAD)
    (folder / "s.toml").write_text(STUDY)
    study = load_study(str(folder / "s.toml"), overrides=[f'factors.method=["{method}"]'], engines=[engine])
    (found,) = plan_study(study, {engine: server(engine)}).block(1)
    return found


@pytest.fixture
def site(engine: str, method: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    if server(engine).embedded:
        yield Site(server(engine), Target(engine, ""))
        return
    site = Site(server(engine), request.getfixturevalue(engine))
    yield site
    site.drop_leftover(planned(engine, method, tmp_path).plan)


def on(*engines: str, methods: tuple[str, ...] = ("bulk", "multirow")) -> Any:
    return pytest.mark.parametrize(("engine", "method"), [(e, m) for e in engines for m in methods])


@pytest.mark.parametrize(
    ("engine", "method"), [*((e, m) for e in ENGINES for m in ("bulk", "multirow")), ("postgresql", "unnest")]
)
def test_every_row_is_proven_and_found_by_its_key(
    engine: str, method: str, site: Site, folder: Path, tmp_path: Path
) -> None:
    ran = run(site, planned(engine, method, tmp_path).plan, folder)
    assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last
    assert not ran.broken(), ran.broken()
    items = {p["item"] for p in ran.tables["proofs"]}
    assert "read_back" in items
    hashed = {"sum_hash(id)", "sum_hash(owner)"}
    assert hashed <= items if engine not in ("duckdb", "sqlite") else not hashed & items
    assert not ran.tables["failures"], ran.tables["failures"]
    users = ran.shot("users")
    assert (users["ok"], users["wrong"]) == (200, 0)


@on(*ENGINES, methods=("bulk",))
def test_an_answer_with_rows_of_other_keys_is_wrong(
    engine: str, method: str, site: Site, folder: Path, tmp_path: Path
) -> None:
    plan = dict(planned(engine, method, tmp_path).plan)
    plan["operations"] = [
        {**o, "text": o["text"].replace("WHERE id IN", "WHERE n < 3 OR id IN")} for o in plan["operations"]
    ]
    ran = run(site, plan, folder)
    assert {f["outcome"] for f in ran.tables["failures"]} == {"wrong"}
    assert ran.shot("users")["ok"] == 0


@pytest.mark.parametrize(
    ("engine", "own"),
    [
        ("postgresql", "uuid"),
        ("duckdb", "UUID"),
        ("mysql", "CHAR(36)"),
        ("sqlite", "TEXT"),
        ("clickhouse", "String"),
    ],
)
def test_the_type_in_the_table_is_the_engines_own_where_it_has_one(
    engine: str, own: str, tmp_path: Path
) -> None:
    create = next(s for s in planned(engine, "bulk", tmp_path).plan["segments"] if s["label"] == "create")
    assert any(f'"id" {own} NOT NULL' in statement for statement in create["statements"])
