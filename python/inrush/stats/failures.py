"""Calls that failed, calls that were due and never sent, and rows that were never seen, by role and operation. Pure.

None of them has a time. In every percentile of its role it counts as slower than all others: a server that stands still
until the end of a role keeps what is due meanwhile from being sent, and would look fast without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from inrush.border.pipeline import each_role

if TYPE_CHECKING:
    from inrush.stats.record import RunRecord


def failed_calls(run: RunRecord, segments: Iterable[int]) -> dict[tuple[str, str], int]:
    """(role, operation) -> calls that ended otherwise than ok in these segments, by their intervals. Roles without such
    calls are left out."""
    table = run.tables.get("intervals")
    if table is None or table.num_rows == 0:
        return {}
    chosen = np.isin(table.column("segment").to_numpy(), list(segments))
    if not table.column("errors").to_numpy()[chosen].any():
        return {}  # nearly always, and to group them takes over ten times as long
    measured = table.filter(pa.array(chosen))
    sums = measured.group_by(["role", "op"]).aggregate([("errors", "sum")])
    roles, operations, errors = (sums.column(c).to_pylist() for c in ("role", "op", "errors_sum"))
    return {
        (role, op): int(count) for role, op, count in zip(roles, operations, errors, strict=True) if count
    }


def unsent_calls(run: RunRecord, segments: Iterable[int]) -> dict[tuple[str, str], int]:
    """(role, operation) -> calls of paced roles that were due in these segments and never sent. Roles without such
    calls are left out.

    Which operation of a mix they would have been is not known: they stand with the role's first.
    """
    first = {
        role["name"]: role["operations"][0]["operation"]
        for _, role in each_role(run.plan, "measure")
        if role["schedule"]["kind"] != "closed" and role["operations"]
    }
    return counted(run, segments, first, "unsent")


def unseen_rows(run: RunRecord, segments: Iterable[int]) -> dict[tuple[str, str], int]:
    """(role, operation) -> rows that its sessions looked for and never saw. Roles without such rows are left out."""
    looking = {
        operation["name"]
        for operation in run.plan.get("operations", ())
        if any(hold["kind"] == "freshness" for hold in operation.get("holds", ()))
    }
    called = {
        role["name"]: weighted["operation"]
        for _, role in each_role(run.plan, "measure")
        for weighted in role["operations"]
        if weighted["operation"] in looking
    }
    return counted(run, segments, called, "unseen")


def counted(
    run: RunRecord,
    segments: Iterable[int],
    operations: Mapping[str, str],
    column: Literal["unsent", "unseen"],
) -> dict[tuple[str, str], int]:
    """operations: role -> the one that a count of its repetitions stands with."""
    wanted, found = set(segments), dict[tuple[str, str], int]()
    for totals in run.rows("repetitions"):
        if totals["segment"] in wanted and totals["role"] in operations and totals[column]:
            key = (totals["role"], operations[totals["role"]])
            found[key] = found.get(key, 0) + int(totals[column])
    return found


def classified_failures(
    run: RunRecord, segments: Iterable[int], outcomes: Collection[str] | None = None
) -> dict[tuple[str, str], int]:
    """The same by the table `failures`, which counts each failed call when it ends: independent of histograms. outcomes:
    those of these classes; None: of all."""
    wanted, found = set(segments), dict[tuple[str, str], int]()
    for row in run.rows("failures"):
        if row["segment"] in wanted and (outcomes is None or row["outcome"] in outcomes):
            key = (row["role"], row["op"])
            found[key] = found.get(key, 0) + int(row["count"])
    return found
