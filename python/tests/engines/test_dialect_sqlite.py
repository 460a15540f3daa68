"""The SQLite twin: its text, and what the text does on a real SQLite."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from inrush.border.plan import Statement
from inrush.border.statement import run_statement
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import OpPlan, Unsupported
from inrush.engines.sqlite import DECLARED, Sqlite
from inrush.workload import DIGIT_TYPES, SPELLED, Operation, Table
from inrush.workload import TYPES as LOGICAL
from tests.engines.checksum_queries import ALL_TYPES, PORTS, Row, expected, rows_of

SQLITE = Sqlite()


def test_a_table_in_sqlite() -> None:
    plan = SQLITE.plan_table(PORTS, "pk_time", "inrush_ab")
    assert plan.name == '"inrush_ab.ports"'
    assert plan.create == (
        'CREATE TABLE "inrush_ab.ports" ("guid" UNSIGNED BIGINT NOT NULL, "port" INTEGER NOT NULL, '
        '"added_on" INTEGER MILLISECONDS NOT NULL, "load" REAL, "host" TEXT NOT NULL, '
        'PRIMARY KEY ("guid", "port", "added_on"))',
        'CREATE INDEX "inrush_ab.ports_1" ON "inrush_ab.ports" ("added_on")',
    )
    assert plan.fresh == ('DELETE FROM "inrush_ab.ports"', "PRAGMA wal_checkpoint(TRUNCATE)")
    drop = """SELECT 'DROP TABLE IF EXISTS "inrush_ab.ports"' FROM "inrush_ab.inrush_mark\""""
    assert plan.drop == ({"text": drop, "repeat": "each_row"},)


def test_a_layout_without_the_identity_has_no_primary_key() -> None:
    create = SQLITE.plan_table(PORTS, "time", "n").create
    assert "PRIMARY KEY" not in create[0]
    assert create[1] == 'CREATE INDEX "n.ports_1" ON "n.ports" ("added_on")'
    assert len(SQLITE.plan_table(PORTS, "none", "n").create) == 1


def test_operations_in_sqlite() -> None:
    tables = {"ports": SQLITE.plan_table(PORTS, "none", "n")}
    insert = Operation("insert", "insert", "ports")
    text = 'INSERT INTO "n.ports" ("guid", "port", "added_on", "load", "host") VALUES (?, ?, ?, ?, ?)'
    assert SQLITE.plan_operation(insert, "bulk", tables) == OpPlan(text, "bulk")
    assert SQLITE.plan_operation(insert, "multirow", tables) == OpPlan(text, "multirow")
    assert isinstance(SQLITE.plan_operation(insert, "copy", tables), Unsupported)
    query = Operation(
        "q", "query", "ports", sql={"default": "SELECT max(port) FROM {ports} WHERE added_on >= :t0"}
    )
    assert SQLITE.plan_operation(query, "", tables) == OpPlan(
        'SELECT max(port) FROM "n.ports" WHERE added_on >= ?', params=("t0",)
    )


def test_every_logical_type_has_a_declared_type_of_the_affinity_it_is_stored_with() -> None:
    assert set(DECLARED) == {*LOGICAL, *DIGIT_TYPES}
    stored = {
        "text": "text",
        "decimal": "text",
        "f32": "real",
        "f64": "real",
        "list_f64": "blob",
        "list_i64": "blob",
        "bytes": "blob",
    }
    stored |= dict.fromkeys((*SPELLED, "enum", "json", "list_text"), "text")
    stored |= dict.fromkeys((kind for kind in LOGICAL if DECLARED[kind].startswith("BLOB")), "blob")
    db = sqlite3.connect(":memory:")
    for kind, declared in DECLARED.items():
        db.execute(f"CREATE TABLE [{kind}] (v {declared})")
        value = b"" if stored.get(kind) == "blob" else "1"
        db.execute(f"INSERT INTO [{kind}] VALUES (?)", (value,))
        assert db.execute(f"SELECT typeof(v) FROM [{kind}]").fetchone() == (stored.get(kind, "integer"),)


@settings(deadline=None, max_examples=50)
@given(rows_of(ALL_TYPES))
def test_the_checksum_query_gives_what_the_rows_sum_to(rows: list[tuple[Any, ...]]) -> None:
    db, plan = _opened(ALL_TYPES, "pk"), SQLITE.plan_table(ALL_TYPES, "pk", "n")
    marks = ", ".join("?" * len(ALL_TYPES.columns))
    db.executemany(f"INSERT INTO {plan.name} VALUES ({marks})", [_stored(ALL_TYPES, row) for row in rows])
    proof = SQLITE.proof(ALL_TYPES, plan)
    assert list(db.execute(proof.checksum_query).fetchone()) == expected(ALL_TYPES, proof.items, rows)
    assert sorted(map(repr, db.execute(proof.read_back))) == sorted(
        repr(_stored(ALL_TYPES, row)) for row in rows
    )


