"""A table that is there is loaded whatever its types are: what inrush does not convert itself goes in as the text of the file."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from datetime import date, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.errors import InrushError, UsageError
from inrush.load.call import Call
from inrush.load.run import Loaded, load
from tests.engines.test_load_proof import Place, database

from .servers import each_kind

#: Type -> texts of a file; and what the server writes of them where that is another text.
Texts = tuple[tuple[str, ...], tuple[str, ...]]
SAME: tuple[str, ...] = ()
POSTGRESQL: Mapping[str, Texts] = {
    "numeric": (("1.50", "-12345678901234567890.123456789"), SAME),
    "numeric(10,2)": (("1.5", "0.01"), ("1.50", "0.01")),
    "mood": (("glad", "so-so, at\tbest"), SAME),
    "jsonb": (('{"b":1,"a":[1,2]}', "null"), ('{"a": [1, 2], "b": 1}', "null")),
    "json": (('{"b":1,"a":[1,2]}', '"a\\nb"'), SAME),
    "int[]": (("{1,2,NULL}", "{}"), SAME),
    "text[]": (('{a,"b c","d\\"e"}', "{NULL}"), SAME),
    "numeric(4,1)[]": (("{1.5}", "{}"), SAME),
    "time": (("12:34:56.789", "00:00:00"), SAME),
    "time(3)": (("12:34:56.7891", "00:00:00"), ("12:34:56.789", "00:00:00")),
    "timetz": (("12:34:56+02", "00:00:00-05:30"), SAME),
    "interval": (("1 day 02:03:04", "-3 mons"), SAME),
    "inet": (("10.0.0.1", "fe80::1/64"), ("10.0.0.1/32", "fe80::1/64")),
    "cidr": (("10.0.0.0/8", "fe80::/64"), SAME),
    "macaddr": (("08:00:2b:01:02:03", "08002b010204"), ("08:00:2b:01:02:03", "08:00:2b:01:02:04")),
    "xml": (("<a b='1'>x</a>", "<b/>"), SAME),
    "money": (("12.34", "-1"), ("$12.34", "-$1.00")),
    "tsrange": (('["2024-01-01 00:00:00","2024-01-02 00:00:00")', "empty"), SAME),
    "int4range": (("[1,3]", "(,5)"), ("[1,4)", "(,5)")),
    "point": (("(1.5,2)", "(0,-1)"), SAME),
    "box": (("(3,4),(1,2)", "(1,1),(0,0)"), SAME),
    "tsvector": (("'cat' 'fat'", ""), SAME),
    "bit varying(5)": (("10110", "1"), SAME),
    "place": (('(1.5,"a b")', "(,)"), SAME),
    "plant": (("north", "south"), SAME),
    "hstore": (('"a"=>"1"', ""), SAME),
    "citext": (("Ab", "aB"), SAME),
    "uuid[]": (("{00000000-0000-0000-0000-00000000000a}", "{}"), SAME),
    "bytea": (("\\x00ff", "\\x5c"), SAME),
    "bit(4)": (("\\x05", "\\x0f"), ("0101", "1111")),
    "bool": (("true", "false"), SAME),
    "float8": (("1.5", "NaN"), SAME),
    "float8[]": (("[1.5,2]", "[]"), ("{1.5,2}", "{}")),
    "bigint": (("-9223372036854775808", "7"), SAME),
    "timestamptz": (("2024-01-31T10:00:00.123456Z", "1969-12-31T23:59:59Z"), ("2024-01-31 10:00:00.123456+00", "1969-12-31 23:59:59+00")),
    "date": (("2024-02-29", "1900-01-01"), SAME),
    "varchar(40)": (("a\\tb\\", 'x"y,\nz'), SAME),
}  # fmt: skip
MYSQL: Mapping[str, Texts] = {
    "decimal(30,2)": (("1.50", "-1234567890123456789012345678.9"), ("1.50", "-1234567890123456789012345678.90")),
    "enum('glad','so-so, at best')": (("glad", "so-so, at best"), SAME),
    "set('a','b')": (("a,b", ""), SAME),
    "time(3)": (("12:34:56.789", "-838:59:59.000"), SAME),
    "year": (("2024", "1999"), SAME),
    "json": (('{"a": 1}', "[1, 2]"), SAME),
    "int": (("-5", "7"), SAME),
    "varchar(40)": (("a\\tb\\", 'x"y,\nz'), SAME),
    "datetime(6)": (("2024-01-31 10:00:00.123456", "2000-01-01 00:00:00.000000"), SAME),
}  # fmt: skip
DUCKDB: Mapping[str, Texts] = {
    "DECIMAL(18,3)": (("1.500", "-2"), ("1.500", "-2.000")),
    "HUGEINT": (("170141183460469231731687303715884105727", "-1"), SAME),
    "TIME": (("12:34:56.789", "00:00:00"), SAME),
    "ENUM('glad', 'so so')": (("glad", "so so"), SAME),
    "JSON": (('{"b":1,"a":[1,2]}', "null"), SAME),
    "TINYINT": (("-128", "127"), SAME),
    "TIMESTAMP_S": (("2024-01-31 10:00:00", "1970-01-01 00:00:00"), SAME),
    "TIMESTAMP_MS": (("2024-01-31 10:00:00.123", "1970-01-01 00:00:00"), SAME),
    "TIMESTAMP_NS": (("2024-01-31 10:00:00.123456789", "1970-01-01 00:00:00"), SAME),
    "INTEGER[]": (("[1, 2, NULL]", "[]"), SAME),
    "STRUCT(a INTEGER, b VARCHAR)": (("{'a': 1, 'b': x y}", "{'a': NULL, 'b': NULL}"), SAME),
    "MAP(VARCHAR, INTEGER)": (("{a=1, b=2}", "{}"), SAME),
    "INTERVAL": (("1 day", "02:03:04"), SAME),
    "BLOB": (("\\x00ff", "\\x5c"), ("\\x00\\xFF", "\\x5C")),
    "BIGINT": (("-5", "7"), SAME),
    "VARCHAR": (("a\\tb\\", 'x"y,\nz'), SAME),
}  # fmt: skip
SQLITE: Mapping[str, Texts] = {
    "NUMERIC": (("1.50", "12"), ("1.5", "12")),
    "DECIMAL(10,2)": (("1.5", "abc"), SAME),
    "": (("007", "x"), SAME),
    "DATETIME": (("2024-01-31 10:00:00", "2000-01-01"), SAME),
    "TIME": (("12:34:56", "x"), SAME),
    "JSON": (('{"a":1}', "[]"), SAME),
    "INTEGER": (("-5", "7"), SAME),
    "TEXT": (("a\\tb\\", 'x"y,\nz'), SAME),
}  # fmt: skip
CLICKHOUSE: Mapping[str, Texts] = {
    "Decimal(18,2)": (("1.5", "-12345.25"), ("1.50", "-12345.25")),
    "Enum8('glad' = 1, 'so so' = 2)": (("glad", "so so"), SAME),
    "FixedString(3)": (("abc", "xyz"), SAME),
    "UUID": (("00000000-0000-0000-0000-00000000000a", "ffffffff-0000-0000-0000-000000000000"), SAME),
    "Date": (("2024-02-29", "1970-01-02"), SAME),
    "DateTime": (("2024-01-31 10:00:00", "2000-01-01 00:00:00"), SAME),
    "Array(String)": (("['a','b c','d\\'e']", "[]"), SAME),
    "Array(UInt8)": (("[1,2]", "[ 3 ]"), ("[1,2]", "[3]")),
    "Int8": (("-128", "127"), SAME),
    "Int64": (("-5", "7"), SAME),
    "String": (("a\\tb\\", 'x"y,\nz'), SAME),
}  # fmt: skip
#: Of servers younger than 18.16.
CLICKHOUSE_NOW: Mapping[str, Texts] = {
    **CLICKHOUSE,
    "Decimal(18,2)": (("1.50", "-12345.25"), ("1.5", "-12345.25")),
    "LowCardinality(String)": (("a", "b"), SAME),
    "IPv4": (("10.0.0.1", "255.0.0.1"), SAME),
    "IPv6": (("fe80::1", "::"), SAME),
    "Date32": (("1920-02-29", "2200-01-02"), SAME),
    "DateTime64(9, 'UTC')": (("2024-01-31 10:00:00.123456789", "2000-01-01 00:00:00.000000000"), SAME),
    "Int256": (("170141183460469231731687303715884105728", "-1"), SAME),
    "Array(Nullable(Decimal(9,1)))": (("[1.5,NULL]", "[]"), SAME),
    "Tuple(Int32, String)": (("(1,'a')", "(2,'')"), SAME),
    "Map(String, Int32)": (("{'a':1,'b':2}", "{}"), SAME),
}  # fmt: skip
#: Types whose values go in as the server writes them, whichever way the file does.
CONVERTED = (
    "inet", "bytea", "bit(4)", "float8[]", "timestamptz", "BLOB", "numeric(10,2)", "decimal(30,2)", "DECIMAL(18,3)",
)  # fmt: skip
#: What is made before a table of these types.
BEFORE = (
    "CREATE EXTENSION hstore",
    "CREATE EXTENSION citext",
    "CREATE TYPE mood AS ENUM ('glad', E'so-so, at\\tbest')",
    "CREATE TYPE place AS (x numeric, name text)",
    "CREATE DOMAIN plant AS text CHECK (VALUE IN ('north', 'south'))",
)


def file_of(types: Mapping[str, Texts], folder: Path, nulls: bool = True) -> Path:
    """An id, a column of each type: its two texts, and a row of NULLs."""
    path = folder / "any.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        out.write(",".join(["id", *names(types)]) + "\n")
        for row in range(2):
            rows.writerow([row, *(texts[row] for texts, _ in types.values())])
        if nulls:
            out.write("2" + "," * len(types) + "\n")
    return path


def names(types: Mapping[str, Texts]) -> list[str]:
    return [f"c{k}" for k in range(len(types))]


def declared(types: Mapping[str, Texts]) -> str:
    return ", ".join(["id INTEGER", *(f"{n} {kind}" for n, kind in zip(names(types), types, strict=True))])


def checked(types: Mapping[str, Texts], found: list[list[Any]], done: Loaded, nulls: bool = True) -> None:
    """Every value is there as the server writes it; a column is proven whose texts are those of the file, and no other one is
    called different."""
    assert (done.rows_stored, done.rejected) == (2 + nulls, 0)
    for k, (kind, (texts, other)) in enumerate(types.items()):
        expected = [*(other or texts), *([None] if nulls else [])]
        assert [row[k] for row in found] == expected, kind
        how = done.columns[f"c{k}"]
        converted = kind in CONVERTED
        assert ("not compared" in how) == bool(other and not converted), (kind, how)
    unsure = any("not compared" in how for how in done.columns.values())
    assert done.verdict == ("counted" if unsure else "proven"), done.why


@pytest.fixture(params=each_kind(["postgresql", "timescaledb"]))
def postgres(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from database(request.getfixturevalue(request.param))


@pytest.fixture(params=["mysql", "mariadb"])
def my(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from database(request.getfixturevalue(request.param))


@pytest.fixture
def here(postgresql: Target) -> Iterator[Place]:
    yield from database(postgresql)


def test_postgresql_s_types(postgres: Place, tmp_path: Path) -> None:
    for statement in BEFORE:
        postgres.ask(statement)
    postgres.ask(f"CREATE TABLE t ({declared(POSTGRESQL)})")
    done = postgres.load([file_of(POSTGRESQL, tmp_path)], tmp_path, verify=True)
    found = postgres.ask(f"SELECT {', '.join(f'{n}::text' for n in names(POSTGRESQL))} FROM t ORDER BY id")
    checked(POSTGRESQL, found, done)


def test_mysql_s_types(my: Place, tmp_path: Path) -> None:
    my.ask(f"CREATE TABLE t ({declared(MYSQL)})")
    done = my.load([file_of(MYSQL, tmp_path)], tmp_path, verify=True)
    texts = (f"CAST({n} AS CHAR)" for n in names(MYSQL))
    checked(MYSQL, my.ask(f"SELECT {', '.join(texts)} FROM t ORDER BY id"), done)


def test_clickhouse_s_types(clickhouse: Target, tmp_path: Path) -> None:
    for place in database(clickhouse):
        clickhouse_s_types(place, CLICKHOUSE, tmp_path)


def clickhouse_s_types(place: Place, types: Mapping[str, Texts], folder: Path) -> None:
    place.ask(
        f"CREATE TABLE t ({declared(types)}) ENGINE = MergeTree ORDER BY id".replace("INTEGER", "Int32")
    )
    done = place.load([file_of(types, folder, nulls=False)], folder, verify=True)
    texts = ", ".join(f"CAST(toString({n}) AS String)" for n in names(types))
    checked(types, place.ask(f"SELECT {texts} FROM t ORDER BY id"), done, nulls=False)


def test_floats_that_clickhouse_reads_from_text_are_not_called_the_files(
    clickhouse: Target, tmp_path: Path
) -> None:
    for place in database(clickhouse):
        place.ask("CREATE TABLE t (id Int32, seen DateTime, v Float64) ENGINE = MergeTree ORDER BY id")
        (tmp_path / "a.csv").write_text("id,seen,v\n1,2026-01-01 00:00:00,26.1034\n")
        assert place.load([tmp_path / "a.csv"], tmp_path).verdict == "proven"
        rows = (f"{n},2026-01-01 00:00:00,{n / 7:.4f}\n" for n in range(1_000))
        (tmp_path / "b.csv").write_text("id,seen,v\n" + "".join(rows))
        done = place.load([tmp_path / "b.csv"], tmp_path)
        assert done.verdict == "counted" and "`v` not compared: ClickHouse takes a float" in done.why, (
            done.why
        )
        assert done.columns["seen"] == "sum of hashes"
        # Without a text in the table every bit is taken.
        place.ask("CREATE TABLE u (id Int32, seen Int64, v Float64) ENGINE = MergeTree ORDER BY id")
        place.ask("DROP TABLE t")
        place.ask("RENAME TABLE u TO t")
        rows = (f"{n},{n},{n / 7:.4f}\n" for n in range(1_000))
        (tmp_path / "c.csv").write_text("id,seen,v\n" + "".join(rows))
        assert place.load([tmp_path / "c.csv"], tmp_path).verdict == "proven"


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_types_of_embedded_engines(engine: str, tmp_path: Path) -> None:
    connect: Any = duckdb.connect if engine == "duckdb" else sqlite3.connect
    types, text = (DUCKDB, "VARCHAR") if engine == "duckdb" else (SQLITE, "TEXT")
    at = tmp_path / "t.db"
    with connect(str(at)) as made:
        made.execute(f"CREATE TABLE t ({declared(types)})")
    call = Call((str(file_of(types, tmp_path)),), "t", into=f"{engine}://{at}", verify=True)
    done = load(call, tmp_path / "loads", lambda note: None, lambda event: None)
    with connect(str(at)) as table:
        columns = ", ".join(f"CAST({n} AS {text})" for n in names(types))
        found = table.execute(f"SELECT {columns} FROM t ORDER BY id").fetchall()
    checked(types, found, done)


def test_a_value_that_is_none_of_its_type_is_refused_with_the_server_s_reason(
    here: Place, tmp_path: Path
) -> None:
    here.ask("CREATE TABLE t (id int, n interval)")
    (tmp_path / "a.csv").write_text("id,n\n1,1 day\n2,much\n")
    with pytest.raises(InrushError, match="much"):
        here.load([tmp_path / "a.csv"], tmp_path, reject_limit=0)
    assert here.rows() == 0
    done = here.load([tmp_path / "a.csv"], tmp_path)
    assert (done.rows_stored, done.rejected) == (1, 1) and "much" in done.reason


def test_one_changed_value_is_not_called_proven(here: Place, tmp_path: Path) -> None:
    here.ask("CREATE TABLE t (id int, n interval, m numeric)")
    (tmp_path / "a.csv").write_text("id,n,m\n1,1 day,2.5\n2,2 days,3.5\n")
    assert here.load([tmp_path / "a.csv"], tmp_path).verdict == "proven"
    here.ask("UPDATE t SET m = 2.4 WHERE id = 1")
    assert here.load([tmp_path / "a.csv"], tmp_path).verdict == "different"
    here.ask("UPDATE t SET m = 2.5, n = '1 hour' WHERE id = 1")
    done = here.load([tmp_path / "a.csv"], tmp_path)
    assert done.verdict == "counted" and "`n` not compared" in done.why, done.why
    here.ask("UPDATE t SET n = NULL WHERE id = 1")
    assert here.load([tmp_path / "a.csv"], tmp_path).verdict == "different"


#: Numbers of a file, and what a column with two digits behind the point has of them: None where it would round.
EXACT = {
    "1": "1.00", " +007.5 ": "7.50", "-.25": "-0.25", "1.2e2": "120.00", "125e-2": "1.25", "-0": "0.00", "3.1400": "3.14",
    "12345678901234567890.12": "12345678901234567890.12", "0.105": None, "1e-3": None, "-0.0049999": None, "1,5": None, "x": None,
}  # fmt: skip


def exact_or_rejected(load: Callable[[Path], Loaded], found: Callable[[], list[str]], folder: Path) -> None:
    rows = (f"{k},{json.dumps(text)}\n" for k, text in enumerate(EXACT))
    (folder / "a.csv").write_text("id,n\n" + "".join(rows))
    done = load(folder / "a.csv")
    assert done.verdict == "proven" and "not compared" not in done.why, done.why
    kept = [text for text in EXACT.values() if text is not None]
    assert (done.rows_stored, done.rejected) == (len(kept), len(EXACT) - len(kept))
    assert found() == kept
    told = done.rejects.read_text()
    assert told.count("finer than the column, which keeps 2 digits") == 3 and told.count("not a number") == 2


@pytest.mark.parametrize("engine", ["postgresql", "mysql", "mariadb"])
def test_a_decimal_is_stored_as_it_is_or_rejected(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    for place in database(request.getfixturevalue(engine)):
        place.ask("CREATE TABLE t (id int, n decimal(30,2))")
        exact_or_rejected(
            partial(loaded_by, place, tmp_path), partial(texts_in, place, "CAST(n AS CHAR(40))"), tmp_path
        )


def loaded_by(place: Place, folder: Path, path: Path) -> Loaded:
    return place.load([path], folder, verify=True)


def texts_in(place: Place, column: str) -> list[str]:
    return [row[0].strip() for row in place.ask(f"SELECT {column} FROM t ORDER BY id")]


def test_a_decimal_of_duckdb_is_stored_as_it_is_or_rejected(tmp_path: Path) -> None:
    at = tmp_path / "t.db"
    with duckdb.connect(str(at)) as made:
        made.execute("CREATE TABLE t (id INTEGER, n DECIMAL(30,2))")

    def loaded(path: Path) -> Loaded:
        call = Call((str(path),), "t", into=f"duckdb://{at}", verify=True)
        return load(call, tmp_path / "loads", lambda note: None, lambda event: None)

    def found() -> list[str]:
        with duckdb.connect(str(at)) as table:
            return [
                row[0] for row in table.execute("SELECT CAST(n AS VARCHAR) FROM t ORDER BY id").fetchall()
            ]

    exact_or_rejected(loaded, found, tmp_path)


def test_a_number_without_bounds_keeps_the_digits_that_are_written(here: Place, tmp_path: Path) -> None:
    texts = {"1.50": "1.50", "007": "7", "1.5e3": "1500", "1e-3": "0.001", "-0.0": "0.0", "inf": "Infinity"}
    here.ask("CREATE TABLE t (id int, n numeric)")
    rows = (f"{k},{text}\n" for k, text in enumerate(texts))
    (tmp_path / "a.csv").write_text("id,n\n" + "".join(rows))
    done = here.load([tmp_path / "a.csv"], tmp_path, verify=True)
    assert (done.verdict, done.rejected) == ("proven", 0), done.why
    assert [row[0] for row in here.ask("SELECT n::text FROM t ORDER BY id")] == list(texts.values())


def test_a_sequence_that_stands_lower_than_its_rows_is_said_with_the_command(
    postgres: Place, tmp_path: Path
) -> None:
    postgres.ask(
        'CREATE TABLE "T s" (id bigint GENERATED BY DEFAULT AS IDENTITY, n serial, m serial, free int)'
    )
    (tmp_path / "a.csv").write_text("id,n,free\n1,7,2\n2,9,3\n")
    postgres.ask("SELECT setval(pg_get_serial_sequence('\"T s\"', 'n'), 9)")
    done = postgres.load([tmp_path / "a.csv"], tmp_path, table="T s")
    # `n` is at its last row, and `m` was counted by the load itself.
    assert done.proven and len(done.warned) == 1, done.warned
    said = done.warned[0]
    assert "column id stands at 0, its rows at 2" in said, said
    postgres.ask(said[said.index("SELECT setval") :])
    postgres.ask('INSERT INTO "T s" (free) VALUES (1)')
    assert postgres.ask('SELECT id, n, m FROM "T s" WHERE free = 1') == [["3", "10", "3"]]
    assert postgres.load([tmp_path / "a.csv"], tmp_path, table="T s").warned == ()


def test_a_second_user_is_told_what_to_ask_for(here: Place, tmp_path: Path) -> None:
    user = f"second_{here.name}"
    (tmp_path / "a.csv").write_text("id\n1\n")
    url = re.sub("//[^@]*@", f"//{user}:secret@", here.url.partition("?")[0])
    here.ask(f"CREATE USER {user} PASSWORD 'secret'")
    try:
        here.ask("CREATE TABLE t (id int)")
        here.ask(f"GRANT SELECT, INSERT ON t TO {user}")
        with pytest.raises(UsageError, match="the right to make tables in public"):
            here.load([tmp_path / "a.csv"], tmp_path, into=url)
        here.load([tmp_path / "a.csv"], tmp_path)
        with pytest.raises(UsageError, match=r"ask for (GRANT .* ON .*) TO the user") as refused:
            here.load([tmp_path / "a.csv"], tmp_path, into=url)
        asked = re.search("GRANT .* ON [^ ]*", str(refused.value))
        assert asked is not None
        here.ask(f"{asked[0]} TO {user}")
        assert here.load([tmp_path / "a.csv"], tmp_path, into=url).rows_before == 1
    finally:
        here.ask(f"DROP OWNED BY {user}")
        here.ask(f"DROP USER {user}")


#: Column of a Parquet file -> its values, a type of PostgreSQL for it, and what that writes.
PARQUET: Mapping[str, tuple[pa.Array, str, list[str | None]]] = {
    "dec": (pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)), "numeric(12,2)", ["1.50", None]),
    "ns": (
        pa.array([1_706_695_200_123_456_000, None], pa.timestamp("ns")),
        "timestamptz",
        ["2024-01-31 10:00:00.123456+00", None],
    ),
    "day": (pa.array([date(1969, 12, 31), None]), "date", ["1969-12-31", None]),
    "clock": (pa.array([time(12, 34, 56, 789), None]), "time", ["12:34:56.000789", None]),
    "noon": (pa.array([time(12, 0, 0, 500_000), None]), "time", ["12:00:00.5", None]),
    "sharp": (pa.array([time(10, 0), None]), "time", ["10:00:00", None]),
    "short": (pa.array([time(10, 20), None], pa.time32("s")), "time", ["10:20:00", None]),
    "deep": (pa.array([{"b": b"\0\xff"}, None]), "jsonb", ['{"b": "00ff"}', None]),
    "bin": (pa.array([b"\0\xff", None]), "bytea", ["\\x00ff", None]),
    "words": (pa.array(["a", None]).dictionary_encode(), "text", ["a", None]),
    "struct": (pa.array([{"a": 1, "b": "ä"}, None]), "jsonb", ['{"a": 1, "b": "ä"}', None]),
    "map": (pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())), "jsonb", ['{"k": 1}', None]),
    "list": (pa.array([["a", None], None]), "jsonb", ['["a", null]', None]),
    "none": (pa.array([None, None], pa.null()), "numeric", [None, None]),
}


def test_a_parquet_file_of_any_types(here: Place, tmp_path: Path) -> None:
    ids = pa.array([0, 1], pa.int64())
    pq.write_table(pa.table({"id": ids, **{n: a for n, (a, *_) in PARQUET.items()}}), tmp_path / "a.parquet")
    here.ask(f"CREATE TABLE t (id bigint, {', '.join(f'{n} {kind}' for n, (_, kind, _) in PARQUET.items())})")
    done = here.load([tmp_path / "a.parquet"], tmp_path, verify=True)
    assert (done.verdict, done.rows_stored) == ("proven", 2), done.why
    found = here.ask(f"SELECT {', '.join(f'{n}::text' for n in PARQUET)} FROM t ORDER BY id")
    for (name, (_, _, expected)), texts in zip(PARQUET.items(), zip(*found, strict=True), strict=True):
        assert [*texts] == expected, name


def test_what_a_parquet_file_cannot_give_exactly_is_refused(here: Place, tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": pa.array([1], pa.timestamp("ns"))}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"b": ["00ff"]}), tmp_path / "b.parquet")
    here.ask("CREATE TABLE a (at timestamptz)")
    here.ask("CREATE TABLE b (b bytea)")
    for name, why in (("a", "would lose data"), ("b", "bytes go into columns of bytes")):
        with pytest.raises(InrushError, match=why):
            here.load([tmp_path / f"{name}.parquet"], tmp_path, table=name)
        assert here.rows(name) == 0


@pytest.mark.parametrize("engine", ["postgresql", "mysql", "mariadb"])
def test_a_decimal_of_parquet_makes_a_decimal(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Of several files the one that holds all of them."""
    texts = ["-1234567890123456.5000", "0.0001", "12345678901234567890.12"]
    for name, values, kind in (
        ("a", texts[:2], pa.decimal128(20, 4)),
        ("b", texts[2:], pa.decimal128(22, 2)),
    ):
        table = pa.table({"id": range(len(values)), "n": pa.array([Decimal(v) for v in values], kind)})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for place in database(request.getfixturevalue(engine)):
        done = place.load(files, tmp_path / "loads", create=True, verify=True)
        assert done.verdict == "proven", done.why
        [(kind,)] = [row[1:2] for row in place.ask(describe_t(engine)) if row[0] == "n"]
        assert kind == ("numeric(24,4)" if engine == "postgresql" else "decimal(24,4)")
        assert sorted(texts_in(place, "CAST(n AS CHAR(40))")) == sorted([*texts[:2], texts[2] + "00"])


def describe_t(engine: str) -> str:
    return server(engine).loading.describe("", "t")  # type: ignore[union-attr]
