"""What columns of a workload may say of their values beside a generator: shares, lengths, character sets."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pytest

from inrush import _core

from .test_study import workload_problems


def mistakes(**entries: Any) -> dict[str, str]:
    """Key of the column -> what is wrong."""
    column = {"name": "v", "gen": "sequence", "start": 0, **entries}
    found = workload_problems({"table": {"columns": [column], "identity": []}})
    return {key.removeprefix("tables.t.columns[0]").lstrip("."): p.remedy for key, p in found.items()}


BELOW_1000 = {"kind": "cycle", "from": 101, "to": 999}


def formatted(chars: int, pattern: str, *fields: Any, charset: str = "utf8mb4") -> dict[str, Any]:
    """A column of texts in this pattern."""
    return {
        "type": f"char({chars})",
        "charset": charset,
        "gen": "format",
        "pattern": pattern,
        "fields": list(fields),
    }


@pytest.mark.parametrize(
    ("entries", "key", "remedy"),
    [
        ({"type": "i64", "nan_share": 0.1}, "nan_share", "is of floats (f32, f64); the column is i64"),
        ({"type": "text", "minus_inf_share": 0.1}, "minus_inf_share", "the column is text"),
        ({"type": "f64", "inf_share": 1.5}, "inf_share", "from 0 to 1"),
        ({"type": "f64", "nan_share": 0.6, "inf_share": 0.6}, "nan_share", "above 1 together"),
        ({"type": "i64", "charset": "latin1"}, "charset", "char(n)"),
        ({"type": "char(8)", "charset": "latin2"}, "charset", "latin1"),
        ({"type": "char(0)"}, "type", "1 to 255"),
        ({"type": "char(256)"}, "type", "1 to 255"),
        ({"type": "char(8)", "gen": "text", "min_bytes": 0, "max_bytes": 9}, "gen", "max_bytes is 9; at most 8"),
        ({"type": "char(8)", "gen": "text", "min_bytes": 0, "max_bytes": 8, "alphabet": "a b"}, "gen", "has a blank"),
        ({"type": "char(8)", "gen": "format", "pattern": "%d", "fields": [], "pad_to": 8}, "gen", "pad_to"),
        ({"type": "char(8)", "gen": "format", "pattern": "%d ", "fields": []}, "gen", "ends in a blank"),
        (formatted(6, "c%03d-%03d", BELOW_1000, BELOW_1000), "gen", "has 8 characters; at most 6, or a longer char(n)"),
        (formatted(3, "%d", {"kind": "cycle", "from": -100, "to": 9}), "gen", "has 4 characters"),
        (formatted(8, "%d", {"kind": "uniform", "from": 0, "to": 10**8}), "gen", "has 9 characters"),
        (formatted(2, "%x", {"kind": "shuffled", "from": 0, "to": 256}), "gen", "has 3 characters"),
        (formatted(8, "%x", {"kind": "cycle", "from": -1, "to": 0}), "gen", "has 16 characters"),
        (formatted(3, "%2d%%%c", BELOW_1000, {"kind": "flag", "true_ppm": 1}), "gen", "has 5 characters"),
        (formatted(4, "%05d", {"kind": "sequence"}), "gen", "has 5 characters"),
        (formatted(1, "ab"), "gen", "has 2 characters"),
        (formatted(2, "%d", {"kind": "categorical", "values": [1, 200]}), "gen", "has 3 characters"),
        (formatted(2, "%d", {"kind": "constant", "value": -10}), "gen", "has 3 characters"),
        (formatted(2, "%c", {"kind": "cycle", "from": 0, "to": 30}), "gen", "%c is the letter a + value"),
        (formatted(8, "東%d", {"kind": "flag", "true_ppm": 1}, charset="latin1"), "gen", "latin1 lacks"),
        ({"type": "decimal", "gen": "decimal"}, "type", "1 to 38 digits"),
        ({"type": "decimal(39)", "gen": "decimal"}, "type", "1 to 38 digits"),
        ({"type": "decimal(4, 5)", "gen": "decimal"}, "type", "not more of them behind the point"),
        ({"type": "decimal(4, 2)", "gen": "decimal", "precision": 9}, "", "`precision` stands in the column's type"),
        ({"type": "f64", "nan_share": 4e-7}, "nan_share", "one in a million is the least; write 0.000001, or leave it out"),
        ({"type": "i64", "null_share": 4e-7}, "null_share", "one in a million is the least"),
        ({"type": "char(8)", "gen": "constant", "value": "x "}, "gen", "ends in a blank"),
        ({"type": "char(8)", "gen": "categorical", "values": ["a", "abcdefghi"]}, "gen", "has 9 characters"),
        ({"type": "char(8)", "charset": "latin1", "gen": "categorical", "values": ["東京"]}, "gen", "latin1 lacks"),
        ({"type": "char(35)", "gen": "uuid"}, "gen", "char(36)"),
        (
            {"type": "char(35)", "gen": "foreign", "stream": "s", "column": "c", "series": 2, "of": {"gen": "uuid"}},
            "gen",
            "char(36)",
        ),
    ],
)  # fmt: skip
def test_what_no_column_can_have_is_named_with_its_remedy(
    entries: dict[str, Any], key: str, remedy: str
) -> None:
    found = mistakes(**entries)
    assert remedy in found.get(key, ""), found


@pytest.mark.parametrize(
    "entries",
    [
        {"type": "f32", "nan_share": 0.5, "inf_share": 0.25, "minus_inf_share": 0.25},
        {"type": "char(8)", "gen": "text", "min_bytes": 8, "max_bytes": 8},
        {"type": "char(6)", "charset": "latin1", "gen": "categorical", "values": ["Zürich", "a b"]},
        {"type": "char(36)", "charset": "latin1", "gen": "uuid"},
        {"type": "f64", "nan_share": 1e-6, "null_share": 0.0},
        {"type": "decimal(38, 38)", "gen": "decimal", "null_share": 0.5},
        {"type": "decimal(5)", "gen": "decimal", "of": {"kind": "cycle", "from": -99, "to": 99}},
        formatted(8, "c%03d-%03d", BELOW_1000, BELOW_1000),
        formatted(
            4,
            "é%d%%%c",
            {"kind": "cycle", "from": 0, "to": 9},
            {"kind": "cycle", "from": 0, "to": 25},
            charset="latin1",
        ),
        formatted(4, "%04d", {"kind": "cycle", "from": -999, "to": 9999}),
        formatted(16, "%x", {"kind": "cycle", "from": -1, "to": 0}),
        formatted(5, "%05d", {"kind": "sequence"}),
    ],
)
def test_what_a_column_can_have_is_no_mistake(entries: dict[str, Any]) -> None:
    assert mistakes(**entries) == {}


def made(column: dict[str, Any], first: int, rows: int) -> list[Any]:
    table = {
        "name": "t",
        "stream": "t",
        "columns": [{"name": "v", "wire": "", "null_ppm": 0, **column}],
        "source": {"kind": "generated", "series": 1, "period_ns": 1},
        "identity": [],
    }
    stream = _core.generate(json.dumps(table), 1, 0, first, rows)
    values: list[Any] = pa.RecordBatchReader.from_stream(stream).read_all().column("v").to_pylist()
    return values


GEN = {"kind": "uniform", "from": 1, "to": 9}
SHARES = {"nan_ppm": 100_000, "inf_ppm": 200_000, "minus_inf_ppm": 50_000}


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_shares_of_values_that_are_not_finite_are_those_of_the_plan(kind: str) -> None:
    values = made({"type": kind, "gen": GEN, "not_finite": SHARES}, 0, 100_000)
    plain = made({"type": kind, "gen": GEN}, 0, 100_000)
    counts = (sum(map(math.isnan, values)), values.count(math.inf), values.count(-math.inf))
    for count, ppm in zip(counts, SHARES.values(), strict=True):
        assert count == pytest.approx(ppm / 10, rel=0.05)
    assert all(a == b for a, b in zip(values, plain, strict=True) if math.isfinite(a)), "the others stay"


def test_a_row_has_the_same_value_wherever_a_batch_begins_and_a_null_goes_before() -> None:
    column = {"type": "f64", "gen": GEN, "not_finite": SHARES, "null_ppm": 300_000}
    whole = [repr(v) for v in made(column, 0, 2_000)]
    assert [repr(v) for v in made(column, 777, 500)] == whole[777:1277]
    assert whole.count("None") == pytest.approx(600, rel=0.2)
    assert {"nan", "inf", "-inf"} <= set(whole)


def test_the_core_refuses_shares_of_what_is_no_float_and_above_the_whole() -> None:
    with pytest.raises(_core.CoreFailure, match="not_finite is of floats"):
        made({"type": "i64", "gen": GEN, "not_finite": SHARES}, 0, 1)
    with pytest.raises(_core.CoreFailure, match="end at 1,000,000"):
        made({"type": "f64", "gen": GEN, "not_finite": {"nan_ppm": 1_000_001}}, 0, 1)


@pytest.mark.parametrize(("kind", "most"), [("u8", 2**8 - 1), ("u16", 2**16 - 1), ("u32", 2**32 - 1)])
def test_unsigned_numbers_have_their_range_and_no_more(kind: str, most: int) -> None:
    def between(low: int, high: int) -> dict[str, Any]:
        return {"type": kind, "gen": {"kind": "uniform", "from": low, "to": high}}

    values = made(between(0, most), 0, 5_000)
    assert min(values) < most / 50 and most * 0.98 < max(values) <= most
    assert set(made(between(most, most), 0, 3)) == {most}
    for low, high in ((0, most + 1), (-1, 5)):
        with pytest.raises(_core.CoreFailure, match=f"do not fit type {kind}"):
            made(between(low, high), 0, 1)
