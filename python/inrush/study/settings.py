"""Settings by engine, each fixed or a factor: options of sessions. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from inrush.study.document import Node, unknown
from inrush.study.forms import (
    Factors,
    FromFactor,
    check_no_password,
    option_text,
    read_reference,
)

#: Engine -> setting -> value, e.g. sqlite.synchronous.
SettingsOf: TypeAlias = Mapping[str, Mapping[str, str | FromFactor]]
#: Engines of this build by name, where they are known.
KnownEngines: TypeAlias = Mapping[str, Sequence[str]] | None


def parse_options(
    node: Node | None, factors: Factors, engines: KnownEngines
) -> dict[str, dict[str, str | FromFactor]]:
    """Options of targets; values are texts for the engine's twin, or factors."""
    options: dict[str, dict[str, str | FromFactor]] = {}
    for engine, child in named_engines(node, engines):
        options[engine] = {}
        for key, value in child.members().items():
            if (found := read_setting(value, factors)) is not None:
                options[engine][key] = found
    return options


def named_engines(node: Node | None, engines: KnownEngines) -> list[tuple[str, Node]]:
    """Each engine with what the table says of it; one that this build does not have is a problem."""
    members = node.members() if node else {}
    for engine, child in members.items():
        if engines is not None and engine not in engines:
            child.problem(unknown("engine", engine, engines))
    return list(members.items())


def read_setting(node: Node, factors: Factors) -> str | FromFactor | None:
    """None, with a problem, for what is no plain value and no factor."""
    if isinstance(node.value, str) and node.value.startswith("@"):
        return read_reference(node, factors)
    if not isinstance(node.value, (str, int, float)):
        node.problem("write a text, a number, true or false")
        return None
    text = option_text(node.value)
    check_no_password(node, text)
    return text
