"""A table too large to be read back whole is read back in seeded ranges, on every engine: by time, or by key where rows
have an order of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan import draft
from inrush.plan.plan import plan_study
from inrush.plan.ranges import holds_too_many, ranges_by_key, span_of_series
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from inrush.workload import Column, Rates, Table

from .border import Ran, run

ENGINES = ("duckdb", "sqlite", "postgresql", "timescaledb", "mysql", "mariadb")


@pytest.fixture
def deployment(engine: str, request: pytest.FixtureRequest) -> Iterator[Deployment]:
    target = Target(engine, "") if server(engine).embedded else request.getfixturevalue(engine)
    yield Deployment(server(engine), target)


def ran(engine: str, deployment: Deployment, folder: Path, faults: list[str]) -> Ran:
    study = load_study("telemetry-quickstart", scale="xs", engines=[engine], overrides=["batch_rows=1000"])
    planned = plan_study(study, {engine: server(engine)}).block(1)
    plan = next(r for r in planned if r.labels["engine"] == engine).plan
    result = run(deployment, plan, folder / f"run{len(faults)}", faults)
    deployment.drop_leftover(plan)
    return result


@pytest.mark.parametrize("engine", ENGINES)
def test_seeded_ranges_of_a_large_table_hold_and_a_swap_in_them_shows(
    engine: str, deployment: Deployment, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft, "READ_BACK_ROWS", 500)
    monkeypatch.setattr("inrush.plan.ranges.RANGE_ROWS", 800)
    honest = ran(engine, deployment, folder, [])
    ranges = {p["item"] for p in honest.tables["proofs"] if p["item"].startswith("read_back(")}
    assert len(ranges) == 4 and not honest.broken(), honest.broken()
    assert all(p["found"].startswith("200 rows") for p in honest.tables["proofs"] if p["item"] in ranges)
    lying = ran(engine, deployment, folder, ["cut_ms", "swap:2"])
    assert any(p["item"].startswith("read_back(") for p in lying.broken())


# --- by key: rows in an order, and at rates, of their own


ORDERED = ("duckdb", "sqlite", "postgresql")
ORDERS = ("time", "key", "random", "7 files")
#: As an archive of a control system has them. Rates are unequal, times jitter.
WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.values]
series = 40
period_s = 1
rates = { sigma = 0.8, pinned = 3, share = 0.1 }
identity = ["attribute", "at"]
layouts = { pk = ["identity"] }
columns = [
  { name = "attribute", type = "i32", gen = "cycle", from = 1, to = 40 },
  { name = "at", type = "time_us", gen = "sweep_time", jitter_ms = 5 },
  { name = "value", type = "f64", gen = "normal", mean = 20, sd = 3, bits = 20 },
]
[operations.insert]
kind = "insert"
"""
STUDY = """
schema = 1
title = "Orders"
question = "Is it there?"
expect = "It is."
workload = "w.toml"
kind = "fixed_volume"
engines = ["{engine}"]
layout = "pk"
row_order = "{order}"
schedule = {{ mode = "closed", at_least_s = 0 }}
repeats = {{ count = 1, order = "as_written", pilot = false }}
[roles.writers]
operation = "insert"
table = "values"
batch_rows = 300
rows = {{ total = 6_000 }}
"""
#: What happens to a stored table -> the statement, and what the proof of a range says is missing and foreign.
DAMAGE = {
    "lost": ("DELETE FROM {t} WHERE attribute = {a} AND \"at\" = {first}", "1 rows missing", "no row is foreign"),
    "doubled": (
        "INSERT INTO {t} SELECT * FROM {t} WHERE attribute = {a} AND \"at\" = {first}", "no row is missing", "1 foreign rows",
    ),
    "changed": ("UPDATE {t} SET value = value + 1 WHERE attribute = {a} AND \"at\" = {first}", "1 rows", "1 foreign"),
    "swapped": (
        "UPDATE {t} SET value = (SELECT max(value) + min(value) FROM {t} WHERE attribute = {a} AND \"at\" IN ({first}, {second}))"
        " - value WHERE attribute = {a} AND \"at\" IN ({first}, {second})", "2 rows missing", "2 foreign rows",
    ),
}  # fmt: skip


