"""A value that would come back as another one is text, and each such column is said; every sampled row decides."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from inrush.load.call import Call
from inrush.load.run import Loaded, load
from inrush.study.chosen import Asked, choose_columns
from inrush.study.column_lines import lines
from inrush.study.sniff import sniff


def written(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def loaded(file: Path, folder: Path, **words: Any) -> tuple[Loaded, list[str]]:
    notes: list[str] = []
    words = {"create": True, **words}
    call = Call((str(file),), "t", into=f"duckdb://{folder}/t.duckdb", **words)
    return load(call, folder / "loads", notes.append, lambda event: None), notes


def asked(folder: Path, question: str) -> list[Any]:
    with duckdb.connect(f"{folder}/t.duckdb") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return connection.sql(question).fetchall()


def slow(*case: object) -> Any:
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.parametrize("strict", [False, slow(True)])
@pytest.mark.parametrize(
    ("values", "first", "noun"),
    [
        (["12345678901234567.89", "1.5", "2.5"], "line 2, '12345678901234567.89'", "number"),
        slow(["1.5", "0.12345678901234567890123"], "line 3, '0.12345678901234567890123'", "number"),
        (["+4930123456", "+4930123457"], "line 2, '+4930123456'", "whole number"),
        slow(["Y", "N", "Y"], "line 2, 'Y'", "truth value"),
        (["true", "off", "true"], "line 3, 'off'", "truth value"),
        slow(["inf", "nan"], "line 2, 'inf'", "number"),
    ],
)
def test_a_value_that_would_come_back_as_another_one_is_stored_as_it_is_written(
    values: list[str], first: str, noun: str, strict: bool, tmp_path: Path
) -> None:
    file = written(tmp_path / "a.csv", "id,v", [f"{i},{v}" for i, v in enumerate(values)])
    done, notes = loaded(file, tmp_path, strict=strict)
    assert [v for (v,) in asked(tmp_path, "SELECT v FROM t ORDER BY id")] == values
    (line,) = [note for note in notes if note.startswith("column v: ")]
    assert f"would not come back unchanged from a {noun} (first: {first}); stored as text" in line
    assert (done.verdict, done.rows_stored) == ("proven", len(values))


WORDS = ["1.5", "NaN", "-inf", "Infinity", "nan", "2"]


def test_nan_and_inf_among_numbers_are_numbers_where_the_database_has_them(tmp_path: Path) -> None:
    file = written(
        tmp_path / "a.csv", "id,v,n", [f"{i},{v},{v if v != '1.5' else 7}" for i, v in enumerate(WORDS)]
    )
    done, notes = loaded(file, tmp_path, verify=True)
    assert not [note for note in notes if note.startswith("column v: ")]
    assert (done.verdict, done.verified, done.rejected) == ("proven", True, 0), done.why
    assert asked(tmp_path, "SELECT CAST(v AS VARCHAR), typeof(v) FROM t ORDER BY id") == [
        (text, "DOUBLE") for text in ("1.5", "nan", "-inf", "inf", "nan", "2.0")
    ]
    assert asked(tmp_path, "SELECT typeof(n), count(*) FROM t GROUP BY 1") == [("DOUBLE", 6)]


def test_a_database_without_nan_keeps_the_column_as_text_and_a_line_says_so(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "id,v", [f"{i},{v}" for i, v in enumerate(WORDS)])
    notes: list[str] = []
    call = Call((str(file),), "t", into=f"sqlite://{tmp_path}/t.sqlite", create=True)
    assert load(call, tmp_path / "loads", notes.append, lambda event: None).verdict == "proven"
    assert (
        "column v: 4 of 6 values would not come back unchanged from a number (first: line 3, 'NaN'); stored as text"
        in notes
    )
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection:
        assert [v for (v,) in connection.execute("SELECT v FROM t ORDER BY id")] == WORDS


def test_nan_is_rejected_and_never_null_where_a_column_of_floats_has_none(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, v REAL)")
        connection.commit()
        file = written(tmp_path / "a.csv", "id,v", [f"{i},{v}" for i, v in enumerate(WORDS)])
        call = Call((str(file),), "t", into=f"sqlite://{tmp_path}/t.sqlite")
        done = load(call, tmp_path / "loads", lambda line: None, lambda event: None)
        assert (done.verdict, done.rows_stored, done.rejected) == ("proven", 4, 2), done.why
        assert done.rejects is not None
        assert done.rejects.read_text().count(",v,the column cannot hold NaN,") == 2
        found = [v for (v,) in connection.execute("SELECT v FROM t ORDER BY id")]
    assert found == [1.5, -math.inf, math.inf, 2.0]


def test_numbers_as_programs_print_doubles_are_numbers(tmp_path: Path) -> None:
    """Shortest texts, and 17 digits as `%.17g` gives: each is read as the double that it was."""
    values = [0.1, 1 / 3, 1e22, 2.5e-300, 123456.789]
    texts = [text for v in values for text in (repr(v), f"{v:.17g}")]
    file = written(tmp_path / "a.csv", "id,v", [f"{i},{v}" for i, v in enumerate(texts)])
    done, notes = loaded(file, tmp_path)
    assert [v for (v,) in asked(tmp_path, "SELECT v FROM t ORDER BY id")] == [v for v in values for _ in "ab"]
    assert not [note for note in notes if note.startswith("column v: ")]
    assert done.verdict == "proven"


def test_a_quote_left_open_costs_its_line_and_all_other_rows_decide_on_types(tmp_path: Path) -> None:
    rows = [f"{i},n{i},{i}" + (".5" if i >= 99 else "") for i in range(800)]
    rows[5] = '5,"open,5'
    file = written(tmp_path / "a.csv", "id,name,v", rows)
    seen = sniff(file)
    assert (seen.rows, seen.complete) == (799, True)
    columns = choose_columns([seen])
    assert [c.type for c in columns] == ["i32", "text", "f64"]
    rows[700] = "700,x,none"
    seen = sniff(written(file, "id,name,v", rows))
    assert (
        "1 of 799 values is no number (first: line 702, 'none')"
        in lines(choose_columns([seen]), [seen], ["a"])[0]
    )
    done, _ = loaded(file, tmp_path)
    assert (done.rows_stored, done.rejected) == (799, 1)


def test_quotes_that_stay_open_in_many_lines_cost_those_lines(tmp_path: Path) -> None:
    rows = [f'{i},"open,{i}' if i % 10 == 0 else f'{i},"x, y",{i}' for i in range(100)]
    seen = sniff(written(tmp_path / "a.csv", "id,name,v", rows))
    done, _ = loaded(tmp_path / "a.csv", tmp_path)
    assert seen.rows == done.rows_stored == 90


@pytest.mark.parametrize("strict", [False, True])
def test_an_order_that_most_dates_contradict_is_said_and_strict_rejects_them(
    strict: bool, tmp_path: Path
) -> None:
    rows = [f"{i},01/{i + 13}/2026" for i in range(15)] + [f"{i},03/04/2026" for i in range(15, 20)]
    done, notes = loaded(written(tmp_path / "a.csv", "id,day", rows), tmp_path, dates="dmy", strict=strict)
    (line,) = [note for note in notes if note.startswith("column day: ")]
    assert "15 of 20 values are no date of the form day/month/year (first: line 2, '01/13/2026')" in line
    assert (done.rows_stored, done.rejected) == ((5, 15) if strict else (20, 0))
    assert line.endswith("rows with such values are rejected" if strict else "rejects those rows")


@pytest.mark.parametrize("dates", [["2026-01-01", "2026-01-02"], ["25/01/2026", "03/01/2026"]])
def test_days_without_a_time_become_dates(dates: list[str], tmp_path: Path) -> None:
    file = written(
        tmp_path / "a.csv", "id,day,at", [f"{i},{d},2026-01-01 12:00" for i, d in enumerate(dates)]
    )
    done, _ = loaded(file, tmp_path, verify=True)
    assert done.verified, done.why
    assert [row[1] for row in asked(tmp_path, "DESCRIBE t")] == [
        "INTEGER",
        "DATE",
        "TIMESTAMP WITH TIME ZONE",
    ]
    days = [str(day) for (day,) in asked(tmp_path, "SELECT day FROM t ORDER BY id")]
    assert days == (dates if dates[0][4] == "-" else ["2026-01-25", "2026-01-03"])


def test_a_study_has_times_for_them(tmp_path: Path) -> None:
    seen = sniff(written(tmp_path / "a.csv", "id,day", ["1,2026-01-01"]))
    assert choose_columns([seen])[1].type == "time_ms"
    assert choose_columns([seen], Asked(days=True))[1].type == "date"
