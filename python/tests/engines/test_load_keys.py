"""Keys of type uuid and date: stored as PostgreSQL stores them, placed where its own rule looks for them."""

from __future__ import annotations

import json
import random
import uuid
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.engines.base.loading import base_type
from inrush.load.shards import loading_of
from inrush.plan.ends import table_plan, target_table
from inrush.workload import LOGICAL_TYPES, Column, Table

from .servers import control
from .test_load import SHARDS, call, run, table, workers

__all__ = ["table", "workers"]

ROWS = 1_500
COLUMNS = "u uuid, d date, n int"
FORMS = (str, lambda u: u.hex.upper(), lambda u: f"{{{u}}}")


def keys(path: Path, bad: bool = False) -> Path:
    """UUIDs in every form that is read, dates from before 1970 to after 2038, now and then a NULL."""
    draw = random.Random(4)
    lines = ["u,d,n"]
    for i in range(ROWS):
        own = FORMS[i % 3](uuid.UUID(int=draw.getrandbits(128), version=4))
        day = date(1960, 1, 1) + timedelta(days=draw.randrange(40_000))
        lines.append(f"{'' if i % 97 == 5 else own},{'' if i % 89 == 7 else day},{i}")
    if bad:
        lines += [
            "00112233,2026-01-01,0",
            f"{uuid.UUID(int=1)},2026-02-30,0",
            f"{uuid.UUID(int=2)},31.1.2026,0",
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("key", [("u",), ("d",), ("u", "d"), ("n", "d", "u")], ids=",".join)
def test_every_row_lies_where_satisfies_hash_partition_says(
    postgresql: Target, workers: list[str], table: str, tmp_path: Path, key: tuple[str, ...]
) -> None:
    for url in workers:
        control(Target("postgresql", url), f"CREATE TABLE {table} ({COLUMNS})")
    file = keys(tmp_path / "a.csv", bad=True)
    done = run(call(table, [file], into=postgresql.url, shards=tuple(workers), key=key), tmp_path / "loads")
    assert (done.rows_stored, done.rejected, done.proven) == (ROWS, 3, True)
    assert done.rejects is not None
    reasons = [line.split(",")[2:4] for line in done.rejects.read_text().splitlines()[1:]]
    assert reasons == [["u", "not a UUID"], ["d", "not a date"], ["d", "not a date"]]
    for k in range(SHARDS):
        rule = f"satisfies_hash_partition('{table}'::regclass, {SHARDS}, {k}, {', '.join(key)})"
        [[here, right]] = control(
            postgresql,
            f"SELECT COUNT(*), COUNT(*) FILTER (WHERE {rule}) FROM (SELECT * FROM {table}_{k} OFFSET 0) x",
        )
        assert int(here) == int(right) > 0
    # What is stored is what the file says, by the server's own reading of the file's text.
    stored = control(postgresql, f"SELECT n, u::text, d::text FROM {table} ORDER BY n")
    lines = [line.split(",") for line in file.read_text().splitlines()[1 : ROWS + 1]]
    assert [[str(v) if v is not None else "" for v in row] for row in stored] == [
        [n, str(uuid.UUID(u)) if u else "", d] for u, d, n in lines
    ]
    control(postgresql, f"DROP TABLE {table} CASCADE")


def test_a_look_up_by_uuid_asks_one_worker(
    postgresql: Target, workers: list[str], table: str, tmp_path: Path
) -> None:
    for url in workers:
        control(Target("postgresql", url), f"CREATE TABLE {table} ({COLUMNS})")
    file = keys(tmp_path / "a.csv")
    run(call(table, [file], into=postgresql.url, shards=tuple(workers), key=("u", "d")), tmp_path / "loads")
    for line in file.read_text().splitlines()[1:4]:
        own, day, _ = line.split(",")
        where = f"WHERE u = '{own}' AND d = '{day}'"
        explained = control(postgresql, f"EXPLAIN SELECT * FROM {table} {where}")
        assert sum("Foreign Scan" in row[0] for row in explained) == 1
        assert control(postgresql, f"SELECT COUNT(*) FROM {table} {where}") == [["1"]]
    control(postgresql, f"DROP TABLE {table} CASCADE")


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_embedded_databases_store_them_too(engine: str, tmp_path: Path) -> None:
    url = f"{engine}:///{tmp_path}/db"
    here = server(engine).run_target(Target(engine, url), tmp_path)
    ask(here, f"CREATE TABLE t ({COLUMNS})")
    done = run(call("t", [keys(tmp_path / "a.csv")], into=url), tmp_path / "loads")
    assert (done.rows_stored, done.proven) == (ROWS, True)
    own, day, _ = (tmp_path / "a.csv").read_text().splitlines()[1].split(",")
    stored = ask(here, "SELECT CAST(u AS VARCHAR), CAST(d AS VARCHAR) FROM t WHERE n = 0")
    assert stored == [[str(uuid.UUID(own)), day]]


@pytest.mark.parametrize(
    ("engine", "kind", "values", "stored"),
    [
        ("duckdb", "time", ("08:30", "23:59:59.000250", "24:61"), ["08:30:00", "23:59:59.00025"]),
        ("postgresql", "inet", ("10.0.0.1", "2001:db8::1", "10.0.0.256"), ["10.0.0.1/32", "2001:db8::1/128"]),
    ],
)
def test_times_of_day_and_addresses_are_loaded_into_columns_of_their_types(
    engine: str,
    kind: str,
    values: tuple[str, ...],
    stored: list[str],
    request: pytest.FixtureRequest,
    table: str,
    tmp_path: Path,
) -> None:
    target = (
        Target(engine, f"{engine}:///{tmp_path}/db")
        if engine == "duckdb"
        else request.getfixturevalue(engine)
    )
    here = server(engine).run_target(target, tmp_path)
    ask(here, f"CREATE TABLE {table} (n int, v {kind})")
    file = tmp_path / "a.csv"
    file.write_text("n,v\n" + "".join(f"{n},{value}\n" for n, value in enumerate((*values, ""))))
    done = run(call(table, [file], into=target.url), tmp_path / "loads")
    assert (done.rows_stored, done.rejected, done.proven) == (3, 1, True)
    there = ask(here, f"SELECT CAST(v AS VARCHAR) FROM {table} ORDER BY n")
    assert there == [*([value] for value in stored), [None]]
    ask(here, f"DROP TABLE {table}")


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "postgresql", "mysql", "mariadb", "clickhouse"])
def test_columns_that_inrush_made_are_known_again_by_what_they_mean(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path, table: str
) -> None:
    twin = server(engine)
    loading = loading_of(twin)
    target = (
        Target(engine, f"{engine}:///{tmp_path}/db") if twin.embedded else request.getfixturevalue(engine)
    )
    here = twin.run_target(target, tmp_path)
    database = "inrush_load_test" if engine in ("mysql", "mariadb") else ""
    name = f"{database}.{table}" if database else table
    types = [*LOGICAL_TYPES, *(["date"] if engine != "clickhouse" else [])]
    if engine == "postgresql":
        # `time(3)` rounds what it is given: a text, which the server reads.
        types.remove("time")
    made = table_plan(
        twin, Table("t", tuple(Column(f"c_{kind}", kind) for kind in types)), target_table(name)
    )
    if database:
        ask(here, f"CREATE DATABASE IF NOT EXISTS {database}")
    ask(here, made.create[0])
    try:
        for column, kind, _ in ask(here, loading.describe(database, table)):
            meanings = loading.column_types.get(base_type(kind), ())
            # Of several of our types that one of the database holds, the widest is read.
            assert column[2:] in meanings or READ_AS.get(column[2:]) in meanings, (column, kind)
    finally:
        ask(here, f"DROP TABLE {target_table(name)}")


READ_AS = {
    "time_ms": "time_us", "u64": "i64", "i16": "i64", "i32": "i64", "f32": "f64", "uuid": "text", "date": "text",
    "time": "text", "inet": "text", "list_f64": "text", "list_i64": "text", "u8": "i16", "u16": "i32", "u32": "i64",
}  # fmt: skip


def ask(target: Target, statement: str) -> list[list[Any]]:
    from inrush import _core

    document = json.dumps({"engine": target.engine, "url": target.url, "options": dict(target.options)})
    rows: list[list[Any]] = json.loads(_core.control(document, statement, 30.0))["rows"]
    return rows
