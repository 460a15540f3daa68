"""`inrush load --series`: what a load did over time, in one file, also where it was killed and went on."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from inrush.load.series import JOURNAL, rows_of
from tests.terminal import Inrush

SECOND = 1_000_000_000
ROWS = 3_000


def written(folder: Path, *lines: dict[str, Any]) -> Path:
    path = folder / JOURNAL
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def go(t_s: float, unix_s: float, rows: int) -> dict[str, Any]:
    return {"said": "go", "t_ns": int(t_s * SECOND), "unix_ns": int(unix_s * SECOND), "rows": rows}


def look(t_s: float, rows: int, size: int, files: int) -> dict[str, Any]:
    return {"said": "look", "t_ns": int(t_s * SECOND), "rows": rows, "bytes": size, "files": files}


def sizes(t_s: float, size: int, shards: int = 1) -> dict[str, Any]:
    return {"said": "sizes", "t_ns": int(t_s * SECOND), "bytes": size, "shards": shards}


def test_a_row_is_a_second_or_more_and_all_rows_are_the_load(tmp_path: Path) -> None:
    path = written(
        tmp_path, go(5, 100, 0), look(5.25, 10, 100, 0), look(5.5, 20, 200, 0), look(6.1, 40, 400, 1), sizes(6.5, 7_000),
        look(7.2, 90, 900, 2), look(7.4, 100, 1_000, 3),
    )  # fmt: skip
    found = list(rows_of(path, 1))
    assert [(r["t_ns"] / SECOND, r["dt_ns"] / SECOND, r["rows"], r["bytes"], r["files"]) for r in found] == [
        (0, pytest.approx(1.1), 40, 400, 1),
        (pytest.approx(1.1), pytest.approx(1.1), 50, 500, 1),
        (pytest.approx(2.2), pytest.approx(0.2), 10, 100, 1),
    ]
    assert [r["table_bytes"] for r in found] == [None, 7_000, None] and found[-1]["cum_rows"] == 100


def test_a_load_that_was_killed_and_went_on_is_one_series_with_a_gap(tmp_path: Path) -> None:
    """The ledger has 50 rows of the first call, whose last look had seen 45; an hour lies between the calls."""
    path = written(
        tmp_path, go(5, 100, 0), look(6, 30, 300, 1), look(6.5, 45, 450, 1), go(2, 3_700, 50), look(3, 20, 200, 1), look(4, 50, 500, 2)
    )  # fmt: skip
    found = list(rows_of(path, 1))
    assert [r["rows"] for r in found] == [30, 20, 20, 30] and [r["call"] for r in found] == [0, 0, 1, 1]
    assert [r["cum_rows"] for r in found] == [30, 50, 70, 100]
    assert found[1]["t_ns"] + found[1]["dt_ns"] == 1.5 * SECOND and found[2]["t_ns"] == 3_600 * SECOND


def test_bytes_that_a_client_took_for_stored_come_once(tmp_path: Path) -> None:
    """Rows that are read ahead and are shorter make what is stored look less for a while."""
    path = written(
        tmp_path,
        go(0, 0, 0),
        look(1, 10, 1_000, 1),
        look(2, 10, 505, 1),
        look(3, 15, 800, 1),
        look(4, 20, 1_010, 2),
    )
    assert [r["bytes"] for r in rows_of(path, 1)] == [1_000, 0, 0, 10]


def test_rows_that_a_client_had_heard_of_and_the_ledger_does_not_have_are_none(tmp_path: Path) -> None:
    path = written(tmp_path, go(0, 0, 0), look(1, 60, 600, 1), go(0, 10, 50), look(1, 10, 100, 1))
    assert [r["rows"] for r in rows_of(path, 1)] == [50, 10]


def test_a_size_of_some_shards_alone_is_none(tmp_path: Path) -> None:
    path = written(
        tmp_path, go(0, 0, 0), sizes(0.5, 10, 1), look(1, 5, 5, 1), sizes(1.5, 25, 2), look(2, 9, 9, 1)
    )
    assert [r["table_bytes"] for r in rows_of(path, 2)] == [None, 25]


def csv_files(folder: Path) -> list[str]:
    paths = []
    for n in range(3):
        path = folder / f"{n}.csv"
        path.write_text("id,v\n" + "".join(f"{n * ROWS + i},{i}\n" for i in range(ROWS)))
        paths.append(str(path))
    return paths


@pytest.mark.parametrize("more", [(), ("--process-per-file",)])
def test_the_series_of_a_load_has_its_rows_bytes_and_files(
    inrush: Inrush, tmp_path: Path, more: tuple[str, ...]
) -> None:
    into, series = tmp_path / "a.sqlite", tmp_path / "a.parquet"
    files = csv_files(tmp_path)
    words = ("--into", f"sqlite:///{into}", "--table", "t", "--create", "--series", str(series), *more)
    said = inrush("load", *files, *words)
    assert said.code == 0, said.err
    found = pq.read_table(series).to_pylist()
    assert sum(r["rows"] for r in found) == found[-1]["cum_rows"] == 3 * ROWS
    assert sum(r["files"] for r in found) == 3
    # The client does not parse the header again: it is no row's.
    assert 0 < sum(r["bytes"] for r in found) <= sum(Path(f).stat().st_size for f in files)
    with sqlite3.connect(into) as held:
        assert held.execute("SELECT count(*) FROM t").fetchone() == (3 * ROWS,)
    assert not list(tmp_path.rglob(JOURNAL))


@pytest.mark.parametrize(
    ("path", "said"), [("a.csv", "the series is a Parquet file"), ("no/a.parquet", "there is no folder")]
)
def test_a_series_that_could_not_be_written_is_refused_before_the_load(
    inrush: Inrush, tmp_path: Path, path: str, said: str
) -> None:
    (file, *_) = csv_files(tmp_path)
    found = inrush(
        "load",
        file,
        "--into",
        f"sqlite:///{tmp_path}/a.sqlite",
        "--table",
        "t",
        "--create",
        "--series",
        str(tmp_path / path),
    )
    assert found.code == 2 and said in found.err
