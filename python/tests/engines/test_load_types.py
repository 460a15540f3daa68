"""Dates and misfits of a file into tables of real servers: stored as they are said to be, or rejected."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.engines.base.instance import Target
from inrush.load.call import Call
from inrush.load.run import Loaded, load
from inrush.study.chosen import DatesUndecided
from tests.engines.servers import control, with_database

DATABASE = "inrush_load_types"


@pytest.fixture(params=["postgresql", "mysql", "clickhouse"])
def server(request: pytest.FixtureRequest) -> Target:
    target: Target = request.getfixturevalue(request.param)
    if target.engine != "mysql":
        return target
    control(target, f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    return Target("mysql", with_database(target.url, DATABASE))


@pytest.fixture
def table(server: Target) -> Iterator[str]:
    name = f"types_{random.randrange(1 << 40):x}"
    yield name
    control(server, f"DROP TABLE IF EXISTS {name}")


def loaded(file: Path, table: str, into: Target, **words: Any) -> tuple[Loaded, list[str]]:
    notes: list[str] = []
    call = Call((str(file),), table, into=into.url, **words)
    return load(call, file.parent / "loads", notes.append, lambda event: None), notes


def rows(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["id,day,v", *lines]) + "\n")
    return path


#: Engine -> the type of a column of times, and its day as text; ClickHouse of 2018 keeps milliseconds as whole numbers.
TIMES = {
    "postgresql": ("timestamptz", "to_char(day, 'YYYY-MM-DD')"),
    "mysql": ("datetime(3)", "DATE_FORMAT(day, '%Y-%m-%d')"),
    "clickhouse": ("Int64", "toString(toDate(intDiv(day, 1000)))"),
}


def days(server: Target, table: str) -> list[str]:
    return [
        str(row[0])
        for row in control(server, f"SELECT {TIMES[server.engine][1]} AS d FROM {table} ORDER BY id")
    ]


def test_a_new_table_gets_dates_in_the_order_that_is_said_and_strict_keeps_its_types(
    server: Target, table: str, tmp_path: Path
) -> None:
    good = [f"{i},{i % 12 + 1:02}/01/2026,{i}.5" for i in range(2, 300)]
    file = rows(tmp_path / "a.csv", "0,03/01/2026,1.5", "1,04/01/2026,n/a", *good)
    with pytest.raises(DatesUndecided):
        loaded(file, table, server, create=True)
    done, notes = loaded(file, table, server, create=True, strict=True, dates="dmy")
    assert (done.rows_stored, done.rejected) == (299, 1)
    assert notes[-1] == "line 1 is the header"
    assert notes[-2].startswith(
        "column v: 1 of 300 values is no number (first: line 3, 'n/a'); stored as f64"
    )
    assert days(server, table)[:2] == ["2026-01-03", "2026-01-03"]
    assert done.rejects is not None and ",3,v,not a number," in done.rejects.read_text()


def test_a_table_that_is_there_gets_them_too_and_no_number_as_a_time(
    server: Target, table: str, tmp_path: Path
) -> None:
    number, engine = (
        ("Float64", " ENGINE = Log") if server.engine == "clickhouse" else ("double precision", "")
    )
    control(server, f"CREATE TABLE {table} (id int, day {TIMES[server.engine][0]}, v {number}){engine}")
    # A column of whole numbers takes any of them: only of one of times is it known that this is none.
    more = [] if server.engine == "clickhouse" else ["2,20260103,3"]
    file = rows(tmp_path / "a.csv", "0,25/12/2026,1", "1,03/01/2026,2", *more)
    done, _ = loaded(file, table, server)
    assert (done.rows_stored, done.rejected) == (2, len(more))
    assert days(server, table) == ["2026-12-25", "2026-01-03"]


def test_a_column_of_type_date_takes_either_order(postgresql: Target, tmp_path: Path) -> None:
    name = f"types_{random.randrange(1 << 40):x}"
    control(postgresql, f"CREATE TABLE {name} (id int, day date, v float8)")
    try:
        done, _ = loaded(rows(tmp_path / "a.csv", "0,3/1/2026,1", "1,12/25/2026,1"), name, postgresql)
        assert (done.rows_stored, done.rejected) == (2, 0)
        assert days(postgresql, name) == ["2026-03-01", "2026-12-25"]
    finally:
        control(postgresql, f"DROP TABLE {name}")


#: Engine and type -> numbers of µs since 1970 that the column takes, and such that it does not.
NUMBERS = {
    ("postgresql", "timestamptz"): (
        [-210_866_803_200_000_000, -1, 0, 1_767_225_600_000_001, 2**63 - 2],
        [-210_866_803_200_000_001, -(2**63), 2**63, -(10**30)],
    ),
    ("mysql", "datetime(6)"): (
        [-30_610_224_000_000_000, 0, 1_767_225_600_000_001, 253_402_300_799_499_999],
        [-30_610_224_000_000_001, 253_402_300_800_000_000, 2**63],
    ),
    ("mysql", "timestamp(6) NULL"): (
        [1_000_000, 1_767_225_600_000_001, 2_147_483_647_499_999],
        [0, -1, 2_147_483_648_000_000, 10**20],
    ),
}


@pytest.mark.parametrize(("engine", "kind"), list(NUMBERS))
def test_times_written_as_numbers_that_the_column_does_not_take_are_rejected_as_out_of_range(
    engine: str, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    good, bad = NUMBERS[engine, kind]
    target: Target = request.getfixturevalue(engine)
    name = f"types_{random.randrange(1 << 40):x}"
    if engine == "mysql":
        control(target, f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
        target = Target("mysql", with_database(target.url, DATABASE))
    control(target, f"CREATE TABLE {name} (id int, day {kind}, v double precision)")
    try:
        values = [*good, *bad, *good]
        file = rows(tmp_path / "a.csv", *(f"{k},{value},1.5" for k, value in enumerate(values)))
        done, _ = loaded(file, name, target, verify=True)
        assert (done.verdict, done.verified) == ("proven", True), done.why
        assert (done.rows_stored, done.rejected) == (2 * len(good), len(bad))
        assert done.rejects is not None
        with done.rejects.open(newline="") as found:
            reasons = [(int(row["line"]), row["column"], row["reason"]) for row in csv.DictReader(found)]
        # A header, then the good ones.
        assert reasons == [(2 + len(good) + k, "day", "out of range of time_us") for k in range(len(bad))]
    finally:
        control(target, f"DROP TABLE {name}")
