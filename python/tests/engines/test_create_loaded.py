"""The statement of a table that `inrush load --create` makes: types by what was sampled. No server."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inrush.engines import server
from inrush.engines.base.loading import base_type
from inrush.engines.base.sampled import SampledColumns
from inrush.engines.mysql.load import LENGTHS, ROW_BYTES, row_bytes, text_type, types
from inrush.errors import UsageError
from inrush.load import create
from inrush.load.call import Call
from inrush.load.input import limits_of, open_inputs
from inrush.load.shards import loading_of
from inrush.plan.ends import table_plan
from inrush.study.chosen import choose_columns
from inrush.study.sniff import sniff
from inrush.workload import Column, Table

NOW, OF_2018 = "26.1.1.900", "18.16.1"


def create_loaded(engine: str, table: Table, sampled: SampledColumns) -> str:
    twin = server(engine)
    return loading_of(twin).create_table(table_plan(twin, table, '"t"'), table, sampled)


@pytest.mark.parametrize(
    ("longest", "expected"),
    [
        (0, "TEXT"),
        (1, "VARCHAR(64)"),
        (32, "VARCHAR(64)"),
        (33, "VARCHAR(128)"),
        (2_048, "VARCHAR(4096)"),
        (2_049, "TEXT"),
        (8_191, "TEXT"),
        (8_192, "MEDIUMTEXT"),
        (2**21 - 1, "MEDIUMTEXT"),
        (2**21, "LONGTEXT"),
    ],
)
def test_a_text_has_room_for_twice_the_longest_that_was_sampled(longest: int, expected: str) -> None:
    assert text_type(longest) == expected
    found = re.search(r"\d+", expected)
    holds = int(found[0]) if found else {"TEXT": 2**16 - 1, "MEDIUMTEXT": 2**24 - 1}.get(expected, 2**32) // 4
    assert holds >= 2 * longest


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 3, 20, 250, 900])
@pytest.mark.parametrize("longest", [5, 60, 700, 2_000])
def test_a_row_is_never_longer_than_mysql_takes(columns: int, longest: int) -> None:
    names = [f"c{k}" for k in range(columns)]
    table = Table("t", tuple(Column(name, "text") for name in names))
    found = types(
        table, dict.fromkeys(names, "LONGTEXT"), SampledColumns(longest=dict.fromkeys(names, longest))
    )
    assert row_bytes(found) <= ROW_BYTES
    assert set(found.values()) <= {f"VARCHAR({n})" for n in LENGTHS} | {"TEXT"}
    # No more of them are TEXT than must be.
    if "TEXT" in found.values():
        (varchar,) = {text_type(longest)}
        first = next(name for name, kind in found.items() if kind == "TEXT")
        assert row_bytes({**found, first: varchar}) > ROW_BYTES


def test_the_longest_texts_of_a_wide_table_become_text_first() -> None:
    lengths = {"a": 2_000, "b": 10, "c": 2_000, "d": 2_000, "e": 2_000, "f": 2_000}
    table = Table("t", tuple(Column(name, "text") for name in lengths))
    found = types(table, dict.fromkeys(lengths, "LONGTEXT"), SampledColumns(longest=lengths))
    assert found["b"] == "VARCHAR(64)"
    assert list(found.values()).count("TEXT") == 2, found


def test_the_other_types_of_mysql_are_its_usual_ones() -> None:
    table = Table(
        "t", (Column("id", "i64"), Column("at", "time_ms"), Column("n", "text"), Column("u", "uuid"))
    )
    made = create_loaded("mysql", table, SampledColumns(longest={"n": 40}))
    assert made == (
        'CREATE TABLE "t" ("id" BIGINT NULL, "at" DATETIME(3) NULL, "n" VARCHAR(128) NULL, "u" CHAR(36) NULL) '
        "ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin"
    )


@pytest.mark.parametrize("engine", ["postgresql", "duckdb", "sqlite", "timescaledb"])
def test_other_engines_make_the_table_that_their_types_say(engine: str) -> None:
    table = Table("t", (Column("id", "i64"), Column("n", "text")))
    made = create_loaded(engine, table, SampledColumns(longest={"n": 40}, key=("id",)))
    kind = {"duckdb": "VARCHAR", "sqlite": "TEXT"}.get(engine, "text")
    assert made.startswith('CREATE TABLE "t" (') and f'"n" {kind}' in made and "NOT NULL" not in made


def made_by_clickhouse(*columns: Column, **sampled: object) -> str:
    statement = create_loaded("clickhouse", Table("t", columns), SampledColumns(**sampled))  # type: ignore[arg-type]
    assert statement.startswith('CREATE TABLE "t" (')
    return statement.removeprefix('CREATE TABLE "t" ')


def test_clickhouse_of_today_has_times_and_is_ordered_by_the_first_of_them() -> None:
    at, seen = Column("at", "time_ms", required=True), Column("seen", "time_us")
    made = made_by_clickhouse(Column("n", "text", required=True), at, seen, version=NOW)
    assert made == (
        '("n" String, "at" DateTime64(3, \'UTC\'), "seen" Nullable(DateTime64(6, \'UTC\'))) '
        'ENGINE = MergeTree ORDER BY ("at")'
    )


@pytest.mark.parametrize(
    "sampled",
    [
        {"version": OF_2018},
        {"version": "22.8.3.1"},
        {"version": ""},
        {"version": NOW, "far": frozenset({"at"})},
        {"version": NOW, "key": ("at",), "placed": True},
    ],
)
def test_clickhouse_keeps_times_as_whole_numbers_where_the_type_is_missing_or_loses_one(
    sampled: dict[str, object],
) -> None:
    made = made_by_clickhouse(Column("at", "time_ms", required=True), **sampled)
    assert made == '("at" Int64) ENGINE = MergeTree ORDER BY ("at")'


def test_clickhouse_is_ordered_by_the_key_and_by_nothing_that_may_be_null() -> None:
    at, n = Column("at", "time_ms", required=True), Column("n", "text", required=True)
    assert made_by_clickhouse(at, n, key=("n", "at")).endswith('ORDER BY ("n", "at")')
    assert made_by_clickhouse(at, Column("n", "text"), key=("n",)).endswith('ORDER BY ("at")')
    assert made_by_clickhouse(Column("at", "time_ms"), Column("n", "text")).endswith("ORDER BY tuple()")


def test_times_of_clickhouse_are_known_by_their_digits_and_have_a_range() -> None:
    kinds = {
        "DateTime64(3, 'UTC')": ("datetime64(3)", ("time_ms",)),
        "Nullable(DateTime64(6, 'Europe/Berlin'))": ("datetime64(6)", ("time_us",)),
        "DateTime64(3)": ("datetime64(3)", ("time_ms",)),
        "DateTime64(9, 'UTC')": ("datetime64(9)", ()),
        "DateTime('UTC')": ("datetime", ()),
    }
    meanings = loading_of(server("clickhouse")).column_types
    assert {kind: (base_type(kind), meanings.get(base_type(kind), ())) for kind in kinds} == kinds
    table = Table("t", (Column("at", "time_ms"),))
    limits = limits_of(
        [("at", "Nullable(DateTime64(3, 'UTC'))", True)], table, loading_of(server("clickhouse"))
    )
    low, high = limits["at"]["range"]
    assert (low, high) == (-2_208_988_800_000, 10_413_792_000_000 - 1)


def test_such_a_time_is_summed_and_read_back_as_its_whole_number() -> None:
    loading = loading_of(server("clickhouse"))
    plain = Column("at", "time_us", required=True)
    ticks = Column("at", "time_us", required=True, declared="DateTime64(6, 'UTC')")
    other = Column("n", "i64", required=True)
    of_plain, of_ticks = (loading.proof(Table("t", (at, other)), "t", {}) for at in (plain, ticks))
    assert (
        of_plain.checksum_query.replace('toInt64("at")', 'toUnixTimestamp64Micro("at")')
        == of_ticks.checksum_query
    )
    assert loading.read_column(ticks) == 'toUnixTimestamp64Micro("at") AS "at"'
    assert loading.read_column(plain) == '"at"'


def test_a_method_that_would_take_the_number_for_seconds_is_refused() -> None:
    twin = server("clickhouse")
    table = Table("t", (Column("at", "time_ms", declared="Nullable(DateTime64(3, 'UTC'))"),))
    assert create.method_of(Call(("a.csv",), "t"), twin, table) == "rowbinary"
    with pytest.raises(UsageError, match="--method native: types of table t take rowbinary alone"):
        create.method_of(Call(("a.csv",), "t", method="native"), twin, table)
    plain = Table("t", (Column("at", "time_ms", declared="Int64"),))
    assert create.method_of(Call(("a.csv",), "t"), twin, plain) == "native"
    assert create.method_of(Call(("a.csv",), "t", method="tsv"), twin, plain) == "tsv"


# --- what is sampled


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_longest_text_is_counted_in_characters_over_all_files(tmp_path: Path) -> None:
    files = [
        written(tmp_path / "a.csv", "id,n", "1,日本語", "2,x"),
        written(tmp_path / "b.csv", "id,n", "3,fünf4", "4,"),
    ]
    columns = choose_columns([sniff(file) for file in files])
    assert [(c.name, c.nulls) for c in columns] == [("id", 0), ("n", 1)]
    assert columns[1].longest == 5


@pytest.mark.parametrize("sample_rows", [2, 1])
def test_a_column_takes_no_null_where_every_row_was_looked_at_and_none_had_one(
    sample_rows: int, tmp_path: Path
) -> None:
    text = written(tmp_path / "a.csv", "id,n", "1,x", "2,")
    table = pa.table({"id": [1, 2], "n": ["x", None]})
    pq.write_table(table, tmp_path / "a.parquet")
    for path in (text, tmp_path / "a.parquet"):
        inputs = open_inputs([str(path)], tmp_path, sample_rows)
        columns = choose_columns([i.sniffed for i in inputs])
        whole = sample_rows == 2
        assert create.without_null(inputs, columns, ()) == ({"id"} if whole else set()), path
        assert create.without_null(inputs, columns, ("n",)) == ({"id", "n"} if whole else {"n"})
        said = ["all columns but those of the key (n) may be NULL: not every row of the files was looked at"]
        assert create.null_line(inputs, ("n",)) == ([] if whole else said)


def test_of_a_parquet_file_the_first_rows_are_looked_at(tmp_path: Path) -> None:
    import datetime as dt

    day = dt.datetime(1850, 1, 2, 3, tzinfo=dt.timezone.utc)
    table = pa.table(
        {
            "n": pa.array(["ab", None, "日本語", "much longer"]).dictionary_encode(),
            "at": pa.array([None, day, day + dt.timedelta(days=1), None], pa.timestamp("us", "UTC")),
            "d": pa.array([0, 1, 2, 3], pa.date32()),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    n, at, d = sniff(tmp_path / "a.parquet", 3).columns
    assert (n.nulls, n.longest, at.nulls, d.nulls) == (1, 3, 1, 0)
    assert at.span_s == (int(day.timestamp()), int(day.timestamp()) + 86_400)
    assert d.span_s == (0, 2 * 86_400)
    whole = sniff(tmp_path / "a.parquet", 4)
    assert whole.every_row and whole.columns[0].longest == 11
    assert not sniff(tmp_path / "a.parquet", 3).every_row
    assert [c.far for c in choose_columns([whole])] == [False, True, False]


@pytest.mark.parametrize(
    ("value", "far"),
    [
        ("1900-12-31", True),
        ("1901-01-01", False),
        ("2298-12-31 23:59", False),
        ("2299-01-01T00:00:00.5Z", True),
    ],
)
def test_a_year_that_not_every_database_has_is_noticed(value: str, far: bool, tmp_path: Path) -> None:
    seen = sniff(written(tmp_path / "a.csv", "id,at", "1,2026-01-01", f"2,{value}"))
    (_, at) = choose_columns([seen])
    assert (at.type, at.far) == ("time_ms", far)
