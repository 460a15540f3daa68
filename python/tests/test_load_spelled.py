"""Files as people have them: what says how rows are written is taken, what was taken is said in one line, nothing is altered."""

from __future__ import annotations

import bz2
import datetime
import gzip
import io
import json
import lzma
from pathlib import Path
from typing import Any

import duckdb
import pytest

from inrush.commands.load import lines
from inrush.errors import UsageError
from inrush.load.call import Call
from inrush.load.dry_run import dry_run
from inrush.load.run import Loaded, load
from inrush.study.new import write_new
from inrush.study.reading import load_study
from inrush.study.said import read_said


def loaded(folder: Path, *files: str, notes: list[str] | None = None, **words: Any) -> Loaded:
    call = Call(files, **{"table": "t", "create": True, **words}, into=f"duckdb://{folder}/t.duckdb")
    note = (lambda line: None) if notes is None else notes.append
    return load(call, folder / "loads", note, lambda event: None)


def of_text(folder: Path, text: str | bytes, name: str = "a.csv") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def asked(folder: Path, question: str) -> list[Any]:
    with duckdb.connect(f"{folder}/t.duckdb", read_only=True) as connection:
        return connection.sql(question).fetchall()


@pytest.mark.parametrize(
    ("text", "words", "rows", "line"),
    [
        (
            "id;v;note\n1;1.234,50;a\n2;-0,25;b\n",
            {"written": {"decimal": ",", "thousands": "."}},
            [(1, 1234.5, "a"), (2, -0.25, "b")],
            "`;`, decimal comma, thousands ., line 1 is the header",
        ),
        (
            "made by a tool\n\n# units\nid|v\n# a row\n1|x\n2|#y\n",
            {"written": {"skip": 2, "comment": "#"}},
            [(1, "x"), (2, "#y")],
            "`|`, comment #, 2 lines skipped, line 3 is the header",
        ),
        (
            "id,v\n1,'it\\'s, so'\n2,'say \"x\"'\n",
            {"written": {"quote": "'", "escape": "\\"}},
            [(1, "it's, so"), (2, 'say "x"')],
            "quote ', escape \\, line 1 is the header",
        ),
        (
            'id,v\n1,5" pipe\n2,"a\n',
            {"written": {"quote": ""}},
            [(1, '5" pipe'), (2, '"a')],
            "no quotes, line 1 is the header",
        ),
        (
            "id,v\n1,missing\n2,NA\n",
            {"written": {"null": "missing"}},
            [(1, None), (2, "NA")],
            "line 1 is the header",
        ),
        (
            "id:v\n1:a,b\n2:c,d\n",
            {"written": {"delimiter": ":"}},
            [(1, "a,b"), (2, "c,d")],
            "`:`, line 1 is the header",
        ),
    ],
    ids=["decimal", "comments", "quotes", "none", "null", "delimiter"],
)
def test_rows_are_read_as_they_are_said_to_be_written(
    text: str, words: dict[str, Any], rows: list[Any], line: str, tmp_path: Path
) -> None:
    notes: list[str] = []
    done = loaded(tmp_path, of_text(tmp_path, text), notes=notes, verify=True, **words)
    assert (done.verdict, done.rejected) == ("proven", 0)
    assert asked(tmp_path, "SELECT * FROM t ORDER BY id") == rows
    assert line in notes
    again = loaded(tmp_path, of_text(tmp_path, text), **words)
    assert (again.rows_stored, again.rows_before) == (0, len(rows)), "it is recognised"
    # The study of the same file reads it in the same way.
    said = read_said(None, None, None, words["written"])
    [_, study] = write_new("mine", [tmp_path / "a.csv"], tmp_path, said=said)
    [table] = load_study(str(study)).workload.tables.values()
    assert table.files is not None and words["written"].items() <= dict(table.files.written).items()


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("latin-1", "latin-1"),
        ("windows-1252", "windows-1252"),
        ("utf-16", "utf-16"),
        ("utf-16-be", "utf-16-be"),
        ("shift-jis", "shift-jis"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_text_that_is_not_utf8_is_read_by_its_encoding(
    encoding: str, name: str, packed: bool, tmp_path: Path
) -> None:
    word = "日本" if encoding == "shift-jis" else "Müller ß"
    text = f"id,größe\n1,{word}\n" if encoding != "shift-jis" else f"id,n\n1,{word}\n"
    bare = text.encode(encoding)
    file = of_text(tmp_path, gzip.compress(bare) if packed else bare, "a.csv.gz" if packed else "a.csv")
    notes: list[str] = []
    done = loaded(tmp_path, file, notes=notes, encoding=encoding)
    assert done.verdict == "proven"
    assert asked(tmp_path, "SELECT * FROM t") == [(1, word)]
    assert f"{name}, line 1 is the header" in notes
    assert not [*(tmp_path / "loads" / "spool").glob("*")], "what was written for it is gone"


def test_bytes_that_are_none_of_the_encoding_are_named_by_line_and_nothing_is_stored(tmp_path: Path) -> None:
    file = of_text(tmp_path, b"id,n\n1,a\n2,\x81\n")
    with pytest.raises(UsageError, match="line 3: 81 is no character of windows-1252"):
        loaded(tmp_path, file, encoding="windows-1252")
    with pytest.raises(UsageError, match="--encoding klingon: is not known"):
        loaded(tmp_path, file, encoding="klingon")
    assert not (tmp_path / "t.duckdb").exists() or asked(tmp_path, "SHOW TABLES") == []


def test_a_row_that_is_not_utf8_is_rejected_and_the_option_named(tmp_path: Path) -> None:
    file = of_text(tmp_path, b"id,n\n1,a\n2,M\xfcller\n")
    done = loaded(tmp_path, file)
    assert (done.rows_stored, done.rejected) == (1, 1)
    assert any("is read by --encoding NAME" in line for line in lines(done))


@pytest.mark.parametrize("below", ["", "\n", "by me\n\n", "by me, us\n\n"])
def test_a_title_above_the_header_is_refused_with_the_option_that_leaves_it_out(
    below: str, tmp_path: Path
) -> None:
    """A table of one column was made of it, and the rows were rejected."""
    file = of_text(tmp_path, f"Report\n{below}id,v,w\n1,2,x\n3,4,y\n5,6,z\n")
    skip = 1 + below.count("\n")
    with pytest.raises(UsageError, match=rf"a\.csv: .*--skip {skip} ") as refused:
        loaded(tmp_path, file)
    assert "\n" not in str(refused.value)
    assert loaded(tmp_path, file, written={"skip": skip}).rows_stored == 3
    assert asked(tmp_path, "SELECT count(v) FROM t") == [(3,)]


@pytest.mark.parametrize(("text", "line"), [("name\nA\nB, C\nD\n", 3), ("name\nB, C\nD\n", 2)])
def test_a_column_of_texts_with_commas_is_no_title(text: str, line: int, tmp_path: Path) -> None:
    done = loaded(tmp_path, of_text(tmp_path, text))
    assert done.rejected == 1 and done.rejects is not None
    assert f",{line}," in done.rejects.read_text()


def test_a_mark_that_is_not_seen_is_said_in_words(tmp_path: Path) -> None:
    for mark, name in ((" ", "space"), ("\u00a0", "no-break space")):
        file, notes = of_text(tmp_path, f"id;v\n1;1{mark}234\n", f"{name}.csv"), list[str]()
        loaded(tmp_path, file, notes=notes, written={"thousands": mark})
        assert f"`;`, thousands {name}, line 1 is the header" in notes
    assert asked(tmp_path, "SELECT * FROM t") == [(1, 1234)] * 2


def test_marks_of_numbers_stand_as_in_numbers_or_the_row_is_rejected(tmp_path: Path) -> None:
    text = "id;v\n1;1,5\n2;1.5\n3;1.234,5\n4;12.34\n5;31.01.2026\n"
    with duckdb.connect(f"{tmp_path}/t.duckdb") as connection:
        connection.execute("CREATE TABLE t (id INTEGER, v DOUBLE)")
    done = loaded(tmp_path, of_text(tmp_path, text), create=False, written={"decimal": ",", "thousands": "."})
    assert asked(tmp_path, "SELECT * FROM t ORDER BY id") == [(1, 1.5), (3, 1234.5)]
    assert done.rejected == 3 and done.rejects is not None
    assert [line.split(",")[1] for line in done.rejects.read_text().splitlines()[1:]] == ["3", "5", "6"]


def test_a_column_of_numbers_that_the_server_parses_has_the_same_marks(tmp_path: Path) -> None:
    with duckdb.connect(f"{tmp_path}/t.duckdb") as connection:
        connection.execute("CREATE TABLE t (id INTEGER, v DECIMAL(10, 2), w VARCHAR)")
    file = of_text(tmp_path, "id;v;w\n1;1.234,50;1.234,50\n2;0,1;x\n")
    done = loaded(tmp_path, file, create=False, written={"decimal": ",", "thousands": "."})
    assert done.rejected == 0
    rows = asked(tmp_path, "SELECT id, CAST(v AS VARCHAR), w FROM t ORDER BY id")
    assert rows == [(1, "1234.50", "1.234,50"), (2, "0.10", "x")]


LINES = (
    '{"id": 1, "name": "a", "at": "2026-01-31 10:00:00", "code": "007", "tags": {"x": [1, null]}}\n'
    '\n{"name": "Zoë \\"Z\\"\\n\\ud83d\\ude00", "id": 2, "code": "5", "ok": true}\n'
    '{"id": 3, "name": "", "v": 0.1, "at": null}\n'
)


@pytest.mark.parametrize("way", ["plain", "gz", "bz2", "xz", "zst", "stdin"])
def test_json_lines_are_rows_of_their_members(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa

    pack = {
        "gz": gzip.compress,
        "bz2": bz2.compress,
        "xz": lzma.compress,
        "zst": lambda b: pa.compress(b, "zstd", asbytes=True),
    }
    bare = LINES.encode()
    name = of_text(
        tmp_path, pack[way](bare) if way in pack else bare, f"a.ndjson{'.' + way if way in pack else ''}"
    )
    if way == "stdin":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(bare))))
        name = "-"
    notes: list[str] = []
    done = loaded(tmp_path, name, notes=notes, verify=True)
    assert (done.verdict, done.rejected, done.rows_stored) == ("proven", 0, 3)
    assert "JSON lines" in notes
    columns = [(n, t) for n, t, *_ in asked(tmp_path, "DESCRIBE t")]
    assert dict(columns) == {
        "id": "INTEGER", "name": "VARCHAR", "at": "TIMESTAMP WITH TIME ZONE", "code": "VARCHAR", "tags": "VARCHAR", "ok": "BOOLEAN",
        "v": "DOUBLE",
    } or dict(columns)["at"].startswith("TIMESTAMP")  # fmt: skip
    rows = asked(tmp_path, 'SELECT id, name, code, tags, ok, v, "at" IS NULL FROM t ORDER BY id')
    assert rows == [
        (1, "a", "007", '{"x": [1, null]}', None, None, False),
        (2, 'Zoë "Z"\n😀', "5", None, True, None, True),
        (3, "", None, None, None, 0.1, True),
    ]


