"""Documents of JSON and strings of bits: stored, proven, answered; and every change of one is seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.errors import UsageError
from inrush.targets.deployment import Deployment

from .border import run
from .checksum_queries import sum_item
from .test_column_types import ASKED, ENGINES, METHODS, SERVERS, changed, deployment, plan_of, planned

__all__ = ["deployment"]

DOCUMENTS = """
  { name = "state", type = "json", gen = "document", max_items = 8, max_chars = 40 },
  { name = "small", type = "json", gen = "document", max_items = 0, max_chars = 0, null_share = 0.1 },
"""
BITS = """
  { name = "one", type = "bit(1)", gen = "bits", null_share = 0.1 },
  { name = "five", type = "bit(5)", gen = "bits", of = { gen = "cycle", from = 0, to = 31 } },
  { name = "flags", type = "bit(12)", gen = "bits", null_share = 0.1 },
  { name = "words", type = "bit(25)", gen = "bits" },
  { name = "half", type = "bit(32)", gen = "bits" },
  { name = "most", type = "bit(63)", gen = "bits", null_share = 0.1 },
  { name = "entire", type = "bit(64)", gen = "bits" },
"""
WAYS = [(e, method, columns) for columns in (DOCUMENTS, BITS) for e in ENGINES for method in METHODS[e]]
WAYS += [
    (e, method, columns)
    for columns in (DOCUMENTS, BITS)
    for e, method in (("mariadb", "load"), ("clickhouse", "tsv"), ("clickhouse", "rowbinary"))
]
NAMES = {DOCUMENTS: "documents", BITS: "bits"}


def id_of(value: Any) -> str:
    return NAMES.get(value, str(value))


@pytest.mark.parametrize(("engine", "method", "columns"), WAYS, ids=id_of)
def test_every_value_is_stored_proven_and_found(
    engine: str, method: str, columns: str, deployment: Deployment, folder: Path, tmp_path: Path
) -> None:
    ran = run(deployment, plan_of(engine, method, columns, tmp_path), folder)
    assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last
    assert not ran.broken(), ran.broken()
    assert {"rows", "read_back"} <= {p["item"] for p in ran.tables["proofs"]}
    assert not ran.tables["failures"], ran.tables["failures"]
    assert (ran.totals("users")["ok"], ran.totals("users")["wrong"]) == (200, 0)


def other_number(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "id": document["id"] ^ 1}


def other_key(document: dict[str, Any]) -> dict[str, Any]:
    return {"if" if key == "id" else key: value for key, value in document.items()}


def other_order(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "list": document["list"][::-1]}


def blank_in_text(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "text": document["text"] + " "}


#: Sums something of a document: its length where it is kept as it was written, or its hash.
LENGTH, HASH = ("sqlite", "duckdb"), ("mariadb", "clickhouse")


@pytest.mark.parametrize(
    ("engine", "method", "columns"), [(e, "bulk", DOCUMENTS) for e in ENGINES], ids=id_of
)
@pytest.mark.parametrize("how", [other_number, other_key, other_order, blank_in_text])
def test_a_change_of_a_document_breaks_the_proof(
    engine: str,
    method: str,
    columns: str,
    how: Callable[[dict[str, Any]], dict[str, Any]],
    deployment: Deployment,
    folder: Path,
    tmp_path: Path,
) -> None:
    def differs(text: str) -> bool:
        document = json.loads(text)
        return other_order(document)["list"] != document["list"] and document["id"] % 10 not in (0, 9)

    def literal(text: str) -> str:
        made = json.dumps(how(json.loads(text)), ensure_ascii=False, separators=(",", ":"))
        if engine in ("mysql", "mariadb", "clickhouse"):
            made = made.replace("\\", "\\\\")
        return "'" + made.replace("'", "\\'" if engine == "clickhouse" else "''") + "'"

    ran = changed(engine, columns, "state", differs, literal, deployment, folder, tmp_path)
    broken = {p["item"] for p in ran.broken() if not p["item"].startswith("difference")}
    figures = {"sum_length(state)"} if engine in LENGTH and how is blank_in_text else set()
    figures |= {"sum_hash(state)"} if engine in HASH else set()
    assert broken == {"read_back", *figures}, ran.broken()


@pytest.mark.parametrize(
    ("engine", "method", "columns"), [(e, "bulk", DOCUMENTS) for e in ENGINES], ids=id_of
)
def test_a_document_with_other_blanks_passes_where_the_engine_changes_them_itself(
    engine: str, method: str, columns: str, deployment: Deployment, folder: Path, tmp_path: Path
) -> None:
    spaced = lambda text: "'" + json.dumps(json.loads(text)) + "'"  # noqa: E731
    ran = changed(engine, columns, "small", lambda v: v is not None, spaced, deployment, folder, tmp_path)
    broken = {p["item"] for p in ran.broken() if not p["item"].startswith("difference")}
    # MariaDB keeps the text, which is compared as the same JSON of MySQL is; its hash is that of the text.
    seen = {"duckdb": LENGTH, "sqlite": LENGTH, "mariadb": HASH, "clickhouse": HASH}.get(engine)
    figure = {"sum_length(small)"} if seen is LENGTH else {"sum_hash(small)"} if seen is HASH else set()
    assert broken == figure | ({"read_back"} if engine in ("duckdb", "sqlite", "clickhouse") else set())


def flipped(engine: str, column: str, bits: int, bit: int) -> str:
    """SQL of a column's value with one bit changed."""
    digits = format(1 << bit, f"0{bits}b")
    match engine:
        case "duckdb":
            return f"xor({column}, '{digits}'::BIT)"
        case "postgresql" | "timescaledb":
            return f"{column} # B'{digits}'"
        case "mysql" | "mariadb":
            return f"({column} + 0) ^ {1 << bit}"
        case "clickhouse":
            return f"bitXor({column}, {1 << bit})"
    return f"({column} | {1 << bit}) - ({column} & {1 << bit})"


