"""Which values of a table an engine cannot keep, so that a run with them is not planned. Pure."""

from __future__ import annotations

from inrush.engines.twin import Twin
from inrush.workload import NOT_FINITE, Table

NAMES = {"nan": "NaN", "inf": "infinity", "minus_inf": "negative infinity"}


def not_kept(server: Twin, table: Table) -> str:
    """The first column with values that the engine has no form for, and what to do; empty: it keeps all."""
    for column in table.columns:
        if column.scale > server.most_scale:
            return (
                f"{server.title} has decimals of at most {server.most_scale} digits behind the point, and column {column.name} of "
                f"{table.name} is decimal({column.precision}, {column.scale}); give it fewer, or leave out {server.name}"
            )
        for value in NOT_FINITE:
            if value in column.not_finite and value not in server.keeps_not_finite:
                return (
                    f"{server.title} keeps no {NAMES[value]}, and column {column.name} ({column.type}) of {table.name} has it; "
                    f"leave out its {value}_share, or leave out {server.name}"
                )
    return ""
