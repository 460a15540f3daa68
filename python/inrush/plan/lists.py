"""Lists of keys: a parameter with `list = true` becomes as many parameters as a call asks for, and so do those of a read by
key whose role says `keys_per_call`. Pure.

One call then looks up `keys_per_call` keys, each drawn by itself. The statement has a placeholder for every one of them,
so that it is prepared once wherever single keys are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from inrush.engines import server
from inrush.engines.base.dialect import Dialect
from inrush.errors import Problem, refuse
from inrush.known import ENGINES
from inrush.plan.roles import ActiveRole, problem
from inrush.workload import Operation, Parameter, Workload


def list_params(operation: Operation) -> list[str]:
    return [name for name, param in operation.params.items() if param.get("list")]


def lengths(workload: Workload, roles: Sequence[ActiveRole]) -> dict[str, int]:
    """Operation with a list -> keys of one call; an operation has one text, so one length at a point. Raises UsageError."""
    found: dict[str, int] = {}
    problems = []
    many = {name for role in roles if role.reads_many for name in role.operations}
    for role in roles:
        for name in role.operations:
            for op in workload.operations[name].members or (name,):
                by_key = workload.operations[op].does == "read" and op in many
                if not by_key and not list_params(workload.operations[op]):
                    continue
                if found.setdefault(op, role.keys_per_call) != role.keys_per_call:
                    problems.append(
                        problem(
                            f"roles.{role.name}.keys_per_call",
                            str(role.keys_per_call),
                            f"another role calls {op} with {found[op]} keys; give both the same, or an operation each",
                        )
                    )
    refuse([*problems, *(wrong for op in found for wrong in wrong_forms(workload.operations[op]))])
    return found


def wrong_forms(operation: Operation) -> list[Problem]:
    """Statements of one engine in which a list does not stand as that engine writes one."""
    problems = []
    for name in list_params(operation):
        for dialect, text in operation.sql.items():
            form, shown = (server(dialect) if dialect in ENGINES else Dialect).list_form
            if not re.search(form.replace("{name}", re.escape(name)), text, re.IGNORECASE):
                key = f"operations.{operation.name}.sql.{dialect}"
                problems.append(problem(key, text, f"a list is compared as {shown.replace('{name}', name)}"))
    return problems


def with_lists(workload: Workload, keys: Mapping[str, int]) -> Workload:
    """The workload with every list written out. keys: operation -> keys of one call."""
    written = {name: written_out(workload.operations[name], k) for name, k in keys.items()}
    return replace(workload, operations={**workload.operations, **written}) if written else workload


def several_rows(operation: Operation, keys: int) -> Operation:
    """A read by key of so many rows: parameters `k_0`, `k_1`, … for that of column k."""
    each = {column: tuple(f"{column}_{k}" for k in range(keys)) for column in operation.params}
    params = {
        each[column][k]: of_its_own_row(param, k)
        for k in range(keys)
        for column, param in operation.params.items()
    }
    compared = {name: column for column, names in each.items() for name in names}
    return replace(operation, params=params, compared=compared, each_row=each)


def of_its_own_row(param: Parameter, k: int) -> Parameter:
    """Element k of a list of keys: each is of another row, none of that of the call's single keys (draw 0)."""
    gen = param["gen"]
    return {**param, "gen": {**gen, "draw": k + 1}} if gen["kind"] == "key" else param


def written_out(operation: Operation, keys: int) -> Operation:
    if operation.does:
        return several_rows(operation, keys)
    params = dict(operation.params)
    texts = dict(operation.sql)
    columns = dict(operation.compared)
    for name in list_params(operation):
        one = {key: value for key, value in params.pop(name).items() if key != "list"}
        names = [f"{name}_{k}" for k in range(keys)]
        params |= {key: of_its_own_row(one, k) for k, key in enumerate(names)}
        if name in columns:
            columns |= dict.fromkeys(names, columns.pop(name))
        for dialect, text in texts.items():
            own = Dialect if dialect == "default" else type(server(dialect))
            texts[dialect] = own.spread_list(text, name, names)
    return replace(operation, params=params, sql=texts, compared=columns)
