"""The InfluxDB twin: its text, and what the text does on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from inrush import _core
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import Stop, Target
from inrush.engines.base.plans import OpPlan, Unsupported
from inrush.engines.influxdb import FSYNC_DELAY, Influxdb, wires
from inrush.plan.plan import plan_study
from inrush.run import oracle
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from inrush.workload import AnswerForm, Operation
from tests.engines.border import Ran, run
from tests.engines.checksum_queries import ALL_TYPES, PORTS
from tests.engines.servers import control, need, own_server

INFLUXDB = Influxdb()


def test_a_table_is_a_measurement_of_tags_a_time_and_fields() -> None:
    plan = INFLUXDB.plan_table(PORTS, "pk_time", "inrush_ab")
    assert plan.name == '"inrush_ab".."ports"'
    assert plan.create == ()
    drop = 'DROP MEASUREMENT "ports"'
    assert plan.fresh == ({"text": drop, "directives": {"on": "inrush_ab"}},)
    assert plan.drop == ({"text": drop, "directives": {"if_marked": "inrush_ab", "on": "inrush_ab"}},)
    # The host is the name of a thing: InfluxQL groups by tags only.
    assert dict(plan.wire) == {
        "guid": "tag",
        "port": "tag",
        "added_on": "time",
        "load": "field",
        "host": "tag",
    }
    assert any("one point, the last one written: guid, port, added_on" in loss for loss in plan.losses)
    assert any("unsigned" in loss for loss in plan.losses)


def test_a_name_is_quoted_in_influxql() -> None:
    assert INFLUXDB.plan_table(replace(PORTS, name='a"b\\c'), "none", "n").name == '"n".."a\\"b\\\\c"'


def test_rows_that_points_cannot_tell_apart_are_unsupported_with_a_reason() -> None:
    insert = Operation("insert", "insert", "ports")
    timeless = replace(
        PORTS, columns=tuple(c for c in PORTS.columns if c.name != "added_on"), identity=("guid",)
    )
    for table in (timeless, replace(PORTS, identity=())):
        plan = INFLUXDB.plan_operation(insert, "bulk", {"ports": INFLUXDB.plan_table(table, "none", "n")})
        assert isinstance(plan, Unsupported) and "overwrite each other" in plan.reason
    # A key that is unique by itself needs a time beside it, not in it.
    assert wires(replace(PORTS, identity=("guid", "port")))["added_on"] == "time"


def test_operations_in_influxdb() -> None:
    tables = {"ports": INFLUXDB.plan_table(PORTS, "none", "n")}
    insert = Operation("insert", "insert", "ports")
    assert INFLUXDB.plan_operation(insert, "bulk", tables) == OpPlan('"n".."ports"', "bulk")
    assert isinstance(INFLUXDB.plan_operation(insert, "multirow", tables), Unsupported)
    params = {
        "guid": {"type": "u64", "gen": {"kind": "of_series", "table": "ports", "column": "guid"}},
        "t0": {"type": "time_ms", "gen": {"kind": "now_minus", "seconds": 60}},
    }
    text = "SELECT load FROM {ports} WHERE guid = :guid AND time >= :t0 AND time < :t0 + 5s"
    answers = {"influxdb": AnswerForm(("load",), zero_when_empty=True)}
    query = Operation(
        "q", "query", "ports", params, sql={"influxdb": text, "default": "SELECT 1"}, answers=answers
    )
    assert INFLUXDB.plan_operation(query, "", tables) == OpPlan(
        'SELECT load FROM "n".."ports" WHERE guid = \'$1\' AND time >= $2 AND time < $2 + 5s',
        params=("guid", "t0"),
        directives={"columns": ("load",), "zero_when_empty": True},
    )
    plain = replace(query, sql={"default": "SELECT 1"})
    assert "no InfluxQL" in getattr(INFLUXDB.plan_operation(plain, "", tables), "reason", "")
    refused = replace(plain, unsupported={"influxdb": "InfluxQL joins nothing"})
    assert INFLUXDB.plan_operation(refused, "", tables) == Unsupported("InfluxQL joins nothing")


def test_what_deletes_takes_the_bare_name_in_its_database() -> None:
    tables = {"ports": INFLUXDB.plan_table(PORTS, "none", "n")}
    params = {"t0": {"type": "time_ms", "gen": {"kind": "now_minus", "seconds": 60}}}
    delete = Operation(
        "old", "execute", "ports", params, sql={"influxdb": "DELETE FROM {ports} WHERE time < :t0"}
    )
    assert INFLUXDB.plan_operation(delete, "", tables) == OpPlan(
        'DELETE FROM "ports" WHERE time < $1', params=("t0",), directives={"on": "n"}
    )


def test_a_proof_screens_what_influxql_adds_up_exactly() -> None:
    proof = INFLUXDB.proof(PORTS, INFLUXDB.plan_table(PORTS, "none", "n"))
    assert proof.items == ({"kind": "rows"}, {"kind": "not_null", "column": "load"})
    assert proof.checksum_query == (
        'SELECT COUNT("inrush_row") AS "i0", COUNT("load") AS "i1" FROM "n".."ports"'
    )
    assert proof.checksum_directives == {"columns": ["i0", "i1"], "zero_when_empty": True}
    assert proof.read_back_directives == {"columns": ["guid", "port", "time", "load", "host"]}
    assert proof.read_back == ('SELECT "guid", "port", "load", "host", "inrush_row" FROM "n".."ports"')
    kinds = {
        (item["kind"], item.get("column"))
        for item in INFLUXDB.proof(ALL_TYPES, INFLUXDB.plan_table(ALL_TYPES, "none", "n")).items
    }
    assert ("sum_wrapped", "c u64") in kinds and ("sum_wrapped", "c f64") not in kinds


def test_durability_in_normal_form() -> None:
    found = INFLUXDB.durability({FSYNC_DELAY: "100ms"})
    assert (found.survives, found.because) == (Survives.POWER_LOSS, {"wal-fsync-delay": "100ms"})
    assert INFLUXDB.durability({}) == Durability(Survives.NOTHING)


# on a real server


@pytest.fixture
def namespace(influxdb: Target) -> Iterator[str]:
    for statement in INFLUXDB.open_namespace("inrush_test"):
        control(influxdb, statement)
    yield "inrush_test"
    for statement in INFLUXDB.drop_namespace("inrush_test"):
        control(influxdb, statement)
    assert "inrush_test" not in databases(influxdb)


def databases(target: Target) -> list[str]:
    return [row[0] for row in control(target, "SHOW DATABASES")]


def test_a_drop_takes_what_bears_the_mark_and_nothing_else(influxdb: Target) -> None:
    (drop,) = INFLUXDB.drop_namespace("of_the_users")
    assert control(influxdb, drop) == []  # there is none
    control(influxdb, 'CREATE DATABASE "of_the_users"')
    try:
        with pytest.raises(_core.CoreFailure, match="does not bear the mark of inrush"):
            control(influxdb, drop)
        with pytest.raises(_core.CoreFailure, match="does not bear the mark of inrush"):
            control(influxdb, INFLUXDB.plan_table(PORTS, "none", "of_the_users").drop[0])
        assert "of_the_users" in databases(influxdb)
    finally:
        control(influxdb, 'DROP DATABASE "of_the_users"')


def test_a_database_of_the_users_is_not_taken_over(influxdb: Target) -> None:
    control(influxdb, 'CREATE DATABASE "taken"')
    try:
        with pytest.raises(_core.CoreFailure, match="retention policy conflicts"):
            control(influxdb, INFLUXDB.open_namespace("taken")[0])
    finally:
        control(influxdb, 'DROP DATABASE "taken"')


def test_sizes_settings_and_version_are_read(influxdb: Target, namespace: str) -> None:
    probes = INFLUXDB.probes([INFLUXDB.plan_table(PORTS, "none", namespace)])
    settings = dict(control(influxdb, probes.settings[0]))
    assert INFLUXDB.durability(settings).survives is Survives.POWER_LOSS
    [[name, version]] = control(influxdb, probes.version)
    assert name == "version" and version.startswith("1.")
    assert any(name.startswith("write.") for name, _ in control(influxdb, probes.counters[0]))
    assert control(influxdb, probes.sizes[0]) == []  # nothing is stored yet


TELEMETRY = """
schema = 1
title = "Telemetry on InfluxDB"
question = "Are all rows kept, and is every question that InfluxQL can ask answered as the oracle does?"
expect = "Yes."
workload = "telemetry"
kind = "mixed"
engines = ["influxdb"]
sizes = {{ ports = 200, processes = 896 }}
load = {{ rows = {rows} }}
factors.users = [1]
schedule = {{ mode = "closed", measure_s = 0.5 }}
[roles.users]
operations = {{ {operations} }}
sessions = "@users"
[repeats]
count = 1
[answer]
kind = "curve"
of = "users.latency_p99_s"
along = "users"
"""
QUERIES = (
    "pc_node",
    "pc_top",
    "pc_last",
    "pc_count",
    "pe_alert",
    "pe_sum",
    "mpi_job",
    "mpi_node",
    "mpi_rank",
)


def measured(target: Target, folder: Path, operations: tuple[str, ...], rows: int) -> Ran:
    text = TELEMETRY.format(rows=rows, operations=", ".join(f"{name} = 1" for name in operations))
    (folder / "study.toml").write_text(text)
    plan = plan_study(load_study(str(folder / "study.toml")), {"influxdb": INFLUXDB}).block(1)[0].plan
    return run(Deployment(INFLUXDB, target), plan, folder / "run")


@pytest.mark.slow
def test_every_telemetry_query_answers_as_the_oracle_does(influxdb: Target, folder: Path) -> None:
    ran = measured(influxdb, folder, QUERIES, 12_000)
    assert ran.last["event"] == "finished", ran.last
    assert not ran.broken(), ran.broken()
    assert not ran.tables["failures"], ran.tables["failures"]
    quiet = oracle.verdicts(ran.plan, ran.tables["answers"], _core.generate)
    assert {v.op for v in quiet} == set(QUERIES)
    assert all(v.holds for v in quiet), quiet


def test_the_join_is_refused_with_its_reason(folder: Path) -> None:
    (folder / "study.toml").write_text(TELEMETRY.format(rows=1_000, operations="x_job_net = 1"))
    planned = plan_study(load_study(str(folder / "study.toml")), {"influxdb": INFLUXDB})
    assert [u.reason for u in planned.unsupported] == ["x_job_net: InfluxQL joins no measurements"]


#: Counters of 32 bits that stand at their limit, and counters of 16 that are cleared while rows are written.
LIMITS = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.limits]
series = 20
period_s = 1
identity = ["port", "added_on"]
columns = [
  { name = "port", type = "i32", gen = "cycle", from = 1, to = 20 },
  { name = "added_on", type = "time_ms", gen = "sweep_time" },
  { name = "xmit_wait", type = "u64", gen = "counter", start_from = 4294967000, start_to = 4294967290, increment = "poisson", mean_per_s = 40, width_bits = 32, at_limit = "saturate" },
  { name = "symbol_errors", type = "u64", gen = "counter", start_to = 40, increment = "poisson", mean_per_s = 5, width_bits = 16, at_limit = "saturate", reset_every_s = 60 },
  { name = "guid", type = "u64", gen = "pattern", prefix = "b8599f03" },
]
[operations.insert]
kind = "insert"
[operations.span]
kind = "query"
table = "limits"
holds = ["oracle"]
sql.default = "SELECT port, MAX(xmit_wait) AS high, MIN(symbol_errors) AS low, MAX(symbol_errors) AS top FROM {limits} GROUP BY port"
sql.influxdb.columns = ["port", "high", "low", "top"]
sql.influxdb.text = '''
SELECT MAX(xmit_wait) AS high, MIN(symbol_errors) AS low, MAX(symbol_errors) AS top FROM {limits} GROUP BY port'''
"""
STUDY = """
schema = 1
title = "Points"
question = "Are they kept?"
expect = "Yes."
workload = "workload.toml"
kind = "fixed_volume"
engines = ["influxdb"]
factors.batch_rows = [500]
schedule = { mode = "closed", at_least_s = 0, limit_s = 60 }
[roles.writers]
operation = "insert"
table = "TABLE"
batch_rows = "@batch_rows"
rows = { total = 4_000 }
[roles.readers]
operation = "QUERY"
until = "writers"
[repeats]
count = 1
[answer]
kind = "best"
of = "writers.makespan_s"
along = "batch_rows"
"""


