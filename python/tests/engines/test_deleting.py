"""Deletes that a server works on after it has answered are over before what is left is proven."""

from __future__ import annotations

import json

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.results.store import Results
from tests.terminal import Inrush


def test_rows_that_clickhouse_deletes_in_the_background_are_gone_before_the_proof(
    inrush: Inrush, clickhouse: Target
) -> None:
    """A table without partitions: `ALTER TABLE … DELETE` is acknowledged at once and done some time later."""
    said = inrush(
        "run", "telemetry-production", clickhouse.url, "--scale", "xs", "-P", 'layout="pk"', "-P", "repeats.count=1"
    )  # fmt: skip
    assert said.code in (0, 3), said.err
    runs = Results(inrush.store.find(None).path).runs
    assert runs
    for run in runs:
        segments = {s["label"]: s for s in run.plan["segments"]}
        labels = list(segments)
        assert labels.index("retain") < labels.index("deleted") < labels.index("proof")
        asked = segments["deleted"]["statements"]
        assert all(s["repeat"] == "until_no_rows" and "mutations" in s["text"] for s in asked)
        proofs = run.tables["proofs"].to_pylist()
        rows = [p for p in proofs if p["item"] == "rows"]
        assert rows and all(p["holds"] for p in proofs), [p for p in proofs if not p["holds"]][:3]


@pytest.mark.parametrize("engine", ["postgresql", "mysql", "sqlite", "duckdb", "influxdb"])
def test_others_have_deleted_when_they_answer(inrush: Inrush, engine: str) -> None:
    target = engine if server(engine).embedded else f"{server(engine).schemes[0]}://127.0.0.1:1/db"
    said = inrush("plan", "telemetry-production", target, "--scale", "xs", "--json")
    assert said.code == 0, said.err
    assert "deleted" not in json.dumps(said.json["runs"])
