"""A word such as NA in the files of one import: one reading for all of them, and NULL only where a column cannot hold it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from inrush.load import run
from inrush.load.call import Call


def loaded(tmp_path: Path, columns: str, *texts: str) -> tuple[list[tuple[object, ...]], list[str]]:
    """The rows of a table of DuckDB that the files are loaded into, and what was said."""
    database, said = tmp_path / "a.duckdb", list[str]()
    with duckdb.connect(str(database)) as made:
        made.execute(f"CREATE TABLE t ({columns})")
    files = []
    for n, text in enumerate(texts):
        (tmp_path / f"{n}.csv").write_text(text)
        files.append(str(tmp_path / f"{n}.csv"))
    done = run.load(
        Call(files=tuple(files), table="t", into=f"duckdb:{database}"), tmp_path / "results", said.append, lambda *_: None
    )  # fmt: skip
    assert (done.verdict, done.rejected) == ("proven", 0)
    with duckdb.connect(str(database)) as made:
        return made.execute("SELECT * FROM t ORDER BY ALL").fetchall(), said


def test_files_of_one_import_have_one_reading(tmp_path: Path) -> None:
    rows, said = loaded(
        tmp_path, "id INT, zip VARCHAR, n INT", "id,zip,n\n1,NA,NA\n2,12345,7\n", "id,zip,n\n3,NA,5\n4,12345,7\n"
    )  # fmt: skip
    assert rows == [(1, None, None), (2, "12345", 7), (3, None, 5), (4, "12345", 7)]
    assert [line for line in said if line.startswith("NULL is written 'NA', and")]


@pytest.mark.parametrize(("kind", "other"), [("ENUM('a', '5')", "5"), ("INTERVAL", "1 day"), ("JSON", "5")])
def test_the_word_is_null_beside_a_type_that_the_server_reads_texts_into(
    kind: str, other: str, tmp_path: Path
) -> None:
    rows, _ = loaded(tmp_path, f"zip VARCHAR, c {kind}", f"zip,c\n12345,{other}\nNA,NA\n")
    assert [(a, b is None) for a, b in rows] == [("12345", False), (None, True)]


def test_a_column_of_texts_keeps_it(tmp_path: Path) -> None:
    assert loaded(tmp_path, "a VARCHAR, b VARCHAR", "a,b\n1,x\nNA,\n")[0] == [("1", "x"), ("NA", None)]
