"""Names that an earlier inrush wrote, and what they are called now. Readers of results know today's names alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Table of a run -> its name since schema 5.
TABLES = {"shots": "repetitions"}


def with_todays_tables(run: Mapping[str, Any]) -> dict[str, Any]:
    """run.json as if its tables had been sealed under today's names; their files keep the names that they have."""
    if not TABLES.keys() & run.get("tables", {}).keys():
        return dict(run)
    return {**run, "tables": {TABLES.get(name, name): sealed for name, sealed in run["tables"].items()}}
