"""The figures that limits, rules and answers of a study file may name. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

from inrush.metrics import OF_HOST, OF_ROLE, WATCHED, names
from inrush.study.document import Node, Reader, unknown

#: Role, or step, of a study -> the figures that it has.
Named: TypeAlias = Mapping[str, Collection[str]]


def check_measure(node: Node, name: str, roles: Named) -> None:
    """`role.metric`, both known."""
    role, dot, metric = name.rpartition(".")
    known = {**dict.fromkeys(WATCHED, names(OF_ROLE)), "host": names(OF_HOST), **roles}
    of = role.split("/", 1)[0]
    if dot and of in known and metric not in known[of] and any(n.startswith(f"{of}.") for n in known):
        roles_of = [n for n in known if n.startswith(f"{of}.")]
        node.problem(
            f"step {of} has several roles: name one of {', '.join(roles_of)}, or choose from {', '.join(known[of])}"
        )
    elif not dot:
        node.problem('name a figure as "role.metric", e.g. "writers.makespan_s"')
    elif of not in known:
        node.problem(unknown("role", role, known))
    elif not known[of]:
        node.problem(f"a study with steps has it for each of them: <step>.{of}_{metric}")
    elif metric not in known[of]:
        node.problem(unknown("figure", metric, known[of]))


def figure(roles: Named) -> Reader:
    """`role.metric`, both known."""

    def read(node: Node) -> str:
        if name := node.text():
            check_measure(node, name, roles)
        return name

    return read
