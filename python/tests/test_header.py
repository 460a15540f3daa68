"""Whether line 1 is a header is said in every case; one that cannot be taken is refused and never stored as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from inrush.errors import UsageError
from inrush.load.call import Call
from inrush.load.run import load
from inrush.study.new import write_new
from inrush.study.said import read_said
from inrush.study.sniff import sniff


def written(folder: Path, text: str) -> Path:
    path = folder / "a.csv"
    path.write_text(text)
    return path


def loaded(file: Path, **words: Any) -> list[str]:
    notes: list[str] = []
    words = {"create": True, **words}
    into = f"duckdb://{file.parent}/t.duckdb"
    done = load(
        Call((str(file),), "t", into=into, **words), file.parent / "loads", notes.append, lambda event: None
    )
    assert done.verdict == "proven"
    return notes


def asked(folder: Path, question: str) -> list[Any]:
    with duckdb.connect(f"{folder}/t.duckdb") as connection:
        return connection.sql(question).fetchall()


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ("id,id,name", "two are named id"),
        ("id,v,name,", "column 4 has no name"),
        ("id,,name", "column 2 has no name"),
    ],
)
def test_a_header_that_cannot_be_taken_is_refused_with_what_to_do(
    first: str, why: str, tmp_path: Path
) -> None:
    width = first.count(",")
    rows = "".join(f"{i}{',x' * width}\n" for i in range(5))
    file = written(tmp_path, f"{first}\n{rows}")
    for call in (lambda: loaded(file), lambda: write_new("mine", [file], tmp_path)):
        with pytest.raises(UsageError, match=f"line 1 names columns, and {why}.*--header no.*--columns"):
            call()
    assert not (tmp_path / "mine.toml").exists()
    assert asked(tmp_path, "SELECT 1 FROM information_schema.tables WHERE table_name = 't'") == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("id,name\n1,x\n", "line 1 is the header"),
        ("1,x\n2,y\n", "no header: line 1 is data, because '1' is a value"),
        ("x,x\ny,z\n", "no header: line 1 is data, because 'x' stands in it twice"),
        ("x,\ny,z\n", "no header: line 1 is data, because it has a field without a value"),
    ],
)
def test_what_was_taken_for_a_header_is_said(text: str, line: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    assert [note for note in loaded(file) if "line 1" in note] == [line]
    said: list[str] = []
    write_new("mine", [file], tmp_path, note=said.append)
    assert line in said


def test_the_command_line_decides(tmp_path: Path) -> None:
    file = written(tmp_path, "id,2025,2026\n1,2,3\n")
    assert "line 1 is the header" in loaded(file, header="yes")
    assert asked(tmp_path, 'SELECT id, "2025", "2026" FROM t') == [(1, 2, 3)]


def test_columns_of_files_without_a_header_have_the_names_that_are_given(tmp_path: Path) -> None:
    file = written(tmp_path, "x,1\ny,2\n")
    assert "no header: line 1 is data, because --header no says so" in loaded(
        file, header="no", columns="word,n"
    )
    assert asked(tmp_path, "SELECT word, n FROM t ORDER BY n") == [("x", 1), ("y", 2)]


def test_names_in_another_order_than_the_table_s_are_refused_and_nothing_is_swapped(tmp_path: Path) -> None:
    with duckdb.connect(f"{tmp_path}/t.duckdb") as connection:
        connection.execute("CREATE TABLE t (a INTEGER, b INTEGER)")
    file = written(tmp_path, "1,2\n3,4\n")
    with pytest.raises(UsageError, match="--columns b,a: table t has them in the order a,b"):
        loaded(file, columns="b,a", create=False)
    loaded(file, columns="a,b", verify=True, create=False)
    assert asked(tmp_path, "SELECT a, b FROM t ORDER BY a") == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    ("header", "columns", "wrong"),
    [
        ("maybe", None, "write yes or no"),
        ("yes", "a,b", "line 1 names the columns"),
        (None, "a,,b", "column 2 has no name"),
        ("no", "a", "names 1 columns, and line 1 has 2"),
        (None, "a,b", "line 1 is a header"),
    ],
)
def test_what_contradicts_itself_is_refused(
    header: str | None, columns: str | None, wrong: str, tmp_path: Path
) -> None:
    file = written(tmp_path, "id,name\n1,x\n")
    with pytest.raises(UsageError, match=wrong):
        sniff(file, said=read_said(header, columns))


def test_a_header_with_one_name_twice_is_refused_although_it_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two columns are named id"):
        sniff(written(tmp_path, "id,id\n1,2\n"), said=read_said("yes", None))


@pytest.mark.parametrize(("mark", "said"), [(";", ";"), (",", ","), ("\t", "tab")])
def test_a_line_for_excel_is_no_row(mark: str, said: str, tmp_path: Path) -> None:
    file = written(tmp_path, f"sep={mark}\nid{mark}name\n1{mark}a\n2{mark}b\n")
    with pytest.raises(UsageError) as refused:
        sniff(file)
    how = f"--skip 1 --delimiter '{said}'"
    assert f"line 1 names the delimiter to Excel, and is no row; give {how}" in str(refused.value)
    told = read_said(None, None, None, {"skip": 1, "delimiter": mark})
    assert [c.name for c in sniff(file, said=told).columns] == ["id", "name"]
    row = written(tmp_path, f"sep={mark}x\nfoo{mark}y\n")
    assert len(sniff(row, said=read_said("no", None)).columns) == 2, "a row of a value that begins so"


def test_a_second_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    bom = "\ufeff"
    assert [c.name for c in sniff(written(tmp_path, f"{bom}id,name\n1,a\n")).columns] == ["id", "name"]
    with pytest.raises(UsageError, match=r"two byte order marks.*tail -c \+4"):
        sniff(written(tmp_path, f"{bom}{bom}id,name\n1,a\n"))