def ordered_plan(engine: str, order: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(draft, "READ_BACK_ROWS", 500)
    monkeypatch.setattr("inrush.plan.ranges.RANGE_ROWS", 1_200)
    (folder / "w.toml").write_text(WORKLOAD)
    (folder / "s.toml").write_text(STUDY.format(engine=engine, order=order))
    study = load_study(str(folder / "s.toml"))
    runs = plan_study(study, {engine: server(engine) for engine in study.engines}).runs
    run_of = next(r for r in runs if r.labels["engine"] == engine)
    return json.loads(json.dumps(dict(run_of.plan)))


def parts_of(plan: dict[str, Any]) -> list[dict[str, Any]]:
    proofs = [p for s in plan["segments"] if s["kind"] == "proof" for p in s["proofs"]]
    return [p for p in proofs if "series" in p]


def damaged(plan: dict[str, Any], kind: str) -> tuple[str, str]:
    """Adds a statement before the proof that damages a row of the second range; what must be said of it."""
    statement, missing, foreign = DAMAGE[kind]
    (table,) = plan["tables"]
    key = parts_of(plan)[1]["series"]["first"] + 1
    rows = table["source"]["events"]["rows"]
    stream = _core.generate(json.dumps(table), plan["seed"], plan["epoch_ns"], 0, rows)
    made = pa.RecordBatchReader.from_stream(stream).read_all().to_pylist()
    times = sorted(row["at"] for row in made if row["attribute"] == key)
    twin = server(plan["target"]["engine"])
    column = Column("at", "time_us")
    first, second = (twin.instant(column, of_us(t) * 1000) for t in times[:2])
    proof = next(i for i, s in enumerate(plan["segments"]) if s["kind"] == "proof")
    text = statement.format(t=table["name"], a=key, first=first, second=second)
    control = {"kind": "control", "label": "damage", "statements": [text], "limit_ns": 10**10}
    plan["segments"].insert(proof, control)
    return missing, foreign


def of_us(at: Any) -> int:
    if isinstance(at, int):
        return at
    return round((at - datetime(1970, 1, 1, tzinfo=at.tzinfo)) / timedelta(microseconds=1))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("engine", ORDERED)
def test_series_of_a_large_table_in_an_order_of_its_own_are_read_back_by_key(
    engine: str, order: str, deployment: Deployment, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ordered_plan(engine, order, folder, monkeypatch)
    parts = [p["series"] for p in parts_of(plan)]
    assert len(parts) == 4 and all(p["first"] + p["count"] <= 40 for p in parts)
    honest = run(deployment, plan, folder / "honest")
    deployment.drop_leftover(plan)
    found = {p["item"]: p["found"] for p in honest.tables["proofs"]}
    names = {f"read_back(series {p['first']}..{p['first'] + p['count']})" for p in parts}
    assert names <= set(found) and honest.broken() == [], honest.broken()
    assert all(int(found[name].split()[0]) > 0 for name in names)


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("engine", ORDERED)
def test_damage_to_a_row_of_a_series_that_is_read_back_is_named(
    engine: str, kind: str, deployment: Deployment, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.engines.test_ranges.STUDY", STUDY.replace('layout = "pk"', 'layout = "none"'))
    monkeypatch.setattr(
        "tests.engines.test_ranges.WORKLOAD", WORKLOAD.replace("layouts = { pk", "layouts = { none = [], pk")
    )
    plan = ordered_plan(engine, "time", folder, monkeypatch)
    missing, foreign = damaged(plan, kind)
    hurt = run(deployment, plan, folder / "hurt")
    deployment.drop_leftover(plan)
    assert hurt.last["event"] == "finished", hurt.last
    said = [p for p in hurt.broken() if p["item"] == "difference"]
    part = parts_of(plan)[1]["series"]
    assert f"read_back(series {part['first']}..{part['first'] + part['count']})" in {
        p["item"] for p in hurt.broken()
    }
    assert len(said) == 1 and missing in said[0]["expected"] and foreign in said[0]["found"], said
    assert f"attribute={part['first'] + 1} " in said[0]["expected"] + said[0]["found"]


# --- what the planner leaves out


def keyed(rows: int, pinned: int | None, share: float, series: int = 40) -> list[tuple[int, int]]:
    """First series and how many of each range by key, of a table of so many rows."""
    columns = [
        Column("attribute", "i32", gen={"kind": "cycle", "from": 1, "to": series}),
        Column("at", "time_us", gen={"kind": "sweep_time"}),
    ]
    rates = Rates(0.8, pinned, share)
    table = Table(
        "values", tuple(columns), series=series, period_s=1.0, identity=("attribute", "at"), rates=rates
    )
    found = ranges_by_key(server("sqlite"), table, "SELECT * FROM t", rows, 1)
    assert all(r.first_row == 0 and r.rows == rows for r in found)
    parts = [r.series for r in found if r.series is not None]
    assert len(parts) == len(found)
    for part, r in zip(parts, found, strict=True):
        low, high = part["first"] + 1, part["first"] + part["count"] + 1
        assert r.statement == f'SELECT * FROM t WHERE "attribute" >= {low} AND "attribute" < {high}'
    return [(part["first"], part["count"]) for part in parts]


def test_a_range_with_a_pinned_series_longer_than_all_ranges_is_left_out() -> None:
    every = keyed(20_000_000, None, 0.0)
    assert len(every) == 4
    first, count = every[1]
    for inside in {first, first + count - 1}:
        # 0.06 of 20 million rows: 1.2 million in one series, more than all ranges are to have.
        assert keyed(20_000_000, inside, 0.06) == [part for part in every if part != every[1]]
        assert keyed(20_000_000, inside, 0.05) == every, "a million is what they may have"
    for outside in {first - 1, first + count}:
        assert keyed(20_000_000, outside, 0.06) == every, "it is in no range"


@pytest.mark.parametrize(("share", "left_out"), [(0.0499, False), (0.05, False), (0.0501, True), (1.0, True)])
def test_a_pinned_series_is_too_long_where_its_share_is_more_than_all_ranges(
    share: float, left_out: bool
) -> None:
    table = Table("values", (), series=40, rates=Rates(0.0, 3, share))
    assert holds_too_many(3, 1, table, 20_000_000) is left_out
    assert holds_too_many(0, 4, table, 20_000_000) is left_out
    assert not holds_too_many(4, 1, table, 20_000_000) and not holds_too_many(0, 3, table, 20_000_000)
    assert not holds_too_many(3, 1, Table("values", (), series=40), 20_000_000)


@pytest.mark.parametrize(
    ("share", "span"),
    [(None, 50), (0.0, 49), (0.6, 125), (0.9, 500)],
)
def test_ranges_are_sized_by_the_rows_of_series_that_are_not_pinned(share: float | None, span: int) -> None:
    """20 million rows of 4,000 series: a pinned one with most of them leaves the others few, and a range takes more."""
    rates = Rates(0.0, None if share is None else 3, share or 0.0)
    assert span_of_series(Table("values", (), series=4_000, rates=rates), 20_000_000) == span


def test_a_pinned_series_with_most_rows_does_not_make_the_others_too_long() -> None:
    """On average a series has 2 million rows; those that are not pinned have 0.2 million."""
    even, pinned = (Table("values", (), series=100, rates=r) for r in (Rates(0.0), Rates(0.0, 3, 0.9)))
    assert (span_of_series(even, 200_000_000), span_of_series(pinned, 200_000_000)) == (0, 1)


@pytest.mark.parametrize(("series", "rows"), [(400, 40_000_000), (4_000, 12_000_000), (100, 40_000_000)])
@pytest.mark.parametrize("sigma", [0.0, 1.2, 3.0])
def test_ranges_of_series_at_different_rates_have_the_rows_that_they_are_to_have(
    series: int, rows: int, sigma: float
) -> None:
    """Rates are drawn 4,000 times by the generator's law: so many rows in all, each series its share of them."""
    span = span_of_series(Table("values", (), series=series, rates=Rates(sigma)), rows)
    drawn = np.exp(sigma * np.random.default_rng(1).standard_normal((4_000, series)))
    sizes = drawn[:, :span].sum(axis=1) / drawn.sum(axis=1) * rows
    wanted = max(250_000, rows // series)
    assert 0.7 * wanted < np.mean(sizes) < 1.3 * wanted, "on average"
    assert np.quantile(sizes, 0.99) < 10_000_000, "no more than a table that is read back whole"


# --- beside inserts of which no answer came


@pytest.mark.parametrize("fault", ["cut:10", "cut_before:10"])
@pytest.mark.parametrize("order", ["time", "random"])
def test_rows_of_unanswered_inserts_may_be_in_a_range_by_key_or_not(
    order: str, fault: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ordered_plan("sqlite", order, folder, monkeypatch)
    done = run(Deployment(server("sqlite"), Target("sqlite", "")), plan, folder / "run", [fault])
    assert done.last["event"] == "finished", done.last
    beside = of_series(done)
    assert len(beside) == 4 and all(p["holds"] for p in beside), beside


@pytest.mark.parametrize("fault", ["cut:10", "cut_before:10"])
@pytest.mark.parametrize("kind", ["lost", "doubled", "changed"])
def test_a_row_that_was_acknowledged_is_missed_in_a_range_by_key_beside_unanswered_inserts(
    kind: str, fault: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.engines.test_ranges.STUDY", STUDY.replace('layout = "pk"', 'layout = "none"'))
    monkeypatch.setattr(
        "tests.engines.test_ranges.WORKLOAD", WORKLOAD.replace("layouts = { pk", "layouts = { none = [], pk")
    )
    plan = ordered_plan("sqlite", "time", folder, monkeypatch)
    missing, foreign = damaged(plan, kind)
    done = run(Deployment(server("sqlite"), Target("sqlite", "")), plan, folder / "run", [fault])
    assert done.last["event"] == "finished", done.last
    first, second, third, fourth = of_series(done)
    assert first["holds"] and third["holds"] and fourth["holds"]
    assert not second["holds"] and missing in second["expected"] and foreign in second["found"], second


def of_series(done: Ran) -> list[dict[str, Any]]:
    """What was said of each range by key, in their order: beside inserts without an answer they alone are compared by row."""
    return [p for p in done.tables["proofs"] if p["item"] == "difference"]
