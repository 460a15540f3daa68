"""Tables that `inrush load --create` makes on real servers: types with room, and every value as the files have it."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.border import plan as border
from inrush.engines.base.instance import Target
from inrush.load.call import Call
from inrush.load.check import Loaded
from inrush.load.run import load
from inrush.load.shards import LOOK_S, Shards
from tests.engines.test_load import rows_file, silent
from tests.engines.test_load_proof import Place, database

ROWS = 3_000


@pytest.fixture(params=["mysql", "mariadb"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from database(request.getfixturevalue(request.param))


@pytest.fixture
def columnar(clickhouse: Target) -> Iterator[Place]:
    yield from database(clickhouse)


def written(path: Path, header: str, *rows: list[str]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header.split(","), *rows])
    return path


def reasons(done: Loaded) -> list[tuple[int, str, str]]:
    """Line, column and reason of every rejected row."""
    assert done.rejects is not None
    with done.rejects.open(newline="", encoding="utf-8") as file:
        return [(int(row["line"]), row["column"], row["reason"]) for row in csv.DictReader(file)]


# --- MySQL and MariaDB


def test_texts_have_a_length_with_room_and_a_longer_one_is_rejected_and_never_cut(
    place: Place, tmp_path: Path
) -> None:
    header, words = "id,word,note,big,none", ["日本語", "x" * 30, ""]
    rows = [[str(i), words[i % 3], "n" * (3_000 if i == 7 else 5), "b" * (9_000 if i == 3 else 1), ""]
            for i in range(9)]  # fmt: skip
    done = place.load([written(tmp_path / "a.csv", header, *rows)], tmp_path, create=True, verify=True)
    assert (done.verdict, done.verified, done.rows_stored) == ("proven", True, 9), done.why
    kinds = place.ask(
        "SELECT column_name, column_type FROM information_schema.columns "
        f"WHERE table_schema = '{place.name}' AND table_name = 't' ORDER BY ordinal_position"
    )
    assert [str(kind) for _, kind in kinds][1:] == ["varchar(64)", "text", "mediumtext", "text"]
    more = [
        ["100", "日" * 64, "n" * 65_535, "b" * 70_000, ""],
        ["101", "x" * 65, "", "", ""],
        ["102", "", "n" * 65_536, "", ""],
    ]
    done = place.load([written(tmp_path / "b.csv", header, *more)], tmp_path, verify=False)
    assert (done.verdict, done.rows_stored, done.rejected) == ("proven", 1, 2), done.why
    assert reasons(done) == [
        (3, "word", "text longer than 64 characters"),
        (4, "note", "text longer than 65535 characters"),
    ]
    stored = place.ask("SELECT CHAR_LENGTH(word), CHAR_LENGTH(note), CHAR_LENGTH(big) FROM t WHERE id >= 100")
    assert [[int(n) for n in row] for row in stored] == [[64, 65_535, 70_000]]


def test_a_table_of_many_texts_is_made(place: Place, tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(150)]
    rows = [[f"{name} {i}" for name in names] for i in range(20)]
    done = place.load([written(tmp_path / "a.csv", ",".join(names), *rows)], tmp_path, create=True)
    assert (done.verdict, done.rows_stored) == ("proven", 20)


def test_texts_that_are_too_long_together_are_stored_all_the_same(place: Place, tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(12)]
    rows = [[f"{i} {name} " + "y" * 1_900 for name in names] for i in range(20)]
    done = place.load(
        [written(tmp_path / "a.csv", ",".join(names), *rows)], tmp_path, create=True, verify=True
    )
    assert (done.verdict, done.verified, done.rows_stored) == ("proven", True, 20), done.why


# --- ClickHouse


def columns_of(place: Place) -> dict[str, str]:
    asked = f"SELECT name, type FROM system.columns WHERE database = '{place.name}' AND table = 't'"
    return {str(name): str(kind) for name, kind in place.ask(asked)}


def order_of(place: Place) -> str:
    asked = f"SELECT engine_full FROM system.tables WHERE database = '{place.name}' AND name = 't'"
    found = re.search(r"ORDER BY \(?(.*?)\)?(?: SETTINGS|$)", str(place.ask(asked)[0][0]))
    assert found is not None
    return found[1]


def test_columns_without_a_null_take_none_and_rows_are_ordered_by_time_or_key(
    columnar: Place, tmp_path: Path
) -> None:
    file = rows_file(tmp_path / "a.csv", 0, ROWS)
    done = columnar.load([file], tmp_path, create=True, verify=True)
    assert (done.verdict, done.verified, done.rows_stored) == ("proven", True, ROWS), done.why
    kinds = columns_of(columnar)
    time = kinds.pop("at")
    assert kinds == {"id": "Int32", "dev": "Int32", "v": "Float64", "name": "String"}
    assert time in ("Int64", "DateTime64(3, 'UTC')") and order_of(columnar) == "at"
    # A later file brings NULL: its row is rejected, the others are stored.
    other = written(tmp_path / "b.csv", "id,at,dev,v,name", ["1", "2026-01-01", "", "2", "x"],
                    ["2", "2026-01-02", "5", "2.5", "y"])  # fmt: skip
    done = columnar.load([other], tmp_path)
    # So small a part of the table is only counted.
    assert (done.verdict, done.rows_stored, done.rejected) == ("counted", 1, 1), done.why
    assert reasons(done) == [(2, "dev", "null in a required column")]
    columnar.ask("DROP TABLE t")
    wanted = {"create": True, "again": True, "key": ("name", "id")}
    assert columnar.load([file], tmp_path, **wanted).verdict == "proven"
    assert order_of(columnar) == "name, id"


def test_where_not_every_row_was_looked_at_columns_may_be_null_and_one_line_says_so(
    columnar: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inrush.load.run.SAMPLE_ROWS", 100)
    file = rows_file(tmp_path / "a.csv", 0, ROWS)
    with file.open("a") as more:
        more.write(f"{ROWS},,,,\n")
    notes: list[str] = []
    call = Call((str(file),), "t", columnar.url, create=True, key=("id",))
    done = load(call, tmp_path / "loads", notes.append, silent)
    assert (done.verdict, done.rows_stored, done.rejected) == ("proven", ROWS + 1, 0), done.why
    assert (
        "all columns but those of the key (id) may be NULL: not every row of the files was looked at" in notes
    )
    kinds = columns_of(columnar)
    assert (kinds["id"], kinds["name"], order_of(columnar)) == ("Int64", "Nullable(String)", "id")
    asked = "SELECT countIf(isNull(at)), countIf(isNull(dev)), countIf(isNull(name)) FROM t"
    assert [int(n) for n in columnar.ask(asked)[0]] == [1, 1, 1]


TIMES = [
    "1901-01-01 00:00:00",
    "1969-12-31 23:59:59.999",
    "2026-02-28 12:00:00.001",
    "2298-12-31 23:59:59.500",
]


def check_times_of_today(place: Place, folder: Path) -> None:
    """On a server that has `DateTime64`: see test_clickhouse_current.py."""
    file = written(
        folder / "a.csv", "id,at,us", *([str(i), t, f"{t[:19]}.000{i:03}"] for i, t in enumerate(TIMES))
    )
    done = place.load([file], folder, create=True, verify=True)
    assert (done.verdict, done.verified, done.rows_stored) == ("proven", True, len(TIMES)), done.why
    kinds = columns_of(place)
    assert (kinds["at"], kinds["us"]) == ("DateTime64(3, 'UTC')", "DateTime64(6, 'UTC')")
    stored = [str(at) for (at,) in place.ask("SELECT toString(at) FROM t ORDER BY id")]
    assert stored == [t if "." in t else f"{t}.000" for t in TIMES]
    # Later files: out of the type's years, finer than it, and one that is good, as a number of its unit.
    other = written(folder / "b.csv", "id,at,us", ["9", "2300-01-01", "2026-01-01"], ["9", "2026-01-01", "1899-12-31"],
                    ["9", "2026-01-01 00:00:00.0001", "2026-01-01"], ["9", "2026-01-01", "2026-01-01 00:00:00.000001"])  # fmt: skip
    done = place.load([other], folder)
    assert (done.verdict, done.rows_stored, done.rejected) == ("proven", 1, 3), done.why
    assert reasons(done) == [
        (2, "at", "out of range of time_ms"),
        (3, "us", "out of range of time_us"),
        (4, "at", "time finer than the column"),
    ]
    # One value that is another one by a millisecond is found, and its column named.
    place.ask("CREATE TABLE s AS t")
    place.ask("INSERT INTO s SELECT * FROM t")
    place.ask("TRUNCATE TABLE t")
    place.ask("INSERT INTO t SELECT id, if(id = 2, addMilliseconds(at, 1), at), us FROM s")
    done = place.load([file], folder)
    assert done.verdict == "different" and "the files' in `at`" in done.why, done.why


def check_far_times_stay_numbers(place: Place, folder: Path) -> None:
    file = written(folder / "a.csv", "id,at", ["1", "1850-01-01 00:00:01"], ["2", "2026-01-01"])
    done = place.load([file], folder, create=True, verify=True)
    assert (done.verdict, done.verified, done.rows_stored) == ("proven", True, 2), done.why
    assert columns_of(place)["at"] == "Int64"


# --- two loads that make one table


@pytest.fixture(params=["postgresql", "mysql", "mariadb", "clickhouse"])
def contested(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from database(request.getfixturevalue(request.param))


def before_first(monkeypatch: pytest.MonkeyPatch, start: str, act: Callable[[], object]) -> list[str]:
    """Acts before the first statement that begins so, which is given."""
    ask, acted = Shards.ask, list[str]()

    def asked(
        self: Shards, target: border.Target, statement: str, limit_s: float = LOOK_S
    ) -> list[list[Any]]:
        if statement.startswith(start) and not acted:
            acted.append(statement)
            act()
        return ask(self, target, statement, limit_s)

    monkeypatch.setattr(Shards, "ask", asked)
    return acted


def test_of_two_loads_that_make_a_table_the_second_takes_it_as_it_is_then(
    contested: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acted = before_first(monkeypatch, 'CREATE TABLE "t"', contested.make)
    done = contested.load([rows_file(tmp_path / "a.csv", 0, 1_000)], tmp_path, create=True)
    assert acted and (done.verdict, done.rows_stored) == ("proven", 1_000), done.why
    assert contested.rows() == 1_000


def test_a_load_whose_table_another_load_makes_and_fills_meanwhile_does_not_take_its_rows_for_lost(
    contested: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [rows_file(tmp_path / "a.csv", 0, 1_000)]
    before_first(
        monkeypatch,
        "CREATE TABLE IF NOT EXISTS",
        lambda: contested.load(files, tmp_path / "other", create=True),
    )
    done = contested.load(files, tmp_path / "own", create=True)
    assert (done.verdict, done.rows_stored, done.rows_before) == ("proven", 0, 1_000), done.why
    assert contested.rows() == 1_000
