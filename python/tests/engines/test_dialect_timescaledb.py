"""The TimescaleDB twin: what it does otherwise than PostgreSQL, and that on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from inrush.engines.base.durability_level import Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import LOG, OpPlan, Unsupported
from inrush.engines.postgresql import Postgresql
from inrush.engines.timescaledb import CHUNK_LEAST_S, CHUNK_MOST_S, Timescaledb, chunk_s
from inrush.workload import Operation
from tests.engines.checksum_queries import PORTS
from tests.engines.servers import control

TIMESCALEDB = Timescaledb()


def test_a_table_is_cut_by_its_time_before_it_has_indexes() -> None:
    plan = TIMESCALEDB.plan_table(PORTS, "pk_time", "n")
    plain = Postgresql().plan_table(PORTS, "pk_time", "n")
    assert plan.create[0] == plain.create[0] and plan.create[2:] == plain.create[1:]
    assert plan.create[1].startswith("""SELECT create_hypertable('"n"."ports"', 'added_on'""")
    assert (plan.wire, plan.fresh, plan.losses) == (plain.wire, plain.fresh, plain.losses)


def test_a_table_that_cannot_be_cut_is_a_plain_one_and_says_so() -> None:
    keyless = replace(PORTS, identity=("guid", "port"), layouts={"pk": (("guid", "port"),), "none": ()})
    assert "holds no time" in TIMESCALEDB.plan_table(keyless, "pk", "n").losses[-1]
    assert not TIMESCALEDB.plan_table(keyless, "pk", "n").chunked
    assert TIMESCALEDB.plan_table(keyless, "none", "n").chunked
    timeless = replace(
        PORTS, columns=tuple(c for c in PORTS.columns if c.name != "added_on"), identity=("guid",)
    )
    assert "no time column" in TIMESCALEDB.plan_table(timeless, "none", "n").losses[-1]


def test_a_chunk_holds_the_same_number_of_rows_at_every_rate() -> None:
    assert chunk_s(replace(PORTS, series=50_000, period_s=1)) == 200
    assert chunk_s(replace(PORTS, series=50_000, period_s=5)) == 1_000
    assert chunk_s(replace(PORTS, series=10**9, period_s=1)) == CHUNK_LEAST_S
    assert chunk_s(replace(PORTS, series=1, period_s=60)) == CHUNK_MOST_S


def test_what_is_written_for_postgresql_holds_unless_it_has_its_own() -> None:
    tables = {"ports": TIMESCALEDB.plan_table(PORTS, "none", "n")}
    delete = Operation("old", "execute", "ports", sql={"default": "a", "postgresql": "b {ports}"})
    assert TIMESCALEDB.plan_operation(delete, "bulk", tables) == OpPlan('b "n"."ports"')
    own = replace(delete, sql={**delete.sql, "timescaledb": "c"})
    assert TIMESCALEDB.plan_operation(own, "bulk", tables) == OpPlan("c")
    refused = replace(delete, unsupported={"timescaledb": "no such thing"})
    assert TIMESCALEDB.plan_operation(refused, "bulk", tables) == Unsupported("no such thing")
    insert = Operation("insert", "insert", "ports")
    assert TIMESCALEDB.plan_operation(insert, "bulk", tables) == Postgresql().plan_operation(
        insert, "bulk", tables
    )


def test_chunks_are_dropped_by_the_name_of_their_table() -> None:
    tables = {"ports": TIMESCALEDB.plan_table(PORTS, "none", "n")}
    text = "SELECT drop_chunks({ports}, older_than => :before::timestamptz)"
    drop = Operation("old", "execute", "ports", sql={"default": "DELETE", "timescaledb": text})
    assert TIMESCALEDB.plan_operation(drop, "bulk", tables) == OpPlan(
        """SELECT drop_chunks('"n"."ports"', older_than => $1::timestamptz)""", "", ("before",)
    )


# on a real server


@pytest.fixture
def namespace(timescaledb: Target) -> Iterator[str]:
    for statement in TIMESCALEDB.open_namespace("inrush_test"):
        control(timescaledb, statement)
    yield "inrush_test"
    for statement in TIMESCALEDB.drop_namespace("inrush_test"):
        control(timescaledb, statement)
    left = "SELECT count(*) FROM timescaledb_information.chunks WHERE hypertable_schema = 'inrush_test'"
    assert control(timescaledb, left) == [["0"]]


def test_sizes_are_those_of_all_chunks_and_old_ones_can_be_dropped(
    timescaledb: Target, namespace: str
) -> None:
    plan = TIMESCALEDB.plan_table(PORTS, "pk_time", namespace)
    for statement in plan.create:
        control(timescaledb, statement)
    days = "generate_series('2026-01-01'::timestamptz, '2026-03-01', '1 hour')"
    control(timescaledb, f"INSERT INTO {plan.name} SELECT 1, 2, t, NULL, repeat('x', 100) FROM {days} t")
    probes = TIMESCALEDB.probes([plan])

    def sizes() -> dict[str, int]:
        return {name: int(value) for s in probes.sizes for name, value in control(timescaledb, s)}

    full = sizes()
    assert set(full) == {f"table:{plan.name}", f"indexes:{plan.name}", LOG}
    assert full[f"table:{plan.name}"] > 1417 * 100 and full[f"indexes:{plan.name}"] > 0
    text = "SELECT drop_chunks({ports}, older_than => '2026-02-01'::timestamptz)"
    drop = TIMESCALEDB.plan_operation(
        Operation("old", "execute", "ports", sql={"timescaledb": text}), "bulk", {"ports": plan}
    )
    assert isinstance(drop, OpPlan)
    control(timescaledb, drop.text)
    assert 0 < sizes()[f"table:{plan.name}"] < full[f"table:{plan.name}"]
    for statement in plan.fresh:
        control(timescaledb, statement)
    assert control(timescaledb, f"SELECT count(*) FROM {plan.name}") == [["0"]]


def test_edition_and_version_are_read_from_the_server(timescaledb: Target, namespace: str) -> None:
    probes = TIMESCALEDB.probes([])
    found = {name: value for s in probes.settings for name, value in control(timescaledb, s)}
    assert found["timescaledb.license"] in ("apache", "timescale")
    assert TIMESCALEDB.durability(found).survives is Survives.POWER_LOSS
    ((_, version),) = control(timescaledb, probes.version)
    assert version.startswith("PostgreSQL ") and ", TimescaleDB " in version
