"""Numbers with marks of their own go into every type of numbers that a server has, and into no other one unseen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.engines.base.instance import Target
from inrush.errors import UsageError
from tests.engines.test_load_proof import Place, database

MARKS = {"decimal": ",", "thousands": "."}


@pytest.fixture(params=["mysql", "mariadb"])
def my(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from database(request.getfixturevalue(request.param))


@pytest.fixture
def here(postgresql: Target) -> Iterator[Place]:
    yield from database(postgresql)


def written(folder: Path) -> Path:
    path = folder / "a.csv"
    path.write_text("id;a;b;c;d\n1;1.234;1.234,50;0,25;-1.234,5\n2;7;-0,5;1.000.000;1\n3;1.5;1;1;1\n")
    return path


def test_mysql_s_numbers_with_and_without_a_sign(my: Place, tmp_path: Path) -> None:
    my.ask("CREATE TABLE t (id int, a decimal(10,2) unsigned, b decimal(10,2), c double unsigned, d float)")
    done = my.load([written(tmp_path)], tmp_path, written=MARKS)
    assert (done.rows_stored, done.rejected) == (2, 1)
    found = [[float(value) for value in row] for row in my.ask("SELECT id, a, b, c, d FROM t ORDER BY id")]
    assert found == [[1, 1234, 1234.5, 0.25, -1234.5], [2, 7, -0.5, 1_000_000, 1]]


def test_postgresql_s_numbers_and_money(here: Place, tmp_path: Path) -> None:
    here.ask("CREATE TABLE t (id int, a numeric, b money, c float8, d numeric(10,1))")
    done = here.load([written(tmp_path)], tmp_path, written=MARKS)
    assert (done.rows_stored, done.rejected) == (2, 1)
    found = here.ask("SELECT id, a::float8, b::numeric::float8, c, d::float8 FROM t ORDER BY id")
    assert [[float(value) for value in row] for row in found] == [
        [1, 1234, 1234.5, 0.25, -1234.5],
        [2, 7, -0.5, 1_000_000, 1],
    ]


def test_a_type_that_may_be_a_number_or_not_is_refused_by_name(here: Place, tmp_path: Path) -> None:
    here.ask("CREATE TYPE pair AS (x int)")
    here.ask("CREATE TABLE t (id int, a pair)")
    file = tmp_path / "a.csv"
    file.write_text("id;a\n1;1,5\n")
    with pytest.raises(UsageError, match=r"a \(.*look like numbers"):
        here.load([file], tmp_path, written=MARKS)
