"""Deletion by age: which rows are left, so that they can be proven whatever moment a delete ran at. Pure.

Rows are deleted while others are written, by data time. After the measured segment the same delete runs once more,
up to a time that no delete before it went beyond: what is left is then known to the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inrush.border.plan import OpPlan, ParamPlan, RolePlan
from inrush.errors import Problem, refuse
from inrush.plan.roles import ActiveRole, problem
from inrush.plan.single_role import single_role
from inrush.study.at_point import StudyAt
from inrush.study.forms import Plain
from inrush.workload import Table

NS = 1_000_000_000


@dataclass(frozen=True)
class Retained:
    """What is left of a table."""

    table: str
    #: The operation that deletes, and the parameter that says before when.
    operation: str
    parameter: str
    #: Data time from the epoch: older rows are gone in the end.
    cut_ns: int
    #: The first row that is left.
    first_row: int


def retained(
    study: StudyAt[Plain], roles: Sequence[ActiveRole]
) -> tuple[dict[str, Retained], list[ActiveRole]]:
    """Table -> what is left; the roles, with deletes that end before the last sample is due. Raises UsageError."""
    by_table: dict[str, Retained] = {}
    problems: list[Problem] = []
    changed = []
    for role in roles:
        deletes = [o for o in map(study.workload.operations.__getitem__, role.operations) if o.deletes_before]
        for operation in deletes:
            table = study.workload.tables[operation.table or ""]
            of = next(
                (
                    r.samples
                    for r in roles
                    if r.table == table.name and r.samples is not None and step_of(r) == step_of(role)
                ),
                None,
            )
            if of is None or of.rows != table.series or of.every_s != table.period_s or role.rate_per_s <= 0:
                problems.append(
                    problem(
                        f"roles.{role.name}", operation.name,
                        f"deletes by age where data time is the clock's: {table.name} needs a role with `samples` of a "
                        "sweep each, and this role a rate",
                    )
                )  # fmt: skip
                continue
            last_s = (of.count - 1) * of.every_s
            if table.name in by_table:
                remedy = f"{by_table[table.name].operation} deletes rows of {table.name} too, and what is left follows from one; keep one of them"
                problems.append(problem(f"roles.{role.name}", operation.name, remedy))
                continue
            keeps_s = (
                float(operation.params[str(operation.deletes_before)]["gen"]["seconds"]) - operation.ahead_s
            )
            period_ns = round(table.period_s * NS)
            cut_ns = max(0, round((last_s - keeps_s) * NS))
            sweeps = -(-cut_ns // period_ns)
            by_table[table.name] = Retained(
                table.name, operation.name, str(operation.deletes_before), cut_ns, sweeps * table.series
            )
            # The k-th call is due at k / rate: none asks for more than the last one does.
            role = replace(role, calls=min(role.calls or 10**12, int(last_s * role.rate_per_s) + 1))
        changed.append(role)
    refuse(problems)
    return by_table, changed


def step_of(role: ActiveRole) -> str:
    """Empty in a study without steps."""
    return role.name.rpartition(".")[0]


def in_pieces(of: Retained, table: Table, piece_s: float, epoch_ns: int) -> Retained:
    """What is left where only whole pieces go: those that end before the cut's own piece."""
    piece_ns, period_ns = round(piece_s * NS), round(table.period_s * NS)
    cut_ns = max(0, (epoch_ns + of.cut_ns) // piece_ns * piece_ns - epoch_ns)
    return replace(of, first_row=-(-cut_ns // period_ns) * table.series)


def retain_operation(document: OpPlan, of: Retained, epoch_ns: int) -> OpPlan:
    """The delete once more, up to a time that is fixed: what is left does not depend on when the others ran."""

    def fixed(param: ParamPlan) -> ParamPlan:
        if param["name"] != of.parameter:
            return param
        cut = (epoch_ns + of.cut_ns) // unit_ns(param["type"])
        return {**param, "gen": {"kind": "constant", "value": cut}}

    return {**document, "name": f"retain/{of.table}", "params": [fixed(p) for p in document["params"]]}


def retain_role(of: Retained) -> RolePlan:
    return single_role(f"retain/{of.table}", f"retain/{of.table}", {"kind": "calls", "count": 1})


def unit_ns(logical: str) -> int:
    return 1_000 if logical == "time_us" else 1_000_000
