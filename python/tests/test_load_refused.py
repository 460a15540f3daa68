"""A refusal that no waiting changes ends a load at once, with the server's words; and a place without a database is usage."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from inrush.engines import server
from inrush.errors import InrushError, TargetError, UsageError
from inrush.load.call import Call
from inrush.load.create import version_of
from inrush.load.preflight import table_problems
from inrush.load.run import load
from inrush.workload import Column, Table
from tests.test_fleet_full_disk import needs_root, resize, small_disk


def silent(*_: object) -> None: ...


def rows(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["id,v", *lines]) + "\n")
    return path


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_key_that_is_there_twice_ends_a_load_without_rejects_at_once_and_promises_nothing(
    engine: str, tmp_path: Path
) -> None:
    place = tmp_path / f"t.{engine}"
    connect: Any = duckdb.connect if engine == "duckdb" else sqlite3.connect
    connection = connect(str(place))
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)")
    connection.close()
    lines = [f"{i},{i}" for i in range(50)]
    lines[40] = "7,7"
    file = rows(tmp_path / "a.csv", *lines)
    began = time.monotonic()
    with pytest.raises(InrushError) as failed:
        load(
            Call((str(file),), "t", into=f"{engine}://{place}", chunk_rows=30, reject_limit=0),
            tmp_path / "loads",
            silent,
            silent,
        )
    assert time.monotonic() - began < 30, "it was not tried again for the 60 s of its patience"
    said = str(failed.value)
    assert "refused: " in said and "onstraint" in said, said
    assert f"of {file} (up to line 51) are not stored" in said
    assert "same command" not in said and "trying" not in said
    assert failed.value.exit_code == 1


@pytest.mark.parametrize("url", ["influxdb://127.0.0.1:1/", "valkey://127.0.0.1:1/", "adbc://x", "null://"])
def test_an_engine_whose_tables_it_cannot_prove_is_refused_before_it_is_reached(
    url: str, tmp_path: Path
) -> None:
    file = rows(tmp_path / "a.csv", "1,2")
    with pytest.raises(
        UsageError, match=rf"^{url.partition(':')[0]}: inrush load does not prove its tables$"
    ):
        load(Call((str(file),), "t", into=url, create=True), tmp_path / "loads", silent, silent)


@pytest.mark.parametrize(
    "url", ["mysql://root@127.0.0.1:1/", "mysql://root@127.0.0.1:1", "mariadb://root@127.0.0.1:1/"]
)
def test_a_server_whose_tables_lie_in_databases_is_named_with_one(url: str, tmp_path: Path) -> None:
    file = rows(tmp_path / "a.csv", "1,2")
    with pytest.raises(UsageError, match=r"name a database in the URL: m\w+://root@127.0.0.1:1/DATABASE"):
        load(Call((str(file),), "t", into=url, create=True), tmp_path / "loads", silent, silent)


@pytest.mark.parametrize("rows", [[], [["a", "1"], ["b", "2"]], [["1"]]])
def test_what_answers_a_question_of_ours_otherwise_is_named_and_no_traceback(rows: list[list[Any]]) -> None:
    """A program that speaks MySQL's protocol and answers the question for its version with OK."""
    target: Any = {"engine": "mysql", "url": "mysql://db.example/d"}
    shards: Any = SimpleNamespace(twin=server("mysql"), ask=lambda target, statement: rows)
    with pytest.raises(
        TargetError, match=r"^mysql://db.example/d: a statement that has one row of 2 was answered by"
    ):
        version_of(shards, target)


def test_a_key_that_is_no_column_is_named_and_spreads_nothing_over_a_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What places rows on ClickHouse's shards looks the key up among the columns."""

    def by_key(*_: object) -> None:
        raise KeyError("typo")

    monkeypatch.setattr("inrush.load.create.is_spread", lambda call, shards: True)
    monkeypatch.setattr("inrush.load.create.spreading", by_key)
    shards: Any = SimpleNamespace(twin=server("clickhouse"))
    call = Call(("a.csv",), "t", create=True, key=("typo",))
    table = Table("t", (Column("id", "i64"),))
    (problem,) = table_problems(call, shards, table, ["id"], False)
    assert "typo" in str(problem)


