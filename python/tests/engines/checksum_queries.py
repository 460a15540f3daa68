"""A table with every logical type, odd rows for it, and the screen computed in plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import ANY
from zlib import crc32

from hypothesis import strategies as st

from inrush.workload import LOGICAL_TYPES, Column, Table

Row = Sequence[Any]

ALL_TYPES = Table(
    "all types",
    (
        *(Column(f"c {kind}", kind, gen={"kind": "any"}, null_share=0.1) for kind in LOGICAL_TYPES),
        Column("id", "u64", gen={"kind": "any"}),
    ),
    identity=("id", "c i16"),
    layouts={"pk": (("id", "c i16"), ("c time_ms",))},
)
PORTS = Table(
    "ports",
    (
        Column("guid", "u64", gen={"kind": "pattern"}),
        Column("port", "i32", gen={"kind": "cycle"}),
        Column("added_on", "time_ms", gen={"kind": "sweep_time"}),
        Column("load", "f64", gen={"kind": "normal", "bits": 20}, null_share=0.5),
        Column("host", "text", gen={"kind": "format"}),
    ),
    identity=("guid", "port", "added_on"),
    layouts={"none": (), "pk_time": (("guid", "port", "added_on"), ("added_on",)), "time": (("added_on",),)},
)

# Half the bits of the widest sum are left, so that a handful of rows overflows nowhere.
_SCALED = st.integers(-(2**50), 2**50).map(lambda k: k / 256)
_VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "i16": st.integers(-(2**15), 2**15 - 1),
    "i32": st.integers(-(2**31), 2**31 - 1),
    "i64": st.integers(-(2**63), 2**63 - 1),
    "u8": st.integers(0, 2**8 - 1),
    "u16": st.integers(0, 2**16 - 1),
    "u32": st.integers(0, 2**32 - 1),
    "u64": st.integers(0, 2**64 - 1),
    "f32": st.integers(-(2**23), 2**23).map(lambda k: k / 256),
    "f64": _SCALED,
    "time_ms": st.integers(-(2**41), 2**43),
    "time_us": st.integers(-(2**51), 2**53),
    "text": st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    "list_f64": st.lists(_SCALED, max_size=3),
    "list_i64": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
    "uuid": st.uuids().map(str),
    "time": st.times().map(lambda t: f"{t:%H:%M:%S}" + f".{t.microsecond:06}".rstrip("0").rstrip(".")),
    "inet": st.ip_addresses(v=4).map(str),
}


def rows_of(table: Table) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    cells = [st.none() | _VALUES[c.type] if c.nullable else _VALUES[c.type] for c in table.columns]
    return st.lists(st.tuples(*cells), max_size=20, unique_by=lambda row: row[-1])


def expected(table: Table, items: Sequence[Mapping[str, Any]], rows: Sequence[Row]) -> list[Any]:
    """What ScreenItem in plan/segment.rs says, on Python's integers.

    Hashes of PostgreSQL and ClickHouse are not known here and equal anything: `test_uuids.py` and the tests of loads hold
    them against the core's.
    """
    place = {c.name: k for k, c in enumerate(table.columns)}

    def figure(item: Mapping[str, Any]) -> Any:
        if item["kind"] == "rows":
            return len(rows)
        if item["kind"] == "product":
            key, value = place[item["key"]], place[item["value"]]
            both = [(r[key], r[value]) for r in rows if r[key] is not None and r[value] is not None]
            return sum((k & 0xFFFF) * (v & 0xFFFF) for k, v in both)
        values = [r[place[item["column"]]] for r in rows if r[place[item["column"]]] is not None]
        if item["kind"] == "not_null":
            return len(values)
        if item["kind"] == "sum":
            return sum(_signed(v) if item["signed"] else v for v in values)
        if item["kind"] == "sum_low":
            return sum(v & 0xFFFF_FFFF for v in values)
        if item["kind"] == "sum_high":
            return sum((_signed(v) if item["signed"] else v) >> 32 for v in values)
        if item["kind"] == "sum_scaled":
            return sum(int(v * 2 ** item["bits"]) for v in values)
        if item["kind"] == "sum_hash":
            return sum(crc32(v.encode()) for v in values) if item["hash"] == "crc32" else ANY
        assert item["kind"] == "sum_length"
        return sum(len(v.encode()) for v in values)

    return [figure(item) for item in items]


#: Engines of which one sum of whole numbers is exact; of others both halves are summed.
EXACT_SUMS = ("postgresql", "timescaledb", "mysql", "mariadb", "duckdb")


def sum_item(engine: str, column: str, half: str = "low") -> str:
    """The item in which a changed bit of this half of a column's values shows."""
    return f"sum({column})" if engine in EXACT_SUMS else f"sum_{half}({column})"


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value