@pytest.mark.parametrize(("engine", "method", "columns"), [(e, "bulk", BITS) for e in ENGINES], ids=id_of)
@pytest.mark.parametrize(
    ("column", "bits", "bit", "half"),
    [
        ("one", 1, 0, "low"),
        ("five", 5, 4, "low"),
        ("flags", 12, 0, "low"),
        ("words", 25, 24, "low"),
        ("most", 63, 62, "high"),
        ("entire", 64, 0, "low"),
    ],
)
def test_one_wrong_bit_breaks_the_proof(
    engine: str,
    method: str,
    columns: str,
    column: str,
    bits: int,
    bit: int,
    half: str,
    deployment: Deployment,
    folder: Path,
    tmp_path: Path,
) -> None:
    there = lambda v: v is not None  # noqa: E731
    ran = changed(
        engine, columns, column, there, flipped(engine, column, bits, bit), deployment, folder, tmp_path
    )
    broken = {p["item"] for p in ran.broken() if not p["item"].startswith(("difference", "product"))}
    assert broken == {"read_back", sum_item(engine, column, half)}, ran.broken()


@pytest.mark.parametrize(("engine", "method", "columns"), [("duckdb", "bulk", BITS)], ids=id_of)
def test_a_longer_string_of_the_same_number_breaks_the_proof(
    engine: str, method: str, columns: str, deployment: Deployment, folder: Path, tmp_path: Path
) -> None:
    ran = changed(
        engine, columns, "five", lambda v: v == "00101", "'000101'::BIT", deployment, folder, tmp_path
    )
    assert {p["item"] for p in ran.broken() if not p["item"].startswith("difference")} == {"read_back"}


@pytest.mark.parametrize("engine", ["questdb", "influxdb", "adbc"])
def test_documents_are_not_planned_where_an_engine_has_no_json(engine: str, tmp_path: Path) -> None:
    plan = planned(engine, "bulk", DOCUMENTS, tmp_path)
    assert not plan.runs
    said = (
        f"has no json, and column state (json) of numbers is one; choose another type, or leave out {engine}"
    )
    assert plan.unsupported and all(said in missing.reason for missing in plan.unsupported), plan.unsupported


@pytest.mark.parametrize(
    ("engine", "column", "logical", "wire"),
    [
        ("postgresql", "flags", "bit", "varbit"),
        ("mysql", "flags", "bit", "BIT(12)"),
        ("duckdb", "flags", "bit", "BIT"),
        ("clickhouse", "flags", "u16", "Nullable(UInt16)"),
        ("sqlite", "five", "u8", "TINYINT UNSIGNED"),
        ("sqlite", "words", "u32", "INTEGER UNSIGNED"),
        ("clickhouse", "entire", "u64", "UInt64"),
    ],
)
def test_bits_are_bits_or_numbers_of_the_next_width(
    engine: str, column: str, logical: str, wire: str, tmp_path: Path
) -> None:
    found = next(
        c for c in plan_of(engine, "bulk", BITS, tmp_path)["tables"][0]["columns"] if c["name"] == column
    )
    assert (found["type"], found["wire"]) == (logical, wire)


def test_every_engine_is_asked() -> None:
    assert {engine for engine, _, _ in WAYS} == {"duckdb", "sqlite", *SERVERS}


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ('{ name = "b", type = "bit(0)", gen = "bits" },', "bit(n) has 1 to 64 bits; write bit(8)"),
        ('{ name = "b", type = "bit(65)", gen = "bits" },', "bit(n) has 1 to 64 bits; write bit(8)"),
        ('{ name = "b", type = "bit(4)", gen = "bits", bits = 4 },', "`bits` stands in the column's type"),
    ],
)
def test_a_column_of_bits_that_makes_no_sense_is_refused(column: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        planned("sqlite", "bulk", column, tmp_path)
    assert said in str(refused.value)


@pytest.mark.parametrize("logical", ["json", "bit"])
def test_documents_and_bits_are_no_parameters(logical: str, tmp_path: Path, monkeypatch: Any) -> None:
    columns, name = (DOCUMENTS, "state") if logical == "json" else (BITS, "five")
    by_it = (f'params.{name} = {{ gen = "key", column = "{name}" }}', f"{name} = :{name}", "")
    monkeypatch.setitem(ASKED, columns, by_it)
    with pytest.raises(
        UsageError, match=f"a value of type {logical} is no parameter; find the row by another"
    ):
        planned("postgresql", "bulk", columns, tmp_path)


def test_numbers_beyond_their_bits_are_refused(folder: Path, tmp_path: Path) -> None:
    columns = '{ name = "b", type = "bit(4)", gen = "bits", of = { gen = "cycle", from = 0, to = 16 } },'
    plan = plan_of("sqlite", "bulk", columns, tmp_path)
    with pytest.raises(Exception, match=r"its numbers are 0 … 16, and bit\(4\) ends at 15"):
        _core.generate(json.dumps(plan["tables"][0]), 1, 0, 0, 10)
