"""The ClickHouse twin: its text, and what the text does on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from inrush.engines.base.durability_level import Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import OpPlan, Unsupported
from inrush.engines.clickhouse import Clickhouse
from inrush.engines.clickhouse.tables import TYPES
from inrush.workload import DIGIT_TYPES, Column, Operation, Table
from inrush.workload import TYPES as LOGICAL
from tests.engines.checksum_queries import ALL_TYPES, PORTS, expected, rows_of
from tests.engines.servers import clickhouse, control

__all__ = ["clickhouse"]  # fixtures

CLICKHOUSE = Clickhouse()
OLD = Operation("old", "execute", "ports", sql={"default": "DELETE FROM {ports} WHERE added_on < :t0"})


def test_a_table_in_clickhouse() -> None:
    plan = CLICKHOUSE.plan_table(PORTS, "pk_time", "inrush_ab")
    assert plan.name == '"inrush_ab"."ports"'
    assert plan.create == (
        'CREATE TABLE "inrush_ab"."ports" ("guid" UInt64, "port" Int32, "added_on" Int64, "load" Nullable(Float64), '
        '"host" String) ENGINE = MergeTree PARTITION BY intDiv("added_on", 3600000) '
        'ORDER BY ("guid", "port", "added_on")',
    )
    assert plan.fresh == ('TRUNCATE TABLE "inrush_ab"."ports"',)
    assert dict(plan.wire) == {
        "guid": "UInt64",
        "port": "Int32",
        "added_on": "Int64",
        "load": "Nullable(Float64)",
        "host": "String",
    }
    losses = " | ".join(plan.losses)
    assert (
        "milliseconds since 1970" in losses and "not make them unique" in losses and "by the hour" in losses
    )


def test_a_layout_without_indexes_orders_nothing_and_loses_less() -> None:
    plan = CLICKHOUSE.plan_table(PORTS, "none", "n")
    assert plan.create[0].endswith("ENGINE = MergeTree ORDER BY tuple()")
    assert len(plan.losses) == 1


def test_a_key_that_may_be_null_does_not_order_rows_and_says_so() -> None:
    columns = (
        Column("a", "i64", gen={"kind": "any"}),
        Column("b", "i64", gen={"kind": "any"}, null_share=0.5),
    )
    plan = CLICKHOUSE.plan_table(Table("t", columns, layouts={"pk": (("b", "a"),)}), "pk", "n")
    assert plan.create[0].endswith('ORDER BY ("a")')
    assert any(loss.endswith(": b") for loss in plan.losses)


def test_operations_in_clickhouse() -> None:
    tables = {"ports": CLICKHOUSE.plan_table(PORTS, "none", "n")}
    insert = Operation("insert", "insert", "ports")
    for method in CLICKHOUSE.methods:
        assert CLICKHOUSE.plan_operation(insert, method, tables) == OpPlan(
            'INSERT INTO "n"."ports" ("guid", "port", "added_on", "load", "host")', method
        )
    assert isinstance(CLICKHOUSE.plan_operation(insert, "bulk", tables), Unsupported)
    query = Operation(
        "q", "query", "ports", sql={"default": "SELECT 1 FROM {ports} WHERE port > :a OR port < :a"}
    )
    assert CLICKHOUSE.plan_operation(query, "", tables) == OpPlan(
        'SELECT 1 FROM "n"."ports" WHERE port > $1 OR port < $1', params=("a",)
    )


def test_what_studies_call_a_method_everywhere_has_its_own_name_here() -> None:
    assert set(CLICKHOUSE.ways) == {"bulk", "multirow"}
    assert set(CLICKHOUSE.ways.values()) < set(CLICKHOUSE.methods)


def test_old_rows_go_by_partitions_where_there_are_some_and_by_rewriting_elsewhere() -> None:
    by_hour = {"ports": CLICKHOUSE.plan_table(PORTS, "pk_time", "n")}
    dropped = CLICKHOUSE.plan_operation(OLD, "", by_hour)
    assert dropped == OpPlan(
        'SELECT concat(\'ALTER TABLE "n"."ports" DROP PARTITION \', partition) FROM system.parts '
        "WHERE active AND database = 'n' AND table = 'ports' AND toInt64(partition) < intDiv($1, 3600000) "
        "GROUP BY partition",
        "each",
        ("t0",),
        3600.0,
    )
    whole = {"ports": CLICKHOUSE.plan_table(PORTS, "none", "n")}
    assert CLICKHOUSE.plan_operation(OLD, "", whole) == OpPlan(
        'ALTER TABLE "n"."ports" DELETE WHERE "added_on" < $1', params=("t0",)
    )
    own = Operation("old", "execute", "ports", sql={"clickhouse": "OPTIMIZE TABLE {ports}", **OLD.sql})
    assert CLICKHOUSE.plan_operation(own, "", by_hour) == OpPlan('OPTIMIZE TABLE "n"."ports"')


def test_every_logical_type_has_a_type() -> None:
    assert set(TYPES) == {*LOGICAL, *DIGIT_TYPES}


@pytest.mark.parametrize(
    ("detail", "survives", "window_s"),
    [
        ({"fsync_metadata": "1"}, Survives.PROCESS_CRASH, 0),
        ({"merge_tree.fsync_after_insert": "1"}, Survives.PROCESS_CRASH, 0),
        (
            {"merge_tree.fsync_after_insert": "1", "merge_tree.fsync_part_directory": "1"},
            Survives.POWER_LOSS,
            0,
        ),
        ({"async_insert": "1", "wait_for_async_insert": "1"}, Survives.PROCESS_CRASH, 0),
        (
            {"async_insert": "1", "wait_for_async_insert": "0", "async_insert_busy_timeout_ms": "200"},
            Survives.NOTHING,
            0.2,
        ),
        ({}, Survives.PROCESS_CRASH, 0),
    ],
)
def test_durability_in_normal_form(detail: dict[str, str], survives: Survives, window_s: float) -> None:
    found = CLICKHOUSE.durability({**detail, "max_threads": "2"})
    assert (found.survives, found.window_s, found.because) == (survives, pytest.approx(window_s), detail)


# on a real server


@pytest.fixture
def namespace(clickhouse: Target) -> Iterator[str]:
    for statement in CLICKHOUSE.open_namespace("inrush_test"):
        control(clickhouse, statement)
    yield "inrush_test"
    for statement in CLICKHOUSE.drop_namespace("inrush_test"):
        control(clickhouse, statement)
    assert control(clickhouse, "SELECT 1 FROM system.databases WHERE name = 'inrush_test'") == []


def test_the_checksum_query_gives_what_the_rows_sum_to(clickhouse: Target, namespace: str) -> None:
    plan = CLICKHOUSE.plan_table(ALL_TYPES, "pk", namespace)
    for statement in plan.create:
        control(clickhouse, statement)
    proof = CLICKHOUSE.proof(ALL_TYPES, plan)

    @settings(deadline=None, max_examples=40)
    @given(rows_of(ALL_TYPES))
    def screened(rows: list[tuple[Any, ...]]) -> None:
        control(clickhouse, plan.fresh[0])
        if rows:
            kinds = list(plan.wire.values())
            values = ", ".join(
                f"({', '.join(as_literal(v, kind) for v, kind in zip(row, kinds, strict=True))})"
                for row in rows
            )
            control(clickhouse, f"INSERT INTO {plan.name} VALUES {values}")
        (found,) = control(clickhouse, proof.checksum_query)
        # Sums of nothing but NULL are NULL, which the core counts as 0.
        assert [int(v or 0) for v in found] == expected(ALL_TYPES, proof.items, rows)
        assert len(control(clickhouse, proof.read_back)) == len(rows)

    screened()


def test_a_database_of_the_users_is_refused_and_kept(clickhouse: Target) -> None:
    from inrush import _core

    control(clickhouse, "CREATE DATABASE mine; CREATE TABLE mine.ports (a Int8) ENGINE = TinyLog")
    plan = CLICKHOUSE.plan_table(PORTS, "none", "mine")
    for statement in (*CLICKHOUSE.drop_namespace("mine"), *plan.drop):
        with pytest.raises(_core.CoreFailure, match="does not bear the mark of inrush"):
            control(clickhouse, statement)
    assert control(clickhouse, "SELECT count() FROM mine.ports") == [["0"]]
    control(clickhouse, "DROP DATABASE mine")


def test_what_a_killed_inrush_left_without_its_mark_is_in_nobodys_way(clickhouse: Target) -> None:
    control(clickhouse, "CREATE DATABASE inrush_half")
    assert control(clickhouse, CLICKHOUSE.foreign_objects(["inrush_half"])) == []
    control(clickhouse, "CREATE TABLE inrush_half.ports (a Int8) ENGINE = TinyLog")
    assert control(clickhouse, CLICKHOUSE.foreign_objects(["inrush_half"])) == [["inrush_half"]]
    control(clickhouse, "DROP TABLE inrush_half.ports")
    for statement in (*CLICKHOUSE.drop_namespace("inrush_half"), *CLICKHOUSE.open_namespace("inrush_half")):
        control(clickhouse, statement)
    assert control(clickhouse, CLICKHOUSE.foreign_objects(["inrush_half"])) == []
    for statement in CLICKHOUSE.drop_namespace("inrush_half"):
        control(clickhouse, statement)


def test_what_is_not_there_is_dropped_without_complaint(clickhouse: Target) -> None:
    plan = CLICKHOUSE.plan_table(PORTS, "none", "inrush_never")
    for statement in (*plan.drop, *CLICKHOUSE.drop_namespace("inrush_never")):
        control(clickhouse, statement)


def test_partitions_that_are_too_old_go_and_no_others(clickhouse: Target, namespace: str) -> None:
    plan = CLICKHOUSE.plan_table(PORTS, "pk_time", namespace)
    for statement in plan.create:
        control(clickhouse, statement)
    hours = ", ".join(f"(1, 2, {hour * 3_600_000 + 7}, NULL, '')" for hour in range(5))
    control(clickhouse, f"INSERT INTO {plan.name} VALUES {hours}")
    op = CLICKHOUSE.plan_operation(OLD, "", {"ports": plan})
    assert isinstance(op, OpPlan)
    for [drop] in control(clickhouse, op.text.replace("$1", str(3 * 3_600_000 + 100))):
        control(clickhouse, drop)
    left = control(clickhouse, f"SELECT intDiv(added_on, 3600000) FROM {plan.name} ORDER BY added_on")
    assert left == [["3"], ["4"]], "an hour that is not over stays"


def test_a_table_can_be_emptied_and_dropped(clickhouse: Target, namespace: str) -> None:
    plan = CLICKHOUSE.plan_table(PORTS, "pk_time", namespace)
    for statement in plan.create:
        control(clickhouse, statement)
    control(clickhouse, f"INSERT INTO {plan.name} VALUES (1, 2, 3, NULL, '')")
    for statement in plan.fresh:
        control(clickhouse, statement)
    assert control(clickhouse, f"SELECT count() FROM {plan.name}") == [["0"]]
    for statement in plan.drop:
        control(clickhouse, statement)
    assert control(clickhouse, f"SELECT name FROM system.tables WHERE database = '{namespace}'") == [
        ["inrush_mark"]
    ]


def test_probes_are_pairs_and_hold_what_is_asked_for(clickhouse: Target, namespace: str) -> None:
    plan = CLICKHOUSE.plan_table(PORTS, "pk_time", namespace)
    for statement in plan.create:
        control(clickhouse, statement)
    control(clickhouse, f"INSERT INTO {plan.name} VALUES (1, 2, 3, NULL, '')")
    probes = CLICKHOUSE.probes([plan])
    found: dict[str, str] = {}
    for statement in (*probes.sizes, *probes.counters, *probes.settings, probes.version):
        rows = control(clickhouse, statement)
        assert all(len(row) == 2 for row in rows), statement
        found |= {str(name): str(value) for name, value in rows}
    assert int(found['table:"inrush_test"."ports"']) > 0 and int(found['indexes:"inrush_test"."ports"']) > 0
    assert int(found['parts:"inrush_test"."ports"']) == 1 and int(found["InsertQuery"]) > 0
    assert found["fsync_metadata"] == "1" and found["version"]
    assert CLICKHOUSE.durability(found).survives is Survives.PROCESS_CRASH


def as_literal(value: Any, kind: str) -> str:
    """A value of screens.py as ClickHouse's text, by ways that the wire half does not use."""
    if kind.startswith("Array(Array("):
        return "[]" if value is None else f"[{as_literal(value, kind[6:-1])}]"
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        return "unhex('" + value.encode().hex() + "')"
    if isinstance(value, list):
        return f"CAST([{', '.join(as_literal(v, 'item') for v in value)}] AS {kind})"
    if isinstance(value, float):
        # By its bits: a float in text is not always read as the nearest one.
        scaled, bits = int(value * 2**8), 2**8
        return f"divide({scaled}, {bits})"
    return f"toInt64('{value}')" if value < 0 or kind == "item" else str(value)
