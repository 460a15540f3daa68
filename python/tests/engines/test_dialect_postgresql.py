"""The PostgreSQL twin: its text, and what the text does on a real server."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from inrush.engines.base.durability_level import Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import OpPlan, Unsupported
from inrush.engines.base.sql import literal
from inrush.engines.postgresql import DECLARED, WIRE, Postgresql
from inrush.workload import DIGIT_TYPES, Column, Operation, Table
from inrush.workload import TYPES as LOGICAL
from tests.engines.checksum_queries import ALL_TYPES, PORTS, expected, rows_of
from tests.engines.servers import control, password_of

POSTGRESQL = Postgresql()


def test_a_table_in_postgresql() -> None:
    plan = POSTGRESQL.plan_table(PORTS, "pk_time", "inrush_ab")
    assert plan.name == '"inrush_ab"."ports"'
    assert plan.create == (
        'CREATE TABLE "inrush_ab"."ports" ("guid" bigint NOT NULL, "port" integer NOT NULL, '
        '"added_on" timestamptz(3) NOT NULL, "load" double precision, "host" text NOT NULL, '
        'PRIMARY KEY ("guid", "port", "added_on"))',
        'CREATE INDEX ON "inrush_ab"."ports" ("added_on")',
    )
    assert plan.fresh == ('TRUNCATE "inrush_ab"."ports"',)
    assert dict(plan.wire) == {
        "guid": "int8",
        "port": "int4",
        "added_on": "timestamptz",
        "load": "float8",
        "host": "text",
    }
    assert any("unsigned" in loss for loss in plan.losses)


def test_no_table_is_unlogged() -> None:
    for layout in ("none", "pk", "pk_time"):
        assert not any("UNLOGGED" in text for text in POSTGRESQL.plan_table(PORTS, layout, "n").create)


def test_operations_in_postgresql() -> None:
    tables = {"ports": POSTGRESQL.plan_table(PORTS, "none", "n")}
    insert = Operation("insert", "insert", "ports")
    assert POSTGRESQL.plan_operation(insert, "bulk", tables) == OpPlan(
        'COPY "n"."ports" ("guid", "port", "added_on", "load", "host") FROM STDIN (FORMAT binary)', "bulk"
    )
    assert POSTGRESQL.plan_operation(insert, "multirow", tables) == OpPlan(
        'INSERT INTO "n"."ports" ("guid", "port", "added_on", "load", "host") VALUES ($1, $2, $3, $4, $5)',
        "multirow",
    )
    assert POSTGRESQL.plan_operation(insert, "unnest", tables) == OpPlan(
        'INSERT INTO "n"."ports" ("guid", "port", "added_on", "load", "host") SELECT * FROM '
        "unnest($1::int8[], $2::int4[], $3::timestamptz[], $4::float8[], $5::text[])",
        "unnest",
    )
    assert isinstance(POSTGRESQL.plan_operation(insert, "appender", tables), Unsupported)
    query = Operation(
        "q",
        "query",
        "ports",
        sql={"default": "SELECT max(port)::text FROM {ports} WHERE added_on >= :t0 OR added_on < :t0"},
    )
    assert POSTGRESQL.plan_operation(query, "", tables) == OpPlan(
        'SELECT max(port)::text FROM "n"."ports" WHERE added_on >= $1 OR added_on < $1', params=("t0",)
    )


def test_a_list_is_not_unnested() -> None:
    table = Table("t", (Column("v", "list_i64", {}),))
    plans = {"t": POSTGRESQL.plan_table(table, "none", "n")}
    refused = POSTGRESQL.plan_operation(Operation("insert", "insert", "t"), "unnest", plans)
    assert isinstance(refused, Unsupported) and "column v is a list" in refused.reason


def test_every_logical_type_has_a_type_in_the_table_and_on_the_wire() -> None:
    assert set(DECLARED) == set(WIRE) == {*LOGICAL, *DIGIT_TYPES}


@pytest.mark.parametrize(
    ("changed", "survives", "window_s"),
    [
        ({}, Survives.POWER_LOSS, 0),
        ({"synchronous_commit": "local"}, Survives.POWER_LOSS, 0),
        ({"synchronous_commit": "off"}, Survives.NOTHING, 0.6),
        ({"synchronous_commit": "off", "wal_writer_delay": "10 ms"}, Survives.NOTHING, 0.03),
        ({"fsync": "off"}, Survives.PROCESS_CRASH, 0),
        ({"full_page_writes": "off"}, Survives.PROCESS_CRASH, 0),
    ],
)
def test_durability_in_normal_form(changed: dict[str, str], survives: Survives, window_s: float) -> None:
    shipped = {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "wal_writer_delay": "200 ms",
    }
    found = POSTGRESQL.durability({**shipped, **changed})
    assert found.survives is survives
    assert found.window_s == pytest.approx(window_s)
    assert found.because == {**shipped, **changed}


def test_settings_that_could_not_be_read_promise_little() -> None:
    assert POSTGRESQL.durability({}).survives is Survives.PROCESS_CRASH


# on a real server


@pytest.fixture
def namespace(postgresql: Target) -> Iterator[str]:
    for statement in POSTGRESQL.open_namespace("inrush_test"):
        control(postgresql, statement)
    yield "inrush_test"
    for statement in POSTGRESQL.drop_namespace("inrush_test"):
        control(postgresql, statement)
    assert not schemas(postgresql, "inrush_test")


@pytest.fixture(scope="module")
def all_types(postgresql: Target) -> Iterator[str]:
    for statement in (
        *POSTGRESQL.open_namespace("inrush_all"),
        *POSTGRESQL.plan_table(ALL_TYPES, "pk", "inrush_all").create,
    ):
        control(postgresql, statement)
    yield "inrush_all"
    for statement in POSTGRESQL.drop_namespace("inrush_all"):
        control(postgresql, statement)


def test_the_checksum_query_gives_what_the_rows_sum_to(postgresql: Target, all_types: str) -> None:
    plan = POSTGRESQL.plan_table(ALL_TYPES, "pk", all_types)
    proof = POSTGRESQL.proof(ALL_TYPES, plan)

    @settings(deadline=None, max_examples=40)
    @given(rows_of(ALL_TYPES))
    def screened(rows: list[tuple[Any, ...]]) -> None:
        control(postgresql, plan.fresh[0])
        if rows:
            kinds = [c.type for c in ALL_TYPES.columns]
            values = ", ".join(
                f"({', '.join(as_literal(v, kind) for v, kind in zip(row, kinds, strict=True))})"
                for row in rows
            )
            control(postgresql, f"INSERT INTO {plan.name} VALUES {values}")
        (found,) = control(postgresql, proof.checksum_query)
        assert [int(v) for v in found] == expected(ALL_TYPES, proof.items, rows)
        assert len(control(postgresql, proof.read_back)) == len(rows)

    screened()


def test_a_schema_of_the_users_is_refused_and_kept(postgresql: Target) -> None:
    from inrush import _core

    control(postgresql, "CREATE SCHEMA mine; CREATE TABLE mine.ports (a int)")
    plan = POSTGRESQL.plan_table(PORTS, "none", "mine")
    for statement in (*POSTGRESQL.drop_namespace("mine"), *plan.drop):
        with pytest.raises(_core.CoreFailure, match="does not bear the mark of inrush"):
            control(postgresql, statement)
    assert control(postgresql, "SELECT count(*) FROM mine.ports") == [["0"]]
    control(postgresql, "DROP SCHEMA mine CASCADE")


def test_what_is_not_there_is_dropped_without_complaint(postgresql: Target) -> None:
    for statement in POSTGRESQL.drop_namespace("inrush_never"):
        control(postgresql, statement)


def test_a_table_can_be_emptied_and_dropped(postgresql: Target, namespace: str) -> None:
    plan = POSTGRESQL.plan_table(PORTS, "pk_time", namespace)
    for statement in plan.create:
        control(postgresql, statement)
    control(postgresql, f"INSERT INTO {plan.name} VALUES (1, 2, now(), NULL, '')")
    for statement in plan.fresh:
        control(postgresql, statement)
    assert control(postgresql, f"SELECT count(*) FROM {plan.name}") == [["0"]]
    for statement in plan.drop:
        control(postgresql, statement)
    assert control(postgresql, f"SELECT to_regclass('{plan.name}')") == [[None]]


def test_probes_are_pairs_and_hold_what_is_asked_for(postgresql: Target, namespace: str) -> None:
    plan = POSTGRESQL.plan_table(PORTS, "pk_time", namespace)
    for statement in plan.create:
        control(postgresql, statement)
    probes = POSTGRESQL.probes([plan])
    found: dict[str, str] = {}
    for statement in (*probes.sizes, *probes.counters, *probes.settings, probes.version):
        rows = control(postgresql, statement)
        assert rows and all(len(row) == 2 for row in rows), statement
        found |= {str(name): str(value) for name, value in rows}
    assert found["fsync"] == "on" and found["wal_writer_delay"] == "200 ms"
    assert found["max_connections"] == "500"
    assert int(found['indexes:"inrush_test"."ports"']) > 0
    assert int(found["log:wal"]) >= 16 << 20, "one file of the log at least"
    checkpoints = [name for name in found if name.endswith(("num_timed", "checkpoints_timed"))]
    assert len(checkpoints) == 1 and int(found[checkpoints[0]]) >= 0, "before version 17 in another view"
    assert int(found["wal_bytes"]) > 0 and int(found["pg_stat_database.xact_commit"]) > 0
    assert found["version"].startswith("PostgreSQL ")
    assert POSTGRESQL.durability(found).survives is Survives.POWER_LOSS


def test_a_user_who_may_not_see_the_log_reads_no_size_of_it_and_all_else(
    postgresql: Target, namespace: str
) -> None:
    plan = POSTGRESQL.plan_table(PORTS, "pk_time", namespace)
    probes = POSTGRESQL.probes([plan])
    control(postgresql, "DROP ROLE IF EXISTS inrush_nobody")
    control(postgresql, f"CREATE ROLE inrush_nobody LOGIN PASSWORD '{password_of(postgresql)}'")
    try:
        plain = Target("postgresql", postgresql.url.replace("postgres@", "inrush_nobody@"))
        assert control(plain, "SELECT current_user::text") == [["inrush_nobody"]]
        assert control(plain, probes.sizes[-1]) == [["log:wal", None]]
        for statement in (*probes.counters, *probes.settings):
            assert control(plain, statement), statement
    finally:
        control(postgresql, "DROP ROLE inrush_nobody")


def schemas(instance: Target, name: str) -> list[list[Any]]:
    return control(instance, f"SELECT nspname FROM pg_namespace WHERE nspname = '{name}'")


def as_literal(value: Any, kind: str) -> str:
    """A value of screens.py as PostgreSQL's text, by ways that the wire half does not use."""
    if value is None:
        return "NULL"
    if kind == "u64":
        (signed,) = struct.unpack("<q", struct.pack("<Q", value))
        return f"({signed})::bigint"
    if kind in ("time_ms", "time_us"):
        us = value * 1000 if kind == "time_ms" else value
        return f"timestamptz '1970-01-01 00:00:00+00' + interval '{us} microseconds'"
    if kind in ("text", "uuid", "time", "inet"):
        return literal(value)
    if kind.startswith("list"):
        return f"ARRAY[{', '.join(as_literal(v, 'item') for v in value)}]::{DECLARED[kind]}"
    if kind == "bool":
        return "true" if value else "false"
    return f"'{value!r}'"
