"""What people have in files is read right, or refused with one line: what decides on a column is what is stored in it."""

from __future__ import annotations

import datetime
import io
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inrush.errors import UsageError
from inrush.load.call import Call
from inrush.load.run import Loaded, load
from inrush.study.new import write_new
from inrush.study.reading import load_study
from tests.strategies import KNOWN


def written(folder: Path, text: str) -> Path:
    path = folder / "a.csv"
    path.write_bytes(text.encode())
    return path


def loaded(file: Path | str, folder: Path, **words: Any) -> Loaded:
    call = Call((str(file),), "t", into=f"duckdb://{folder}/t.duckdb", **{"create": True, **words})
    return load(call, folder / "loads", lambda line: None, lambda event: None)


def table(folder: Path) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
    """Its columns with their types, and its rows."""
    with duckdb.connect(f"{folder}/t.duckdb", read_only=True) as connection:
        columns = [(str(name), str(kind)) for name, kind, *_ in connection.sql("DESCRIBE t").fetchall()]
        return columns, connection.sql("SELECT * FROM t ORDER BY ALL").fetchall()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[\n  {"a": 1},\n  {"a": 2}\n]\n', "JSON"),
        ('[{"a": 1}, {"a": 2}]\n', "JSON"),
        ("# a\n# b\nid,n\n1,x\n", "line 1 is a comment"),
        ("# a\nid,n\n1,x\n2,y\n", "line 1 is a comment"),
        ("# of one column\nid\n1\n2\n", "line 1 is a comment"),
        ("# made on Monday, by Bob\nid,n\n1,x\n", "line 1 is a comment"),
        ('{"data": [\n{"a":1},\n{"a":2}\n]}\n', "JSON"),
        ("id,n\r1,x\r2,y\r", "lines end with CR only"),
    ],
)
def test_what_is_no_table_is_refused_with_one_line(text: str, said: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    for call in (lambda: loaded(file, tmp_path), lambda: write_new("mine", [file], tmp_path)):
        with pytest.raises(UsageError, match=said) as refused:
            call()
        assert str(refused.value).startswith(f"{file}: ") and "\n" not in str(refused.value)
    assert not (tmp_path / "mine.toml").exists()


@pytest.mark.parametrize(
    ("encoding", "said"), [("utf-16", r"UTF-16.*--encoding utf-16"), ("latin-1", r"not UTF-8.*--encoding")]
)
def test_another_encoding_is_refused_with_how_to_convert_it(encoding: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes("id,größe\n1,x\n".encode(encoding))
    with pytest.raises(UsageError, match=said):
        loaded(file, tmp_path)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    loaded(written(tmp_path, "\ufeffid,n\n1,x\n"), tmp_path)
    assert table(tmp_path) == ([("id", "INTEGER"), ("n", "VARCHAR")], [(1, "x")])


def test_quotes_that_a_tsv_keeps_are_named_with_the_format_that_takes_them_off(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text('"id"\tn\n5\t"a b"\n')
    lines: list[str] = []
    call = Call((str(file),), "t", into=f"duckdb://{tmp_path}/t.duckdb", create=True)
    load(call, tmp_path / "loads", lines.append, lambda event: None)
    assert table(tmp_path) == ([('"id"', "INTEGER"), ("n", "VARCHAR")], [(5, '"a b"')])
    [line] = [line for line in lines if "quotes" in line]
    assert '(`"id"`)' in line and '--format csv, or format = "csv" and delimiter = "\\t"' in line
    (tmp_path / "t.duckdb").unlink()
    lines.clear()
    load(replace(call, format="csv", again=True), tmp_path / "loads", lines.append, lambda event: None)
    assert table(tmp_path) == ([("id", "INTEGER"), ("n", "VARCHAR")], [(5, "a b")])
    assert not [line for line in lines if "quotes" in line]


def test_a_name_that_begins_with_a_hash_is_no_comment(tmp_path: Path) -> None:
    loaded(written(tmp_path, "#id,n\n1,x\n2,y\n"), tmp_path)
    assert table(tmp_path) == ([("#id", "INTEGER"), ("n", "VARCHAR")], [(1, "x"), (2, "y")])


def test_a_carriage_return_inside_a_field_ends_no_line(tmp_path: Path) -> None:
    done = loaded(written(tmp_path, "id,name\n1,a\rb\n2,c\n"), tmp_path)
    assert (done.rows_stored, done.rejected, done.verdict) == (2, 0, "proven")
    assert table(tmp_path) == ([("id", "INTEGER"), ("name", "VARCHAR")], [(1, "a\rb"), (2, "c")])


def test_a_row_with_too_few_fields_decides_no_type(tmp_path: Path) -> None:
    done = loaded(written(tmp_path, "a,b\n1,2\nx\n3,4\n"), tmp_path)
    assert (done.rows_stored, done.rejected) == (2, 1)
    assert table(tmp_path) == ([("a", "INTEGER"), ("b", "INTEGER")], [(1, 2), (3, 4)])


def test_a_line_break_in_a_quoted_header_is_a_part_of_the_name(tmp_path: Path) -> None:
    file = written(tmp_path, '"a\nb",c\n1,2\n')
    assert loaded(file, tmp_path).verdict == "proven"
    assert table(tmp_path) == ([("a\nb", "INTEGER"), ("c", "INTEGER")], [(1, 2)])
    _, study = write_new("mine", [file], tmp_path / "studies")
    columns = load_study(str(study), known=KNOWN).workload.tables["mine"].columns
    assert [c.name for c in columns] == ["a\nb", "c"]


def test_texts_go_as_they_are_into_a_column_of_sqlite_that_is_there(tmp_path: Path) -> None:
    file = written(tmp_path, "id,at,day\n1,2024-01-31 10:00:00,2024-01-31\n2,1706695200,\n")
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, at DATETIME, day DATE)")
        connection.commit()
        call = Call((str(file),), "t", into=f"sqlite://{tmp_path}/t.sqlite")
        done = load(call, tmp_path / "loads", lambda line: None, lambda event: None)
        rows = connection.execute("SELECT id, at, day FROM t ORDER BY id").fetchall()
        assert rows == [(1, "2024-01-31 10:00:00", "2024-01-31"), (2, 1706695200, None)]
        assert connection.execute("SELECT datetime(at) FROM t WHERE id = 1").fetchone() == (
            "2024-01-31 10:00:00",
        )
    assert done.verdict in ("proven", "counted") and done.rows_stored == 2


def test_a_day_of_parquet_is_a_day(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    days = [datetime.date(2024, 1, 31), None, datetime.date(1969, 12, 31)]
    pq.write_table(pa.table({"id": [1, 2, 3], "day": pa.array(days, pa.date32())}), file)
    assert loaded(file, tmp_path, verify=True).verdict == "proven"
    columns, rows = table(tmp_path)
    assert columns[1] == ("day", "DATE")
    assert [day for _, day in rows] == days


def test_standard_input_may_be_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    packed = io.BytesIO(gzip.compress(b"id,n\n1,x\n2,y\n"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(packed))
    assert loaded("-", tmp_path).rows_stored == 2
    assert table(tmp_path)[1] == [(1, "x"), (2, "y")]


@pytest.mark.parametrize("row", ['"x",1,2', '"x\ny",1,2', '"x, y",1,2'])
def test_too_many_fields_of_balanced_quotes_are_called_so(row: str, tmp_path: Path) -> None:
    done = loaded(written(tmp_path, f"a,b\n{row}\nz,3\n"), tmp_path)
    assert (done.rows_stored, done.rejected) == (1, 1)
    assert done.rejects is not None and "too many fields: 3 for 2" in done.rejects.read_text()
    assert table(tmp_path)[1] == [("z", 3)]


@pytest.mark.parametrize("rows", [7, 50_000, 60_000])
def test_the_bytes_of_a_parquet_file_are_its_own(rows: int, tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": range(rows), "v": ["x" * (i % 90) for i in range(rows)]}), file)
    done = loaded(file, tmp_path)
    assert done.bytes == pytest.approx(file.stat().st_size, abs=2)
    parts = {name: s for name, s in done.costs.items() if name not in ("digest_s", "verify_s")}
    assert sum(parts.values()) == pytest.approx(done.seconds, abs=0.05)
