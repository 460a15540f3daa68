"""Types never change silently: values that fit no narrower type are named, and dates are asked about, not guessed."""

from __future__ import annotations

import io
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.cli import main
from inrush.commands.dates import with_dates
from inrush.errors import UsageError
from inrush.load.call import Call
from inrush.load.run import Loaded, load
from inrush.study.chosen import Asked, DatesUndecided, choose_columns, read_dates, refuse_undecided
from inrush.study.column_lines import lines
from inrush.study.new import write_new
from inrush.study.reading import load_study
from inrush.study.said import read_said
from inrush.study.sniff import sniff
from inrush.study.value_types import Evidence, Seen, TextKind, choose, together
from tests.evidence import evidence_of, kind_of
from tests.strategies import KNOWN

ROWS, BAD = 100_000, 21


def written(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def seen_case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100,000 rows of which 21 are bad in three columns, the first in line 4,711."""
    rows = [f"{i},2026-01-{i % 28 + 1:02} 12:00:00,{20 + i % 10}.5,3.{i % 9}" for i in range(ROWS)]
    for k in range(BAD):
        i = 4_709 + k * 4_500
        rows[i] = f"{i},n/a,--,err"
    return written(tmp_path_factory.mktemp("seen") / "seen.csv", "id,ts,temperature,voltage", rows)


def column_types(path: Path, table: str) -> dict[str, str]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return {row[0]: row[1] for row in connection.sql(f"DESCRIBE {table}").fetchall()}


def loaded(file: Path, folder: Path, **words: Any) -> tuple[Loaded, list[str]]:
    """Into a new table of a DuckDB file; what was done and what was noted of types."""
    notes: list[str] = []
    call = Call((str(file),), "t", into=f"duckdb://{folder}/t.duckdb", create=True, **words)
    done = load(call, folder / "loads", notes.append, lambda event: None)
    notes.remove("line 1 is the header")
    return done, notes


@pytest.mark.slow
def test_twenty_one_bad_rows_make_three_columns_text_and_each_is_said(
    seen_case: Path, tmp_path: Path
) -> None:
    done, notes = loaded(seen_case, tmp_path)
    assert notes == [
        "column ts: 21 of 100,000 values are no time (first: line 4,711, 'n/a'); stored as text."
        " --strict stores times and rejects those rows",
        "column temperature: 21 of 100,000 values are no number (first: line 4,711, '--'); stored as text."
        " --strict stores numbers and rejects those rows",
        "column voltage: 21 of 100,000 values are no number (first: line 4,711, 'err'); stored as text."
        " --strict stores numbers and rejects those rows",
    ]
    assert (done.rows_stored, done.rejected) == (ROWS, 0)
    kinds = column_types(tmp_path / "t.duckdb", "t")
    assert [kinds[name] for name in ("ts", "temperature", "voltage")] == ["VARCHAR"] * 3
    said: list[str] = []
    text = write_new("mine", [seen_case], tmp_path, note=said.append)[0].read_text()
    assert said == ["line 1 is the header", *notes]
    assert '{ name = "temperature", type = "text" }' in text


@pytest.mark.slow
def test_strict_keeps_the_types_and_rejects_those_rows_with_line_and_reason(
    seen_case: Path, tmp_path: Path
) -> None:
    done, notes = loaded(seen_case, tmp_path, strict=True)
    assert [note.partition(";")[2] for note in notes] == [
        f" stored as {kind}, rows with such values are rejected" for kind in ("time_ms", "f64", "f64")
    ]
    assert (done.rows_stored, done.rejected) == (ROWS - BAD, BAD)
    assert done.rejects is not None
    rejected = done.rejects.read_text().splitlines()
    assert len(rejected) == BAD + 1
    assert rejected[1] == f'{seen_case},4711,ts,not a time,"4709,n/a,--,err"'
    kinds = column_types(tmp_path / "t.duckdb", "t")
    assert kinds["temperature"] == kinds["voltage"] == "DOUBLE"
    assert "TIMESTAMP" in kinds["ts"]
    text = write_new("mine", [seen_case], tmp_path, Asked(strict=True))[0].read_text()
    assert '{ name = "temperature", type = "f64" }' in text


def test_of_more_rows_than_are_looked_at_that_is_said(seen_case: Path, tmp_path: Path) -> None:
    seen = sniff(seen_case, 5_000)
    said = lines(choose_columns([seen]), [seen], ["seen.csv"])
    assert "column ts: 1 of 5,000 sampled values is no time (first: line 4,711, 'n/a')" in said[0]
    assert said[-1].startswith("types are decided by the first 5,000 rows of a file; a later row")


def test_a_column_without_a_doubt_has_no_line(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "id,name,v,at", ["1,x,2.5,2026-01-01", "2,7,,2026-01-02", "3,y,1,"])
    seen = sniff(file)
    assert lines(choose_columns([seen]), [seen], ["a.csv"]) == []


@pytest.mark.parametrize(
    ("values", "strict", "kind", "line"),
    [
        # Leading zeros would be lost: no number, whatever was asked for.
        (["007"] + ["1"] * 199, True, "text", "would not come back unchanged from a whole number"),
        # A float does not keep all whole numbers, and the reader would not reject them.
        (["9007199254740993"] + ["1.5"] * 199, True, "text", "would not come back unchanged from a number"),
        (["1.5"] + ["1"] * 199, False, "f64", "1 of 200 values is no whole number (first: line 2, '1.5'); stored"),
        # 95 % are numbers: too few to reject the others.
        (["x"] * 10 + ["1"] * 190, True, "text", "10 of 200 values are no whole number"),
        (["2026-01-32"] + ["2026-01-31"] * 199, True, "time_ms", "is no time (first: line 2, '2026-01-32')"),
        # The reader would take it for milliseconds since 1970; `times` in the plan forbids that.
        (["20260131"] + ["2026-01-31"] * 199, True, "time_ms", "is no time (first: line 2, '20260131')"),
        ([""] * 200, False, "text", "every value is NULL; stored as text"),
        (["1e999"] + ["1.5"] * 199, True, "f64", "is no number (first: line 2, '1e999')"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_and_never_stored_as_something_else(
    values: list[str], strict: bool, kind: str, line: str, tmp_path: Path
) -> None:
    seen = sniff(written(tmp_path / "a.csv", "id,v", [f"{i},{v}" for i, v in enumerate(values)]))
    columns = choose_columns([seen], Asked(strict=strict))
    assert columns[1].type == kind
    said = lines(columns, [seen], ["a.csv"])
    assert line in said[0], said


def test_a_decimal_comma_that_makes_a_column_text_is_said(tmp_path: Path) -> None:
    rows = ["2,5;1.234,50;7;a,b;-0,5", "3,25;9;8;2,5;x", "4,0;x;2,5;c;y"]
    seen = sniff(written(tmp_path / "a.csv", "v;money;mixed;word;note", rows))
    columns = choose_columns([seen])
    assert [c.type for c in columns] == ["text"] * 5
    assert lines(columns, [seen], ["a.csv"]) == [
        "column v: looks like a decimal comma (first: line 2, '2,5'); stored as text, or as numbers by --decimal ,",
        "column money: looks like a decimal comma (first: line 2, '1.234,50'); stored as text, or as numbers by --decimal ,",
        "column mixed: 1 of 3 values is no whole number (first: line 4, '2,5'), which looks like a decimal comma; stored as text",
        "column note: looks like a decimal comma (first: line 2, '-0,5'); stored as text, or as numbers by --decimal ,",
    ]


def test_a_point_beside_a_decimal_comma_is_in_doubt_and_never_a_fraction_in_silence(tmp_path: Path) -> None:
    rows = ["1.234,56;1.000;52.5;7", "-12,5;2.500;13.375;8"]
    file = written(tmp_path / "a.csv", "money;number;place;n", rows)
    seen = sniff(file)
    columns = choose_columns([seen])
    assert [c.type for c in columns] == ["text", "text", "f64", "i32"]
    [line] = [line for line in lines(columns, [seen], ["a.csv"]) if "number" in line.split(":")[0]]
    assert line.startswith(
        "column number: its point may part thousands (first: line 2, '1.000'), as column money has a decimal comma; stored as text"
    )
    for how, kind in (
        ({"decimal": ","}, "text"),
        ({"decimal": "."}, "f64"),
        ({"decimal": ",", "thousands": "."}, "i32"),
    ):
        told = read_said(None, None, None, how)
        assert choose_columns([sniff(file, said=told)])[1].type == kind
    for beside, point in (('"1,234"', "1.000"), ('"12,5"', "0.125")):  # a thousand in English; no thousand
        english = written(tmp_path / "c.csv", "pop;ratio", [f"{beside};{point}", f"{beside};{point}"])
        assert choose_columns([sniff(english)])[1].type == "f64", (beside, point)
    alone = written(tmp_path / "b.csv", "n;x", ["1;1.000", "2;2.500"])
    assert choose_columns([sniff(alone)])[1].type == "f64"


def test_a_word_for_null_that_the_format_does_not_know_is_said(tmp_path: Path) -> None:
    seen = sniff(written(tmp_path / "a.csv", "v,country", ["1.5,NA", "NA,DE", "2.5,NA"]))
    said = lines(choose_columns([seen]), [seen], ["a.csv"])
    assert said == ["NULL is written 'NA': 1 in v, 2 in country"]


# --- dates


def dates_file(folder: Path, *dates: str, name: str = "a.csv") -> Path:
    return written(folder / name, "id,day", [f"{i},{d}" for i, d in enumerate(dates)])


def stored_days(folder: Path) -> list[str]:
    with duckdb.connect(f"{folder}/t.duckdb", read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        days = connection.sql("SELECT CAST(day AS VARCHAR) FROM t ORDER BY id").fetchall()
        return [str(row[0])[:10] for row in days]


def test_dates_that_may_be_read_in_two_ways_are_refused_without_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = dates_file(tmp_path, "03/01/2026", "04/01/2026")
    monkeypatch.setenv("INRUSH_RESULTS", str(tmp_path / "results"))
    into = f"duckdb://{tmp_path}/t.duckdb"
    for words in (["new", "mine", "--from", str(file), "--folder", str(tmp_path)],
                  ["load", str(file), "--into", into, "--table", "t", "--create"]):  # fmt: skip
        monkeypatch.setattr("sys.argv", ["inrush", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        message = capsys.readouterr().err
        assert "column day: dates have their day or their month first, and none says which" in message
        assert "(first: line 2, '03/01/2026')" in message and "--dates dmy" in message
    assert not (tmp_path / "mine.toml").exists()
    # Nothing was made of it: the same load with an answer makes the table.
    done, notes = loaded(file, tmp_path, dates="dmy")
    assert (done.rows_stored, done.rejected) == (2, 0)
    assert notes == ["column day: dates are read as day/month/year, as --dates says; stored as date"]
    assert stored_days(tmp_path) == ["2026-01-03", "2026-01-04"]


@pytest.mark.parametrize(("dates", "first"), [("mdy", "2026-03-01"), ("text", "03/01/2026"), ("day=dmy", "2026-01-03")])  # fmt: skip
def test_dates_are_stored_as_they_are_said_to_be(dates: str, first: str, tmp_path: Path) -> None:
    loaded(dates_file(tmp_path, "03/01/2026"), tmp_path, dates=dates)
    assert stored_days(tmp_path) == [first]


@pytest.mark.parametrize(("decisive", "first", "order"), [("25/01/2026", "2026-01-03", "day/month/year"), ("01/25/2026", "2026-03-01", "month/day/year")])  # fmt: skip
def test_one_date_that_there_is_in_one_order_alone_decides_and_is_named(
    decisive: str, first: str, order: str, tmp_path: Path
) -> None:
    _, notes = loaded(dates_file(tmp_path, "03/01/2026", "04/01/2026", decisive), tmp_path)
    assert notes == [
        f"column day: dates are read as {order}: 1 of 3 values fits no other order (first: line 4, {decisive!r});"
        " stored as date"
    ]
    assert stored_days(tmp_path)[0] == first


def test_dates_that_decide_for_both_orders_are_text_and_strict_asks(tmp_path: Path) -> None:
    both = ["25/01/2026", "01/25/2026", *["03/01/2026"] * 198]
    seen = sniff(dates_file(tmp_path, *both))
    assert choose_columns([seen])[1].type == "text"
    with pytest.raises(
        DatesUndecided, match=r"1 dates have their day first .*line 2.*, 1 dates have their month"
    ):
        refuse_undecided(choose_columns([seen], Asked(strict=True)), ["a.csv"])
    done, _ = loaded(dates_file(tmp_path, *both), tmp_path, strict=True, dates="dmy")
    assert (done.rows_stored, done.rejected) == (199, 1)


def test_an_order_that_is_said_is_never_overruled_by_a_date(tmp_path: Path) -> None:
    file = dates_file(tmp_path, "01/25/2026", *["03/01/2026"] * 199)
    columns = choose_columns([seen := sniff(file)], Asked(dates={"": "dmy"}))
    assert columns[1].type == "text"
    assert "1 of 200 values is no date of the form day/month/year" in lines(columns, [seen], ["a"])[0]
    assert lines(columns, [seen], ["a"])[0].endswith(
        "--strict stores dates of that form and rejects those rows"
    )
    assert choose_columns([sniff(file)])[1].form == "mdy", "without it, that date decides"


def test_a_date_of_one_file_decides_for_all_of_them(tmp_path: Path) -> None:
    files = [
        dates_file(tmp_path, "03/01/2026", name="a.csv"),
        dates_file(tmp_path, "25/01/2026", name="b.csv"),
    ]
    seen = [sniff(file) for file in files]
    columns = choose_columns(seen)
    assert (columns[1].type, columns[1].form) == ("time_ms", "dmy")
    assert "first: b.csv, line 2" in lines(columns, seen, ["a.csv", "b.csv"])[0]


def test_a_table_that_is_there_is_asked_about_its_dates_too(tmp_path: Path) -> None:
    with duckdb.connect(f"{tmp_path}/t.duckdb") as connection:
        connection.execute("CREATE TABLE t (id INTEGER, day TIMESTAMP)")
    file = dates_file(tmp_path, "03/01/2026", "20260104")
    with pytest.raises(DatesUndecided, match="column day"):
        loaded(file, tmp_path)
    done, _ = loaded(file, tmp_path, dates="dmy")
    assert (done.rows_stored, done.rejected) == (1, 1)
    assert stored_days(tmp_path) == ["2026-01-03"]


def test_a_number_in_a_column_of_dates_is_rejected_and_no_time_of_1970(tmp_path: Path) -> None:
    with duckdb.connect(f"{tmp_path}/t.duckdb") as connection:
        connection.execute("CREATE TABLE t (id INTEGER, day TIMESTAMP)")
    done, _ = loaded(dates_file(tmp_path, "2026-01-03", "2026-01-04", "20260105"), tmp_path)
    assert (done.rows_stored, done.rejected) == (2, 1)
    assert stored_days(tmp_path) == ["2026-01-03", "2026-01-04"]


def test_a_study_of_such_dates_says_their_order_in_its_workload(tmp_path: Path) -> None:
    file = dates_file(tmp_path, "03/01/2026", "25/01/2026")
    workload, study = write_new("mine", [file], tmp_path / "studies")
    assert 'times = { "day" = "dmy" }' in workload.read_text()
    table = load_study(str(study), known=KNOWN).workload.tables["mine"]
    assert table.files is not None and table.files.times == {"day": "dmy"}
    workload.write_text(workload.read_text().replace('"day" = "dmy"', '"id" = "ymd"'))
    with pytest.raises(UsageError, match=r"times\.id.*unknown column of times"):
        load_study(str(study), known=KNOWN)


def test_a_study_of_parquet_takes_no_key_of_texts(tmp_path: Path) -> None:
    file = tmp_path / "days.parquet"
    pq.write_table(pa.table({"id": [1, 2], "day": [datetime(2026, 1, 1)] * 2}), file)
    workload, study = write_new("mine", [file], tmp_path / "studies")
    load_study(str(study), known=KNOWN)
    plain = workload.read_text()
    for key in ('times = { "day" = "dmy" }', "header = false", 'decimal = ","', 'null = "NA"', "skip = 1"):
        workload.write_text(plain.replace('format = "parquet"', f'format = "parquet"\n{key}'))
        assert workload.read_text() != plain
        with pytest.raises(
            UsageError, match=rf"files\.{key.split()[0]}.*Parquet says it itself; leave it out"
        ):
            load_study(str(study), known=KNOWN)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_asked_once_and_its_answer_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str | None] = []

    def do(dates: str | None) -> str:
        calls.append(dates)
        if dates is None:
            raise DatesUndecided("column day")
        return dates

    checksum_query = Terminal()
    monkeypatch.setattr("sys.stderr", checksum_query)
    monkeypatch.setattr("sys.stdin", Terminal("mdy\n"))
    assert with_dates(do, None) == "mdy"
    assert calls == [None, "mdy"]
    assert checksum_query.getvalue() == "column day\ndmy, mdy or text? "
    monkeypatch.setattr("sys.stdin", Terminal(""))
    with pytest.raises(DatesUndecided):
        with_dates(do, None)


@pytest.mark.parametrize("words", ["ymd", "day=", "dmy,day=xy"])
def test_an_order_that_there_is_not_is_refused(words: str) -> None:
    with pytest.raises(UsageError, match="write dmy, mdy or text"):
        read_dates(words)


def test_a_column_that_there_is_not_has_no_order(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--dates dya=…: there is no such column; there are id, day"):
        choose_columns([sniff(dates_file(tmp_path, "03/01/2026"))], Asked(dates=read_dates("dya=dmy")))


# --- laws

A_VALUE = st.one_of(
    st.sampled_from(("", "n/a", "007", "0", "1", "true", "2026-01-31", "03/01/2026", "25/01/2026", "1.5", "[1]", "1e9")),
    st.integers(-(2**70), 2**70).map(str),
    st.floats(allow_nan=True).map(str),
)  # fmt: skip


@given(st.lists(st.lists(A_VALUE), min_size=1, max_size=4))
def test_evidence_of_parts_is_evidence_of_the_whole(parts: list[list[str]]) -> None:
    whole = evidence_of([v for part in parts for v in part])
    assert together([evidence_of(part) for part in parts]) == Evidence(whole.kinds)


@given(st.lists(A_VALUE, min_size=1), st.booleans())
def test_every_value_fits_the_type_that_is_chosen_or_is_counted_as_a_misfit(
    values: list[str], strict: bool
) -> None:
    choice = choose(evidence_of(values), strict)
    if choice.fit.type != "text":
        outside = sum(choice.fit not in kind_of(v).fits for v in values)
        assert outside == (choice.misfits if choice.rejects else 0)
        assert outside <= 0.01 * len(values)
        assert not any(choice.fit in kind_of(v).changed for v in values)


def test_a_first_place_is_the_first_of_all_files() -> None:
    kind: TextKind = kind_of("x")
    one, two = Evidence({kind: Seen(1)}), Evidence({kind: Seen(2, None)})
    assert together([one, two]) == Evidence({kind: Seen(3)})
