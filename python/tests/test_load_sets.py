"""Sets of inputs that others test their readers with: each is stored identically, rejected row by row, or refused in one line.

Python's csv module, DuckDB's CSV files and the Parquet testing files are here in a line or two each; pandas' texts are those
of the package. An independent reader (Python's csv, Arrow) says what identical is. How many of each set come out how stands
in docs/loading.md, and `python -m python.tests.test_load_sets FOLDER…` counts it for folders of files.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inrush.commands.load import lines
from inrush.errors import InrushError, UsageError
from inrush.load.call import Call
from inrush.load.input import open_inputs
from inrush.load.run import Loaded, load
from inrush.study.said import read_said
from tests.independent import Marks, marks_in_duckdb, pandas_cases, same, stated, text_rows

#: What a case comes to: every row as the reader has it, these lines rejected, or refused with these words.
IDENTICAL = "identical"
Case = tuple[bytes, dict[str, Any], str]

NO_TEXT, QUOTE = "refused: is not text", "refused: quotation mark without its partner"
BEHIND = "refused: line 1 has a text behind a closing quotation mark"
#: Inputs of CPython's Lib/test/test_csv.py; without a header, as there.
PYTHON: tuple[Case, ...] = (
    (b"abc", {}, IDENTICAL), (b"", {}, "refused: is empty"), (b",", {}, IDENTICAL), (b'""', {}, IDENTICAL),
    (b'"",', {}, IDENTICAL), (b',""', {}, IDENTICAL), (b'""""', {}, IDENTICAL), (b'""""""', {}, IDENTICAL),
    (b'a""b', {}, IDENTICAL), (b'a"b"c', {}, IDENTICAL), (b'a"b', {}, IDENTICAL), (b'12,12,1",', {}, IDENTICAL),
    (b'"a"b', {}, BEHIND), (b'"a" "b"', {}, BEHIND), (b' "a"', {}, QUOTE), (b'"ab"c', {}, BEHIND), (b'a,"', {}, QUOTE),
    (b'"a', {}, QUOTE), (b"a,b", {}, IDENTICAL), (b"a,b\n", {}, IDENTICAL), (b"a,b\r\n", {}, IDENTICAL),
    (b"a,b\r", {}, "refused: lines end with CR only"), (b"a,b\rc,d", {}, "refused: lines end with CR only"),
    (b"\0", {}, NO_TEXT), (b"a,\0b,c", {}, NO_TEXT), (b"a,b\0,c", {}, NO_TEXT), (b'a,"\0b",c', {}, NO_TEXT),
    (b"a\0b\0c", {"delimiter": "\0"}, "refused: write one ASCII character"),
    (b"a,b,c", {}, IDENTICAL), (b"a;b;c", {"delimiter": ";"}, IDENTICAL), (b"a,\\b,c", {}, IDENTICAL),
    (b'a,"b\\,c"', {"escape": "\\"}, IDENTICAL), (b'a,"b,\\c"', {"escape": "\\"}, IDENTICAL),
    (b'a,"b,c\\""', {"escape": "\\"}, IDENTICAL), (b'a,"b,c"\\', {"escape": "\\"}, BEHIND),
    (b'1,",3,",5', {}, IDENTICAL), (b'1,",3,",5', {"quote": ""}, IDENTICAL), (b"1,@,3,@,5", {"quote": "@"}, IDENTICAL),
    (b"abc\\,def\r\n", {"quote": "", "escape": "\\"}, "refused: --escape"),
    (b',3,"5",7.3, 9', {}, IDENTICAL), (b'"a\nb", 7', {}, IDENTICAL), (b"abc,3", {}, IDENTICAL),
    (b"no space, space,  spaces,\ttab", {}, IDENTICAL), (b"X" * 50_000 + b"," + b"X" * 50_000, {}, IDENTICAL),
    (b"line,1\nline,2\nline,3", {}, IDENTICAL), (b'"a\nb",b\r\nc,"x\r\nd"\r\n', {}, IDENTICAL),
    (b'1,2,3,"""I see,"" said the blind man","as he picked up his hammer and saw"', {}, IDENTICAL),
    (b'1,2,3,"""I see,""\nsaid the blind man","as he picked up his\nhammer and saw"\n9,8,7,6', {}, "rejected: 4"),
    (b'1,2,"a\nbc",3,4\r\n', {}, IDENTICAL), (b'"abc,def"\r\n', {}, IDENTICAL), (b'"1","abc def","abc"\n', {}, IDENTICAL),
    (b"f1,f2\r\n1,2,abc,4,5,6\r\n", {}, "rejected: 2"), (b"1,2,abc,4,5,6\r\n1,2,abc\r\n", {}, "rejected: 2"),
    (b"1,2,abc,4,5,6\r\n\r\n1,2,abc,4,5,6\r\n", {}, "rejected: 2"), (b"1;2;abc;4;5;6\r\n", {"delimiter": ";"}, IDENTICAL),
    (b"abc def\nhij klm", {"delimiter": " "}, IDENTICAL), ("☃,é\n".encode(), {}, IDENTICAL), (b"a\xe9,b\n", {}, "rejected: 1"),
    (b"'Harry''s':'Arlington Heights':'IL':'2/1/03':'Kimi'\n", {"quote": "'", "delimiter": ":"}, IDENTICAL),
    (b"2147483648;43.0e12;17;abc;def\n147483648;43.0e2;17;abc;def\n47483648;43.0;170;abc;def\n", {}, IDENTICAL),
)  # fmt: skip

