"""Counters that stop at their width and are cleared: growth is what was really counted, on every engine there is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from inrush import _core
from inrush.results.store import Results
from inrush.study.reading import load_study
from inrush.study.shipped import workload_path
from inrush.study.toml import read_toml
from tests.terminal import Inrush

EPOCH_NS, PORTS, SWEEPS, WIDTH = 1_767_225_600_000_000_000, 6, 40, 15


def growth(values: Sequence[int]) -> int:
    """By hand: what fell was cleared, and shows what came since."""
    total = 0
    for before, now in pairwise(values):
        total += now - before if now >= before else now
    return total


def cleared(workload: dict[str, Any]) -> dict[str, Any]:
    """The table of errors with narrow counters that are cleared every 7 s and grow on every port."""
    for column in workload["tables"]["port_errors"]["columns"]:
        if column["gen"] == "counter":
            column |= {"idle_ppm": 0, "reset_every_s": 7, "width_bits": 4, "start_to": 3}
            if column["increment"] == "poisson":
                column["mean_per_s"] = 4.0
            else:
                column |= {"probability_ppm": 500_000, "mean_size": 3}
    return workload


def counters() -> pa.Table:
    workload = cleared(read_toml(Path(str(workload_path("telemetry", Path())))))
    columns = [
        {
            "name": c.pop("name"),
            "type": c.pop("type"),
            "wire": "",
            "null_ppm": 0,
            "gen": {"kind": c.pop("gen"), **c},
        }
        for c in workload["tables"]["port_errors"]["columns"]
    ]
    source = {"kind": "generated", "series": PORTS, "period_ns": 1_000_000_000}
    plan = {"name": "t", "stream": "port_errors", "columns": columns, "source": source, "identity": []}
    return pa.table(_core.generate(json.dumps(plan), 1, EPOCH_NS, 0, PORTS * SWEEPS))


def by_port(table: pa.Table, column: str) -> dict[tuple[int, int], list[int]]:
    found: dict[tuple[int, int], list[int]] = {}
    for row in table.to_pylist():
        found.setdefault((row["guid"], row["port"]), []).append(row[column])
    return found


def test_counters_saturate_at_their_width_and_are_cleared_at_once() -> None:
    series = by_port(counters(), "symbol_errors")
    assert all(max(values) == WIDTH for values in series.values()), "none reached its width"
    falls = [{k for k in range(1, SWEEPS) if values[k] < values[k - 1]} for values in series.values()]
    assert all(fall == falls[0] and len(fall) == (SWEEPS - 1) // 7 for fall in falls)


def test_the_growth_that_a_query_gives_is_the_one_counted_by_hand() -> None:
    rows = counters()
    statement = load_study("telemetry-queries").workload.operations["pe_growth"].sql["default"]
    connection = duckdb.connect()
    connection.register("errors", rows)
    text = statement.replace("{port_errors}", "errors").replace(":t0", "TIMESTAMPTZ '2026-01-01 00:00:00+00'")
    found = {
        (guid, port): (symbol, discards)
        for guid, port, symbol, discards in connection.execute(text).fetchall()
    }
    symbol, discards = by_port(rows, "symbol_errors"), by_port(rows, "xmit_discards")
    assert found == {key: (growth(symbol[key]), growth(discards[key])) for key in symbol}
    # Greatest less least, which needs no window, would have lost what was cleared.
    assert any(growth(values) > max(values) - min(values) for values in symbol.values())


STUDY = """
schema = 1
title = "Counters that are cleared"
question = "Do all engines answer alike?"
expect = "Yes."
workload = "counters-workload.toml"
kind = "mixed"
engines = ["duckdb", "sqlite"]
sizes = { ports = 6 }
load = { rows = 240 }
schedule = { mode = "closed", measure_s = 0.2 }
[roles.users]
operation = "pe_growth"
[repeats]
count = 1
"""


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("sqlite", marks=pytest.mark.slow)])
def test_an_engine_answers_as_another_does_over_cleared_counters(
    engine: str, inrush: Inrush, tmp_path: Path
) -> None:
    (tmp_path / "counters.toml").write_text(STUDY)
    text = (
        Path(str(workload_path("telemetry", Path())))
        .read_text()
        .replace("reset_every_s = 3600", "reset_every_s = 7")
    )
    (tmp_path / "counters-workload.toml").write_text(text.replace("idle_ppm = 990_000", "idle_ppm = 0"))
    said = inrush("run", str(tmp_path / "counters.toml"), engine, "--json")
    assert said.code in (0, 3), said.err
    results = Results(Path(said.json["run_dir"]))
    verdicts = [v for r in results.runs for v in r.doc["oracle"]]
    assert verdicts and all(v["op"] == "pe_growth" and v["holds"] for v in verdicts)
