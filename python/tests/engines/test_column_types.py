"""Unsigned numbers of every width, floats that are not finite, texts of bounded length: stored, proven, answered."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment

from .border import run
from .checksum_queries import sum_item

SERVERS = ("postgresql", "timescaledb", "mysql", "mariadb", "clickhouse")
ENGINES = ("duckdb", "sqlite", *SERVERS)
UNSIGNED = """
  { name = "tiny", type = "u8", gen = "uniform", from = 0, to = 255, null_share = 0.1 },
  { name = "port", type = "u16", gen = "uniform", from = 0, to = 65535, null_share = 0.1 },
  { name = "address", type = "u32", gen = "uniform", from = 0, to = 4294967295, null_share = 0.1 },
"""
FINITE_NOT = """
  { name = "ratio", type = "f32", gen = "uniform", from = -10, to = 10, SHARES, null_share = 0.1 },
  { name = "level", type = "f64", gen = "uniform", from = -10, to = 10, bits = 20, SHARES, null_share = 0.1 },
"""
CHARS = """
  { name = "id", type = "char(36)", charset = "latin1", gen = "uuid" },
  { name = "guid", type = "char(28)", charset = "latin1", gen = "text", min_bytes = 0, max_bytes = 28, null_share = 0.1 },
  { name = "town", type = "char(8)", charset = "latin1", gen = "categorical", values = ["Zürich", "Genève", ""] },
  { name = "place", type = "char(8)", gen = "categorical", values = ["東京", "a b", "%_\'"], null_share = 0.1 },
"""
DECIMALS = """
  { name = "price", type = "decimal(10, 2)", gen = "decimal", of = { gen = "uniform", from = -9999, to = 9999 }, null_share = 0.1 },
  { name = "whole", type = "decimal(38)", gen = "decimal", null_share = 0.1 },
  { name = "share", type = "decimal(18, 18)", gen = "decimal" },
  { name = "wide", type = "decimal(38, 20)", gen = "decimal", null_share = 0.1 },
  { name = "digit", type = "decimal(1, 1)", gen = "decimal", null_share = 0.1 },
  { name = "small", type = "decimal(9, 4)", gen = "decimal", null_share = 0.1 },
