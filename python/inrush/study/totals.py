"""Steps of some values of a factor alone, and figures over several steps. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inrush.metrics import WATCHED
from inrush.study.document import Node, unknown
from inrush.study.roles import FACTOR_NAME, label

#: Of steps together.
FIGURES = ("duration_s", "rows_per_s", "bytes_per_s", "rows", "bytes")


def parse_only(node: Node, factors: Mapping[str, Sequence[Any]]) -> dict[str, tuple[Any, ...]]:
    """Factor -> the values at which a step is done. One may be of another scale, or left out by the command line."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, child in node.members().items():
        if name not in factors:
            child.problem(unknown("factor", name, factors))
            continue
        found[name] = tuple(label(item.value) for item in child.items(at_least=1))
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
