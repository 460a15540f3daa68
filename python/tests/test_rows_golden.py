"""The tables that the core's golden rows are made from are those of the telemetry workload."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

import inrush

GOLDEN = Path(__file__).parent / "golden" / "rows" / "telemetry.json"
WORKLOAD = Path(inrush.__file__).parent / "studies" / "telemetry" / "workload.toml"


def test_the_golden_tables_are_those_of_the_telemetry_workload() -> None:
    workload = tomllib.loads(WORKLOAD.read_text(encoding="utf-8"))
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    tables = [_plan(t["stream"], workload["tables"][t["stream"]], workload["sizes"]) for t in golden]
    assert len(tables) == 3
    assert tables == golden


def _plan(name: str, table: dict[str, Any], sizes: dict[str, int]) -> dict[str, Any]:
    columns = [
        {
            "name": column["name"],
            "type": column["type"],
            "wire": "",
            "null_ppm": 0,
            "gen": _generator({key: value for key, value in column.items() if key not in ("name", "type")}),
        }
        for column in table["columns"]
    ]
    source = {
        "kind": "generated",
        "series": sizes[table["series"]],
        "period_ns": sizes[table["period_s"]] * 1_000_000_000,
    }
    return {
        "name": name,
        "stream": name,
        "columns": columns,
        "source": source,
        "identity": table["identity"],
    }


def _generator(written: dict[str, Any]) -> dict[str, Any]:
    """As the core reads it: `kind` for `gen`, also of generators inside."""
    return {"kind" if key == "gen" else key: _inside(value) for key, value in written.items()}


def _inside(value: Any) -> Any:
    if isinstance(value, list):
        return [_inside(item) for item in value]
    return _generator(value) if isinstance(value, dict) else value