def test_json_lines_say_null_and_numbers_themselves(tmp_path: Path) -> None:
    file = of_text(tmp_path, '{"a": 1}\n{"a": null}\n', "a.ndjson")
    for words in ({"null": "NA"}, {"decimal": ","}):
        with pytest.raises(UsageError, match="are JSON's own"):
            loaded(tmp_path, file, written=words)


def test_what_is_said_of_texts_is_refused_of_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="--encoding is of texts"):
        loaded(tmp_path, str(tmp_path / "a.parquet"), encoding="latin-1")
    with pytest.raises(UsageError, match="--decimal is of texts"):
        loaded(tmp_path, str(tmp_path / "a.parquet"), written={"decimal": ","})


def test_members_of_several_files_are_columns_of_one_table_and_others_are_rejected(tmp_path: Path) -> None:
    one = of_text(tmp_path, '{"a": 1}\n{"a": 2, "b": 0.5}\n', "1.ndjson")
    two = of_text(tmp_path, '{"c": "x", "a": 3}\n{"a": 4, "a": 5}\n[4]\n', "2.ndjson")
    done = loaded(tmp_path, one, two)
    assert (done.verdict, done.rows_stored, done.rejected) == ("proven", 3, 2)
    assert asked(tmp_path, "SELECT a, b, c FROM t ORDER BY a") == [
        (1, None, None),
        (2, 0.5, None),
        (3, None, "x"),
    ]
    later = of_text(tmp_path, json.dumps({"a": 6}) + "\n" + json.dumps({"a": 7, "d": 1}) + "\n", "3.ndjson")
    with pytest.raises(UsageError, match="table t has no column d"):
        loaded(tmp_path, later, create=False)


