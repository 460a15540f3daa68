"""What servers have that statements of a study need, asked before the first run: an edition, a version, a setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from inrush.study.step_kinds import Statement
from inrush.study.study import Study
from inrush.targets.deployment import Deployment

#: Engine -> operation -> why its server cannot do it.
Lacks = Mapping[str, Mapping[str, str]]


def lacking(study: Study, deployments: Iterable[Deployment]) -> dict[str, dict[str, str]]:
    """Of the operations that steps and roles call. Of several servers of an engine, what any of them lacks.

    A server that refuses the question is taken to have it: the statement then says what is missing.
    """
    from inrush import _core

    called = {s.operation for s in study.steps if isinstance(s, Statement)}
    called |= {name for role in study.roles.values() for name in role.operations}
    operations = [operation for name, operation in study.workload.operations.items() if name in called]
    reasons: dict[str, dict[str, str]] = {}
    for deployment in deployments:
        engine = deployment.server.name
        for operation in operations:
            need = operation.needs.get(engine)
            if need is None:
                continue
            deployment.make_ready()
            try:
                rows = deployment.ask(need.sql)
            except _core.CoreFailure:
                continue
            if not rows or str(rows[0][0]) != need.equals:
                reasons.setdefault(engine, {})[operation.name] = need.reason
    return reasons


def without(study: Study, lacks: Lacks) -> Study:
    """The study with these operations unsupported on their engines."""
    operations = dict(study.workload.operations)
    for engine, reasons in lacks.items():
        for name, reason in reasons.items():
            operation = operations[name]
            operations[name] = replace(operation, unsupported={**operation.unsupported, engine: reason})
    return replace(study, workload=replace(study.workload, operations=operations)) if lacks else study
