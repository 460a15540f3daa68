"""A table's column of floats rounds values of more digits, and the verdict says so exactly."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inrush.errors import UsageError
from inrush.load import rounding
from inrush.load.call import Call
from inrush.load.proof import LoadVerdict
from inrush.load.run import Loaded, load
from inrush.workload import Column, Table


def loaded(folder: Path, kind: str, values: list[str], header: bool = True, **words: Any) -> Loaded:
    with duckdb.connect(f"{folder}/t.duckdb") as connection:
        connection.execute(f"CREATE TABLE t (id INTEGER, v {kind})")
    file = folder / "a.csv"
    file.write_text("id,v\n" * header + "".join(f'{i},"{v}"\n' for i, v in enumerate(values)))
    call = Call((str(file),), "t", into=f"duckdb://{folder}/t.duckdb", **words)
    return load(call, folder / "loads", lambda _: None, lambda _: None)


@pytest.mark.parametrize("verify", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("header", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        (
            "DOUBLE",
            ["1.5", "12345678901234567.89", "0.12345678901234567890123"],
            "double precision holds: 2 values have",
        ),
        (
            "DOUBLE",
            ["9007199254740993", "9007199254740992", "1e-400"],
            "double precision holds: 2 values have",
        ),
        ("FLOAT", ["0.1", "16777217", "3.14159"], "single precision holds: 1 value has"),
        ("DOUBLE[]", ["[0.5, 0.12345678901234567890123]"], "double precision holds: 1 value has"),
    ],
)
def test_rounded_values_are_counted(
    kind: str, values: list[str], said: str, header: bool, verify: bool, tmp_path: Path
) -> None:
    done = loaded(tmp_path, kind, values, header, verify=verify)
    assert (done.verdict, done.rejected) == ("proven", 0)
    assert f", as far as {said} more digits (in v)" in done.why


@pytest.mark.slow
@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_where_none_was_rounded_nothing_is_said_of_it(kind: str, verify: bool, tmp_path: Path) -> None:
    done = loaded(tmp_path, kind, ["0.1", "-2.50", "1e3", "nan", "inf", "1234567"], verify=verify)
    assert (done.verdict, done.rejected) == ("proven", 0)
    assert "precision" not in done.why
    if verify:
        assert "every row is as the files have it" in done.why


def test_files_that_are_too_large_to_be_read_once_more_are_promised_no_more_than_floats_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounding, "CHEAP_BYTES", 3)
    done = loaded(tmp_path, "DOUBLE", ["0.1"])
    assert done.verdict == "proven" and done.why.endswith(", as far as double precision holds")


def judged(folder: Path, columns: dict[str, str], verdict: str = "counted") -> str:
    """The verdict on a file of one float that single precision rounds."""
    (folder / "a.csv").write_text("id,d,e\n1,16777217,2026-01-01T00:00:00.6Z\n")
    file = {"path": str(folder / "a.csv"), "format": "csv", "header": True, "written": {}}
    table = Table("t", (Column("id", "i32"), Column("d", "f32"), Column("e", "time_us")))
    found = LoadVerdict(verdict, "said", columns)
    return rounding.with_rounding(
        found, table, [file], {"id": "i32", "d": "f64", "e": "time_ms"}, verify=False
    ).why


TIME = "not compared: timestamp(0) with time zone keeps 0 digits of a second and rounds the others"


def test_lost_digits_are_said_beside_a_time_that_its_type_rounds(tmp_path: Path) -> None:
    said = judged(tmp_path, {"id": "sum", "d": "sum of hashes", "e": TIME})
    assert said == "said, as far as single precision holds: 1 value has more digits (in d)"


def test_nothing_is_said_of_a_column_that_is_not_compared(tmp_path: Path) -> None:
    assert judged(tmp_path, {"id": "sum", "d": "not compared: float(7,2) rounds", "e": "sum"}) == "said"


@pytest.mark.parametrize("verdict", ["counted", "different", "missing"])
def test_nothing_is_said_where_no_column_is_called_equal(verdict: str, tmp_path: Path) -> None:
    columns = {} if verdict == "counted" else {"id": "sum", "d": "sum of hashes", "e": "sum: different"}
    assert judged(tmp_path, columns, verdict) == "said"


@pytest.mark.parametrize(
    ("array", "kind", "said"),
    [
        (pa.array([0.1]), "FLOAT", ", as far as single precision holds (in v)"),
        (
            pa.array([Decimal("12345678901234567890.12")]),
            "DOUBLE",
            ", as far as double precision holds (in v)",
        ),
        (pa.array([0.1]), "DOUBLE", ""),
        (pa.array([0.1], pa.float32()), "FLOAT", ""),
        (pa.array([7]), "FLOAT", ""),
    ],
)
def test_numbers_of_parquet_in_a_narrower_column_are_equal_as_far_as_it_holds_them(
    array: pa.Array, kind: str, said: str, tmp_path: Path
) -> None:
    with duckdb.connect(f"{tmp_path}/t.duckdb") as connection:
        connection.execute(f"CREATE TABLE t (v {kind})")
    pq.write_table(pa.table({"v": array}), tmp_path / "a.parquet")
    call = Call((str(tmp_path / "a.parquet"),), "t", into=f"duckdb://{tmp_path}/t.duckdb")
    done = load(call, tmp_path / "loads", lambda _: None, lambda _: None)
    assert done.verdict == "proven" and (done.why.endswith(said) if said else "precision" not in done.why)


@pytest.mark.parametrize("kind", ["BIGINT", "INTEGER", "HUGEINT", "DECIMAL(38, 0)", "BIGINT[]"])
def test_a_whole_number_that_parquet_may_have_rounded_goes_into_no_exact_column(
    kind: str, tmp_path: Path
) -> None:
    """DuckDB writes HUGEINT as doubles: 2^53 + 1 came back as 2^53, and *proven*."""
    with pytest.raises(UsageError, match=r"column v is .*9007199254740992 may be a rounded number"):
        as_doubles(tmp_path, kind, 2**53 + 1)
    small = 7 if kind == "INTEGER" else 2**53 - 1
    assert as_doubles(tmp_path, kind, small).verdict == "proven"
    with duckdb.connect(f"{tmp_path}/t.duckdb") as connection:
        (found,) = connection.execute("SELECT v FROM t").fetchall()
    assert found == ([small] if kind == "BIGINT[]" else small,)


def as_doubles(folder: Path, kind: str, value: int) -> Loaded:
    """A load of DuckDB's own Parquet."""
    file = folder / "a.parquet"
    of = f"[{value}::DOUBLE]" if kind == "BIGINT[]" else f"{value}::HUGEINT"
    with duckdb.connect(f"{folder}/t.duckdb") as connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS t (id INTEGER, v {kind})")
        connection.execute(f"COPY (SELECT 1 AS id, {of} AS v) TO '{file}' (FORMAT parquet)")
    call = Call((str(file),), "t", into=f"duckdb://{folder}/t.duckdb")
    return load(call, folder / "loads", lambda _: None, lambda _: None)
