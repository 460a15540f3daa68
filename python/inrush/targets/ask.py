"""Statements outside of runs, on a target's address."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from inrush.border.plan import Directives, Statement
from inrush.border.statement import run_statement
from inrush.errors import TargetError
from inrush.text import counted

if TYPE_CHECKING:
    from inrush import _core

#: Words of servers about a right that is missing.
NOT_ALLOWED = re.compile(r"denied|privilege|read-?only|authori|forbidden|not allowed", re.IGNORECASE)


def ask(
    target: Mapping[str, Any], statement: Statement, limit_s: float, connection: _core.Control | None = None
) -> list[list[Any]]:
    """Rows of one statement. target: as a plan has it. Raises CoreFailure of the core.

    connection: to the target, if one is open already.
    """
    from inrush import _core

    address = json.dumps(target)

    def rows(text: str, directives: Directives | None) -> list[list[Any]]:
        wanted = None if directives is None else json.dumps(directives)
        if connection is None:
            answer = _core.control(address, text, limit_s, wanted)
        else:
            answer = connection.ask(text, limit_s, wanted)
        found: list[list[Any]] = json.loads(answer)["rows"]
        return found

    return run_statement(statement, rows)


def one_row(rows: list[list[Any]], columns: int, target: Mapping[str, Any]) -> list[Any]:
    """The row of an answer that has one. Raises TargetError for any other: what answers is no server as inrush knows them."""
    if len(rows) == 1 and len(rows[0]) == columns:
        return rows[0]
    raise TargetError(
        f"{target['url']}: a statement that has one row of {columns} was answered by {counted(len(rows), 'row')}"
        f"{' of ' + str(len(rows[0])) if rows else ''}; see that this is a server of the engine, and what stands before it"
    )


@contextmanager
def connected(target: Mapping[str, Any]) -> Iterator[_core.Control]:
    """An embedded database, open for the statements of the block. Raises CoreFailure of the core."""
    from inrush import _core

    connection = _core.Control(json.dumps(target))
    try:
        yield connection
    finally:
        connection.close()
