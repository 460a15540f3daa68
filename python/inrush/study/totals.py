"""Steps of some values of a factor alone, and figures over several steps. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inrush.study.document import Node, unknown
from inrush.study.parts import WATCHED
from inrush.study.roles import FACTOR_NAME, label

#: Of steps together.
FIGURES = ("duration_s", "rows_per_s", "bytes_per_s", "rows", "bytes")


def parse_only(node: Node, factors: Mapping[str, Sequence[Any]]) -> dict[str, tuple[Any, ...]]:
    """Factor -> the values at which a step is done."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, child in node.members().items():
        if name not in factors:
            child.problem(unknown("factor", name, factors))
            continue
        known = {str(label(value)): label(value) for value in factors[name]}
        chosen = [item for item in child.items(at_least=1) if str(item.value) not in known]
        for item in chosen:
            item.problem(unknown("value of this factor", str(item.value), known))
        found[name] = tuple(known[str(item.value)] for item in child.items() if str(item.value) in known)
    return found


def parse_totals(node: Node | None, steps: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Name -> the steps that it is of."""
    found: dict[str, tuple[str, ...]] = {}
    for name, child in node.members().items() if node else ():
        if not FACTOR_NAME.match(name):
            child.problem("it is named by lower case letters, digits and _")
        if name in steps or name in WATCHED:
            child.problem("figures of a step or a process have this name; give it another one")
        found[name] = child.texts(steps, "step", at_least=1)
    return found
