"""Laws of files as a source: where they are found, and Parquet that becomes a stream without changing a value."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inrush.errors import UsageError
from inrush.study.files import arrow_schema, arrow_stream, at_files, locate
from inrush.workload import LOGICAL_TYPES, Column, FileSource, Table, Workload


def workload(*paths: str) -> Workload:
    source = FileSource(paths=paths, format="csv")
    fed = Table(name="fed", columns=(Column("id", "i64"),), files=source)
    made = Table(name="made", columns=(Column("id", "i64", {"kind": "sequence"}),))
    return Workload("w", "2026-01-01T00:00:00Z", {}, {"fed": fed, "made": made}, {})


def plan(path: Path, format: str, columns: dict[str, str]) -> dict[str, Any]:
    source = {"kind": "files", "paths": [str(path)], "format": format, "reject_path": "reject-t.csv"}
    listed = [{"name": name, "type": logical} for name, logical in columns.items()]
    return {"run_id": "r", "tables": [{"name": "t", "columns": listed, "source": source}]}


def test_paths_are_looked_for_beside_the_workload_and_patterns_are_filled_in_by_name(tmp_path: Path) -> None:
    for name in ("b-2.csv", "b-1.csv", "a.csv", "c.tsv"):
        (tmp_path / name).touch()
    (tmp_path / "b-3.csv").mkdir()
    found = locate(workload("a.csv", "b-*.csv", str(tmp_path / "c.*")), str(tmp_path / "workload.toml"))
    source = found.tables["fed"].files
    assert source is not None
    assert [Path(p).name for p in source.paths] == ["a.csv", "b-1.csv", "b-2.csv", "c.tsv"]
    assert all(Path(p).is_absolute() for p in source.paths)
    assert found.tables["made"].files is None


def test_every_path_that_leads_nowhere_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        locate(workload("none.csv", "no-*.csv", "a**b/c"), str(tmp_path / "workload.toml"))
    keys = [p.key for p in caught.value.problems]
    assert keys == [f"tables.fed.files.paths[{n}]" for n in range(3)]
    assert "none.csv; there is no file" in str(caught.value)


def test_rejects_lie_in_the_run_s_folder_and_text_files_stay_where_they_are(tmp_path: Path) -> None:
    before = plan(tmp_path / "a.csv", "csv", {"id": "i64"})
    placed = at_files(before, tmp_path / "run", tmp_path / "cache")
    source = placed["tables"][0]["source"]
    assert source["reject_path"] == str(tmp_path / "run" / "reject-t.csv")
    assert source["paths"] == [str(tmp_path / "a.csv")]
    assert before["tables"][0]["source"]["reject_path"] == "reject-t.csv", "the plan itself is not changed"
    assert not (tmp_path / "cache").exists()


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "i16": st.integers(-(2**15), 2**15 - 1),
    "i32": st.integers(-(2**31), 2**31 - 1),
    "i64": st.integers(-(2**63), 2**63 - 1),
    "u8": st.integers(0, 2**8 - 1),
    "u16": st.integers(0, 2**16 - 1),
    "u32": st.integers(0, 2**32 - 1),
    "u64": st.integers(0, 2**64 - 1),
    "f32": st.floats(width=32, allow_nan=False),
    "f64": st.floats(allow_nan=False),
    "time_ms": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)).map(
        lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000, tzinfo=dt.timezone.utc)
    ),
    "time_us": st.datetimes(
        dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1), timezones=st.just(dt.timezone.utc)
    ),
    "text": st.text(),
    "list_f64": st.lists(st.floats(allow_nan=False), max_size=3),
    "list_i64": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
    "uuid": st.uuids().map(str),
    "time": st.times().map(lambda t: f"{t:%H:%M:%S}" + f".{t.microsecond:06}".rstrip("0").rstrip(".")),
    "inet": st.ip_addresses(v=4).map(str),
}


def test_every_logical_type_has_an_arrow_type() -> None:
    assert set(VALUES) == set(LOGICAL_TYPES)
    assert len(arrow_schema(dict.fromkeys(LOGICAL_TYPES, "i64"))) == len(LOGICAL_TYPES)


@given(rows=st.lists(st.fixed_dictionaries({k: st.none() | v for k, v in VALUES.items()}), max_size=20))
@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_parquet_file_of_any_values_becomes_a_stream_of_the_same(
    rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    types = {name: name for name in VALUES}
    table = pa.Table.from_pylist(rows, schema=arrow_schema(types))
    pq.write_table(table, folder / "rows.parquet")
    stream = arrow_stream(folder / "rows.parquet", types, folder / "cache")
    assert read_stream(stream).to_pylist() == rows


def test_a_stream_is_made_once_and_again_when_the_file_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": [1, 2]}), path)
    first = arrow_stream(path, {"id": "i64"}, tmp_path / "cache")
    written = first.stat().st_mtime_ns
    assert arrow_stream(path, {"id": "i64"}, tmp_path / "cache") == first
    assert first.stat().st_mtime_ns == written
    pq.write_table(pa.table({"id": [1, 2, 3]}), path)
    second = arrow_stream(path, {"id": "i64"}, tmp_path / "cache")
    assert second != first
    assert read_stream(second).num_rows == 3


def test_only_what_can_be_kept_exactly_is_cast(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    kept = {
        "day": pa.array([dt.date(2026, 1, 31)]),
        "word": pa.array(["a"]).dictionary_encode(),
        "small": pa.array([7], pa.int8()),
        "naive": pa.array([dt.datetime(2026, 1, 1, 12)], pa.timestamp("ns")),
    }
    pq.write_table(pa.table(kept), path)
    types = {"day": "time_ms", "word": "text", "small": "i64", "naive": "time_us"}
    row = read_stream(arrow_stream(path, types, tmp_path)).to_pylist()[0]
    utc = dt.timezone.utc
    noon = dt.datetime(2026, 1, 1, 12, tzinfo=utc)
    assert row == {"day": dt.datetime(2026, 1, 31, tzinfo=utc), "word": "a", "small": 7, "naive": noon}

    lost = {
        "big": pa.array([2**40]),
        "half": pa.array([0.5]),
        "fine": pa.array([1], pa.timestamp("ns")),
        "word": pa.array(["x"]),
    }
    pq.write_table(pa.table(lost), path)
    for name, logical in {"big": "i32", "half": "i64", "fine": "time_us", "word": "i64"}.items():
        with pytest.raises(UsageError, match=rf"rows\.parquet: column {name} is .* and cannot be"):
            arrow_stream(path, {name: logical}, tmp_path)


def test_what_is_no_parquet_or_lacks_a_column_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_text("id\n1\n")
    with pytest.raises(UsageError, match=r"rows\.parquet: not readable as Parquet"):
        arrow_stream(path, {"id": "i64"}, tmp_path)
    pq.write_table(pa.table({"id": [1], "name": ["a"]}), path)
    with pytest.raises(UsageError, match=r"rows\.parquet: no column title; it has id, name"):
        arrow_stream(path, {"id": "i64", "title": "text"}, tmp_path)


def read_stream(path: Path) -> pa.Table:
    with pa.ipc.open_stream(path) as reader:
        return reader.read_all()


@pytest.mark.parametrize(
    ("array", "kind", "said"),
    [
        (pa.array([0, None, 2]), "bool", "2 is no truth value"),
        (pa.array([1.0, None, 1e300]), "f32", r"1e\+300 would be infinite"),
        (pa.array(["1e999"]), "f64", "1e999 would be infinite"),
        (pa.array([[1.0], [1e300]]), "list_f32", r"1e\+300 would be infinite"),
        (pa.array([0.0, 0.5]), "bool", "0.5 is no truth value"),
        (pa.array([dt.date(2026, 1, 1)]), "i32", "a time is no number"),
        (pa.array([dt.datetime(2026, 1, 1)]), "i64", "a time is no number"),
        (pa.array([dt.time(1)]), "i64", "a time is no number"),
        (
            pa.array([None, 1767225600]),
            "time_us",
            r"microseconds since 1970, and looks like seconds \(2026-01-01\)",
        ),
        (pa.array([20260301]), "time_ms", "looks like a date in digits"),
    ],
)
def test_a_value_of_another_kind_is_not_what_arrow_would_make_of_it(
    array: pa.Array, kind: str, said: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"c": array}), tmp_path / "rows.parquet")
    with pytest.raises(UsageError, match=rf"rows\.parquet: column c is .* and cannot be .*{said}"):
        arrow_stream(tmp_path / "rows.parquet", {"c": kind}, tmp_path / "cache")


def test_numbers_that_are_truth_values_or_units_stay_what_they_are(tmp_path: Path) -> None:
    at = 1767225600_000_000
    pq.write_table(pa.table({"c": [0, None, 1], "t": [at, 5, None]}), tmp_path / "rows.parquet")
    stream = arrow_stream(tmp_path / "rows.parquet", {"c": "bool", "t": "time_us"}, tmp_path / "cache")
    with pa.ipc.open_stream(stream) as found:
        table = found.read_all()
    assert table["c"].to_pylist() == [False, None, True]
    assert table["t"].cast(pa.int64()).to_pylist() == [at, 5, None]


def test_what_is_infinite_stays_so(tmp_path: Path) -> None:
    endless = float("-inf")
    pq.write_table(
        pa.table({"c": [endless, 0.5, None], "t": ["-Infinity", "1", None]}), tmp_path / "rows.parquet"
    )
    stream = arrow_stream(tmp_path / "rows.parquet", {"c": "f32", "t": "f64"}, tmp_path / "cache")
    table = read_stream(stream)
    assert table["c"].to_pylist() == [endless, 0.5, None] and table["t"].to_pylist() == [endless, 1.0, None]
