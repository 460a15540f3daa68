"""Statements outside of runs, on a target's address."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from inrush.border.plan import Directives, Statement
from inrush.border.statement import run_statement


def ask(target: Mapping[str, Any], statement: Statement, limit_s: float) -> list[list[Any]]:
    """Rows of one statement. target: as a plan has it. Raises CoreFailure of the core."""
    from inrush import _core

    address = json.dumps(target)

    def rows(text: str, directives: Directives | None) -> list[list[Any]]:
        wanted = None if directives is None else json.dumps(directives)
        found: list[list[Any]] = json.loads(_core.control(address, text, limit_s, wanted))["rows"]
        return found

    return run_statement(statement, rows)