def stored(
    target: Target, folder: Path, workload: str, table: str, query: str, faults: list[str] | None = None
) -> Ran:
    (folder / "workload.toml").write_text(workload)
    (folder / "study.toml").write_text(STUDY.replace("TABLE", table).replace("QUERY", query))
    plan = plan_study(load_study(str(folder / "study.toml")), {"influxdb": INFLUXDB}).block(1)[0].plan
    return run(Deployment(INFLUXDB, target), plan, folder / "run", faults)


def test_saturated_counters_and_counters_that_were_cleared_are_read_back(
    influxdb: Target, folder: Path
) -> None:
    ran = stored(influxdb, folder, LIMITS, "limits", "span")
    assert ran.last["event"] == "finished" and not ran.broken(), (ran.last, ran.broken())
    quiet = oracle.verdicts(ran.plan, ran.tables["answers"], _core.generate)
    assert [v.holds for v in quiet] == [True], quiet
    _, rows = oracle.by_operation(ran.tables["answers"])["span"]
    highs, lows, tops = ([int(row[at] or 0) for row in rows] for at in (1, 2, 3))
    assert max(highs) == 2**32 - 1, "some counter reached its limit and stayed there"
    assert max(tops) > 200 and max(lows) < 60, "counters grew, and began again"


#: Forty series with twenty ports: two rows of every sweep have one identity.
DOUBLES = LIMITS.replace("series = 20", "series = 40").replace('holds = ["oracle"]', "holds = []")


