"""Bytes and bits of MySQL's text export arrive as they were, in every engine, and are proven by sums that the server makes."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from inrush.engines.base.instance import Target
from inrush.load.call import Call
from inrush.load.run import Loaded, load
from inrush.study.sniff import sniff
from tests.engines.test_load_proof import Place, database

SERVERS = ["postgresql", "mysql", "mariadb", "clickhouse"]
#: Engine -> a table of bytes and of ten bits, and what gives both as hexadecimal digits and number.
TABLES = {
    "postgresql": ("id int, b bytea, f bit(10)", "encode(b, 'hex')", "f::bigint"),
    "mysql": ("id int, b blob, f bit(10)", "LOWER(HEX(b))", "f + 0"),
    "mariadb": ("id int, b varbinary(600), f bit(10)", "LOWER(HEX(b))", "f + 0"),
    "clickhouse": (
        "id Int32, b Nullable(String), f String",
        "lower(hex(b))",
        "reinterpretAsUInt16(reverse(f))",
    ),
    "duckdb": ("id INTEGER, b BLOB, f BLOB", "lower(hex(b))", "lower(hex(f))"),
    "sqlite": ("id INTEGER, b BLOB, f BLOB", "lower(hex(b))", "lower(hex(f))"),
}


def values() -> list[bytes | None]:
    """Each byte alone and before digits, all of them, what looks like NULL and hexadecimal, and random ones."""
    rng = random.Random(13)
    alone = [bytes([b]) for b in range(256)]
    odd = [b"", None, b"\\N", b"\\x00", b"\0" + b"12", b"\r", b"a\r\n", b"\t\n\\\0", bytes(range(256))]
    return [
        *alone,
        *(b + b"17" for b in alone),
        *odd,
        *(rng.randbytes(rng.randrange(40)) for _ in range(400)),
    ]


def exported(values: list[bytes | None]) -> bytes:
    """As `SELECT … INTO OUTFILE` writes an id, these values and ten bits."""

    def field(value: bytes | None) -> bytes:
        if value is None:
            return b"\\N"
        escaped = {0: b"\\0", ord("\\"): b"\\\\", ord("\t"): b"\\\t", ord("\n"): b"\\\n"}
        return b"".join(escaped.get(byte, bytes([byte])) for byte in value)

    rows = [(str(k).encode(), value, (k % 1024).to_bytes(2, "big")) for k, value in enumerate(values)]
    return b"".join(b"\t".join(map(field, row)) + b"\n" for row in rows)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "export.txt"
    path.write_bytes(exported(values()))
    return path


def loaded(file: Path, into: str, **words: Any) -> tuple[Loaded, list[str]]:
    notes: list[str] = []
    words = {"format": "mysql", "header": "no", "verify": True, "chunk_rows": 300, **words}
    call = Call((str(file),), "t", into=into, **words)
    return load(call, file.parent / "loads", notes.append, lambda event: None), notes


@pytest.fixture(params=SERVERS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from database(request.getfixturevalue(request.param))


@pytest.fixture
def here(postgresql: Target) -> Iterator[Place]:
    yield from database(postgresql)


def test_bytes_and_bits_arrive_as_they_were(place: Place, file: Path) -> None:
    columns, digits, number = TABLES[place.engine]
    tail = " ENGINE = MergeTree ORDER BY id" if place.engine == "clickhouse" else ""
    place.ask(f"CREATE TABLE t ({columns}){tail}")
    done, _ = loaded(file, place.url)
    assert (done.verdict, done.verified, done.rejected) == ("proven", True, 0), done.why
    found = place.ask(f"SELECT {digits} AS d, {number} AS n FROM t ORDER BY id")
    expected = [None if v is None else v.hex() for v in values()]
    assert [digits for digits, _ in found] == expected
    assert [int(number) for _, number in found] == [k % 1024 for k in range(len(expected))]


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_embedded_engines_have_the_bytes_too(engine: str, file: Path) -> None:
    columns, digits, more = TABLES[engine]
    connect: Any = duckdb.connect if engine == "duckdb" else sqlite3.connect
    with connect(str(file.parent / "t.db")) as made:
        made.execute(f"CREATE TABLE t ({columns})")
    done, _ = loaded(file, f"{engine}://{file.parent}/t.db")
    assert (done.verdict, done.verified, done.rejected) == ("proven", True, 0), done.why
    with connect(str(file.parent / "t.db")) as table:
        found = table.execute(f"SELECT {digits}, {more}, typeof(b) FROM t ORDER BY id").fetchall()
    kinds = {kind.lower() for digits, _, kind in found if digits}
    assert kinds == {"blob"}
    # Of a NULL SQLite gives no digits at all.
    expected = ["" if v is None and engine == "sqlite" else v if v is None else v.hex() for v in values()]
    assert [digits for digits, _, _ in found] == expected
    assert [f for _, f, _ in found] == [(k % 1024).to_bytes(2, "big").hex() for k in range(len(expected))]


def test_one_changed_bit_in_the_table_is_seen(here: Place, file: Path) -> None:
    here.ask(f"CREATE TABLE t ({TABLES['postgresql'][0]})")
    loaded(file, here.url)
    for change, column in (
        ("UPDATE t SET b = set_byte(b, 0, 7) WHERE id = 300", "b"),
        ("UPDATE t SET f = b'0000000001' WHERE id = 2", "f"),
    ):
        here.ask(change)
        done, _ = loaded(file, here.url, verify=False)
        assert done.verdict == "different" and column in done.why, done.why


def test_bytes_of_postgresql_s_own_text_are_its_digits_and_others_are_rejected(
    here: Place, tmp_path: Path
) -> None:
    here.ask("CREATE TABLE t (id int, b bytea)")
    path = tmp_path / "a.csv"
    path.write_text("id,b\n1,\\x00FF\n2,\\x\n3,00ff\n4,\\x0\n5,\n")
    done, _ = loaded(path, here.url, format=None, header=None)
    assert (done.verdict, done.rows_stored, done.rejected) == ("proven", 3, 2), done.why
    assert done.rejects is not None
    assert done.rejects.read_text().count(",b,not bytes: \\x and pairs of hexadecimal digits,") == 2
    assert here.ask("SELECT encode(b, 'hex') FROM t ORDER BY id") == [["00ff"], [""], [None]]


def test_a_new_table_has_a_column_of_bytes_where_a_value_has_a_nul(place: Place, file: Path) -> None:
    done, notes = loaded(file, place.url, create=True, columns="id,b,f")
    assert (done.verdict, done.verified, done.rejected) == ("proven", True, 0), done.why
    assert [n for n in notes if n.startswith("column ")] == [
        f"column {name}: values with a NUL character are no texts; stored as bytes" for name in "bf"
    ]
    digits = "encode(b, 'hex')" if place.engine == "postgresql" else "lower(hex(b))"
    found = place.ask(f"SELECT {digits} AS d FROM t ORDER BY id")
    assert [digits for (digits,) in found] == [None if v is None else v.hex() for v in values()]


def test_lines_of_mysql_s_text_end_where_nothing_escapes_their_end(file: Path) -> None:
    from inrush.study.said import TextSaid

    seen = sniff(file, said=TextSaid(header=False, format="mysql"))
    assert seen.rows == len(values()) and [c.nul for c in seen.columns] == [False, True, True]
