"""The DuckDB twin: its text, and what the text does on a real DuckDB."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings

from inrush.engines.base.durability_level import Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import OpPlan, Unsupported
from inrush.engines.duckdb import TYPES, DuckDB
from inrush.workload import DIGIT_TYPES, Operation, Table
from inrush.workload import TYPES as LOGICAL
from tests.engines.checksum_queries import ALL_TYPES, PORTS, Row, expected, rows_of

DUCKDB = DuckDB()
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def test_a_table_in_duckdb() -> None:
    plan = DUCKDB.plan_table(PORTS, "pk_time", "inrush_ab")
    create = (
        'CREATE TABLE "inrush_ab"."ports" ("guid" UBIGINT NOT NULL, "port" INTEGER NOT NULL, '
        '"added_on" TIMESTAMPTZ NOT NULL, "load" DOUBLE, "host" VARCHAR NOT NULL, '
        'PRIMARY KEY ("guid", "port", "added_on"))',
        'CREATE INDEX "ports_1" ON "inrush_ab"."ports" ("added_on")',
    )
    assert plan.create == create
    assert plan.fresh == ('DROP TABLE IF EXISTS "inrush_ab"."ports"', *create, "CHECKPOINT")
    assert plan.drop == (
        'SELECT created_by FROM "inrush_ab".inrush_mark',
        'DROP TABLE IF EXISTS "inrush_ab"."ports"',
    )
    assert plan.losses == ()


def test_operations_in_duckdb() -> None:
    tables = {"ports": DUCKDB.plan_table(PORTS, "none", "n")}
    insert = Operation("insert", "insert", "ports")
    assert DUCKDB.plan_operation(insert, "bulk", tables) == OpPlan('"n"."ports"', "bulk")
    assert DUCKDB.plan_operation(insert, "multirow", tables) == OpPlan(
        'INSERT INTO "n"."ports" ("guid", "port", "added_on", "load", "host") VALUES (?, ?, ?, ?, ?)',
        "multirow",
    )
    assert isinstance(DUCKDB.plan_operation(insert, "copy", tables), Unsupported)
    query = Operation("q", "query", sql={"default": "SELECT max(port) FROM {ports} WHERE added_on >= :t0"})
    assert DUCKDB.plan_operation(query, "", tables) == OpPlan(
        'SELECT max(port) FROM "n"."ports" WHERE added_on >= ?', params=("t0",)
    )


def test_every_logical_type_has_a_type() -> None:
    assert set(TYPES) == {*LOGICAL, *DIGIT_TYPES}


@settings(deadline=None, max_examples=15)
@given(rows_of(ALL_TYPES))
def test_the_checksum_query_gives_what_the_rows_sum_to(rows: list[tuple[Any, ...]]) -> None:
    db, plan = _opened(ALL_TYPES, "none"), DUCKDB.plan_table(ALL_TYPES, "none", "n")
    marks = ", ".join("?" * len(ALL_TYPES.columns))
    for row in rows:
        db.execute(f"INSERT INTO {plan.name} VALUES ({marks})", _bound(ALL_TYPES, row))
    proof = DUCKDB.proof(ALL_TYPES, plan)
    found = db.execute(proof.checksum_query).fetchone()
    assert found is not None
    assert [int(figure) for figure in found] == expected(ALL_TYPES, proof.items, rows)
    assert db.execute(f"SELECT count(*) FROM ({proof.read_back})").fetchone() == (len(rows),)


def test_a_drop_takes_what_bears_the_mark_and_nothing_else() -> None:
    db = _opened(PORTS, "pk_time")
    db.execute("CREATE SCHEMA other; CREATE TABLE other.ports (a INT)")
    _run(db, DUCKDB.drop_namespace("n"))
    assert _tables(db) == {("other", "ports")}


@pytest.mark.parametrize(
    "drop", [DUCKDB.drop_namespace("other"), DUCKDB.plan_table(PORTS, "none", "other").drop]
)
def test_a_drop_without_the_mark_is_refused_and_drops_nothing(drop: tuple[str, ...]) -> None:
    db = duckdb.connect()
    db.execute("CREATE SCHEMA other; CREATE TABLE other.ports (a INT)")
    with pytest.raises(duckdb.CatalogException, match="inrush_mark"):
        _run(db, drop)
    assert _tables(db) == {("other", "ports")}


def test_a_fresh_table_is_empty_and_keeps_its_indexes(tmp_path: Path) -> None:
    plan = DUCKDB.plan_table(PORTS, "pk_time", "n")
    with duckdb.connect(tmp_path / "x.duckdb") as db:
        _run(db, (*DUCKDB.open_namespace("n"), *plan.create))
        db.execute(f"INSERT INTO {plan.name} VALUES (1, 2, now(), NULL, '')")
        _run(db, plan.fresh)
        assert db.execute(f"SELECT count(*) FROM {plan.name}").fetchone() == (0,)
        assert db.execute("SELECT index_name FROM duckdb_indexes()").fetchall() == [("ports_1",)]


def test_sizes_grow_with_the_table_and_settings_say_what_a_commit_survives(tmp_path: Path) -> None:
    plan = DUCKDB.plan_table(PORTS, "none", "n")
    probes = DUCKDB.probes([plan])
    with duckdb.connect(tmp_path / "x.duckdb") as db:
        _run(db, (*DUCKDB.open_namespace("n"), *plan.create))

        def probe(statements: Iterable[str]) -> dict[str, Any]:
            return {name: value for text in statements for name, value in db.execute(text).fetchall()}

        before = probe(probes.sizes)
        db.execute(
            f"INSERT INTO {plan.name} SELECT hash(i), i, now(), random(), hash(i)::text FROM range(300000) t(i); CHECKPOINT"
        )
        after = probe(probes.sizes)
        assert all(after[name] > (before[name] or 0) for name in ("file", "used", 'table:"n"."ports"'))
        found = probe(probes.settings)
        assert DUCKDB.durability(found).survives is Survives.POWER_LOSS
        assert DUCKDB.durability({**found, "fsync_mode": "NONE"}).survives is Survives.PROCESS_CRASH
        assert DUCKDB.durability({**found, "path": ""}).survives is Survives.NOTHING
        assert probe([probes.version])["version"] == f"v{duckdb.__version__}"


def test_a_run_has_a_file_of_its_own_unless_the_user_names_one(tmp_path: Path) -> None:
    own = DUCKDB.run_target(Target("duckdb", "duckdb://"), tmp_path)
    assert own.url == f"duckdb://{tmp_path}/run.duckdb"
    assert Path(own.options["driver"]).is_file()
    named = DUCKDB.run_target(Target("duckdb", "duckdb:///data/x.db", {"driver": "/other.so"}), tmp_path)
    assert (named.url, named.options["driver"]) == ("duckdb:///data/x.db", "/other.so")


def _opened(table: Table, layout: str) -> duckdb.DuckDBPyConnection:
    db = duckdb.connect()
    _run(db, (*DUCKDB.open_namespace("n"), *DUCKDB.plan_table(table, layout, "n").create))
    return db


def _run(db: duckdb.DuckDBPyConnection, statements: Iterable[str]) -> None:
    for statement in statements:
        db.execute(statement)


def _tables(db: duckdb.DuckDBPyConnection) -> set[tuple[Any, ...]]:
    return set(db.execute("SELECT schema_name, table_name FROM duckdb_tables()").fetchall())


def _bound(table: Table, row: Row) -> list[Any]:
    return [_cell(c.type, v) for c, v in zip(table.columns, row, strict=True)]


def _cell(kind: str, value: Any) -> Any:
    if value is None or kind not in ("time_ms", "time_us"):
        return value
    return EPOCH + timedelta(**{"milliseconds" if kind == "time_ms" else "microseconds": value})