def test_a_drop_takes_what_bears_the_mark_and_nothing_else() -> None:
    db = _opened(PORTS, "pk_time")
    db.execute('CREATE TABLE "ports" (a)')
    db.execute('CREATE TABLE "n2.ports" (a)')
    _run(db, SQLITE.drop_namespace("n"))
    assert _tables(db) == {"ports", "n2.ports"}


@pytest.mark.parametrize(
    "statement", [*SQLITE.drop_namespace("n2"), *SQLITE.plan_table(PORTS, "none", "n2").drop]
)
def test_a_drop_without_the_mark_is_refused_and_drops_nothing(statement: Statement) -> None:
    db = sqlite3.connect(":memory:")
    db.execute('CREATE TABLE "n2.ports" (a)')
    with pytest.raises(sqlite3.OperationalError, match="inrush_mark"):
        _run(db, [statement])
    assert _tables(db) == {"n2.ports"}


def test_a_fresh_table_is_empty() -> None:
    db, plan = _opened(PORTS, "none"), SQLITE.plan_table(PORTS, "none", "n")
    db.execute(f"INSERT INTO {plan.name} VALUES (1, 2, 3, NULL, '')")
    _run(db, plan.fresh)
    assert db.execute(f"SELECT count(*) FROM {plan.name}").fetchone() == (0,)


def test_settings_are_read_back_by_name() -> None:
    db = sqlite3.connect(":memory:")
    probes = SQLITE.probes([SQLITE.plan_table(PORTS, "none", "n")])
    found = dict(db.execute(statement).fetchone() for statement in (*probes.settings, probes.version))
    assert found["synchronous"] == 2
    assert found["journal_mode"] == "memory"
    assert found["version"] == sqlite3.sqlite_version
    for statement in (*probes.sizes, *probes.counters):
        assert all(len(row) == 2 for row in _without_dbstat(db, statement))


@pytest.mark.parametrize(
    ("journal", "synchronous", "survives"),
    [
        ("wal", "2", Survives.POWER_LOSS),
        ("wal", "FULL", Survives.POWER_LOSS),
        ("delete", "3", Survives.POWER_LOSS),
        ("wal", "1", Survives.PROCESS_CRASH),
        ("wal", "0", Survives.PROCESS_CRASH),
        ("memory", "2", Survives.NOTHING),
        ("off", "2", Survives.NOTHING),
    ],
)
def test_durability_in_normal_form(journal: str, synchronous: str, survives: Survives) -> None:
    found: Durability = SQLITE.durability({"journal_mode": journal, "synchronous": synchronous})
    assert found.survives is survives


def test_a_run_has_a_file_of_its_own_unless_the_user_names_one(tmp_path: Path) -> None:
    assert SQLITE.run_target(Target("sqlite", ""), tmp_path).url == f"sqlite://{tmp_path}/run.sqlite"
    assert SQLITE.run_target(Target("sqlite", "sqlite://"), tmp_path).url == f"sqlite://{tmp_path}/run.sqlite"
    assert SQLITE.run_target(Target("sqlite", "sqlite:x.db"), tmp_path).url == "sqlite:x.db"


def _opened(table: Table, layout: str) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    _run(db, (*SQLITE.open_namespace("n"), *SQLITE.plan_table(table, layout, "n").create))
    return db


def _run(db: sqlite3.Connection, statements: Iterable[Statement]) -> None:
    for statement in statements:
        run_statement(statement, lambda text, _: db.execute(text).fetchall())


def _tables(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def _without_dbstat(db: sqlite3.Connection, statement: str) -> list[Any]:
    """dbstat is compiled into our SQLite; Python's may lack it, and then only the text's names are checked."""
    if "dbstat" in statement:
        db.execute("CREATE TEMP TABLE IF NOT EXISTS dbstat (name, pgsize, aggregate)")
    return db.execute(statement).fetchall()


def _stored(table: Table, row: Row) -> tuple[Any, ...]:
    """As the wire half binds it."""
    return tuple(_cell(c.type, v) for c, v in zip(table.columns, row, strict=True))


def _cell(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind == "u64":
        return value - 2**64 if value >= 2**63 else value
    if kind == "bool":
        return int(value)
    if kind.startswith("list"):
        return struct.pack(f"<{len(value)}{'d' if kind == 'list_f64' else 'q'}", *value)
    return value
