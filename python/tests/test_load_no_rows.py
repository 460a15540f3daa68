"""That a file has no rows is said of those that have none."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inrush.errors import UsageError
from inrush.load.call import Call
from inrush.load.input import open_inputs
from inrush.load.run import load
from inrush.study.said import read_said
from inrush.study.sniff import sniff


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n", "has no rows below its header"),
        ('"a\nb",c\n', "has no rows below its header"),
        ("a,b\n\n\n", "has no rows below its header"),
        (
            "a,b\n1,2,3\n4,5,6\n",
            "none of its rows can be read; line 2: too many fields: 3 for 2; give --skip 1 if line 2 names the columns, or "
            "--skip 1 --header no --columns NAME,…",
        ),
        (
            'a,b\n1,"2\n',
            "none of its rows can be read; line 2: unbalanced quote",
        ),
    ],
)
def test_a_file_without_a_row_that_can_be_read(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text)
    with pytest.raises(UsageError) as failed:
        sniff(file)
    assert str(failed.value) == f"{file}: {said}"


def test_delimiters_at_the_end_of_lines_alone_are_read_as_the_message_says(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2,\n4,5,\n")
    told = read_said("no", "a,b,rest", None, {"skip": 1})
    assert [(c.name, c.type) for c in sniff(file, said=told).columns] == [
        ("a", "i32"),
        ("b", "i32"),
        ("rest", "text"),
    ]
    with pytest.raises(UsageError, match="--columns NAME"):
        sniff(file)


def test_columns_of_one_name_are_those_of_their_file(tmp_path: Path) -> None:
    text, parquet = tmp_path / "a.csv", tmp_path / "a.parquet"
    text.write_text("a,A\n1,2\n")
    pq.write_table(pa.table({"a": [1], "A": [2]}), parquet)
    for file in (text, parquet):
        with pytest.raises(UsageError, match=f"^{file}: two columns are named A"):
            sniff(file)


def test_a_first_line_that_is_too_long_is_called_so(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    names = ",".join(f"{'c' * 60_000}{k}" for k in range(20))
    file.write_text(f"{names}\n{','.join('7' * 20)}\n")
    with pytest.raises(
        UsageError, match=r"line 1 is longer than 1 MiB, and its columns are not found; give fewer columns$"
    ):
        sniff(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", r"a\.csv\.gz: is empty; give a file with rows"),
        (b"a,b\n1,2,3\n", r"a\.csv\.gz: none of its rows can be read"),
    ],
)
def test_a_packed_file_is_called_by_its_own_name(text: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.csv.gz"
    file.write_bytes(gzip.compress(text))
    (tmp_path / "spool").mkdir()
    with pytest.raises(UsageError, match=f"^{tmp_path}/{said}"):
        open_inputs([str(file)], tmp_path / "spool")


def test_a_rejected_row_of_a_packed_file_is_of_that_file(tmp_path: Path) -> None:
    file = tmp_path / "a,b.csv.gz"
    file.write_bytes(gzip.compress(b'n,of\n1,2\n2,"x\ny"\n3,z\n'))
    with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
        made.sql("CREATE TABLE t (n INTEGER, of INTEGER)")
    call = Call((str(file),), "t", into=f"duckdb:{tmp_path}/t.duckdb")
    done = load(call, tmp_path / "loads", lambda note: None, lambda event: None)
    assert done.rejects is not None
    with done.rejects.open(newline="") as lines:
        assert [(row["file"], row["line"], row["text"]) for row in csv.DictReader(lines)] == [
            (str(file), "3", '2,"x\ny"'),
            (str(file), "5", "3,z"),
        ]
