"""Generators of a workload file: their parameters by the catalogue of the core. Pure.

What a parameter may be is said here, with its place in the file. What its value means, and whether the column holds what
it makes, the core knows: `run/generators` asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from inrush.study.document import Node, plain, unknown

#: Generators as the core lists them: kind -> {"types": […], "params": {name: {"type", "required", "about"}}}.
Catalogue: TypeAlias = Mapping[str, Mapping[str, Any]]


def parse_generator(
    node: Node,
    members: Mapping[str, Node],
    logical: str | None,
    sizes: Mapping[str, float],
    catalogue: Catalogue | None,
) -> dict[str, Any]:
    """`gen = "kind"` and its parameters beside it -> {"kind": …, …}, as the core reads it.

    A parameter may name a size. Parameters that are generators themselves nest: { gen = "…" }.
    """
    known = None if catalogue is None else catalogue.keys()
    kind = members["gen"].text(known, "generator")
    entry = (catalogue or {}).get(kind)
    params: dict[str, Any] = {"kind": kind}
    allowed = entry["params"] if entry else None
    if entry and logical and entry.get("types") and logical not in entry["types"]:
        members["gen"].problem(f"gives {', '.join(entry['types'])}; the column is {logical}")
    for key, child in members.items():
        if key == "gen":
            continue
        if allowed is not None and key not in allowed:
            child.problem(unknown(f"parameter of {kind}", key, allowed))
            continue
        wanted = str(allowed[key].get("type", "")) if allowed is not None else ""
        params[key] = parameter(child, wanted, sizes, catalogue)
    for key in sorted(allowed or ()):
        if allowed[key].get("required") and key not in members:  # type: ignore[index]
            about = allowed[key].get("about", "")  # type: ignore[index]
            node.problem(f"generator {kind} needs `{key}`" + (f": {about}" if about else ""))
    return params


def parameter(node: Node, wanted: str, sizes: Mapping[str, float], catalogue: Catalogue | None) -> Any:
    """A value of the type that the catalogue wants. Of a type that it does not say: as it stands."""
    if wanted.startswith("list") or (not wanted and isinstance(node.value, list)):
        each = {"list of generators": "generator", "list of numbers": "number", "list of columns": "text"}
        return [parameter(item, each.get(wanted, "any"), sizes, catalogue) for item in node.items()]
    if wanted == "generator" or is_generator(node):
        return nested(node, sizes, catalogue)
    if "|" in wanted:
        return node.text(wanted.split("|"), "value")
    if isinstance(node.value, str) and node.value in sizes and wanted not in TEXTS:
        node = Node(node.file, node.key, whole(sizes[node.value]), node.problems)
    if problem := WRONG.get(wanted, lambda value: "")(node.value):
        node.problem(problem)
        return 0
    return plain(node)


def is_generator(node: Node) -> bool:
    return isinstance(node.value, dict) and "gen" in node.value


def nested(node: Node, sizes: Mapping[str, float], catalogue: Catalogue | None) -> Any:
    """A generator inside another one."""
    if not is_generator(node):
        node.problem('write a generator, { gen = "…" } with its parameters')
        return {}
    return parse_generator(node, node.members(), None, sizes, catalogue)


def whole(value: float) -> float:
    """A number without a fraction as an integer: sizes in seconds are floats."""
    return int(value) if value == int(value) else value


def not_whole(value: Any) -> str:
    fits = isinstance(value, int) and not isinstance(value, bool)
    return "" if fits else "write a whole number, or the name of a size"


def not_a_number(value: Any) -> str:
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    return "" if fits else "write a number, or the name of a size"


def not_a_text(value: Any) -> str:
    return "" if isinstance(value, str) else "write a text in quotes"


def not_a_flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "write true or false"


TEXTS = ("text", "column")
#: Type of a parameter -> what to write instead of a value that is none of it; empty for one that is.
WRONG: Mapping[str, Callable[[Any], str]] = {
    "integer": not_whole,
    "number": not_a_number,
    "text": not_a_text,
    "column": not_a_text,
    "boolean": not_a_flag,
}
