"""What `inrush new` sees in a file, and that what it writes is a valid study."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.errors import UsageError
from inrush.plan.plan import plan_study
from inrush.study.chosen import choose_columns
from inrush.study.column_lines import lines
from inrush.study.new import batches_of, write_new
from inrush.study.reading import load_study
from inrush.study.said import TextSaid
from inrush.study.sniff import sniff
from inrush.study.value_types import choose
from tests.evidence import evidence_of
from tests.strategies import KNOWN, fake_servers


def type_of(values: Sequence[str]) -> str:
    """The narrowest type that all values fit."""
    return choose(evidence_of(values)).fit.type


def written(tmp_path: Path, text: str, name: str = "mine.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


def types(path: Path) -> dict[str, str]:
    return {column.name: column.type for column in sniff(path).columns}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "-2", "3"], "i32"),
        (["1", "-2", "+3"], "text"),
        (["1", str(2**31)], "i64"),
        (["1", str(2**63)], "u64"),
        (["-1", str(2**63)], "text"),
        (["1", str(2**64)], "text"),
        (["1", "2.5", "1e-3"], "f64"),
        (["1.5", "nan", "-inf"], "text"),
        (["0.1", "1e-400"], "text"),
        (["0.12345678901234568", "1.50", "1e22", "12345678901234567000.0"], "f64"),
        (["12345678901234567.89"], "text"),
        (["007", "123"], "text"),
        (["0", "10"], "i32"),
        (["true", "f"], "bool"),
        (["Y", "N"], "text"),
        (["[0.5, 0.12345678901234567890123]"], "text"),
        (["2026-02-28"], "time_ms"),
        (["2026-02-30"], "text"),
        (["2026-01-01T00:00:00Z", "2026-01-01 00:00:00.125+01:00"], "time_ms"),
        (["2026-01-01 00:00:00.125100"], "time_us"),
        (["2026-01-01 00:00:00.1250000001"], "text"),
        (["[1, 2]", "[]"], "list_i64"),
        (["[1, 2.5]"], "list_f64"),
        (["1", "one"], "text"),
        ([], "text"),
    ],
)
def test_a_column_gets_the_narrowest_type_that_holds_all_its_values(values: list[str], expected: str) -> None:
    assert type_of(values) == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_integers_are_never_given_a_type_that_is_too_small(values: list[int]) -> None:
    limit = {"i32": 2**31, "i64": 2**63}[type_of([str(v) for v in values])]
    assert all(-limit <= v < limit for v in values)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("header", [True, False])
def test_the_delimiter_and_the_header_are_found(delimiter: str, header: bool, tmp_path: Path) -> None:
    rows = [["id", "name", "when"]] * header + [[str(i), f"n{i}, or so", "2026-01-01"] for i in range(9)]
    text = "\n".join(delimiter.join(f'"{f}"' if delimiter in f else f for f in row) for row in rows)
    found = sniff(written(tmp_path, text))
    usual = "\t" if found.format == "tsv" else ","
    assert (found.written.get("delimiter", usual), found.header) == (delimiter, header)
    assert [c.name for c in found.columns] == (["id", "name", "when"] if header else ["c01", "c02", "c03"])


def test_quotes_line_breaks_and_the_word_for_null_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "said", "delay"])
        writer.writerows([[i, 'a "quoted",\ntext', "NA" if i % 3 == 0 else i * 0.5] for i in range(30)])
    found = sniff(path)
    assert types(path) == {"id": "i32", "said": "text", "delay": "f64"}
    assert found.written == {"null": "NA"}
    assert [c.nulls for c in found.columns] == [0, 0, 10]
    assert (found.rows, found.complete) == (30, True)


def test_rows_that_the_core_would_reject_decide_on_nothing(tmp_path: Path) -> None:
    text = '\ufeffid,v\n1,2.5\n\n2\n3,4,five\n4,"6"7\n5,8.5\n'
    found = sniff(written(tmp_path, text))
    assert [(c.name, c.type) for c in found.columns] == [("id", "i32"), ("v", "f64")]
    assert found.rows == 2, "1 and 5"
    # A quote that nobody closes takes the lines behind it along, and those before it still count.
    found = sniff(written(tmp_path, 'id,v\n1,2.5\n2,"three\n4,5\n', "open.csv"))
    assert [c.type for c in found.columns] == ["i32", "f64"]


def test_mysql_text_is_known_by_its_null(tmp_path: Path) -> None:
    path = written(tmp_path, "1,\\N,2.5\n2,7,\\N\n")
    found = sniff(path)
    assert (found.format, found.written, found.header) == ("mysql", {"delimiter": ","}, False)
    assert types(path) == {"c01": "i32", "c02": "i32", "c03": "f64"}
    assert sniff(written(tmp_path, "id\tv\n1\t\\N\n", "t.tsv")).format == "tsv"


@pytest.mark.parametrize("late", [0, 3_000])
def test_backslashes_that_mysql_never_writes_stand_for_themselves(late: int, tmp_path: Path) -> None:
    """late: rows before the one with such a backslash."""
    rows = [f"{i},a,\\N\n" for i in range(late)] + ["1,C:\\temp\\new1,\\N\n", "2,D:\\x,5\n"]
    found = sniff(written(tmp_path, "".join(rows)))
    assert (found.format, found.written, found.escaped) == ("csv", {"null": "\\N"}, "")
    of_mysql = sniff(written(tmp_path, "1,C:\\\\temp,\\N\n2,a\\,b,5\n", "m.csv"))
    assert (of_mysql.format, of_mysql.escaped) == ("mysql", "C:\\\\temp")


@pytest.mark.parametrize(
    ("text", "whose"), [("1,C:\\\\temp,\\N\n", "MySQL's"), ("id\tv\n1\tC:\\temp\n", "PostgreSQL's")]
)
def test_a_format_in_which_backslashes_escape_is_named(text: str, whose: str, tmp_path: Path) -> None:
    found = sniff(written(tmp_path, text))
    [line] = [one for one in lines(choose_columns([found]), [found], ["a"]) if "backslash" in one]
    assert line.startswith(f"read as {whose} text") and "temp`" in line and "--format csv" in line
    plain = sniff(written(tmp_path, text.replace("\\", "/").replace("/N", "\\N"), "b.csv"))
    assert not [one for one in lines(choose_columns([plain]), [plain], ["b"]) if "backslash" in one]
    said = sniff(written(tmp_path, text * 3, "c.csv"), said=TextSaid(format=found.format))
    assert said.escaped == "", "the command line has named the format"


def test_a_shorter_look_leaves_room_for_larger_integers_behind_it(tmp_path: Path) -> None:
    path = written(tmp_path, "id,name\n1,a\n2,b\n3,c\n9999999999,d\n")
    found = sniff(path, 3)
    assert (found.rows, found.complete) == (3, False)
    assert [c.type for c in found.columns] == ["i64", "text"]
    assert sniff(path, 5).complete


def test_parquet_says_its_own_types(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    pq.write_table(
        pa.table(
            {
                "id": pa.array([1], pa.uint64()),
                "when": pa.array([datetime(2026, 1, 1, tzinfo=timezone.utc)], pa.timestamp("us", "UTC")),
                "items": pa.array([[1.5]], pa.list_(pa.float64())),
                "word": pa.array(["a"]).dictionary_encode(),
            }
        ),
        path,
    )
    assert types(path) == {"id": "u64", "when": "time_us", "items": "list_f64", "word": "text"}
    spelled = {
        "price": pa.array([None], pa.decimal128(20, 2)),
        "clock": pa.array([None], pa.time64("ns")),
        "pair": pa.array([{"a": 1}]),
        "none": pa.array([None], pa.null()),
    }
    pq.write_table(pa.table(spelled), path)
    assert types(path) == dict.fromkeys(spelled, "text")
    said = lines(choose_columns([sniff(path)]), [sniff(path)], [str(path)])
    assert "column price: decimal128(20, 2); stored as text" in said and len(said) == len(spelled), said
    pq.write_table(pa.table({"raw": pa.array([b"x"])}), path)
    with pytest.raises(UsageError, match="column raw: bytes of a file go by `inrush load` alone"):
        choose_columns([sniff(path)])
    pq.write_table(pa.table({"took": pa.array([None], pa.duration("s"))}), path)
    with pytest.raises(UsageError, match="column took is duration"):
        sniff(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "is empty"), ("\n \n", "is empty"), ("\x00\x01\x02", "not text"), ("id,name\n", "no rows")],
)
def test_a_file_without_rows_is_refused_in_one_sentence(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sniff(written(tmp_path, content))


def test_what_is_written_is_a_valid_study_that_plans(tmp_path: Path) -> None:
    source = written(tmp_path, "id,Näme,at\n" + "".join(f"{i},n{i},2026-01-01\n" for i in range(1500)))
    workload, study_file = write_new("mine", [source], tmp_path / "studies")
    assert (workload.name, study_file.name) == ("mine-workload.toml", "mine.toml")
    study = load_study(str(study_file), known=KNOWN)
    plan = plan_study(study, fake_servers())
    (table,) = plan.runs[0].plan["tables"]
    assert table["source"]["kind"] == "files"
    assert [c["name"] for c in table["columns"]] == ["id", "Näme", "at"]
    assert {r.labels["factors"]["batch_rows"] for r in plan.runs} == {200, 1000}


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [(1, [1]), (2, [1, 2]), (300, [30, 300]), (999, [99, 999]), (1_000, [200, 1_000])],
)
def test_few_rows_are_compared_in_two_sizes_of_batches(rows: int, sizes: list[int]) -> None:
    assert batches_of(rows) == sizes


def test_nothing_is_ever_overwritten(tmp_path: Path) -> None:
    source = written(tmp_path, "id\n1\n2\n")
    write_new("mine", [source], tmp_path)
    with pytest.raises(UsageError, match="is there already"):
        write_new("mine", [source], tmp_path)
    with pytest.raises(UsageError, match="lower case"):
        write_new("My Study", [source], tmp_path)


def test_several_files_of_one_table_get_types_that_hold_all_of_them(tmp_path: Path) -> None:
    one, two = (
        written(tmp_path, "id,v\n1,2\n2,5\n", "a.csv"),
        written(tmp_path, f"id,v\n{2**40},2.5\n", "b.csv"),
    )
    text = write_new("both", [one, two], tmp_path)[0].read_text()
    assert '{ name = "id", type = "i64" }' in text
    assert '{ name = "v", type = "f64" }' in text
    other = written(tmp_path, "id,w\n1,2\n", "c.csv")
    with pytest.raises(UsageError, match="other columns"):
        write_new("three", [one, other], tmp_path)
