"""The study of indexes: each layout is another table on engines that have indexes, and no point on one that has none."""

from __future__ import annotations

import json

import pytest

from tests.terminal import Inrush

SERVERS = {
    "duckdb": "duckdb", "sqlite": "sqlite", "postgresql": "postgresql://a@h/d", "mysql": "mysql://a@h/d",
    "mariadb": "mariadb://a@h/d", "timescaledb": "timescaledb://a@h/d", "clickhouse": "clickhouse://a@h/d",
}  # fmt: skip


def tables_made(inrush: Inrush, target: str) -> dict[str, list[str]]:
    """Layout -> statements that make its table, without the name of the namespace."""
    said = inrush("plan", "telemetry-indexes", target, "--scale", "xs", "--json")
    assert said.code == 0, said.err
    found = {}
    for run in said.json["runs"]:
        made = [s for segment in run["segments"] for s in statements(segment) if "CREATE" in s]
        found[run["labels"]["factors"]["layout"]] = made
    return found


def statements(segment: dict[str, object]) -> list[str]:
    listed = segment.get("statements", [])
    assert isinstance(listed, list)
    return [s if isinstance(s, str) else json.dumps(s) for s in listed]


@pytest.mark.parametrize("engine", SERVERS)
def test_each_layout_is_another_table(engine: str, inrush: Inrush) -> None:
    made = {layout: " ".join(of) for layout, of in tables_made(inrush, SERVERS[engine]).items()}
    assert set(made) == {"none", "pk", "pk_time"}
    key = "ORDER BY (" if engine == "clickhouse" else "PRIMARY KEY"
    assert [key in made[layout] for layout in ("none", "pk", "pk_time")] == [False, True, True]
    by_time = {"mysql": 'KEY ("added_on")', "mariadb": 'KEY ("added_on")', "clickhouse": "PARTITION BY"}.get(engine, "CREATE INDEX")  # fmt: skip
    of_time = [by_time.replace('"', '\\"') in text or by_time in text for text in made.values()]
    assert of_time == [layout == "pk_time" for layout in made]


def test_an_engine_without_indexes_has_one_layout(inrush: Inrush) -> None:
    said = inrush("plan", "telemetry-indexes", "influxdb://h/d", "--scale", "xs", "--json")
    assert {run["labels"]["factors"]["layout"] for run in said.json["runs"]} == {"none"}
    reasons = {m["reason"] for m in said.json["unsupported"]}
    assert reasons == {f"influxdb has no indexes of a table's own: layout {name} would be none" for name in ("pk", "pk_time")}  # fmt: skip