BREAKS, FLAWS = b"a,b\n" + b'0,"x\ny"\n' * 50, b"a,b\n1,x\n2,\xff\n3,y\n"
#: Of the kinds of files below data/csv of DuckDB.
DUCKDB: tuple[Case, ...] = (
    (b"a|b\n1|2\n3|4\n", {}, IDENTICAL), (b"a;b\n1;2,5\n", {}, IDENTICAL), (b"a\tb\n1\t\n\t2\n", {}, IDENTICAL),
    (b"a,a\n1,2\n", {}, "refused: two are named a"), (b"a,\n1,2\n", {}, "refused: column 2 has no name"),
    (b"a,b\n", {}, "refused: has no rows below its header"), (b"\n\n", {}, "refused: is empty"),
    (b"\na,b\n1,x\n", {}, "refused: not on line 1"), (b"a,b,c\n1,2,3\n4,5\n6,7,8,9\n", {}, "rejected: 3, 4"),
    (b"# made by hand\n# x\na,b\n1,2\n", {}, "refused: is a comment"), (b"# x\na,b\n# y\n1,2\n", {"comment": "#"}, IDENTICAL),
    (b'a,b\n"123","foo (\\"foo\\")"\n4,x\n', {}, "rejected: 2"),
    (b'a,b\n"123","foo (\\"foo\\")"\n4,x\n', {"escape": "\\"}, IDENTICAL),
    (b'a,b\n1, "x"\n2,y\n', {}, "rejected: 2"), (b'a,b\n1,"x\n2,y\n3,z\n', {}, "rejected: 2"), (BREAKS, {}, IDENTICAL),
    (FLAWS, {}, "rejected: 3"), (b"\xff\xfea\0,\0b\0\n\0", {}, "refused: is UTF-16"), (b"\xef\xbb\xbfa,b\n1,x\n", {}, IDENTICAL),
    (b"a,b\n1,x\0\n", {}, NO_TEXT), (b"d,n\n01/02/2020,1\n", {}, "refused: dates have their day"),
    (b"d,n\n2020-01-31,1\n1992-02-03,2\n", {}, IDENTICAL), (b"d,n\n2020-01-31 10:20:30.123456,1\n", {}, IDENTICAL),
    (b"t,n\n12:22:59,1\n", {}, IDENTICAL), (b"a,b\ntrue,1\nfalse,2\n", {}, IDENTICAL),
    (b"n\n9223372036854775807\n9223372036854775808\n", {}, IDENTICAL), (b"n\n18446744073709551616\n1\n", {}, IDENTICAL),
    (b"n\n0.1\n1e400\n", {}, IDENTICAL), (b"n\n007\n008\n", {}, IDENTICAL), (b"n\n1.10\n12345678901234567.1\n", {}, IDENTICAL),
    (b"n,m\n1.234,x\n", {"decimal": ","}, "refused: another meaning"), (b"l\n\"[1, 2]\"\n\"[3]\"\n", {}, IDENTICAL),
    (b"a,b\n1,NULL\n2,x\n", {}, IDENTICAL), (b"1\n\n2\n", {"null": "1"}, IDENTICAL), (b"a,b\r\n1,x\r\n\r\n2,y\r\n", {}, "rejected: 3"),
    (b"a,b\n1,x\n2,y", {}, IDENTICAL), (b"a,b\n1,x\r2,y\r3,z\n4,w\n", {}, "rejected: 2"),
    (b"x,y\r1,2\r3,4\n5,6\n", {}, "refused: some of its lines end with CR only"), (b"a,b\r\n1,x\r\n2,y\r", {}, IDENTICAL),
    (b'1;"the "b" c"\n2;"d "e" f"\n', {}, "refused: apart by ';'"), (b'1\t"a;b\tc\n2\tx\t"\n3\ty;\tz\n', {}, IDENTICAL),
    (b"a,b\n1," + b"y" * 100_000 + b"\n", {}, IDENTICAL),
)  # fmt: skip

