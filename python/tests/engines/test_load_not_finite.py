"""`nan` and `inf` among numbers: floats where the database has them; elsewhere text or rejected, and never NULL."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.load.call import Call
from inrush.load.check import Loaded
from inrush.load.run import load
from tests.engines.test_load_proof import Place, database

WORDS = ["1.5", "NaN", "-inf", "Infinity", "2"]
LINE = "column v: 3 of 5 values would not come back unchanged from a number (first: line 3, 'NaN'); stored as text"
#: Engine -> a floating column as text.
SHOWN = {"postgresql": "v::text", "clickhouse": "toString(v)", "mysql": "v", "mariadb": "v"}


@pytest.fixture(params=list(SHOWN))
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from database(request.getfixturevalue(request.param))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text("id,v\n" + "".join(f"{i},{word}\n" for i, word in enumerate(WORDS)))
    return path


def loaded(file: Path, place: Place, **words: bool) -> tuple[Loaded, list[str]]:
    notes: list[str] = []
    call = Call((str(file),), "t", into=place.url, verify=True, **words)  # type: ignore[arg-type]
    return load(call, file.parent / "loads", notes.append, lambda event: None), notes


def test_a_new_column_of_numbers_takes_them_where_the_database_has_them(place: Place, file: Path) -> None:
    done, notes = loaded(file, place, create=True)
    assert (done.verdict, done.verified, done.rejected) == ("proven", True, 0), done.why
    kept = [str(v) for (v,) in place.ask(f"SELECT {SHOWN[place.engine]} AS s FROM t ORDER BY id")]
    if place.engine in ("mysql", "mariadb"):
        assert LINE in notes and kept == WORDS
    else:
        assert not [note for note in notes if note.startswith("column v")]
        assert [float(v) for v in kept if v.lower() != "nan"] == [1.5, float("-inf"), float("inf"), 2.0]
        assert kept[1].lower() == "nan"


def test_a_column_of_floats_that_is_there_takes_them_or_rejects_their_rows(place: Place, file: Path) -> None:
    kind, tail = ("Float64", " ENGINE = Log") if place.engine == "clickhouse" else ("double precision", "")
    place.ask(f"CREATE TABLE t (id int, v {kind}){tail}")
    done, _ = loaded(file, place)
    has_none = place.engine in ("mysql", "mariadb")
    assert (done.verdict, done.rows_stored) == ("proven", 2 if has_none else 5), done.why
    if has_none:
        assert done.rejects is not None
        with done.rejects.open(newline="") as rejected:
            reasons = [(row["line"], row["column"], row["reason"]) for row in csv.DictReader(rejected)]
        assert reasons == [
            ("3", "v", "the column cannot hold NaN"),
            ("4", "v", "the column cannot hold infinity"),
            ("5", "v", "the column cannot hold infinity"),
        ]
        assert [float(v) for (v,) in place.ask("SELECT v FROM t ORDER BY id")] == [1.5, 2.0]