def test_a_file_without_rows_among_others_has_none(tmp_path: Path) -> None:
    files = [
        of_text(tmp_path, text, name)
        for name, text in (
            ("0.csv", ""),
            ("1.csv", "id,n\n1,x\n"),
            ("2.csv", "id,n\n"),
            ("3.csv", "\n"),
            ("4.csv", "id,n\n2,y\n"),
        )
    ]
    done = loaded(tmp_path, *files, verify=True)
    assert (done.verdict, done.rows_stored, done.rejected, done.files) == ("proven", 2, 0, 5)
    assert asked(tmp_path, "SELECT * FROM t ORDER BY id") == [(1, "x"), (2, "y")]
    assert loaded(tmp_path, *files).rows_before == 2
    twice = [
        of_text(tmp_path, "", "5.csv"),
        of_text(tmp_path, "id,n\n", "6.csv"),
        of_text(tmp_path, "id,n\n7,z\n", "7.csv"),
    ]
    more = loaded(tmp_path, files[0], files[2], *twice)
    assert (more.rows_stored, more.rejected) == (1, 0), "two files without rows store nothing twice"
    with pytest.raises(UsageError, match=r"0\.csv: is empty"):
        loaded(tmp_path, files[0], files[2])


def test_a_column_gets_the_type_that_is_said(tmp_path: Path) -> None:
    file = of_text(tmp_path, "id,price,code,day\n1,1.50,5,2026-01-31\n2,0.1,6,2026-02-01\n")
    done = loaded(
        tmp_path, file, types={"price": "DECIMAL(10, 2)", "code": "text", "id": "i64", "day": "text"}
    )
    assert done.rejected == 0 and done.rows_stored == 2
    kinds = [kind for _, kind, *_ in asked(tmp_path, "DESCRIBE t")]
    assert kinds == ["BIGINT", "DECIMAL(10,2)", "VARCHAR", "VARCHAR"]
    assert asked(tmp_path, "SELECT CAST(price AS VARCHAR), code FROM t ORDER BY id") == [
        ("1.50", "5"),
        ("0.10", "6"),
    ]
    with pytest.raises(UsageError, match="there is no such column"):
        loaded(tmp_path, file, types={"prise": "text"}, again=True)
    with pytest.raises(UsageError, match="it goes with --create"):
        loaded(tmp_path, file, types={"price": "text"}, create=False)