COMMA, TAB = Marks(), Marks("\t")
#: Of those above that are not written with a comma, by their beginning.
MARKS = {
    b"a|b": Marks("|"),
    b"a;b": Marks(";"),
    b"a\tb": TAB,
    b'1;"the': Marks(";"),
    b'1\t"a': TAB,
    b"2147": Marks(";"),
}
#: Columns as the Parquet testing files have them, by their writer: Arrow's array -> what DuckDB gives, or words of a refusal.
PARQUET: dict[str, tuple[pa.Array, list[Any] | str]] = {
    "boolean": (pa.array([True, None, False]), [True, None, False]),
    "uint64": (pa.array([2**64 - 1, 0], pa.uint64()), [2**64 - 1, 0]),
    "int8": (pa.array([-128, 127], pa.int8()), [-128, 127]),
    "float16": (pa.array([1.5, float("inf"), -0.0], pa.float32()).cast(pa.float16()), [1.5, float("inf"), -0.0]),
    "double": (pa.array([5e-324, 1.7976931348623157e308]), [5e-324, 1.7976931348623157e308]),
    "decimal": (pa.array(["0.0000001", "-12.5000000"]).cast(pa.decimal128(20, 7)), [Decimal("1E-7"), Decimal("-12.5")]),
    "date": (pa.array([-1, 0], pa.date32()), [datetime.date(1969, 12, 31), datetime.date(1970, 1, 1)]),
    "time": (pa.array([1_500_000], pa.time64("us")), ["00:00:01.5"]),
    "dictionary": (pa.array(["x", None, "x"]).dictionary_encode(), ["x", None, "x"]),
    "utf8": (pa.array(["", "é\0"[:1], "a\nb"]), ["", "é", "a\nb"]),
    "binary": (pa.array([b"", b"\x00\xff"]), [b"", b"\x00\xff"]),
    "list": (pa.array([[1, 2], [], None]), [[1, 2], [], None]),
    "struct": (pa.array([{"a": 1, "b": {"c": "x"}}]), ['{"a": 1, "b": {"c": "x"}}']),
    "map": (pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())), ['{"a": 1}', "{}"]),
    "map of bytes": (pa.array([[(b"\xff", 1)]], pa.map_(pa.binary(), pa.int64())), ['{"ff": 1}']),
    "map in a list": (pa.array([[[("a", 1)]]], pa.list_(pa.map_(pa.string(), pa.int64()))), ['[{"a": 1}]']),
    "key twice": (pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64())), "none that JSON has"),
    "far time": (pa.array([{"t": 2**62}], pa.struct([("t", pa.timestamp("us"))])), "none that JSON has"),
    "uuid": (pa.array([b"\x01" * 16, None], pa.uuid()), [UUID(int=int("01" * 16, 16)), None]),
    "json": (pa.array(['{"a": [1]}', None], pa.json_()), ['{"a": [1]}', None]),
    "nanoseconds": (pa.array([1], pa.timestamp("ns")), "would lose data"),
    "duration": (pa.array([1], pa.duration("s")), "no type of ours keeps exactly"),
    "no UTF-8": (pa.array([b"\xff"]).view(pa.string()), "Invalid UTF8"),
    "no UTF-8 in a struct": (pa.StructArray.from_arrays([pa.array([b"\xff"]).view(pa.string())], ["a"]), "Invalid UTF8"),
    "no time of a day": (pa.array([-1, 86_400_000_000]).view(pa.time64("us")), "not within the acceptable range"),
    "no rows": (pa.array([], pa.int64()), "has no rows"),
}  # fmt: skip


