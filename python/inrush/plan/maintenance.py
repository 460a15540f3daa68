"""Maintenance in an engine's dialect: as statements of a step, and as the one that a session calls. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inrush.border.statement import Statement
from inrush.engines.base.plans import OpPlan, TablePlan, Unsupported
from inrush.engines.base.sql import bind
from inrush.engines.base.twin import Twin
from inrush.workload import Operation


def texts(operation: Operation, server: Twin) -> Sequence[tuple[str, str]]:
    """Each with its `repeat`; none where the engine does not have it."""
    return operation.statements.get(server.name, operation.statements.get("default", ()))


def no_statement(operation: Operation, server: Twin) -> str:
    """Why the engine does not have it; empty where it has."""
    if reason := operation.unsupported.get(server.name):
        return reason
    return "" if texts(operation, server) else f"{operation.name} has no statement for {server.name}"


def statements(operation: Operation, server: Twin, tables: Mapping[str, TablePlan]) -> list[Statement]:
    names = {logical: plan.name for logical, plan in tables.items()}
    if operation.table in names:
        names.setdefault("table", names[operation.table])
    found: list[Statement] = []
    for text, repeat in texts(operation, server):
        bound = server.maintenance(bind(text, names)[0].strip())
        match repeat:
            case "each_row":
                found.append({"text": bound, "repeat": "each_row"})
            case "until_no_rows":
                found.append({"text": bound, "repeat": "until_no_rows"})
            case _:
                found.append(bound)
    return found


def called_statement(
    operation: Operation, server: Twin, tables: Mapping[str, TablePlan]
) -> OpPlan | Unsupported:
    """As a call of a session, which is one statement."""
    if reason := no_statement(operation, server):
        return Unsupported(f"{reason}; write sql.{server.name} of it, or leave the engine out")
    match statements(operation, server, tables):
        case [str(text)]:
            return OpPlan(text)
        case _:
            return Unsupported(
                f"{operation.name} is several statements for {server.name}, or one that is repeated, and a call is one: write a "
                f"single text as its sql.{server.name}"
            )
