"""Valkey's dialect: what is planned, and what a real server makes of it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.durability_level import Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import OpPlan, Unsupported
from inrush.engines.valkey import KEY, MARK, keys_of, quote, script, wires
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from inrush.workload import Column, Operation, Table

from .border import run
from .servers import control

TWIN = server("valkey")
TABLE = Table(
    "jobs",
    (Column("job", "i64"), Column("at", "time_ms"), Column("name", "text"), Column("load", "f32")),
    identity=("job", "at", "name"),
)


def identified(*identity: str) -> Table:
    return replace(TABLE, identity=identity)


# decides


@pytest.mark.parametrize(
    ("identity", "has_key"),
    [
        (("job",), True), (("job", "at"), True), (("name", "job"), True), (("job", "at", "name"), True),
        ((), False), (("load",), False), (("job", "load"), False), (("job", "name", "at"), False),
    ],
)  # fmt: skip
def test_a_row_has_a_key_where_its_identity_can_be_written_unmistakably(
    identity: tuple[str, ...], has_key: bool
) -> None:
    table = identified(*identity)
    assert (KEY in wires(table).values()) is has_key
    plan = TWIN.plan_table(table, "none", "inrush_x")
    planned = TWIN.plan_operation(Operation("insert", "insert", table="jobs"), "bulk", {"jobs": plan})
    assert isinstance(planned, OpPlan if has_key else Unsupported)


def test_a_statement_is_a_command_a_line_and_an_operation_without_one_says_so() -> None:
    tables = {"jobs": TWIN.plan_table(TABLE, "none", "inrush_x")}
    look = Operation(
        "look", "query", table="jobs", params={"job": {}, "at": {}},
        sql={"default": "SELECT 1", "valkey": "HGET {jobs}/:job :at,x"},
    )  # fmt: skip
    planned = TWIN.plan_operation(look, "", tables)
    assert planned == OpPlan("HGET inrush_x.jobs/$1 $2,x", params=("job", "at"))
    sql = replace(look, sql={"default": "SELECT 1"})
    refused = TWIN.plan_operation(sql, "", tables)
    assert isinstance(refused, Unsupported) and "sql.valkey" in refused.reason


def test_words_and_patterns_are_quoted() -> None:
    assert quote('a"b\\c\nd') == '"a\\"b\\\\c\\nd"'
    assert keys_of("a*b[c]/") == "a\\*b\\[c\\]/*"
    assert script("return 1", "x y") == 'EVAL "return 1" 0 "x y"'


@pytest.mark.parametrize(
    ("settings", "survives", "window_s"),
    [
        ({}, Survives.NOTHING, 0.0),
        ({"appendonly": "no", "appendfsync": "always"}, Survives.NOTHING, 0.0),
        ({"appendonly": "yes", "appendfsync": "everysec"}, Survives.NOTHING, 2.0),
        ({"appendonly": "yes", "appendfsync": "no"}, Survives.PROCESS_CRASH, 0.0),
        ({"appendonly": "yes", "appendfsync": "always"}, Survives.POWER_LOSS, 0.0),
        ({"appendonly": "yes"}, Survives.NOTHING, 0.0),
    ],
)
def test_what_a_row_survives(settings: Mapping[str, str], survives: Survives, window_s: float) -> None:
    found = TWIN.durability(settings)
    assert (found.survives, found.window_s, found.because) == (survives, window_s, settings)


# at a server


@pytest.fixture
def home(valkey: Target) -> Iterator[str]:
    name = f"inrush_test_{uuid.uuid4().hex[:8]}"
    yield name
    for statement in TWIN.drop_foreign_object(name):
        control(valkey, statement)


def do(there: Target, *statements: str) -> None:
    for statement in statements:
        control(there, statement)


def test_only_what_bears_the_mark_is_dropped(valkey: Target, home: str) -> None:
    do(valkey, *TWIN.open_namespace(home), f"HSET {home}.t/1 x y", f"HSET {home}_too.t/1 x y")
    assert control(valkey, f"GET {home}") == [[MARK]]
    assert TWIN.find_foreign_objects(
        [home, f"{home}_too", "inrush_nowhere"], lambda s: control(valkey, s)
    ) == [f"{home}_too"]
    do(valkey, *TWIN.drop_namespace(f"{home}_too"))
    assert control(valkey, f"EXISTS {home}_too.t/1") == [["1"]], "it has no mark"
    do(valkey, *TWIN.drop_namespace(home))
    assert control(valkey, f"KEYS {home}*") == [[f"{home}_too.t/1"]]
    do(valkey, *TWIN.drop_foreign_object(f"{home}_too"))
    assert control(valkey, f"KEYS {home}*") == []


def test_a_key_of_another_type_in_a_homes_place_is_foreign_and_stays(valkey: Target, home: str) -> None:
    do(valkey, f"HSET {home} x y")
    assert TWIN.find_foreign_objects([home], lambda s: control(valkey, s)) == [home]
    do(valkey, *TWIN.drop_namespace(home))
    assert control(valkey, f"EXISTS {home}") == [["1"]]


def test_a_table_made_fresh_or_dropped_takes_its_rows_and_no_others(valkey: Target, home: str) -> None:
    plan = TWIN.plan_table(TABLE, "none", home)
    rows = (f"HSET {plan.name}/1 a b c d", f"HSET {plan.name}/2 a b", f"HSET {plan.name}s/1 a b")
    do(valkey, *TWIN.open_namespace(home), *rows)
    checksum_query = TWIN.proof(TABLE, plan).checksum_query
    assert control(valkey, checksum_query) == [["3"]]
    do(valkey, *plan.fresh)
    assert control(valkey, checksum_query) == [["0"]]
    do(valkey, *rows, *plan.drop)
    assert control(valkey, checksum_query) == [["0"]]
    assert control(valkey, f"HLEN {plan.name}s/1") == [["1"]]


def test_what_is_read_of_a_server_holds_its_settings_and_no_password(valkey: Target) -> None:
    settings = {str(n): str(v) for s in TWIN.probes(()).settings for n, v in control(valkey, s)}
    assert {"appendonly", "appendfsync", "save", "maxmemory", "maxclients", "port", "timeout"} <= set(
        settings
    )
    assert not {"requirepass", "masterauth", "primaryauth"} & set(settings)
    assert not [name for name in settings if name.endswith("pass")]
    ((name, version),) = control(valkey, TWIN.probes(()).version)
    assert name == "version" and version[0].isdigit()
    sizes = {n: int(v) for s in TWIN.probes(()).sizes for n, v in control(valkey, s)}
    assert sizes["memory"] > 0 and "log:wal" in sizes
    counters = dict(control(valkey, TWIN.probes(()).counters[0]))
    assert int(counters["total_commands_processed"]) > 0


@pytest.mark.parametrize("depth", [1, 16, 1024])
def test_look_ups_by_key_are_answered_and_proven_at_every_depth(
    valkey: Target, folder: Path, depth: int
) -> None:
    study = load_study(
        "telemetry-lookups", "xs", ["keys_per_call=[3]", f"roles.users.depth={depth}"], ["valkey"]
    )
    plan = plan_study(study, {"valkey": TWIN}).runs[-1].plan
    ran = run(Deployment(TWIN, valkey), plan, folder / "run")
    assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last
    assert not ran.broken() and not ran.tables["failures"], (ran.broken(), ran.tables["failures"])
    users = ran.totals("users")
    # A key that is drawn twice in a call is looked up once, as by SQL's IN: of 2,000 keys one call in 670 has one.
    assert users["ok"] > 100 and 2.9 * users["ok"] < users["rows"] <= 3 * users["ok"]


def test_a_key_that_went_is_missing_and_a_changed_row_is_wrong(valkey: Target, folder: Path) -> None:
    study = load_study("telemetry-lookups", "xs", ["keys_per_call=[1]", "roles.users.depth=8"], ["valkey"])
    plan = dict(plan_study(study, {"valkey": TWIN}).runs[-1].plan)
    table = plan["tables"][0]["name"]
    at_drive = [k for k, s in enumerate(plan["segments"]) if s["kind"] == "drive"][-1]
    pause = {"kind": "pause", "label": "tamper", "action": "tamper"}
    plan["segments"] = [*plan["segments"][:at_drive], pause, *plan["segments"][at_drive:]]

    def at(event: Mapping[str, Any]) -> None:
        if event["event"] == "paused":
            first, second, *_ = sorted(key for (key,) in control(valkey, f"KEYS {table}/*"))
            ((field,),) = control(valkey, f"HKEYS {second}")
            ((other,),) = control(valkey, f"HKEYS {first}")
            assert field == other, "one sweep"
            swap = "redis.call('HSET', ARGV[1], ARGV[3], redis.call('HGET', ARGV[2], ARGV[3])) redis.call('DEL', ARGV[2])"
            control(valkey, script(swap, first, second, field))

    ran = run(Deployment(TWIN, valkey), plan, folder / "run", at_event=at)
    assert {f["outcome"] for f in ran.tables["failures"]} == {"missing", "wrong"}, ran.tables["failures"]
    assert "read_back" in {p["item"] for p in ran.broken()}


def test_a_refused_log_in_and_a_wrong_port_are_one_clear_line(valkey: Target, postgresql: Target) -> None:
    port = postgresql.url.rpartition(":")[2].partition("/")[0]
    with pytest.raises(_core.CoreFailure, match=r"does not speak RESP|closed the connection|no answer"):
        _core.control(
            json.dumps({"engine": "valkey", "url": f"valkey://127.0.0.1:{port}/", "options": {}}),
            "PING",
            30.0,
        )