"""
LISTS = """
  { name = "flags", type = "list_bool", gen = "array", of = { gen = "flag", true_ppm = 500_000 }, min_items = 0, max_items = 6 },
  { name = "shorts", type = "list_i16", gen = "array", of = { gen = "uniform", from = -32768, to = 32767 }, min_items = 0, max_items = 6 },
  { name = "longs", type = "list_i32", gen = "array", of = { gen = "uniform", from = -2147483648, to = 2147483647 }, min_items = 0, max_items = 6, null_share = 0.1 },
  { name = "wides", type = "list_i64", gen = "array", of = { gen = "categorical", values = [-9223372036854775808, 9223372036854775807, 0] }, min_items = 0, max_items = 6 },
  { name = "bytes", type = "list_u8", gen = "array", of = { gen = "uniform", from = 0, to = 255 }, min_items = 0, max_items = 1_000 },
  { name = "ports", type = "list_u16", gen = "array", of = { gen = "uniform", from = 0, to = 65535 }, min_items = 0, max_items = 6, null_share = 0.1 },
  { name = "addresses", type = "list_u32", gen = "array", of = { gen = "uniform", from = 0, to = 4294967295 }, min_items = 0, max_items = 6 },
  { name = "totals", type = "list_u64", gen = "array", of = { gen = "categorical", values = [18446744073709551615, 9223372036854775808, 0] }, min_items = 0, max_items = 6, null_share = 0.1 },
  { name = "singles", type = "list_f32", gen = "array", of = { gen = "uniform", from = -100, to = 100 }, min_items = 0, max_items = 6, null_share = 0.1 },
  { name = "doubles", type = "list_f64", gen = "array", of = { gen = "uniform", from = -100, to = 100 }, min_items = 0, max_items = 6 },
  { name = "words", type = "list_text", gen = "array", of = { gen = "text", min_bytes = 0, max_bytes = 9, alphabet = "aZ09 ,;'\\"\\\\\\t\\n%_[]" }, min_items = 0, max_items = 6, null_share = 0.1 },
"""
#: NULL, NaN and infinities in lists.
HOLES = """
  { name = "flags", type = "list_bool", gen = "array", of = { gen = "flag", true_ppm = 500_000 }, min_items = 0, max_items = 6, NULLS },
  { name = "shorts", type = "list_i16", gen = "array", of = { gen = "uniform", from = -32768, to = 32767 }, min_items = 0, max_items = 6, NULLS, null_share = 0.1 },
  { name = "wides", type = "list_i64", gen = "array", of = { gen = "uniform", from = -9, to = 9 }, min_items = 0, max_items = 6, NULLS },
  { name = "totals", type = "list_u64", gen = "array", of = { gen = "categorical", values = [18446744073709551615, 0] }, min_items = 0, max_items = 6, NULLS },
  { name = "singles", type = "list_f32", gen = "array", of = { gen = "uniform", from = -100, to = 100 }, min_items = 0, max_items = 6, NULLS, SHARES },
  { name = "doubles", type = "list_f64", gen = "array", of = { gen = "uniform", from = -100, to = 100 }, min_items = 0, max_items = 6, NULLS, SHARES, null_share = 0.1 },
"""
WORDS = """
  { name = "words", type = "list_text", gen = "array", of = { gen = "text", min_bytes = 0, max_bytes = 9 }, min_items = 0, max_items = 6, null_ppm = 200_000 },
"""
BLOBS = """
  { name = "encoded", type = "blob", gen = "bytes", min_bytes = 0, max_bytes = 60 },
  { name = "image", type = "blob", gen = "bytes", min_bytes = 300, max_bytes = 2_000, null_share = 0.1 },
"""
ENUMS = """
  { name = "state", type = "enum", gen = "categorical", values = ["ON", "OFF", "CLOSE", "STANDBY", "Zürich"] },
  { name = "mode", type = "enum", gen = "categorical", values = ["b", "a", "c d"], null_share = 0.1 },
  { name = "same", type = "enum", gen = "constant", value = "x" },
"""
DATES = """
  { name = "day", type = "date", gen = "between", from = "1970-01-01", to = "2105-12-31" },
  { name = "built", type = "date", gen = "between", from = "1999-12-31", to = "2000-03-01", null_share = 0.1 },
"""
CLOCKS = """
  { name = "begins", type = "time", gen = "between", from = "00:00:00", to = "23:59:59.999999" },
  { name = "ends", type = "time", gen = "categorical", values = ["08:30", "08:30:00.25", "24:00:00"], null_share = 0.1 },
"""
ADDRESSES = """
  { name = "host", type = "inet", gen = "between", from = "10.0.0.0", to = "10.255.255.255" },
  { name = "network", type = "inet", gen = "categorical", values = ["10.0.0.0/8", "::1.2.3.4", "2001:DB8:0::/48", "fe80::1", "192.168.0.1/32"], null_share = 0.1 },
"""
ITEM_SHARES = "nan_ppm = 100_000, inf_ppm = 100_000, minus_inf_ppm = 100_000"
ALL_SHARES = "nan_share = 0.1, inf_share = 0.1, minus_inf_share = 0.1"
WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.numbers]
identity = ["n"]
layouts = { none = [], pk = ["identity"] }
columns = [
  { name = "n", type = "i64", gen = "sequence", start = 0, step = 1 },
  COLUMNS
]
[operations.look]
kind = "query"
table = "numbers"
PARAMS
holds = [HOLDS]
returns = ["n", NAMES]
sql.default = "SELECT n, SELECTED FROM {table} WHERE CONDITION"
"""
#: How a row is asked for -> parameters and condition. Chars and decimals are found by a key too.
LISTED = ('params.n = { gen = "key", column = "n", list = true }', "n IN (:n)", "keys_per_call = 3")
BY_CHAR = (
    'params.n = { gen = "key", column = "n" }\nparams.id = { gen = "key", column = "id" }',
    "n = :n AND id = :id",
    "",
)
BY_DECIMAL = (
    'params.n = { gen = "key", column = "n" }\nparams.share = { gen = "key", column = "share" }',
    "n = :n AND share = :share",
    "",
)
ASKED = {CHARS: BY_CHAR, DECIMALS: BY_DECIMAL}
STUDY = """
schema = 1
title = "Numbers"
question = "Is each number stored and found?"
expect = "Yes."
workload = "w.toml"
kind = "mixed"
engines = ["duckdb"]
layout = "pk"
load = { rows = 2_000 }
schedule = { mode = "closed" }
factors.method = ["bulk", "multirow"]
repeats = { count = 1, pilot = false }
[roles.users]
operation = "look"
KEYS
calls = 200
"""
METHODS = dict.fromkeys(ENGINES, ("bulk", "multirow")) | dict.fromkeys(
    ("postgresql", "timescaledb"), ("bulk", "multirow", "unnest")
)
#: Engine -> the shares that it can be told to keep.
KEEPS = {
    "duckdb": ALL_SHARES,
    "postgresql": ALL_SHARES,
    "timescaledb": ALL_SHARES,
    "clickhouse": ALL_SHARES,
    "sqlite": "inf_share = 0.1, minus_inf_share = 0.1",
}
WAYS = [
    (e, method, columns) for columns in (UNSIGNED, CHARS, DECIMALS) for e in ENGINES for method in METHODS[e]
]
#: Engine -> lists with what it keeps in them.
KEEPS_ITEMS = {
    "duckdb": HOLES.replace("NULLS", "null_ppm = 200_000").replace("SHARES", ITEM_SHARES),
    "postgresql": HOLES.replace("NULLS", "null_ppm = 200_000").replace("SHARES", ITEM_SHARES),
    "timescaledb": HOLES.replace("NULLS", "null_ppm = 200_000").replace("SHARES", ITEM_SHARES),
    "clickhouse": HOLES.replace("NULLS", "null_ppm = 200_000").replace("SHARES", ITEM_SHARES),
    "sqlite": HOLES.replace(", NULLS", "").replace("SHARES", ITEM_SHARES),
    "mysql": HOLES.replace("NULLS", "null_ppm = 200_000").replace(", SHARES", ""),
    "mariadb": HOLES.replace("NULLS", "null_ppm = 200_000").replace(", SHARES", ""),
}
WAYS += [(e, method, LISTS) for e in ENGINES for method in METHODS[e] if method != "unnest"]
WAYS += [(e, "bulk", columns) for e in ENGINES for columns in (KEEPS_ITEMS[e], WORDS)]
OTHERS = (BLOBS, ENUMS, DATES, CLOCKS, ADDRESSES)
WAYS += [(e, method, columns) for e in ENGINES for method in METHODS[e] for columns in OTHERS]
WAYS += [("clickhouse", method, columns) for method in ("tsv", "rowbinary") for columns in OTHERS]
WAYS += [
    (engine, method, FINITE_NOT.replace("SHARES", shares))
    for engine, shares in KEEPS.items()
    for method in METHODS[engine]
]
#: Types that no oracle knows.
UNKNOWN = ("list_", "blob", "date", "json", "bit(", '"time"', "inet")


def planned(engine: str, method: str, columns: str, folder: Path, rows: str = "2_000") -> StudyPlan:
    names = [line.split('"')[1] for line in columns.strip().splitlines()]
    # Answers of DuckDB have bits as bytes of its own.
    selected = [f"{name}::VARCHAR" if engine == "duckdb" and "bit(" in columns else name for name in names]
    params, condition, keys = ASKED.get(columns, LISTED)
    workload = WORKLOAD.replace("PARAMS", params).replace("CONDITION", condition)
    # No oracle knows the lists of another engine: answers are compared with the generator's rows.
    workload = workload.replace(
        "HOLDS",
        '"asked"' if any(kind in columns for kind in UNKNOWN) else '"asked", "oracle"',
    )
    workload = workload.replace("COLUMNS", columns).replace("SELECTED", ", ".join(selected))
    (folder / "w.toml").write_text(workload.replace("NAMES", ", ".join(f'"{name}"' for name in names)))
    (folder / "s.toml").write_text(STUDY.replace("2_000", rows).replace("KEYS", keys))
    study = load_study(str(folder / "s.toml"), overrides=[f'factors.method=["{method}"]'], engines=[engine])
    return plan_study(study, {engine: server(engine)})


def plan_of(engine: str, method: str, columns: str, folder: Path) -> dict[str, Any]:
    (found,) = planned(engine, method, columns, folder).block(1)
    return dict(found.plan)


@pytest.fixture
def deployment(
    engine: str, method: str, columns: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Deployment]:
    if server(engine).embedded:
        yield Deployment(server(engine), Target(engine, ""))
        return
    deployment = Deployment(server(engine), request.getfixturevalue(engine))
    yield deployment
    deployment.drop_leftover(plan_of(engine, method, columns, tmp_path))


@pytest.mark.parametrize(("engine", "method", "columns"), WAYS)
def test_every_value_is_stored_proven_and_found_by_its_key(
    engine: str, method: str, columns: str, deployment: Deployment, folder: Path, tmp_path: Path
) -> None:
    plan = plan_of(engine, method, columns, tmp_path)
    ran = run(deployment, plan, folder)
    assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last
    assert not ran.broken(), ran.broken()
    assert {"rows", "read_back"} <= {p["item"] for p in ran.tables["proofs"]}
    assert not ran.tables["failures"], ran.tables["failures"]
    assert (ran.totals("users")["ok"], ran.totals("users")["wrong"]) == (200, 0)


#: Column of decimals -> its digits, and those behind the point.
DIGITS = {"price": (10, 2), "whole": (38, 0), "wide": (38, 20)}
#: Column of times of day or addresses -> the engines that sum hashes of its texts.
HASHED_BY = dict.fromkeys(("begins", "ends", "host", "network"), SERVERS)
SUMS_DECIMALS = ("postgresql", "timescaledb", "mysql", "mariadb")
#: Column -> which of its values is changed, by which one; and the figure beside the read-back that sees it; `sum`: of whole numbers.
CHANGES: Mapping[str, tuple[Callable[[Any], bool], str, str]] = {
    "tiny": (lambda v: v is not None and v != 77, "77", "sum"),
    "port": (lambda v: v is not None and v > 40_000, "port - 32768", "sum"),
    "address": (lambda v: v is not None and v > 2**31, "address - 2147483648", "sum"),
    "id": (lambda v: v[-1] == "0", f"'{'0' * 36}'", ""),
    "guid": (lambda v: v is not None and len(v) == 28, "'changed'", "sum_length(guid)"),
    "town": (lambda v: v == "Zürich", "'Genève'", ""),
    "place": (lambda v: v == "東京", "'a b'", "sum_length(place)"),
    "price": (lambda v: v == "-0.01" or (v is not None and v[0] == "-"), "0.01", ""),
    "whole": (lambda v: v is not None and len(v) == 38, "1", ""),
    "wide": (lambda v: v == f"{'9' * 18}.{'9' * 20}", "0.00000000000000000001", ""),
    "encoded": (lambda v: len(v) > 3, "'abc'", ""),
    "state": (lambda v: v == "OFF", "'ON'", ""),
    "mode": (lambda v: v == "a", "'b'", ""),
    "day": (lambda v: v > "2000", "'1999-02-28'", ""),
    "built": (lambda v: v == "2000-02-29", "'2000-03-01'", ""),
    "begins": (lambda v: v > "12", "'11:59:59.999999'", ""),
    "ends": (lambda v: v == "08:30:00.25", "'08:30:00.250001'", ""),
    "host": (lambda v: v > "10.2", "'10.1.255.255'", ""),
    "network": (lambda v: v == "10.0.0.0/8", "'10.0.0.0/9'", ""),
    "ratio": (lambda v: v == -math.inf, "0.5", ""),
    "level": (lambda v: v == math.inf, "0.5", ""),
}
CHANGED = [
    (engine, "bulk", columns, column)
    for engine, method, columns in WAYS
    if method == "bulk" and "list_" not in columns
    for column in CHANGES
    if f'"{column}"' in columns
]


#: By default one column of each set; what each type becomes, the core's tests of each format show.
FIRST = {of: column for *of_, column in reversed(CHANGED) for of in [tuple(of_)]}


@pytest.mark.parametrize(
    ("engine", "method", "columns", "column"),
    [
        pytest.param(*of, column, marks=[] if FIRST[tuple(of)] == column else pytest.mark.slow)
        for *of, column in CHANGED
    ],
)
def test_one_value_that_changed_breaks_the_proof(
    engine: str,
    method: str,
    columns: str,
    column: str,
    deployment: Deployment,
    folder: Path,
    tmp_path: Path,
) -> None:
    chosen, value, figure = CHANGES[column]
    ran = changed(engine, columns, column, chosen, value, deployment, folder, tmp_path)
    if (column in DIGITS and engine in SUMS_DECIMALS) or (
        column in HASHED_BY and engine in HASHED_BY[column]
    ):
        figure = f"sum_hash({column})"
    elif figure == "sum":
        figure = sum_item(engine, column)
    broken = {p["item"] for p in ran.broken() if not p["item"].startswith(("difference", "product"))}
    assert broken == {"read_back", figure} - {""}
    assert any(column in str(p) for p in ran.broken() if p["item"].startswith("difference")), ran.broken()


@pytest.mark.parametrize(
    ("engine", "method", "columns"),
    [(e, "bulk", FINITE_NOT.replace("SHARES", ALL_SHARES)) for e in KEEPS if e != "sqlite"],
)
@pytest.mark.parametrize("column", ["ratio", "level"])
def test_a_nan_that_became_another_value_breaks_the_proof(
    engine: str,
    method: str,
    columns: str,
    column: str,
    deployment: Deployment,
    folder: Path,
    tmp_path: Path,
) -> None:
    is_nan = lambda v: v is not None and math.isnan(v)  # noqa: E731
    ran = changed(engine, columns, column, is_nan, "0.5", deployment, folder, tmp_path)
    assert "read_back" in {p["item"] for p in ran.broken()}


#: A list without items, as SQL of each engine writes it.
EMPTY = {"duckdb": "[]", "sqlite": "x''", "clickhouse": "[]", "mysql": "'[]'", "mariadb": "'[]'"}


@pytest.mark.parametrize(("engine", "method", "columns"), [(e, "bulk", LISTS) for e in ENGINES])
@pytest.mark.parametrize("column", ["shorts", "addresses"])
def test_a_list_that_became_empty_breaks_the_proof(
    engine: str,
    method: str,
    columns: str,
    column: str,
    deployment: Deployment,
    folder: Path,
    tmp_path: Path,
) -> None:
    ran = changed(engine, columns, column, bool, EMPTY.get(engine, "'{}'"), deployment, folder, tmp_path)
    assert "read_back" in {p["item"] for p in ran.broken()}


@pytest.mark.parametrize(
    ("engine", "given", "said"),
    [
        (
            "sqlite",
            "null_ppm = 1000",
            "SQLite keeps no NULL in such a list, and column l (list_f32) of numbers has it",
        ),
        ("valkey", "null_ppm = 1000", "Valkey keeps no NULL in such a list"),
        (
            "mysql",
            "nan_ppm = 1000",
            "MySQL keeps no NaN in a list, and column l (list_f32) of numbers has it; leave out its",
        ),
        ("mariadb", "minus_inf_ppm = 9", "keeps no negative infinity in a list"),
        ("influxdb", "inf_ppm = 9", "InfluxDB keeps no infinity in a list"),
    ],
)
def test_what_lists_of_an_engine_cannot_hold_is_not_planned(
    engine: str, given: str, said: str, tmp_path: Path
) -> None:
    columns = f'{{ name = "l", type = "list_f32", gen = "array", of = {{ gen = "uniform", from = 0, to = 9 }}, min_items = 0, max_items = 3, {given} }},'
    plan = planned(engine, "bulk", columns, tmp_path)
    assert not plan.runs
    assert plan.unsupported and all(said in missing.reason for missing in plan.unsupported), plan.unsupported


@pytest.mark.parametrize(
    ("engine", "first", "last"),
    [
        ("clickhouse", "1969-12-31", "2000-01-01"),
        ("clickhouse", "1970-01-01", "2106-01-01"),
        ("mysql", "0999-12-31", "2000-01-01"),
        ("mariadb", "0999-12-31", "2000-01-01"),
    ],
)
def test_days_that_an_engine_has_not_are_not_planned(
    engine: str, first: str, last: str, tmp_path: Path
) -> None:
    columns = f'{{ name = "day", type = "date", gen = "between", from = "{first}", to = "{last}" }},'
    plan = planned(engine, "bulk", columns, tmp_path)
    assert not plan.runs
    said = "has the days from"
    assert plan.unsupported and all(said in missing.reason for missing in plan.unsupported), plan.unsupported
    assert planned("postgresql", "bulk", columns, tmp_path).runs


def test_an_engine_without_a_type_is_planned_with_none_and_says_what_to_do(tmp_path: Path) -> None:
    plan = planned("questdb", "bulk", WORDS, tmp_path)
    said = "QuestDB has no list_text, and column words (list_text) of numbers is one; choose another type, or leave out"
    assert plan.unsupported and all(said in missing.reason for missing in plan.unsupported), plan.unsupported


@pytest.mark.parametrize("engine", ["mysql", "mariadb", "sqlite", "influxdb", "questdb"])
def test_an_engine_without_nan_is_planned_with_none_and_says_what_to_do(engine: str, tmp_path: Path) -> None:
    columns = FINITE_NOT.replace("SHARES", "nan_share = 0.1")
    plan = planned(engine, "bulk", columns, tmp_path)
    assert not plan.runs
    said = f"{server(engine).title} keeps no NaN, and column ratio (f32) of numbers has it; leave out its nan_share, or"
    assert all(said in missing.reason for missing in plan.unsupported), plan.unsupported


@pytest.mark.parametrize("engine", ["mysql", "mariadb", "influxdb", "questdb"])
def test_an_engine_without_infinities_is_planned_with_none(engine: str, tmp_path: Path) -> None:
    plan = planned(engine, "bulk", FINITE_NOT.replace("SHARES", "minus_inf_share = 0.1"), tmp_path)
    assert not plan.runs
    assert all("keeps no negative infinity" in missing.reason for missing in plan.unsupported)


def test_a_plan_says_which_floats_of_a_large_table_no_sum_proves(tmp_path: Path) -> None:
    (run_of,) = planned(
        "duckdb", "bulk", FINITE_NOT.replace("SHARES", "nan_share = 0.1"), tmp_path, "10_000_001"
    ).block(1)
    said = "numbers: floats with values that are not finite (ratio, level) are in no sum; read-back alone proves them"
    assert said in run_of.plan["labels"]["notes"]


@pytest.mark.parametrize(("engine", "most"), [("mysql", 30), ("mariadb", 38), ("postgresql", 38)])
def test_a_decimal_of_more_digits_behind_the_point_than_the_engine_has_is_not_planned(
    engine: str, most: int, tmp_path: Path
) -> None:
    def of(scale: int) -> StudyPlan:
        columns = f'{{ name = "v", type = "decimal(38, {scale})", gen = "decimal" }},'
        return planned(engine, "bulk", columns, tmp_path)

    assert of(most).runs
    if most < 38:
        said = f"has decimals of at most {most} digits behind the point, and column v of numbers is decimal(38, {most + 1})"
        assert [said in missing.reason for missing in of(most + 1).unsupported] == [True]


def test_a_plan_says_which_decimals_of_a_large_table_no_sum_proves(tmp_path: Path) -> None:
    said = "numbers: decimals (price, whole, share, wide, digit, small) are in no count or sum of"
    for engine, unseen in (("duckdb", True), ("clickhouse", True), ("mysql", False)):
        (run_of, *_) = planned(engine, "bulk", DECIMALS, tmp_path, "10_000_001").block(1)
        assert any(said in note for note in run_of.plan["labels"]["notes"]) is unseen, engine


def changed(
    engine: str,
    columns: str,
    column: str,
    chosen: Callable[[Any], bool],
    value: str | Callable[[Any], str],
    deployment: Deployment,
    folder: Path,
    tmp_path: Path,
) -> Any:
    """A run with one value of the first such row changed by SQL, between load and proof."""
    plan = plan_of(engine, "bulk", columns, tmp_path)
    made = _core.generate(json.dumps(plan["tables"][0]), plan["seed"], plan["epoch_ns"], 0, 500)
    rows = pa.RecordBatchReader.from_stream(made).read_all().to_pylist()
    row = next(row for row in rows if chosen(row[column]))
    at = next(k for k, s in enumerate(plan["segments"]) if s["label"] == "load") + 1
    text = value if isinstance(value, str) else value(row[column])
    statements = change(engine, plan["tables"][0]["name"], list(row), column, text, row["n"])
    control = {"kind": "control", "label": "change", "statements": statements, "limit_ns": 30 * 10**9}
    plan["segments"] = [*plan["segments"][:at], control, *plan["segments"][at:]]
    ran = run(deployment, plan, folder)
    assert ran.last["event"] == "finished", ran.last
    return ran


def change(engine: str, table: str, columns: list[str], column: str, value: str, n: int) -> list[str]:
    if engine == "sqlite" and column == "encoded":
        value = "x'616263'"  # a text there is of another type, which the read-back refuses
    if engine != "clickhouse":
        return [f"UPDATE {table} SET {column} = {value} WHERE n = {n}"]
    # An update is asynchronous there: the table is copied.
    copy = table.replace("numbers", "copied")
    if column in DIGITS:
        value = f"CAST('{value}' AS Decimal{DIGITS[column]})"
    names, values = ", ".join(columns), ", ".join(value if c == column else c for c in columns)
    return [
        f"CREATE TABLE {copy} AS {table}",
        f"INSERT INTO {copy} ({names}) SELECT {names} FROM {table} WHERE n != {n}",
        f"INSERT INTO {copy} ({names}) SELECT {values} FROM {table} WHERE n = {n}",
        f"DROP TABLE {table}",
        f"RENAME TABLE {copy} TO {table}",
    ]


@pytest.mark.parametrize(
    ("engine", "own"),
    [
        ("mysql", '"guid" CHAR(28) CHARACTER SET latin1 COLLATE latin1_bin'),
        ("mariadb", '"place" CHAR(8)'),
        ("postgresql", '"guid" varchar(28)'),
        ("sqlite", '"guid" TEXT'),
    ],
)
def test_the_type_in_the_table_has_its_length_where_the_engine_bounds_it(
    engine: str, own: str, tmp_path: Path
) -> None:
    create = next(s for s in plan_of(engine, "bulk", CHARS, tmp_path)["segments"] if s["label"] == "create")
    assert any(own in statement for statement in create["statements"]), create["statements"]