#: Of pandas' texts every eleventh is loaded, in parts: a load takes a third of a second.
EVERY, PARTS = 11, 8


def loaded(file: Path, folder: Path, **words: Any) -> Loaded:
    call = Call((str(file),), "t", into=f"duckdb://{folder}/t.duckdb", create=True, **words)
    return load(call, folder / "loads", lambda line: None, lambda event: None)


def outcome(file: Path, folder: Path, marks: Marks = COMMA, **words: Any) -> str:
    """What a load of the file comes to; that it is none of the three fails. marks: as whoever made it states them."""
    try:
        done = loaded(file, folder, **words)
    except UsageError as refused:
        assert len(refused.problems) <= 2 and all("\n" not in str(p) for p in refused.problems), str(refused)
        return f"refused: {refused}"
    assert done.verdict in ("proven", "counted", "nothing"), lines(done)
    said = read_said(words.get("header"), None, None, words.get("written"))
    [source] = open_inputs([str(file)], folder, said=said)
    rejects = rejected(done)
    assert len(rejects) == done.rejected, "each row that is not stored is in the reject file"
    found = stored(folder / "t.duckdb")
    read = text_rows(Path(source.at), rejects, source.sniffed, stated(words.get("written", {}), marks))
    assert len(found) == len(read), (found[:3], read[:3])
    null = source.sniffed.written.get("null", "\\N" if source.sniffed.format in ("tsv", "mysql") else "")
    for row, expected in zip(found, read, strict=True):
        assert len(row) == len(expected)
        assert all(same(text, value, null) for text, value in zip(expected, row, strict=True)), (
            expected,
            row,
        )
    return f"rejected: {', '.join(str(line) for line, _ in rejects)}" if rejects else IDENTICAL


def stored(database: Path) -> list[tuple[Any, ...]]:
    """All rows; times as µs since 1970."""
    with duckdb.connect(str(database), read_only=True) as connection:
        described = [
            (name.replace('"', '""'), kind) for name, kind, *_ in connection.sql("DESCRIBE t").fetchall()
        ]
        asked = (
            f'epoch_us("{name}")' if kind.startswith("TIMESTAMP") else f'"{name}"' for name, kind in described
        )
        return connection.sql(f"SELECT {', '.join(asked)} FROM t ORDER BY rowid").fetchall()


def rejected(done: Loaded) -> list[tuple[int, str]]:
    """Line and text of each row."""
    if done.rejects is None:
        return []
    with done.rejects.open(newline="", encoding="utf-8", errors="replace") as rows:
        return [
            (int(row["line"]), row["text"])
            for row in csv.DictReader(line.replace("\0", " ") for line in rows)
        ]


def checked(folder: Path, case: Case, **words: Any) -> None:
    text, written, expected = case
    file = folder / "a.csv"
    file.write_bytes(text)
    marks = next((marks for start, marks in MARKS.items() if text.startswith(start)), COMMA)
    found = outcome(file, folder, marks, written=written, **words)
    assert matches(found, expected), found


def matches(found: str, expected: str) -> bool:
    """A refusal by its words, all else letter by letter."""
    kind, _, words = expected.partition(": ")
    return found.startswith(kind) and words in found if kind == "refused" else found == expected


@pytest.mark.parametrize("case", range(len(PYTHON)))
def test_inputs_of_pythons_csv_are_stored_rejected_or_refused(case: int, tmp_path: Path) -> None:
    checked(tmp_path, PYTHON[case], header="no")


