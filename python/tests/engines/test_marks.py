"""What is not inrush's own is left alone, with code 2, until the user says --force."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Target
from tests.terminal import Inrush

from .servers import control, each_kind, password_of, written
from .small_studies import SERVERS, small_study, words_of

_, QUICK = words_of("sqlite")


def sqlite_file(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE customers (id INTEGER)")
        file.execute("INSERT INTO customers VALUES (7)")
    file.close()


def duckdb_file(path: Path) -> None:
    with duckdb.connect(str(path)) as file:
        file.execute("CREATE TABLE customers AS SELECT 7 AS id")


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "make"), [("sqlite", sqlite_file), ("duckdb", duckdb_file)])
def test_a_file_with_tables_of_the_users_is_refused_and_with_force_keeps_them(
    inrush: Inrush, tmp_path: Path, engine: str, make: object
) -> None:
    path = tmp_path / f"mine.{engine}"
    assert callable(make)
    make(path)
    before = path.read_bytes()
    said = inrush("run", "quickstart", f"{engine}://{path}", *QUICK)
    assert said.code == 2 and "customers" in said.err and "--force" in said.err
    assert path.read_bytes() == before and inrush.store.studies() == [], "nothing was touched or begun"
    forced = inrush("run", "quickstart", f"{engine}://{path}", *QUICK, "--force")
    assert forced.code == 0, forced.err
    if engine == "sqlite":
        with sqlite3.connect(path) as file:
            left = file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
            assert file.execute("SELECT id FROM customers").fetchall() == [(7,)]
        file.close()
    else:
        with duckdb.connect(str(path)) as open_file:
            left = open_file.execute("SELECT table_name FROM information_schema.tables").fetchall()
            assert open_file.execute("SELECT id FROM customers").fetchall() == [(7,)]
    assert left == [("customers",)], "inrush dropped what it had made and nothing else"


@pytest.mark.slow
def test_a_new_file_and_one_that_inrush_left_are_used_unasked(inrush: Inrush, tmp_path: Path) -> None:
    for _ in range(2):
        said = inrush("run", "quickstart", f"sqlite://{tmp_path}/new.sqlite", *QUICK)
        assert said.code == 0, said.err


def make(there: Target, home: str) -> None:
    """A schema or database of the user's, with one row in its one table."""
    if there.engine == "valkey":
        control(there, f"HSET {home}.precious id 7")
        return
    if there.engine == "ndb":
        columns = [{"name": "id", "wire": "Unsigned", "key": True}]
        create = {"kind": "create_table", "table": f"{home}.precious", "columns": columns}
        control(there, {"text": "create", "directives": {"ndb": create}})
        return
    if there.engine == "questdb":
        control(there, f'CREATE TABLE "{home}.precious" AS (SELECT 7 AS id)')
        return
    kind = "SCHEMA" if there.engine in ("postgresql", "timescaledb") else "DATABASE"
    control(there, f'CREATE {kind} "{home}"')
    if there.engine == "influxdb":
        written(there, home, b"precious id=7i 1000000000")
        return
    storage = " ENGINE = TinyLog" if there.engine == "clickhouse" else ""
    control(there, f'CREATE TABLE "{home}".precious{storage} AS SELECT 7 AS id')


def kept(there: Target, home: str) -> bool:
    """Whether the row of `make` is there."""
    if there.engine == "valkey":
        return control(there, f"HGET {home}.precious id") == [["7"]]
    if there.engine == "ndb":
        tables = control(
            there, {"text": "tables", "directives": {"ndb": {"kind": "foreign", "databases": [home]}}}
        )
        return tables == [[home]]
    table = {"influxdb": f'"{home}"..precious', "questdb": f'"{home}.precious"'}.get(there.engine)
    try:
        rows = control(there, f"SELECT id FROM {table}" if table else f'SELECT id FROM "{home}".precious')
    except _core.CoreFailure:
        return False
    return [str(row[-1]) for row in rows] == ["7"]


def home_of(inrush: Inrush, words: Sequence[str]) -> str:
    """Schema or database of a run's tables."""
    plan = inrush("plan", *words, "--json").json["runs"][-1]
    return str(plan["tables"][0]["name"].split(".")[0].strip('"'))


@pytest.mark.parametrize("engine", each_kind(SERVERS))
def test_what_is_in_the_way_is_refused_and_dropped_by_force_alone(
    inrush: Inrush, engine: str, request: pytest.FixtureRequest
) -> None:
    there: Target = request.getfixturevalue(engine)
    words = small_study(there)
    home = home_of(inrush, words)
    assert home.startswith("inrush_")
    beside = f"{home}_too"
    for name in (home, beside):
        make(there, name)
    try:
        said = inrush("run", *words)
        assert said.code == 2 and home in said.err and "--force" in said.err, said.err
        assert beside not in said.err and inrush.store.studies() == [], "nothing was begun"
        assert kept(there, home) and kept(there, beside)
        forced = inrush("run", *words, "--force")
        assert forced.code in (0, 3) and f"dropped {home}, which" in forced.err, forced.err
        assert not kept(there, home) and kept(there, beside), "that one goes, and no other"
        again = inrush("run", *words, "--force")
        assert again.code in (0, 3) and "dropped" not in again.err, again.err
    finally:
        for name in (home, beside):
            if kept(there, name):
                for statement in server(engine).drop_foreign_object(name):
                    control(there, statement)


@pytest.mark.parametrize("engine", each_kind(SERVERS))
def test_what_inrush_left_is_nobody_elses_and_used_unasked(
    inrush: Inrush, engine: str, request: pytest.FixtureRequest
) -> None:
    there: Target = request.getfixturevalue(engine)
    words = small_study(there)
    home = home_of(inrush, words)
    for statement in server(engine).open_namespace(home):
        control(there, statement)
    said = inrush("run", *words)
    assert said.code in (0, 3) and "dropped" not in said.err, said.err
    assert server(engine).find_foreign_objects([home], lambda text: control(there, text)) == []


def test_what_cannot_be_dropped_is_one_clear_line(inrush: Inrush, postgresql: Target) -> None:
    """By a user who may see it and owns nothing of it."""
    control(postgresql, f"CREATE ROLE guest LOGIN PASSWORD '{password_of(postgresql)}'")
    control(postgresql, "GRANT CREATE ON DATABASE postgres TO guest")
    there = urlsplit(postgresql.url)
    url = there._replace(netloc=f"guest@127.0.0.1:{there.port}").geturl()
    words = ("quickstart", url, *QUICK)
    home = home_of(inrush, words)
    make(postgresql, home)
    try:
        said = inrush("run", *words, "--force")
        assert said.code == 1 and f"{home} is in the way and could not be dropped" in said.err, said.err
        assert kept(postgresql, home) and inrush.store.studies() == []
    finally:
        for statement in (f'DROP SCHEMA "{home}" CASCADE', "DROP OWNED BY guest", "DROP ROLE guest"):
            control(postgresql, statement)