def test_points_of_equal_identity_are_one_and_each_is_one_of_their_rows(
    influxdb: Target, folder: Path
) -> None:
    ran = stored(influxdb, folder, DOUBLES, "limits", "span")
    assert ran.last["event"] == "finished" and not ran.broken(), (ran.last, ran.broken())
    detail = {p["item"]: p["found"] for p in ran.tables["proofs"]}
    assert detail["points of 4000 rows, those of equal identity are one"] == "2000"
    assert detail["read_back"] == "2000 points, 0 that are none of their rows"


@pytest.mark.parametrize("lie", ["lose:2", "swap:100"])
def test_a_lie_is_found_among_points_that_collapse(influxdb: Target, folder: Path, lie: str) -> None:
    ran = stored(influxdb, folder, DOUBLES, "limits", "span", [lie])
    assert any(p["item"] == "read_back" for p in ran.broken()), ran.tables["proofs"]


def test_a_user_without_the_password_is_told_where_it_is_looked_for(folder: Path) -> None:
    need("influxdb")
    instance = own_server("influxdb").start(folder / "influxdb", {})
    try:
        control(Target("influxdb", instance.url), "CREATE USER me WITH PASSWORD 'right' WITH ALL PRIVILEGES")
        wrong = f"influxdb://me:hidden@127.0.0.1:{instance.port}/"
        with pytest.raises(_core.CoreFailure, match="INFLUX_PASSWORD") as failed:
            control(Target("influxdb", wrong), "SHOW DATABASES")
        assert "hidden" not in str(failed.value) and "\n" not in str(failed.value).strip()
        control(Target("influxdb", wrong.replace("hidden", "right")), "SHOW DATABASES")
    finally:
        own_server("influxdb").stop(instance, Stop.KILL)