@pytest.mark.parametrize("case", range(len(DUCKDB)))
def test_inputs_of_duckdb_are_stored_rejected_or_refused(case: int, tmp_path: Path) -> None:
    checked(tmp_path, DUCKDB[case])


@pytest.mark.parametrize("part", range(PARTS))
def test_inputs_of_pandas_are_stored_rejected_or_refused(part: int, tmp_path: Path) -> None:
    tests = Path(pandas.__file__).parent / "tests"
    if not tests.is_dir():
        pytest.skip("this pandas came without its tests")
    cases = pandas_cases(tests)
    assert len(cases) > 300, f"pandas' tests are not found as they were: {len(cases)} texts"
    for number, (text, marks) in enumerate(cases[::EVERY][part::PARTS]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "a.csv").write_bytes(text)
        outcome(folder / "a.csv", folder, marks)


@pytest.mark.parametrize("name", PARQUET)
def test_columns_of_parquet_are_stored_or_refused(name: str, tmp_path: Path) -> None:
    array, expected = PARQUET[name]
    pq.write_table(pa.table({"id": range(len(array)), "v": array}), tmp_path / "a.parquet", version="2.6")
    if isinstance(expected, str):
        with pytest.raises(UsageError, match=rf"a\.parquet: .*{expected}"):
            loaded(tmp_path / "a.parquet", tmp_path)
        return
    done = loaded(tmp_path / "a.parquet", tmp_path)
    assert (done.verdict, done.rejected) == ("proven", 0)
    assert [row[1] for row in stored(tmp_path / "t.duckdb")] == expected


def test_a_parquet_file_that_holds_less_than_it_says_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Arrow's reader gives of a column of fewer values than its row group, and of a group without columns."""
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2], "v": ["x", "y"]}), file)
    whole = pq.read_table(file)
    for read, said in (
        ([], "says that it has 2 rows, and 0 can be read"),
        (whole.slice(0, 1).to_batches(), "says that it has 2 rows, and 1 can be read"),
        (whole.drop(["v"]).to_batches(), "column v is a group without columns"),
    ):
        monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *_, read=read, **__: iter(read))
        with pytest.raises(UsageError, match=rf"a\.parquet: .*{said}"):
            loaded(file, tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv.gz", gzip.compress("a,b\n1,x\n".encode("utf-16")), r"a\.csv\.gz: is UTF-16"),
        ("a.ndjson", b'{"a": 1, "A": 2}\n', r"a\.ndjson: two columns are named A"),
        ("a.parquet", b"PARE....PARE", r"a\.parquet: is Parquet that is encrypted"),
    ],
    # What is packed holds its hour: each process would give the test another name.
    ids=["packed", "lines", "Parquet"],
)
def test_a_refusal_names_the_file_as_it_was_given(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=said) as refused:
        loaded(tmp_path / name, tmp_path)
    assert "spool" not in str(refused.value)


def test_a_column_of_parquet_without_a_name_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table([[1], [2]], ["id", ""]), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match=r"a\.parquet: column 2 has no name"):
        loaded(tmp_path / "a.parquet", tmp_path)


def table_of(folder: Path) -> str:
    """A row of the table in docs/loading.md, for all files below a folder such as DuckDB's data/csv; those that are different, by name."""
    found: Counter[str] = Counter()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        with tempfile.TemporaryDirectory() as work:
            try:
                marks = marks_in_duckdb(str(file.relative_to(folder)))
                kind = outcome(file, Path(work), marks, reject_limit=10**9).partition(":")[0]
            except (AssertionError, InrushError, ValueError, csv.Error) as error:
                kind = f"\n{file}: {error}"
        found[kind] += 1
    odd = "".join(kind for kind in found if kind.startswith("\n"))
    counts = " | ".join(str(found[kind]) for kind in (IDENTICAL, "rejected", "refused"))
    return f"| {folder} | {found.total()} | {counts} |{odd}"


if __name__ == "__main__":
    csv.field_size_limit(2**31)
    print(*(table_of(Path(folder)) for folder in sys.argv[1:]), sep="\n")
