"""Settings by engine, each fixed or a factor: options of sessions, and what servers of inrush's own are started with. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from inrush.study.document import Node, unknown
from inrush.study.forms import (
    Factors,
    FromFactor,
    Ref,
    check_no_password,
    option_text,
    read_reference,
)

#: Engine -> setting -> value, e.g. sqlite.synchronous.
SettingsOf: TypeAlias = Mapping[str, Mapping[str, str | Ref]]
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


def parse_start(
    node: Node | None, factors: Factors, engines: KnownEngines
) -> dict[str, dict[str, str | FromFactor]]:
    """Settings that servers are started with; a name with dots is written so, or as a table in a table."""
    start: dict[str, dict[str, str | FromFactor]] = {}
    for engine, child in named_engines(node, engines):
        start[engine] = {}
        named = list(flat(child))
        for name, value in named:
            if (found := read_setting(value, factors)) is not None:
                start[engine][name] = found
        if not named:
            child.problem("name a setting and its value, or leave it out")
    return start


def flat(node: Node, before: str = "") -> Iterator[tuple[str, Node]]:
    """Settings by their whole names: `data.index-version` is `index-version` of the table `data`."""
    for name, value in node.members().items():
        if isinstance(value.value, dict):
            yield from flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def start_factors(start: SettingsOf[FromFactor]) -> set[str]:
    """Factors that a server has to be started anew for."""
    return {value.factor for of in start.values() for value in of.values() if isinstance(value, FromFactor)}


def with_setting(start: SettingsOf[FromFactor], factor: str) -> list[str]:
    """Engines that the study starts with the factor."""
    return [engine for engine in start if factor in start_factors({engine: start[engine]})]


def without_setting(
    start: SettingsOf[FromFactor], factors: Factors, engines: Sequence[str], used_elsewhere: set[str]
) -> Iterator[tuple[str, list[str]]]:
    """Factors that only servers are started with, and engines of which each changes nothing: their points would be one
    point under several names."""
    for factor in sorted(start_factors(start) - used_elsewhere):
        values = [v for v in factors[factor] if isinstance(v, Mapping) and v.get("engines")]
        of = {engine for value in values for engine in value["engines"]}
        idle = [
            engine
            for engine in engines
            if factor not in start_factors({engine: start.get(engine, {})})
            and not (len(values) == len(factors[factor]) and engine not in of)
        ]
        if idle:
            yield factor, idle


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
