"""Operations as roles call them: with the keys that a role draws, and the way out that it takes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from inrush.plan.keys import asked_by
from inrush.plan.roles import ActiveRole
from inrush.study.keys import drawn_by
from inrush.workload import Operation, Workload


def as_called(
    workload: Workload, roles: Sequence[ActiveRole], then: Mapping[tuple[str, str], int]
) -> tuple[Workload, list[ActiveRole]]:
    """The workload with its operations as the roles call them, and the roles with the names of these.

    then: role and table -> rows that are loaded when the role asks, of tables that get more later.

    A plan has one law of keys and one way out for an operation. Where roles call one differently, each has a copy of its own,
    `look/users`; a page of such operations is copied too.
    """
    operations = dict(workload.operations)
    copies: dict[tuple[str, str], str] = {}
    wanted: dict[str, dict[str, Operation]] = {}
    for role in roles:
        for name in asked_by(role, workload):
            wanted.setdefault(name, {})[role.name] = of_role(workload.operations[name], role, then)
    for name, by_role in wanted.items():
        first, *others = by_role.values()
        for role_name, operation in by_role.items():
            copy = name if all(other == first for other in others) else f"{name}/{role_name}"
            operations[copy] = replace(operation, name=copy)
            copies[name, role_name] = copy
    for role in roles:
        for name in role.operations:
            page = workload.operations[name]
            members = tuple(copies.get((member, role.name), member) for member in page.members)
            if members != page.members:
                copies[name, role.name] = copy = f"{name}/{role.name}"
                operations[copy] = replace(page, name=copy, members=members)
    called = [
        replace(
            role, operations={copies.get((name, role.name), name): n for name, n in role.operations.items()}
        )
        for role in roles
    ]
    return replace(workload, operations=operations), called


def of_role(operation: Operation, role: ActiveRole, then: Mapping[tuple[str, str], int]) -> Operation:
    if (own := operation.key_rows) is not None:
        drawn = own if role.keys is None else drawn_by(role.keys, own)
        operation = replace(operation, key_rows=replace(drawn, held=then.get((role.name, own.table))))
    if operation.kind == "extract":
        operation = replace(operation, method=role.method, fetch_rows=role.fetch_rows)
    return operation