def content(folder: Path) -> dict[Path, bytes]:
    """All files but DuckDB's own, which it makes when it is asked."""
    return {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "duckdb" not in path.name
    }


def test_a_dry_run_says_what_a_load_would_do_and_changes_nothing(tmp_path: Path) -> None:
    file = of_text(tmp_path, "id;v\n1;1,5\n2;x\n3\n")
    into = f"duckdb://{tmp_path}/t.duckdb"
    notes: list[str] = []
    call = Call((file,), "t", into=into, create=True, written={"decimal": ","}, dry_run=True)
    before = content(tmp_path)
    found = dry_run(call, notes.append)
    assert notes == ["`;`, decimal comma, line 1 is the header"]
    assert found.lines[0].startswith('would be created: CREATE TABLE "t"')
    assert (found.rows, found.rejected) == (2, 1)
    assert any("line 4: too few fields: 1 of 2: 3" in line for line in found.lines)
    assert found.lines[-1].startswith("nothing was changed: this was --dry-run; what the server would refuse")
    assert content(tmp_path) == before
    with duckdb.connect(f"{tmp_path}/t.duckdb") as connection:
        assert connection.sql("SHOW TABLES").fetchall() == []
        connection.execute("CREATE TABLE t (id INTEGER, v DOUBLE)")
    found = dry_run(Call((file,), "t", into=into, written={"decimal": ","}, dry_run=True), notes.append)
    assert found.lines[0] == "table t is there: id INTEGER, v DOUBLE"
    assert (found.rows, found.rejected) == (1, 2)
    assert any("line 3: column v: not a number" in line for line in found.lines)
    assert asked(tmp_path, "SHOW TABLES") == [("t",)] and asked(tmp_path, "SELECT * FROM t") == []
    found = dry_run(
        Call((file,), "u", into=into, create=True, types={"v": "INTEGER"}, dry_run=True), notes.append
    )
    assert (found.rows, found.rejected) == (0, 3), "a type of the database is read as its values are stored"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"delimiter": "ab"}, "--delimiter 'ab': write one ASCII character"),
        ({"thousands": "x"}, "--thousands 'x': write one character that is no letter"),
        ({"decimal": ",", "thousands": ","}, "both ','"),
        ({"thousands": "."}, "it is the mark before a fraction too"),
        ({"quote": "'", "delimiter": "'"}, "both"),
        ({"delimiter": ",", "thousands": ",", "quote": ""}, "both ','"),
        ({"delimiter": ",", "decimal": ","}, "both ','"),
    ],
)
def test_what_cannot_be_written_so_is_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_said(None, None, None, words)
    with pytest.raises(UsageError, match="--quote: fields are quoted in csv alone"):
        read_said(None, None, "mysql", {"quote": "'"})
    with pytest.raises(UsageError, match="--decimal: JSON says it itself"):
        read_said(None, None, "ndjson", {"decimal": ","})


