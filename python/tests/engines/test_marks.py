"""What is not inrush's own is left alone, with code 2, until the user says --force."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest

from inrush.engines.base import Target
from tests.terminal import Inrush

from .servers import control

QUICK = ("--scale", "xs", "-P", "batch_rows=1000", "-P", "repeats.count=1", "-P", "schedule.at_least_s=0")


def sqlite_file(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE customers (id INTEGER)")
        file.execute("INSERT INTO customers VALUES (7)")
    file.close()


def duckdb_file(path: Path) -> None:
    with duckdb.connect(str(path)) as file:
        file.execute("CREATE TABLE customers AS SELECT 7 AS id")


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


def test_a_new_file_and_one_that_inrush_left_are_used_unasked(inrush: Inrush, tmp_path: Path) -> None:
    for _ in range(2):
        said = inrush("run", "quickstart", f"sqlite://{tmp_path}/new.sqlite", *QUICK)
        assert said.code == 0, said.err


def test_a_schema_in_the_way_is_refused_and_dropped_by_force_alone(
    inrush: Inrush, postgresql: Target
) -> None:
    words = ("quickstart", postgresql.url, *QUICK)
    plan = inrush("plan", *words, "--json").json["runs"][-1]
    schema = plan["tables"][0]["name"].split(".")[0]
    control(postgresql, f"CREATE SCHEMA {schema}")
    control(postgresql, f"CREATE TABLE {schema}.precious (id int)")
    said = inrush("run", *words)
    assert said.code == 2 and schema.strip('"') in said.err and "--force" in said.err
    assert control(postgresql, f"SELECT count(*) FROM {schema}.precious") == [["0"]]
    assert inrush("run", *words, "--force").code in (0, 3)
    assert control(postgresql, f"SELECT to_regnamespace('{schema}')::text") == [[None]]