@needs_root
def test_a_disk_that_is_full_at_commit_is_waited_for_until_it_has_room(tmp_path: Path) -> None:
    """SQLite writes its pages at COMMIT: with a file of 1.7 MB on a disk of 1 MB, which grows once the load has waited."""
    file = rows(tmp_path / "a.csv", *(f"{i},{10**15 + i}" for i in range(100_000)))
    with small_disk(tmp_path / "small", "1m") as disk:
        place = disk / "t.sqlite"
        with sqlite3.connect(place) as connection:
            connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)")
        growing = threading.Timer(4.0, resize, (disk, "60m"))
        growing.start()
        try:
            load(Call((str(file),), "t", into=f"sqlite://{place}"), tmp_path / "loads", silent, silent)
        finally:
            growing.join()
        with sqlite3.connect(place) as connection:
            assert list(connection.execute("SELECT COUNT(*), MIN(id), MAX(id) FROM t")) == [
                (100_000, 0, 99_999)
            ]


@pytest.mark.parametrize("changed", ["column", "line"])
def test_a_ledger_of_another_version_is_refused_in_a_line_and_kept(changed: str, tmp_path: Path) -> None:
    place, file = tmp_path / "t.sqlite", rows(tmp_path / "a.csv", "1,2")
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)")
    load(Call((str(file),), "t", into=f"sqlite://{place}"), tmp_path / "loads", silent, silent)
    with sqlite3.connect(place) as connection:
        if changed == "column":
            connection.execute("ALTER TABLE inrush_load_ledger DROP COLUMN sums")
        else:
            connection.execute(
                "UPDATE inrush_load_ledger SET sums = '{}' WHERE file_no < 0 AND load_id <> 'ledger'"
            )
        before = list(connection.execute("SELECT * FROM inrush_load_ledger"))
    with pytest.raises(UsageError, match="another version of inrush wrote this ledger") as refused:
        load(Call((str(file),), "t", into=f"sqlite://{place}"), tmp_path / "loads", silent, silent)
    assert "rename the table" in str(refused.value) and refused.value.exit_code == 2
    with sqlite3.connect(place) as connection:
        assert list(connection.execute("SELECT * FROM inrush_load_ledger")) == before
        assert list(connection.execute("SELECT COUNT(*) FROM t")) == [(1,)]


def tables(place: Path) -> list[str]:
    with sqlite3.connect(place) as connection:
        names = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        ]
    connection.close()
    return names


def test_everything_that_is_wrong_with_the_command_is_told_at_once(tmp_path: Path) -> None:
    call = Call(
        (str(tmp_path / "absent.csv"),), "t", into=f"sqlite://{tmp_path}/t.sqlite", series="x.txt", header="perhaps", dates="ymd"
    )  # fmt: skip
    with pytest.raises(UsageError) as refused:
        load(call, tmp_path / "loads", silent, silent)
    said = str(refused.value).splitlines()
    for part in ("--series x.txt", "--header perhaps", "--dates ymd", "there is no such file"):
        assert sum(part in line for line in said) == 1, said


def test_a_key_that_the_table_lacks_leaves_no_ledger_beside_it(tmp_path: Path) -> None:
    place, file = tmp_path / "t.sqlite", rows(tmp_path / "a.csv", "1,2")
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)")
    connection.close()
    with pytest.raises(UsageError, match="--key w: table t has id, v"):
        load(
            Call((str(file),), "t", into=f"sqlite://{place}", key=("w",)), tmp_path / "loads", silent, silent
        )
    assert tables(place) == ["t"]


def test_a_key_that_the_files_lack_makes_no_table(tmp_path: Path) -> None:
    place, file = tmp_path / "t.sqlite", rows(tmp_path / "a.csv", "1,2")
    call = Call((str(file),), "t", into=f"sqlite://{place}", key=("w",), create=True)
    with pytest.raises(UsageError, match="--key w: the files have id, v"):
        load(call, tmp_path / "loads", silent, silent)
    assert tables(place) == []
