"""One contract for every embedded engine, through the border: what it stores is what was generated, and a liar is caught."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base import OpPlan, Target
from inrush.workload import Column, Operation, Table

ENGINES = ("sqlite", "duckdb")
SECOND_NS = 1_000_000_000
#: Every logical type; values that a rounding, a lost sign bit, a cut millisecond or a filled NULL would change.
EVERYTHING = Table(
    "everything",
    (
        Column("guid", "u64", gen={"kind": "pattern", "prefix": "b8599f03"}),
        Column("port", "i32", gen={"kind": "cycle", "from": 1, "to": 40}),
        Column("seen", "time_ms", gen={"kind": "sweep_time", "jitter_ms": 900}),
        Column("seen_us", "time_us", gen={"kind": "time", "period_us": 1_000_003}),
        Column("up", "bool", gen={"kind": "flag", "true_ppm": 500_000}),
        Column("small", "i16", gen={"kind": "uniform", "from": -32_768, "to": 32_767}, null_share=0.2),
        Column("big", "i64", gen={"kind": "uniform", "from": -(2**62), "to": 2**62}, null_share=0.1),
        Column("load", "f32", gen={"kind": "uniform", "from": -100, "to": 100, "bits": 8}),
        Column(
            "exact",
            "f64",
            gen={"kind": "normal", "mean": 1_000_000.0, "sd": 1000.0, "bits": 16},
            null_share=0.1,
        ),
        Column("host", "text", gen={"kind": "text", "min_bytes": 0, "max_bytes": 20}, null_share=0.3),
        Column(
            "past",
            "list_f64",
            gen={
                "kind": "array",
                "of": {"kind": "uniform", "from": 0, "to": 9, "bits": 8},
                "min_items": 0,
                "max_items": 4,
            },
        ),
        Column(
            "ids",
            "list_i64",
            gen={
                "kind": "array",
                "of": {"kind": "uniform", "from": -9, "to": 9},
                "min_items": 0,
                "max_items": 4,
            },
        ),
    ),
    series=500,
    identity=("guid", "port", "seen"),
    layouts={"pk": (("guid", "port", "seen"),)},
)
ROWS, BATCH = 3_000, 700


@pytest.mark.parametrize("layout", ["none", "pk"])
@pytest.mark.parametrize("method", ["bulk", "multirow"])
@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_stored_is_what_was_generated(engine: str, method: str, layout: str, tmp_path: Path) -> None:
    tables = run(engine, method, layout, tmp_path)
    assert failed_proofs(tables) == []
    assert {(p["found"] if p["item"] == "rows" else None) for p in tables["proofs"]} >= {str(ROWS)}
    shot = next(s for s in tables["shots"] if s["role"] == "writers")
    assert (shot["rows"], shot["errors"]) == (ROWS, 0)


@pytest.mark.parametrize(
    "fault",
    ["drop:500", "double:500", "swap:500", "cut_ms", "null_to_zero", "round_f32", "lose:3"],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_lie_about_rows_is_caught(engine: str, fault: str, tmp_path: Path) -> None:
    tables = run(engine, "bulk", "none", tmp_path, fault)
    assert failed_proofs(tables) != []
    shot = next(s for s in tables["shots"] if s["role"] == "writers")
    assert (shot["rows"], shot["errors"]) == (ROWS, 0), "the lie itself must look like success"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_quiet_answer_has_every_type(engine: str, tmp_path: Path) -> None:
    cells = [a["value"] for a in run(engine, "bulk", "none", tmp_path)["answers"] if a["op"] == "first"]
    generated = pa.table(
        _core.generate(json.dumps(plan_of(engine, "bulk", "none", tmp_path)["tables"][0]), 7, 0, 0, 1)
    )
    assert cells[0] == str(generated["guid"][0].as_py())
    assert int(cells[0]) > 2**63


@pytest.mark.parametrize("engine", ENGINES)
def test_probes_give_names_and_values_before_and_after(engine: str, tmp_path: Path) -> None:
    tables = run(engine, "bulk", "pk", tmp_path)
    sizes = {s["name"]: float(s["value"]) for s in tables["sizes"]}
    assert sizes["file"] > 0
    assert any(name.startswith("table:") and size > 0 for name, size in sizes.items())
    settings = {s["name"]: s["value"] for s in tables["settings"]}
    assert server(engine).durability(settings).survives.name == "POWER_LOSS"


@pytest.mark.parametrize("engine", ENGINES)
def test_dropping_the_namespace_leaves_nothing(engine: str, tmp_path: Path) -> None:
    run(engine, "bulk", "pk", tmp_path)
    target = json.dumps(target_of(engine, tmp_path))
    names = {"sqlite": "SELECT name FROM sqlite_schema", "duckdb": "SELECT table_name FROM duckdb_tables()"}
    assert json.loads(_core.control(target, names[engine], 10))["rows"] == []
    for statement in server(engine).drop_namespace("inrush_t"):
        with pytest.raises(_core.CoreFailure, match="inrush_"):
            _core.control(target, statement, 10)
        break


def test_duckdb_works_in_utc(tmp_path: Path) -> None:
    target = json.dumps(target_of("duckdb", tmp_path))
    text = "SELECT epoch_us(date_trunc('day', TIMESTAMPTZ '2026-07-01 23:30:00+00')), current_setting('TimeZone')"
    answer = json.loads(_core.control(target, text, 10))
    assert answer["rows"] == [["1782864000000000", "UTC"]]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_statement_without_end_is_cut_at_its_limit(engine: str, tmp_path: Path) -> None:
    endless = {
        "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
        "duckdb": "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE (a.range * b.range) % 7 = 3",
    }
    with pytest.raises(_core.CoreFailure, match="not finished after") as failure:
        _core.control(json.dumps(target_of(engine, tmp_path)), endless[engine], 0.3)
    assert failure.value.args[0] == "deadline"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wrong_statement_is_one_clear_line(engine: str, tmp_path: Path) -> None:
    with pytest.raises(_core.CoreFailure, match="missing_table") as failure:
        _core.control(json.dumps(target_of(engine, tmp_path)), "SELECT * FROM missing_table", 10)
    assert failure.value.args[0] == "statement"


def test_a_driver_that_is_not_there_is_said() -> None:
    target = json.dumps({"engine": "duckdb", "url": "duckdb://", "options": {"driver": "/no/such/driver.so"}})
    with pytest.raises(_core.CoreFailure, match=r"/no/such/driver\.so"):
        _core.control(target, "SELECT 1", 10)


# --- one run ---------------------------------------------------------------------------------------------


def run(engine: str, method: str, layout: str, place: Path, *faults: str) -> dict[str, list[dict[str, Any]]]:
    """Tables of a finished run, as rows."""
    parts = place / "parts"
    parts.mkdir(exist_ok=True)
    handle = _core.start(json.dumps(plan_of(engine, method, layout, place, *faults)), str(parts))
    events: list[Any] = []
    while not any(e["event"] in ("finished", "failed") for e in events):
        events += [json.loads(e) for e in handle.poll(30.0)]
    assert events[-1]["event"] == "finished", events[-1]
    return {path.stem: rows_in(path) for path in parts.glob("*.arrows")}


def rows_in(path: Path) -> list[dict[str, Any]]:
    with pa.ipc.open_stream(path) as stream:
        rows: list[dict[str, Any]] = stream.read_all().to_pylist()
    return rows


def failed_proofs(tables: dict[str, list[dict[str, Any]]]) -> list[tuple[str, str, str]]:
    return [(p["item"], p["expected"], p["found"]) for p in tables["proofs"] if not p["holds"]]


def target_of(engine: str, place: Path) -> dict[str, Any]:
    target = server(engine).run_target(Target(engine, ""), place)
    return {"engine": engine, "url": target.url, "options": dict(target.options)}


def plan_of(engine: str, method: str, layout: str, place: Path, *faults: str) -> dict[str, Any]:
    twin = server(engine)
    table = twin.plan_table(EVERYTHING, layout, "inrush_t")
    tables = {EVERYTHING.name: table}
    insert = twin.plan_operation(Operation("insert", "insert", EVERYTHING.name), method, tables, BATCH)
    query = Operation(
        "first",
        "query",
        EVERYTHING.name,
        sql={"default": "SELECT guid, port, seen FROM {everything} ORDER BY seen_us LIMIT 1"},
    )
    first = twin.plan_operation(query, "", tables)
    assert isinstance(insert, OpPlan)
    assert isinstance(first, OpPlan)
    probes = twin.probes([table])
    proof = twin.proof(EVERYTHING, table)
    place_rows = {"kind": "rows", "table": 0, "first_row": 0, "rows": ROWS, "batch_rows": BATCH}
    writers = {
        "name": "writers",
        "operations": [{"operation": "insert", "weight": 1}],
        "sessions": 2,
        "depth": 1,
        "schedule": {"kind": "closed", "think_ns": 0},
        "work": place_rows,
        "until": {"kind": "work"},
    }
    shown = [
        {"into": into, "statement": statement}
        for into in ("sizes", "counters", "settings")
        for statement in getattr(probes, into)
    ]
    proofs = [
        {
            "table": 0,
            "first_row": 0,
            "rows": ROWS,
            "screen": proof.screen,
            "items": list(proof.items),
            "read_back": proof.read_back,
        }
    ]
    return {
        "version": 1,
        "run_id": "r",
        "study": "contract",
        "seed": 7,
        "epoch_ns": 0,
        "target": {**target_of(engine, place), "faults": list(faults)},
        "tables": [
            {
                "name": table.name,
                "stream": EVERYTHING.name,
                "columns": [
                    {
                        "name": c.name,
                        "type": c.type,
                        "wire": table.wire[c.name],
                        "null_ppm": int(c.null_share * 1_000_000),
                        "gen": c.gen,
                    }
                    for c in EVERYTHING.columns
                ],
                "source": {"kind": "generated", "series": EVERYTHING.series, "period_ns": SECOND_NS},
                "identity": list(EVERYTHING.identity),
            }
        ],
        "operations": [
            {"name": "insert", "kind": "insert", "table": 0, "text": insert.text, "method": method},
            {"name": "first", "kind": "query", "table": 0, "text": first.text},
        ],
        "segments": [
            control("create", [*twin.open_namespace("inrush_t"), *table.create]),
            {
                "kind": "drive",
                "label": "load",
                "phase": "measure",
                "roles": [writers],
                "limit_ns": 60 * SECOND_NS,
            },
            {"kind": "proof", "label": "proof", "proofs": proofs},
            {"kind": "ask", "label": "quiet", "operations": ["first"], "now_ns": 0},
            {"kind": "probe", "label": "after", "probes": shown},
            control("drop", [*table.drop, *twin.drop_namespace("inrush_t")]),
        ],
        "record": {"interval_ns": SECOND_NS, "flush_ns": SECOND_NS},
        "watch": {"every_ns": 0, "processes": {}, "data_dir": ""},
    }


def control(label: str, statements: list[str]) -> dict[str, Any]:
    return {"kind": "control", "label": label, "statements": statements, "limit_ns": 60 * SECOND_NS}
