"""Whole numbers in a column of times: what they are taken for is said, and what they are not is refused."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from inrush.errors import UsageError
from inrush.load import run
from inrush.load.call import Call

KINDS = {"ms": "INTEGER MILLISECONDS", "us": "INTEGER MICROSECONDS"}


def loaded(
    tmp_path: Path, values: list[str], unit: str = "ms", **words: object
) -> tuple[list[object], list[str]]:
    """What the column then holds, and what was said."""
    database, file = tmp_path / "a.db", tmp_path / "a.csv"
    with sqlite3.connect(database) as made:
        made.execute(f"CREATE TABLE t (n INTEGER, at {KINDS[unit]})")
    file.write_text("n,at\n" + "".join(f"{n},{value}\n" for n, value in enumerate(values)))
    said: list[str] = []
    call = Call(files=(str(file),), table="t", into=f"sqlite:{database}", **words)  # type: ignore[arg-type]
    run.load(call, tmp_path / "results", said.append, lambda *_: None)
    with sqlite3.connect(database) as made:
        return [at for (at,) in made.execute("SELECT at FROM t ORDER BY n")], said


@pytest.mark.parametrize(
    ("unit", "value", "like"),
    [
        ("ms", "20260302", "a date: --date-format at=%Y%m%d reads it so"),
        ("ms", "31122026", "a date: --date-format at=%d%m%Y reads it so"),
        ("us", "20260302140500", "a date: --date-format at=%Y%m%d%H%M%S reads it so"),
        ("us", "1767225600", "seconds (2026-01-01)"),
        ("us", "1767225600000", "milliseconds (2026-01-01)"),
        ("ms", "1767225600", "seconds (2026-01-01)"),
        ("ms", "1767225600000000", "microseconds (2026-01-01)"),
    ],
)
def test_a_number_that_looks_like_another_time_is_not_stored_as_one_near_1970(
    unit: str, value: str, like: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"column at: line 2 has ") as refused:
        loaded(tmp_path, [value], unit)
    assert f"it looks like {like}" in str(refused.value)
    assert "--dates at=text takes it as m" in str(refused.value)


def test_a_later_number_of_another_length_is_looked_at_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"line 4 has 1767225600000, .* milliseconds"):
        loaded(tmp_path, ["0", "5", "1767225600000"], "us")


@pytest.mark.parametrize(
    ("unit", "value"), [("ms", 1767225600000), ("us", 1767225600000000), ("ms", 7), ("us", -5)]
)
def test_units_of_the_column_are_stored_and_said(unit: str, value: int, tmp_path: Path) -> None:
    stored, said = loaded(tmp_path, [str(value)], unit)
    assert stored == [value]
    assert any(
        f"column at: whole numbers are read as {'milli' if unit == 'ms' else 'micro'}seconds since 1970"
        in line
        for line in said
    )


def test_dates_that_are_text_by_request_are_units_after_all(tmp_path: Path) -> None:
    assert loaded(tmp_path, ["20260302"], dates="at=text")[0] == [20260302]
    (tmp_path / "b").mkdir()
    stored, said = loaded(tmp_path / "b", ["20260302"], date_formats=("at=%Y%m%d",))
    assert stored == [1772409600000] and not [line for line in said if "whole numbers" in line]


def test_a_unit_with_marks_of_thousands_is_rejected_by_row(tmp_path: Path) -> None:
    assert loaded(tmp_path, ['"1,234"', "5"], written={"thousands": ",", "delimiter": ","})[0] == [5]


def test_the_way_out_names_the_column_as_options_do(tmp_path: Path) -> None:
    database, file = tmp_path / "a.db", tmp_path / "a.csv"
    with sqlite3.connect(database) as made:
        made.execute("CREATE TABLE t (n INTEGER, at INTEGER MILLISECONDS)")
    file.write_text("1,631152001\n")
    call = Call(files=(str(file),), table="t", into=f"sqlite:{database}", header="no")
    with pytest.raises(UsageError, match=r"column at: .*; --dates c02=text takes it as milliseconds"):
        run.load(call, tmp_path / "results", str, lambda *_: None)
    run.load(replace(call, dates="c02=text"), tmp_path / "results", str, lambda *_: None)
    with sqlite3.connect(database) as made:
        assert made.execute("SELECT at FROM t").fetchall() == [(631152001,)]
