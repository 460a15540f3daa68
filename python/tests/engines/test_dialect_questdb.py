"""QuestDB's dialect: what is planned, and what a real server makes of it."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.durability_level import Survives
from inrush.engines.base.instance import Release, Target
from inrush.engines.base.plans import OpPlan, TablePlan, Unsupported
from inrush.engines.questdb import COMMIT_MODE, MARK
from inrush.engines.questdb import http as questdb_http
from inrush.engines.questdb import life as questdb_life
from inrush.engines.servers import secret
from inrush.engines.servers.life import User
from inrush.engines.servers.own_server import ServerPlace
from inrush.errors import Problem, UsageError
from inrush.plan.plan import plan_study
from inrush.run import oracle
from inrush.run.call import StudyCall
from inrush.run.preflight import admit
from inrush.run.prepare import prepare
from inrush.study.document import Node
from inrush.study.reading import load_study
from inrush.study.tables import parse_table
from inrush.targets.deployment import Deployment
from inrush.workload import Column, Operation, Table

from .border import run
from .checksum_queries import PORTS
from .servers import control

TWIN = server("questdb")
INSERT = Operation("insert", "insert", "ports")


# decides


def test_a_table_lies_in_the_order_of_its_time_and_has_a_log() -> None:
    plan = TWIN.plan_table(PORTS, "pk_time", "inrush_ab")
    assert plan.name == '"inrush_ab.ports"'
    assert plan.create == (
        'CREATE TABLE "inrush_ab.ports" ("guid" long, "port" int, "added_on" timestamp, "load" double, "host" varchar) '
        'TIMESTAMP("added_on") PARTITION BY DAY WAL',
    )
    assert any("2^63 is NULL" in loss for loss in plan.losses)


def test_a_table_that_grows_fast_is_cut_by_the_hour() -> None:
    fast = replace(PORTS, series=50_000, period_s=1.0)
    assert "PARTITION BY HOUR" in TWIN.plan_table(fast, "none", "n").create[0]


def test_a_value_that_may_be_null_has_a_type_that_holds_null() -> None:
    gen = {"kind": "any"}
    columns = (
        Column("at", "time_us", gen=gen),
        Column("up", "bool", gen=gen, null_share=0.1),
        Column("down", "bool", gen=gen),
        Column("small", "i16", gen=gen, null_share=0.1),
    )
    plan = TWIN.plan_table(Table("t", columns), "none", "n")
    assert '"up" int, "down" boolean, "small" int' in plan.create[0]
    assert dict(plan.wire) == {"at": "timestamptz", "up": "int4", "down": "bool", "small": "int4"}


def test_rows_without_a_time_are_unsupported_with_a_reason() -> None:
    timeless = replace(PORTS, columns=PORTS.columns[:2], identity=("guid", "port"))
    plan = TWIN.plan_operation(INSERT, "multirow", {"ports": TWIN.plan_table(timeless, "none", "n")})
    assert isinstance(plan, Unsupported) and "no time that is never NULL" in plan.reason


def test_a_table_from_files_lies_in_the_order_of_a_time_that_its_reader_asks_for() -> None:
    columns = [
        {"name": "id", "type": "i64"},
        {"name": "at", "type": "time_ms"},
        {"name": "up", "type": "bool"},
    ]
    files = {"paths": ["a.csv"], "format": "csv"}

    def planned(tree: dict[str, Any]) -> TablePlan:
        problems: list[Problem] = []
        node = Node("w.toml", "", {"source": "files", "columns": columns, "files": files, **tree}, problems)
        table = parse_table(node, "mine", {}, None, "2026-01-01T00:00:00Z")
        assert not problems, problems
        return TWIN.plan_table(table, "none", "n")

    for fits in ({"identity": ["id", "at"]}, {"files": {**files, "required": ["at"]}}):
        plan = planned(fits)
        assert 'TIMESTAMP("at")' in plan.create[0] and '"up" int' in plan.create[0]
        assert isinstance(
            TWIN.plan_operation(Operation("insert", "insert", "mine"), "ilp", {"mine": plan}), OpPlan
        )
    refused = TWIN.plan_operation(Operation("insert", "insert", "mine"), "ilp", {"mine": planned({})})
    assert isinstance(refused, Unsupported) and "files.required" in refused.reason


def test_operations_in_questdb() -> None:
    tables = {"ports": TWIN.plan_table(PORTS, "none", "n")}
    columns = '"guid", "port", "added_on", "load", "host"'
    inserted = OpPlan(f'INSERT INTO "n.ports" ({columns}) VALUES ($1, $2, $3, $4, $5)', "multirow")
    assert TWIN.plan_operation(INSERT, "multirow", tables) == inserted
    assert TWIN.plan_operation(INSERT, "ilp", tables) == OpPlan('"n.ports"', "ilp")
    assert isinstance(TWIN.plan_operation(INSERT, "unnest", tables), Unsupported)
    text = {"default": "DELETE FROM {ports} WHERE added_on < :before"}
    delete = Operation("d", "execute", "ports", {"before": {}}, sql=text, deletes_before="before")
    refused = TWIN.plan_operation(delete, "", tables)
    assert isinstance(refused, Unsupported) and "whole partitions" in refused.reason
    own = replace(
        delete, sql={**text, "questdb": "ALTER TABLE {ports} DROP PARTITION WHERE added_on < :before"}
    )
    assert isinstance(TWIN.plan_operation(own, "", tables), OpPlan)


def test_proofs_and_repetitions_wait_until_what_was_acknowledged_is_seen() -> None:
    study = load_study("telemetry-batch", "xs", engines=["questdb"])
    plan = plan_study(study, {"questdb": TWIN}).runs[0].plan
    proofs = [p for s in plan["segments"] if s["kind"] == "proof" for p in s["proofs"]]
    assert proofs and all("writerTxn < sequencerTxn" in p["unseen"] for p in proofs)
    fresh = [
        s for segment in plan["segments"] if segment["kind"] == "drive" for s in segment["repeat"]["fresh"]
    ]
    assert any(not isinstance(s, str) and s["repeat"] == "until_no_rows" for s in fresh), (
        "a repetition begins when the table is seen to be empty"
    )


def test_a_session_of_the_line_protocol_has_one_call_in_flight() -> None:
    def planned(method: str, depth: int) -> int:
        changed = [f"method={method}", f"roles.writers.depth={depth}"]
        study = load_study("telemetry-batch", "xs", changed, engines=["questdb"])
        return len(plan_study(study, {"questdb": TWIN}).runs)

    assert planned("ilp", 1) == planned("multirow", 8) > 0
    with pytest.raises(UsageError, match="questdb that inserts by ilp has 1 call in flight at most"):
        planned("ilp", 8)


def test_a_server_of_ours_is_named_with_the_port_of_its_http(tmp_path: Path) -> None:
    own = questdb_life.QuestdbLife()
    assert own.url_in(tmp_path, 4711) == secret.named("questdb://admin@127.0.0.1:4711/qdb?http=0", tmp_path)
    file = questdb_life.config_file(tmp_path / own.home)
    file.parent.mkdir(parents=True)
    place = ServerPlace(
        Release("questdb", "9.3.4", tmp_path), tmp_path, tmp_path / own.home, User(), 4711, {}
    )
    file.write_text(questdb_life.config(place, 4712, "secret"))
    assert own.url_in(tmp_path, 4711) == secret.named(
        "questdb://admin@127.0.0.1:4711/qdb?http=4712", tmp_path
    )


@pytest.mark.parametrize(
    ("body", "takes"),
    [
        (b'{"config":{"line.proto.support.versions":[1,2,3]}}', True),
        (b'{"config":{"line.proto.support.versions":[1]}}', False),
        (b'{"config":{}}', False),
        (b"[]", False),
        (b"<html>", False),
    ],
)
def test_http_that_takes_no_binary_floats_is_known(body: bytes, takes: bool) -> None:
    assert questdb_http.said_by(body) is takes


def test_what_a_row_survives_is_read_from_the_commit_mode() -> None:
    survived = {mode: TWIN.durability({COMMIT_MODE: mode}).survives for mode in ("nosync", "async", "sync")}
    crash = Survives.PROCESS_CRASH
    assert survived == {"nosync": crash, "async": crash, "sync": Survives.POWER_LOSS}
    assert TWIN.durability({}).survives is Survives.NOTHING


@pytest.mark.parametrize(
    ("said", "old"),
    [
        ('openjdk version "17.0.15" 2025-04-15', False),
        ('openjdk version "21" 2023-09-19', False),
        ('openjdk version "1.8.0_392"', True),
        ('openjdk version "11.0.2" 2019-01-15', True),
        ("command not found", True),
    ],
)
def test_a_java_that_is_too_old_is_known_by_what_it_says(said: str, old: bool) -> None:
    assert questdb_life.too_old(said) is old


# on a real server


def test_a_namespace_without_the_mark_is_foreign_and_kept(questdb: Target) -> None:
    home, other = "inrush_mark_of_ours", "inrush_mark_of_others"
    control(questdb, f'CREATE TABLE "{other}.t" AS (SELECT 1 AS k)')
    try:
        for statement in (*TWIN.open_namespace(home), f'CREATE TABLE "{home}.t" AS (SELECT 1 AS k)'):
            control(questdb, statement)
        assert control(questdb, TWIN.foreign_objects([home, other, "inrush_mark_of_none"])) == [[other]]
        for namespace in (home, other):
            for statement in TWIN.drop_namespace(namespace):
                control(questdb, statement)
        left = {row[0] for row in control(questdb, "SELECT table_name FROM tables()")}
        assert f"{other}.t" in left and not {f"{home}.t", f"{home}.{MARK}"} & left
    finally:
        control(questdb, TWIN.drop_foreign_object(other)[0])


def with_http(questdb: Target, port: str) -> str:
    """The same server and log-in, and another port for lines."""
    return re.sub(r"http=\d+", f"http={port}", questdb.url)


def test_parameters_that_several_clients_read_at_once_are_whole(questdb: Target) -> None:
    """Its server lends all of them one iterator: rows go to the wrong answer, and casts fail."""
    (text,) = TWIN.probes(()).settings

    def readings(_: int) -> list[list[list[Any]]]:
        return [control(questdb, {"text": text}) for _ in range(40)]

    expected = control(questdb, {"text": text})
    assert [COMMIT_MODE, "nosync"] in expected
    with ThreadPoolExecutor(32) as pool:
        seen = [one for each in pool.map(readings, range(32)) for one in each]
    assert [one for one in seen if one != expected] == []


@pytest.mark.parametrize("http", ["1", "{pg}"])
def test_lines_without_a_port_that_takes_them_are_refused_before_the_first_run(
    questdb: Target, http: str, tmp_path: Path
) -> None:
    pg = urlsplit(questdb.url).port
    url = with_http(questdb, http.format(pg=pg))
    for method, says in (("ilp", "which method ilp needs; add http=PORT"), ("bulk", "")):
        found = prepare(StudyCall("telemetry-batch", "xs", (f"method={method}",), targets=(url,)))
        if says:
            with pytest.raises(UsageError, match=f"^[^\n]*{says}[^\n]*$"):
                admit(found, tmp_path, tmp_path)
        else:
            assert "reachable" in admit(found, tmp_path, tmp_path)[0]


def test_the_core_says_the_same_of_a_port_that_takes_no_lines(questdb: Target, folder: Path) -> None:
    pg = urlsplit(questdb.url).port
    study = load_study("telemetry-batch", "xs", ["method=ilp"], engines=["questdb"])
    plan = plan_study(study, {"questdb": TWIN}).runs[0].plan
    # The port of PostgreSQL's protocol is silent: it waits for words of its own.
    for http, says in ((1, "nothing listens on port 1"), (pg, "no answer within")):
        there = Target("questdb", with_http(questdb, str(http)))
        ran = run(Deployment(TWIN, there), json.loads(json.dumps(plan)), folder / str(http))
        assert (ran.last["event"], ran.last["kind"]) == ("failed", "target")
        assert says in ran.last["message"] and "\n" not in ran.last["message"].strip()


BEFORE_1970 = """
schema = 1
epoch = "1970-01-01T00:00:00Z"
[tables.t]
series = 100
period_s = 1
identity = ["k", "at"]
columns = [
  { name = "k", type = "u64", gen = "pattern", prefix = "b8" },
  { name = "at", type = "time_ms", gen = "sweep_time" },
]
[operations.insert]
kind = "insert"
"""
REFUSED = """
schema = 1
title = "Refused"
question = "Are rows refused as a whole?"
expect = "Yes."
workload = "w.toml"
kind = "fixed_volume"
engines = ["questdb"]
factors.writers = [1]
method = "METHOD"
schedule = { mode = "closed", at_least_s = 0, limit_s = 60 }
[roles.writers]
operation = "insert"
table = "t"
sessions = "@writers"
batch_rows = 50
rows = { total = 1_000 }
[repeats]
count = 1
pilot = false
[answer]
kind = "best"
of = "writers.makespan_s"
along = "writers"
"""


@pytest.mark.parametrize("method", ["ilp", "multirow"])
def test_a_batch_with_rows_before_1970_is_refused_by_either_method_and_others_are_stored(
    method: str, questdb: Target, folder: Path, tmp_path: Path
) -> None:
    """The first sweep of 100 rows, two batches, lies a second before 1970."""
    (tmp_path / "w.toml").write_text(BEFORE_1970)
    (tmp_path / "s.toml").write_text(REFUSED.replace("METHOD", method))
    plan = plan_study(load_study(str(tmp_path / "s.toml")), {"questdb": TWIN}).runs[0].plan
    changed = {**plan, "epoch_ns": plan["epoch_ns"] - 10**9}
    ran = run(Deployment(TWIN, questdb), json.loads(json.dumps(changed)), folder)
    failures = [(f["op"], f["outcome"]) for f in ran.tables["failures"]]
    assert failures and set(failures) == {("insert/t", "refused")}, (ran.last, ran.tables["failures"])
    writers = ran.totals("writers")
    assert (writers["ops"], writers["errors"], writers["rows"]) == (20, 2, 900), writers


@pytest.mark.parametrize("name", ["queries", "lookups"])
def test_every_question_of_the_workload_is_answered_as_duckdb_does(
    name: str, questdb: Target, folder: Path
) -> None:
    plan = (
        plan_study(load_study(f"telemetry-{name}", "xs", engines=["questdb"]), {"questdb": TWIN}).runs[0].plan
    )
    asked = sorted({o for s in plan["segments"] if s["kind"] == "ask" for o in s["operations"]})
    ran = run(Deployment(TWIN, questdb), json.loads(json.dumps(plan)), folder)
    assert ran.last == {"event": "finished", "ended_by": "work"} or ran.last["ended_by"] == "time", ran.last
    assert not ran.broken() and not ran.tables["failures"], (ran.broken(), ran.tables["failures"])

    verdicts = oracle.verdicts(ran.plan, ran.tables["answers"], _core.generate)
    assert asked and {v.op for v in verdicts} <= set(asked)
    assert all(v.holds for v in verdicts), verdicts
