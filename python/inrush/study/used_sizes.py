"""Sizes of a workload that something in a study is made with: those that `-P` may set. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inrush.errors import Problem
from inrush.study.document import Node, shown
from inrush.study.forms import Factors, FromFactor, values_of
from inrush.study.operations import tables_of
from inrush.study.overlay import Change
from inrush.study.roles import Role
from inrush.study.step_kinds import Statement, Step
from inrush.workload import Workload


@dataclass(frozen=True)
class StudyWork:
    """What a study runs."""

    workload: Workload
    factors: Factors
    roles: Sequence[Role[FromFactor]]
    steps: Sequence[Step[FromFactor]] = ()

    @property
    def called(self) -> set[str]:
        """Operations, with the members of pages."""
        names = [name for role in self.roles for name in role.operations]
        names += [step.operation for step in self.steps if isinstance(step, Statement)]
        return with_members(names, self.workload)

    @property
    def written(self) -> set[str]:
        """Tables that are named, at any point."""
        return tables_of_roles(self.roles, self.factors)


def unused_sizes(changes: Mapping[str, Change], work: StudyWork, tree: Mapping[str, Any]) -> list[Problem]:
    """A run with such a `-P` would be the run without it. tree: of the workload's file."""
    used = used_sizes(work, tree)
    remedy = (
        f"nothing that this study runs has this size; remove it. It uses: {', '.join(sorted(used)) or 'none'}"
    )
    sizes = {f"sizes.{name}" for name in work.workload.sizes.keys() - used}
    return [
        Problem(f"-P {change.text}", key, shown(change.value), remedy)
        for key, change in changes.items()
        if key in sizes
    ]


def used_sizes(work: StudyWork, tree: Mapping[str, Any]) -> set[str]:
    """Names among the texts of the operations that are called, and of the tables that they and the roles name."""
    workload, called = work.workload, work.called
    operations = [workload.operations[name] for name in called]
    tables = work.written | {table for operation in operations for table in tables_of(operation, workload)}
    tables |= {operation.key_rows.table for operation in operations if operation.key_rows is not None}
    parts = [tree["tables"][name] for name in tables if name in tree["tables"]]
    # Statements name no size, and are long.
    parts += [without_sql(tree["operations"][name]) for name in called if name in tree["operations"]]
    return {text for part in parts for text in texts(part)} & workload.sizes.keys()


def without_sql(operation: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in operation.items() if key != "sql"}


def with_members(operations: Iterable[str], workload: Workload) -> set[str]:
    called: set[str] = set()
    left = [name for name in operations if name in workload.operations]
    while left:
        name = left.pop()
        called.add(name)
        left += [member for member in workload.operations[name].members if member not in called]
    return called


def tables_of_roles(roles: Iterable[Role[FromFactor]], factors: Factors) -> set[str]:
    """Tables that roles name, at any point."""
    tables: set[str] = set()
    for role in roles:
        if isinstance(role.table, FromFactor):
            nodes = values_of(Node("", "", None, []), role.table, factors)
            tables.update(*(n.value if isinstance(n.value, tuple) else (n.value,) for n in nodes))
        else:
            tables.update(role.table or ())
    return tables


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in texts(item)]
    return [text for item in value for text in texts(item)] if isinstance(value, list) else []
