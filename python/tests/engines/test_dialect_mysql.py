"""The twins of MySQL and MariaDB: their text, and what the text does on real servers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings

from inrush.border.plan import Statement
from inrush.engines.base.durability_level import Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import OpPlan, Unsupported
from inrush.engines.base.twin import Twin
from inrush.engines.mysql import Mariadb, Mysql
from inrush.engines.mysql.tables import DECLARED, declared, literal
from inrush.workload import DIGIT_TYPES, Column, Operation, Partitions
from inrush.workload import TYPES as LOGICAL
from tests.engines.checksum_queries import ALL_TYPES, PORTS, expected, rows_of
from tests.engines.servers import control

TWINS = {"mysql": Mysql(), "mariadb": Mariadb()}
both = pytest.mark.parametrize("engine", TWINS)


@pytest.fixture
def twin(engine: str) -> Twin:
    return TWINS[engine]


@pytest.fixture
def target(engine: str, request: pytest.FixtureRequest) -> Target:
    found: Target = request.getfixturevalue(engine)
    return found


def test_a_table_in_mysql() -> None:
    plan = TWINS["mysql"].plan_table(PORTS, "pk_time", "inrush_ab")
    assert plan.name == '"inrush_ab"."ports"'
    assert plan.create == (
        'CREATE TABLE "inrush_ab"."ports" ("guid" BIGINT UNSIGNED NOT NULL, "port" INT NOT NULL, '
        '"added_on" DATETIME(3) NOT NULL, "load" DOUBLE NULL, "host" VARCHAR(255) NOT NULL, '
        'PRIMARY KEY ("guid", "port", "added_on"), KEY ("added_on")) '
        "ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin",
    )
    assert plan.fresh == ('TRUNCATE TABLE "inrush_ab"."ports"',)
    assert dict(plan.wire) == {
        "guid": "BIGINT UNSIGNED",
        "port": "INT",
        "added_on": "DATETIME(3)",
        "load": "DOUBLE",
        "host": "VARCHAR(255)",
    }
    assert not any("unsigned" in loss for loss in plan.losses), "unsigned values are native"


def test_a_table_in_mariadb_differs_by_its_collation_alone() -> None:
    mine, theirs = (TWINS[e].plan_table(PORTS, "pk_time", "n") for e in ("mariadb", "mysql"))
    assert [c.replace("utf8mb4_nopad_bin", "utf8mb4_0900_bin") for c in mine.create] == list(theirs.create)
    assert replace(mine, create=()) == replace(theirs, create=())


def test_a_key_that_may_be_null_is_unique_and_not_primary() -> None:
    columns = tuple(replace(c, null_share=0.1) if c.name == "port" else c for c in PORTS.columns)
    (create,) = TWINS["mysql"].plan_table(replace(PORTS, columns=columns), "pk_time", "n").create
    assert 'UNIQUE KEY ("guid", "port", "added_on")' in create and "PRIMARY" not in create


def test_a_text_is_short_where_an_index_holds_it_or_its_generator_keeps_it_so() -> None:
    text = Column("t", "text", gen={"kind": "text", "max_bytes": 4000})
    assert (declared(text, False), declared(text, True)) == ("LONGTEXT", "VARCHAR(255)")
    assert declared(replace(text, gen={"kind": "text", "max_bytes": 40}), False) == "VARCHAR(255)"
    assert declared(replace(text, gen=None), False) == "LONGTEXT", "from files, any length"


def test_operations_in_both() -> None:
    tables = {"ports": TWINS["mysql"].plan_table(PORTS, "none", "n")}
    insert = Operation("insert", "insert", "ports")
    names = '("guid", "port", "added_on", "load", "host")'
    load = f"""LOAD DATA LOCAL INFILE 'batch' INTO TABLE "n"."ports" CHARACTER SET utf8mb4 {names}"""
    one_row = f'INSERT INTO "n"."ports" {names} VALUES (?, ?, ?, ?, ?)'
    planned = {(e, m): TWINS[e].plan_operation(insert, m, tables) for e in TWINS for m in TWINS[e].methods}
    assert planned == {
        ("mysql", "load"): OpPlan(load, "load"),
        ("mysql", "multirow"): OpPlan(one_row, "multirow"),
        ("mariadb", "bulk"): OpPlan(one_row, "bulk"),
        ("mariadb", "load"): OpPlan(load, "load"),
        ("mariadb", "multirow"): OpPlan(one_row, "multirow"),
    }
    assert isinstance(TWINS["mysql"].plan_operation(insert, "bulk", tables), Unsupported)


def test_what_is_written_for_mysql_serves_mariadb_unless_it_has_its_own() -> None:
    tables = {"ports": TWINS["mysql"].plan_table(PORTS, "none", "n")}
    query = Operation("q", "query", "ports", sql={"default": "a", "mysql": "b {ports}"})
    assert TWINS["mariadb"].plan_operation(query, "", tables) == OpPlan('b "n"."ports"')
    own = replace(query, sql={**query.sql, "mariadb": "c"})
    assert TWINS["mariadb"].plan_operation(own, "", tables) == OpPlan("c")
    assert TWINS["mysql"].plan_operation(own, "", tables) == OpPlan('b "n"."ports"')
    refused = replace(query, unsupported={"mariadb": "no such thing"})
    assert TWINS["mariadb"].plan_operation(refused, "", tables) == Unsupported("no such thing")


def test_every_logical_type_has_a_type_in_the_table() -> None:
    assert set(DECLARED) == {*LOGICAL, *DIGIT_TYPES}


def test_a_backslash_is_a_character_and_no_escape() -> None:
    assert literal("a\\'b") == "'a\\\\''b'"


@both
@pytest.mark.parametrize(
    ("changed", "survives", "window_s"),
    [
        ({}, Survives.POWER_LOSS, 0),
        ({"log_bin": "ON", "sync_binlog": "1"}, Survives.POWER_LOSS, 0),
        ({"log_bin": "ON", "sync_binlog": "0"}, Survives.PROCESS_CRASH, 0),
        ({"innodb_doublewrite": "OFF"}, Survives.PROCESS_CRASH, 0),
        ({"innodb_doublewrite": "DETECT_ONLY"}, Survives.PROCESS_CRASH, 0),
        ({"innodb_flush_method": "nosync"}, Survives.PROCESS_CRASH, 0),
        ({"innodb_flush_log_at_trx_commit": "2"}, Survives.PROCESS_CRASH, 1),
        (
            {"innodb_flush_log_at_trx_commit": "0", "innodb_flush_log_at_timeout": "3"},
            Survives.NOTHING,
            3,
        ),
    ],
)
def test_durability_in_normal_form(
    twin: Twin, changed: dict[str, str], survives: Survives, window_s: float
) -> None:
    shipped = {
        "innodb_flush_log_at_trx_commit": "1",
        "innodb_doublewrite": "ON",
        "innodb_flush_method": "O_DIRECT",
        "log_bin": "OFF",
    }
    found = twin.durability({**shipped, **changed})
    assert (found.survives, found.window_s) == (survives, window_s)
    assert found.because == {**shipped, **changed}


@both
def test_settings_that_could_not_be_read_promise_nothing(twin: Twin) -> None:
    assert twin.durability({}).survives is Survives.NOTHING


# on real servers


@pytest.fixture
def namespace(twin: Twin, target: Target) -> Iterator[str]:
    run(target, *twin.open_namespace("inrush_test"))
    yield "inrush_test"
    run(target, *twin.drop_namespace("inrush_test"))
    assert (
        control(target, "SELECT 1 FROM information_schema.schemata WHERE schema_name = 'inrush_test'") == []
    )


@both
def test_the_checksum_query_gives_what_the_rows_sum_to(twin: Twin, target: Target, namespace: str) -> None:
    plan = twin.plan_table(ALL_TYPES, "pk", namespace)
    proof = twin.proof(ALL_TYPES, plan)
    kinds = [c.type for c in ALL_TYPES.columns]
    run(target, *plan.create)

    @settings(deadline=None, max_examples=30)
    @given(rows_of(ALL_TYPES))
    def screened(rows: list[tuple[Any, ...]]) -> None:
        run(target, f"DELETE FROM {plan.name}")
        if rows:
            values = (", ".join(map(as_literal, row, kinds)) for row in rows)
            run(target, f"INSERT INTO {plan.name} VALUES {', '.join(f'({v})' for v in values)}")
        (found,) = control(target, proof.checksum_query)
        assert [int(v) for v in found] == expected(ALL_TYPES, proof.items, rows)
        assert len(control(target, proof.read_back)) == len(rows)

    screened()


@both
def test_a_database_of_the_users_is_refused_and_kept(twin: Twin, target: Target) -> None:
    from inrush import _core

    run(target, "CREATE DATABASE inrush_mine", "CREATE TABLE inrush_mine.ports (a INT)")
    plan = twin.plan_table(PORTS, "none", "inrush_mine")
    for statement in (*twin.drop_namespace("inrush_mine"), *plan.drop):
        with pytest.raises(_core.CoreFailure, match="does not bear the mark of inrush"):
            control(target, statement)
    assert control(target, "SELECT COUNT(*) FROM inrush_mine.ports") == [["0"]]
    run(target, "DROP DATABASE inrush_mine")


@both
def test_what_a_killed_inrush_left_without_its_mark_is_in_nobodys_way(twin: Twin, target: Target) -> None:
    foreign = twin.foreign_objects(["inrush_half"])
    run(target, "CREATE DATABASE inrush_half")
    assert control(target, foreign) == []
    run(target, "CREATE TABLE inrush_half.ports (a INT)")
    assert control(target, foreign) == [["inrush_half"]]
    run(target, "DROP TABLE inrush_half.ports")
    run(target, *twin.drop_namespace("inrush_half"), *twin.open_namespace("inrush_half"))
    assert control(target, foreign) == []
    run(target, *twin.drop_namespace("inrush_half"))


@both
def test_what_is_not_there_is_dropped_without_complaint(twin: Twin, target: Target) -> None:
    run(target, *twin.drop_namespace("inrush_never"))


@both
def test_a_table_can_be_emptied_and_dropped(twin: Twin, target: Target, namespace: str) -> None:
    plan = twin.plan_table(PORTS, "pk_time", namespace)
    run(
        target,
        *plan.create,
        f"INSERT INTO {plan.name} VALUES (1, 2, UTC_TIMESTAMP(3), NULL, '')",
        *plan.fresh,
    )
    assert control(target, f"SELECT COUNT(*) FROM {plan.name}") == [["0"]]
    run(target, *plan.drop)
    of = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'inrush_test' AND table_name = 'ports'"
    assert control(target, of) == []


@both
def test_rows_lie_in_the_partition_of_their_time_and_sizes_are_those_of_all(
    twin: Twin, target: Target, namespace: str
) -> None:
    cut = {twin.name: Partitions(86_400, 2, "2026-01-01T00:00:00Z")}
    plan = twin.plan_table(replace(PORTS, partitions=cut), "pk_time", namespace)
    days = ("2025-12-31", "2026-01-01", "2026-01-02", "2026-01-03", "2026-06-01")
    rows = ", ".join(f"({k}, 2, '{day} 12:00:00', NULL, '')" for k, day in enumerate(days))
    run(target, *plan.create, f"INSERT INTO {plan.name} VALUES {rows}", f"ANALYZE TABLE {plan.name}")
    for name, count in {"p1": 2, "p2": 1, "later": 2}.items():
        assert control(target, f"SELECT COUNT(*) FROM {plan.name} PARTITION ({name})") == [[str(count)]], name
    sizes = {str(n): int(b) for s in twin.probes([plan]).sizes for n, b in control(target, s)}
    # A page of 16 kB for each of three partitions at least.
    assert sizes['table:"inrush_test"."ports"'] >= 3 * 16_384


@both
def test_probes_are_pairs_and_hold_what_is_asked_for(twin: Twin, target: Target, namespace: str) -> None:
    plan = twin.plan_table(PORTS, "pk_time", namespace)
    run(target, *plan.create)
    probes = twin.probes([plan])
    found: dict[str, str] = {}
    for statement in (*probes.sizes, *probes.counters, *probes.settings, probes.version):
        rows = control(target, statement)
        assert rows and all(len(row) == 2 for row in rows), statement
        found |= {str(name): str(value) for name, value in rows}
    assert found["innodb_flush_log_at_trx_commit"] == "1" and found["innodb_doublewrite"]
    assert int(found['table:"inrush_test"."ports"']) > 0 and int(found['indexes:"inrush_test"."ports"']) > 0
    assert int(found["Innodb_os_log_written"]) > 0 and int(found["Com_insert"]) >= 0
    assert ("MariaDB" in found["version"]) == (twin.name == "mariadb")
    assert twin.durability(found).survives is Survives.POWER_LOSS


def run(target: Target, *statements: Statement) -> None:
    for statement in statements:
        control(target, statement)


def as_literal(value: Any, kind: str) -> str:
    """A value of screens.py as MySQL's text, by ways that the wire half does not use."""
    if value is None:
        return "NULL"
    if kind in ("time_ms", "time_us"):
        us = value * 1000 if kind == "time_ms" else value
        return f"TIMESTAMP '{datetime(1970, 1, 1) + timedelta(microseconds=us)}'"
    if kind == "text":
        return literal(value)
    if kind.startswith("list"):
        return f"'[{', '.join(map(repr, value))}]'"
    return repr(value)