def test_a_mark_of_thousands_that_is_between_fields_too_stands_in_quotes(tmp_path: Path) -> None:
    file = of_text(tmp_path, 'id,v,n\n1,"1,234.50","1,000"\n2,12.5,"2,500"\n3,4,1,5\n')
    done = loaded(tmp_path, file, written={"delimiter": ",", "thousands": ","})
    assert (done.rows_stored, done.rejected) == (2, 1)
    assert asked(tmp_path, "SELECT * FROM t ORDER BY id") == [(1, 1234.5, 1000), (2, 12.5, 2500)]


def test_a_line_that_is_one_column_for_a_mark_of_thousands_is_asked_about(tmp_path: Path) -> None:
    file = of_text(tmp_path, "id,amount\n1,1,234\n2,2,500\n")
    with pytest.raises(
        UsageError, match=r"has one column, 'id,amount', for --thousands says.*give --delimiter ','"
    ):
        loaded(tmp_path, file, written={"thousands": ","})
    assert (
        loaded(tmp_path, of_text(tmp_path, "v\n1,234\n", "b.csv"), written={"thousands": ","}).verdict
        == "proven"
    )
    assert asked(tmp_path, "SELECT * FROM t") == [(1234,)]


def test_times_beside_numbers_with_marks_are_times(tmp_path: Path) -> None:
    file = of_text(tmp_path, "id;d;v\n1;31.01.2026;0,5\n2;28.02.2026;1,5\n")
    assert loaded(tmp_path, file, written={"decimal": ","}).verdict == "proven"
    assert asked(tmp_path, "SELECT d, v FROM t ORDER BY id")[0] == (datetime.date(2026, 1, 31), 0.5)
