"""Problems of values that a scale sets, by their place in the study's file: `scale.xs.repeats.count`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inrush.errors import Problem
from inrush.study.document import Node, unknown
from inrush.study.overlay import named, named_steps


def of_scale(problem: Problem, scale: str, overlay: Mapping[str, Any], base: Mapping[str, Any]) -> Problem:
    """The problem of a study in a scale, named by the table that the file has where the scale sets the value."""
    written = {key: f"scale.{scale}.{path}" for key, path in places(overlay, base)}
    key = problem.key
    within = [of for of in written if key == of or key.startswith((f"{of}.", f"{of}["))]
    if not within:
        return problem
    longest = max(within, key=len)
    return replace(problem, key=written[longest] + key.removeprefix(longest))


def places(overlay: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Key of each value in the study that it becomes a part of -> its place in the scale."""
    for key, value in overlay.items():
        if key == "rows" and isinstance(value, dict):
            yield from ((f"roles.{role}.rows", f"rows.{role}") for role in value)
        elif key == "steps" and isinstance(value, dict) and isinstance(base.get("steps"), list):
            steps = named_steps(base["steps"], value)
            at = {named(step): i for i, step in enumerate(steps)}
            for step, changes in value.items():
                if step not in at:  # what changes it gives it another name, which is refused
                    continue
                own = dict(enumerate(base["steps"])).get(at[step])
                yield from own_places(changes, own, f"steps[{at[step]}]", f"steps.{step}")
        else:
            yield from own_places(value, base.get(key), key, key)


def own_places(value: Any, base: Any, key: str, path: str) -> Iterator[tuple[str, str]]:
    """What is the scale's alone: values, and tables that the study has not."""
    if isinstance(value, dict) and isinstance(base, dict):
        for name, inner in value.items():
            yield from own_places(inner, base.get(name), f"{key}.{name}", f"{path}.{name}")
    else:
        yield key, path


def known_parts(node: Node, base: Mapping[str, Any]) -> dict[str, Any]:
    """What a scale sets of roles and steps without half a role, or half a step: one of another name, unless it is a whole one."""
    found = dict(node.value) if isinstance(node.value, dict) else {}
    roles, steps = base.get("roles"), base.get("steps")
    own: list[tuple[str, str, Sequence[str]]] = []
    if isinstance(roles, dict):
        more = found.get("roles")
        own.append(("rows", "role", [*roles, *(more if isinstance(more, dict) else ())]))
    if isinstance(steps, list):
        own.append(("steps", "step", [name for step in steps if (name := named(step)) is not None]))
    for key, what, names in own:
        if isinstance(found.get(key), dict):
            inside = node.at(key, found[key])
            for name, child in inside.members().items():
                if name not in names and not is_whole(child.value):
                    child.problem(unknown(what, name, names))
                    found[key] = {k: value for k, value in found[key].items() if k != name}
    return found


def is_whole(value: Any) -> bool:
    """Whether a step says what it does."""
    return isinstance(value, dict) and "do" in value
