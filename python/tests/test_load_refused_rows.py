"""A row that the database refuses is one rejected row, with its reason and its line; all others are stored and proven."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from inrush.errors import InrushError
from inrush.load.call import Call
from inrush.load.run import Loaded, load

ENGINES = ("duckdb", "sqlite")
CREATE = "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER CHECK (v >= 0), name VARCHAR)"


def done_by(engine: str, folder: Path, *statements: str) -> list[Any]:
    """The answer to the last of them."""
    path = f"{folder}/t.{engine}"
    if engine == "duckdb":
        with duckdb.connect(path) as connection:
            return [connection.execute(statement).fetchall() for statement in statements][-1]
    with closing(sqlite3.connect(path)) as connection, connection:
        return [connection.execute(statement).fetchall() for statement in statements][-1]


def loaded(engine: str, folder: Path, *files: Path, **words: Any) -> Loaded:
    call = Call(tuple(map(str, files)), "t", into=f"{engine}://{folder}/t.{engine}", **words)
    return load(call, folder / "loads", lambda line: None, lambda event: None)


def rejects_of(done: Loaded) -> list[tuple[str, str, str]]:
    """(line, reason, text) of each."""
    assert done.rejects is not None
    with done.rejects.open(newline="") as lines:
        return [(row["line"], row["reason"], row["text"]) for row in csv.DictReader(lines)]


def written(folder: Path, rows: list[str], name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text("id,v,name\n" + "".join(row + "\n" for row in rows))
    return path


@pytest.mark.parametrize("engine", ENGINES)
def test_one_refused_row_of_fifty_thousand_is_one_rejected_row(engine: str, tmp_path: Path) -> None:
    done_by(engine, tmp_path, CREATE)
    rows = [f"{n},{n % 7},x{n}" for n in range(50_000)]
    rows[31_234] = "17,5,twice\u2028é"
    done = loaded(engine, tmp_path, written(tmp_path, rows), chunk_rows=7_000, verify=True)
    assert (done.verdict, done.rows_stored, done.rejected, done.rows_in_ledger) == (
        "proven",
        49_999,
        1,
        49_999,
    )
    [(line, reason, text)] = rejects_of(done)
    assert (line, text) == ("31236", "17,5,twice\u2028é")
    assert "uplicate" in reason or "UNIQUE" in reason
    assert "1 of them" in done.reason or "all of them" in done.reason
    [(count, value)] = done_by(engine, tmp_path, "SELECT count(*), max(v) FROM t WHERE id = 17")
    assert (count, value) == (1, 3), "the one that was first"
    again = loaded(engine, tmp_path, tmp_path / "a.csv", chunk_rows=7_000)
    assert (again.verdict, again.rows_stored, again.rows_before, again.rejected) == ("proven", 0, 49_999, 1)
    assert rejects_of(again) == rejects_of(done)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_refused_beside_rows_that_the_reader_rejects_and_each_once(
    engine: str, tmp_path: Path
) -> None:
    done_by(engine, tmp_path, CREATE, "INSERT INTO t VALUES (3, 0, 'there')")
    rows = [
        "1,5,a", "x,5,no number", "2,-1,below", "3,5,there already", "4,5,\"two\nlines\"", "4,6,twice", "1,7,twice",
        "too,few", "5,5,b", "6,-2,\"two\nlines\"",
    ]  # fmt: skip
    two = written(tmp_path, ["7,1,c", "3,1,of the other file"], "b.csv")
    done = loaded(engine, tmp_path, written(tmp_path, rows), two, chunk_rows=3, parallel=1)
    assert (done.rows_stored, done.rejected) == (4, 8)
    assert done.verdict == "counted", "a row was there before"
    ids = done_by(engine, tmp_path, "SELECT id, name FROM t ORDER BY id")
    assert ids == [(1, "a"), (3, "there"), (4, "two\nlines"), (5, "b"), (7, "c")]
    found = [(line, text) for line, _, text in rejects_of(done)]
    assert sorted(found) == sorted([
        ("3", "x,5,no number"), ("4", "2,-1,below"), ("5", "3,5,there already"), ("8", "4,6,twice"), ("9", "1,7,twice"),
        ("10", "too,few"), ("12", "6,-2,\"two\nlines\""), ("3", "3,1,of the other file"),
    ])  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_more_refused_rows_than_the_limit_end_the_load(engine: str, tmp_path: Path) -> None:
    done_by(engine, tmp_path, CREATE)
    file = written(tmp_path, [f"{n % 40},1,x" for n in range(60)])
    with pytest.raises(InrushError, match=r"refused more than 5 rows.*--reject-limit"):
        loaded(engine, tmp_path, file, reject_limit=5, patience_s=1)
    with pytest.raises(InrushError, match="refused: "):
        loaded(engine, tmp_path, file, reject_limit=0, patience_s=1)
    assert done_by(engine, tmp_path, "SELECT count(*) FROM t") == [(0,)]
    done = loaded(engine, tmp_path, file, reject_limit=20)
    assert (done.verdict, done.rows_stored, done.rejected) == ("proven", 40, 20)
    with pytest.raises(InrushError, match="more than 15 rows rejected"):
        loaded(engine, tmp_path, written(tmp_path, [f"{n % 100 + 100},1,x" for n in range(120)], "c.csv"),
               reject_limit=15, chunk_rows=11)  # fmt: skip


def test_what_no_row_is_to_blame_for_ends_the_load_and_stores_nothing_of_the_chunk(tmp_path: Path) -> None:
    done_by(
        "sqlite",
        tmp_path,
        CREATE,
        "CREATE TRIGGER no BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, 'closed'); END",
    )
    file = written(tmp_path, [f"{n},1,x" for n in range(10)])
    with pytest.raises(InrushError, match=r"refused: closed.*rows 1 to 10"):
        loaded("sqlite", tmp_path, file, patience_s=1)
    assert done_by("sqlite", tmp_path, "SELECT count(*) FROM t") == [(0,)]
    assert not [*(tmp_path / "loads").rglob("*.refused")]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_chunk_of_which_every_row_is_refused_is_empty_and_the_load_goes_on(
    engine: str, tmp_path: Path
) -> None:
    done_by(engine, tmp_path, CREATE)
    rows = (
        [f"{n},1,x" for n in range(10)]
        + [f"{n},2,y" for n in range(10)]
        + [f"{n},1,x" for n in range(10, 20)]
    )
    done = loaded(engine, tmp_path, written(tmp_path, rows), chunk_rows=10, verify=True)
    assert (done.verdict, done.rows_stored, done.rejected) == ("proven", 20, 10)
    assert [int(line) for line, *_ in rejects_of(done)] == [*range(12, 22)]


def test_a_chunk_that_lacks_rows_of_which_no_note_is_left_is_not_called_stored(tmp_path: Path) -> None:
    """Which rows it lacks nobody knows: sent whole, all of them would be counted."""
    done_by("sqlite", tmp_path, CREATE)
    rows = [f"{n},{-1 if n == 25 else 1},x" for n in range(30)]
    file = written(tmp_path, rows)
    first = loaded("sqlite", tmp_path, file, chunk_rows=10)
    assert (first.rows_stored, first.rejected) == (29, 1)
    # As after a kill between two writers: chunk 2 is there, chunk 1 is not.
    done_by("sqlite", tmp_path, "DELETE FROM inrush_load_ledger WHERE file_no = 0 AND chunk_no IN (1, 3)",
            "DELETE FROM t WHERE id BETWEEN 10 AND 19")  # fmt: skip
    [note] = (tmp_path / "loads").rglob("*.refused")
    kept = note.read_bytes()
    note.unlink()
    with pytest.raises(InrushError, match=r"is stored without 1 of its rows.*not known here"):
        loaded("sqlite", tmp_path, file, chunk_rows=10, patience_s=1)
    note.write_bytes(kept)
    again = loaded("sqlite", tmp_path, file, chunk_rows=10, verify=True)
    assert (again.verdict, again.rejected, done_by("sqlite", tmp_path, "SELECT count(*) FROM t")) == (
        "proven",
        1,
        [(29,)],
    )


def test_a_value_that_duckdb_does_not_take_is_named_by_its_column(tmp_path: Path) -> None:
    """It said "type mismatch in AppendDataChunk, expected INTERVAL, got VARCHAR for column 1"."""
    done_by("duckdb", tmp_path, "CREATE TABLE t (name VARCHAR, id INTEGER, v INTERVAL)")
    file = written(tmp_path, ["1,1 day,x", '2,"""a, b",type mismatch in AppendDataChunk'])
    with pytest.raises(InrushError, match="column v: no value of type INTERVAL; rows 1 to 2") as refused:
        loaded("duckdb", tmp_path, file, reject_limit=0)
    assert "AppendDataChunk" not in str(refused.value)
    done = loaded("duckdb", tmp_path, file)
    assert (done.verdict, done.rejected) == ("proven", 1) and done.rejects is not None
    assert "column v: no value of type INTERVAL" in done.reason
    with done.rejects.open(newline="") as lines:
        [row] = csv.DictReader(lines)
    assert (row["line"], row["column"], row["reason"]) == ("3", "v", "no value of type INTERVAL")
    assert row["text"] == '2,"""a, b",type mismatch in AppendDataChunk'


def test_columns_that_the_files_do_not_have_get_their_default_in_duckdb(tmp_path: Path) -> None:
    """It said "incorrect column count in AppendDataChunk"."""
    done_by("duckdb", tmp_path, "CREATE TABLE t (more INTEGER DEFAULT 7, name VARCHAR, id INTEGER, v DOUBLE)")
    assert loaded("duckdb", tmp_path, written(tmp_path, ["1,0.5,x"])).verdict == "proven"
    assert done_by("duckdb", tmp_path, "SELECT * FROM t") == [(7, "x", 1, 0.5)]
    done_by("duckdb", tmp_path, "ALTER TABLE t ALTER v TYPE DECIMAL(10, 2)")
    with pytest.raises(InrushError, match=r"together unless the files have all of its columns: .*DECIMAL"):
        loaded("duckdb", tmp_path, written(tmp_path, ["2,0.5,x"]))
