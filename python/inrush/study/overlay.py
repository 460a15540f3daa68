"""Changes to a study's tree before it is validated: a scale's preset, then `-P key=value`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inrush.errors import Problem
from inrush.study.document import unknown
from inrush.study.toml import toml_value

#: Tables that are one value: they are replaced whole, never mixed key by key.
WHOLE = frozenset({"rows", "batch_rows", "operations", "collect", "files"})
#: What a comma leaves of a number such as 1,000.
ZEROS_FIRST = re.compile(r"0\d+")


@dataclass(frozen=True)
class Change:
    """One `-P`: as it was written, and the value that was read from it."""

    text: str
    value: Any


def merged(base: Mapping[str, Any], overlay: Any) -> dict[str, Any]:
    """`base` with the preset's values in place of its own.

    In a preset `rows.<role>` is short for `roles.<role>.rows`, and `steps.<name>` changes the step of that name.
    """
    if not isinstance(overlay, dict):
        return dict(base)
    overlay = dict(overlay)
    rows = overlay.pop("rows", None)
    if isinstance(rows, dict):
        short = {"roles": {role: {"rows": value} for role, value in rows.items()}}
        overlay = merge(short, overlay)
    elif rows is not None:
        overlay["rows"] = rows  # an unknown key, and refused as such
    steps, mine = overlay.get("steps"), base.get("steps")
    if isinstance(steps, dict) and isinstance(mine, list):
        overlay["steps"] = named_steps(mine, steps)
    return merge(base, overlay)


def named_steps(steps: Sequence[Any], overlay: Mapping[str, Any]) -> list[Any]:
    """The steps in their order, with the preset's values in those that it names. One that is not there is added as it is,
    and refused for what it lacks."""
    found = []
    left = dict(overlay)
    for step in steps:
        name = named(step)
        changes = left.pop(name, None) if name is not None else None
        found.append(merge(step, changes) if isinstance(changes, dict) else step)
    return [*found, *({"name": name, **(c if isinstance(c, dict) else {})} for name, c in left.items())]


def merge(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in overlay.items():
        mine = result.get(key)
        whole = key in WHOLE or not isinstance(value, dict) or not isinstance(mine, dict)
        result[key] = value if whole else merge(mine, value)  # type: ignore[arg-type]
    return result


def parse_overrides(
    overrides: Sequence[str],
    base: Mapping[str, Any],
    workload: Mapping[str, Any] | None,
    problems: list[Problem],
) -> dict[str, Change]:
    """`key=value` texts -> full key -> value. The name of a factor or a size stands for its full key."""
    factors = names(base.get("factors"))
    sizes = names((workload or {}).get("sizes")) | names(base.get("sizes"))
    changes: dict[str, Change] = {}
    for text in overrides:
        key, equals, raw = text.partition("=")
        key = key.strip()
        if not equals or not key:
            problems.append(Problem("-P", text, "", "write key=value, e.g. -P batch_rows=1000"))
            continue
        value = toml_value(raw.strip())
        if key in factors:
            key = f"factors.{key}"
        elif key in sizes and "." not in key:
            key = f"sizes.{key}"
        first, _, rest = key.partition(".")
        if first not in base and first not in TOP:
            problems.append(Problem("-P", key, "", unknown("key", key, [*factors, *sizes, *TOP])))
            continue
        if first == "factors" and rest not in factors:
            problems.append(Problem("-P", key, "", unknown("factor", rest, factors)))
            continue
        if first == "sizes" and rest not in sizes:
            problems.append(Problem("-P", key, "", unknown("size", rest, sizes)))
            continue
        if first == "steps" and isinstance(base.get("steps"), list):
            steps = [name for step in base["steps"] if (name := named(step)) is not None]
            if rest.partition(".")[0] not in steps or "." not in rest:
                remedy = "write steps.<name>.<key>=value; " + unknown("step", rest.partition(".")[0], steps)
                problems.append(Problem("-P", key, "", remedy))
                continue
        lists = first == "factors" or key in LISTS
        if isinstance(value, str) and "," in raw and (lists or is_list(base, key)):
            value = listed(raw)
            if any(isinstance(v, str) and ZEROS_FIRST.fullmatch(v) for v in value):
                read = " and ".join(str(v) for v in value)
                one = raw.strip().replace(",", "_").replace(" ", "")
                problems.append(Problem("-P", text, "", f"read as {read}; write {one} for one number"))
                continue
        if lists and not isinstance(value, list):
            value = [value]
        changes[key] = Change(text, value)
    return changes


def listed(raw: str) -> list[Any]:
    """The values of a list without brackets: `20, 200`, `bulk,multirow`."""
    found = toml_value(f"[{raw}]")
    return found if isinstance(found, list) else [toml_value(word.strip()) for word in raw.split(",")]


def is_list(base: Mapping[str, Any], key: str) -> bool:
    """Whether the study file has a list at `outer.inner`."""
    value: Any = base
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return isinstance(value, list)


def by_command(problem: Problem, changes: Mapping[str, Change]) -> Problem:
    """A problem of a value that `-P` set names the `-P` in place of the study file."""
    for key, change in changes.items():
        if problem.key == key or problem.key.startswith((f"{key}.", f"{key}[")):
            return Problem(f"-P {change.text}", problem.key, problem.value, problem.remedy)
    return problem


#: What a command line may set in a study; its text (title, question, …) is the author's.
TOP = ("engines", "factors", "sizes", "layout", "row_order", "method", "clients", "options", "shards", "load", "schedule", "roles", "pipeline", "record", "repeats", "accept", "skip", "ends_with")  # fmt: skip
#: Keys whose value is a list, of one where one is written.
LISTS = ("engines", "skip")


def apply_overrides(tree: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(tree)
    for key, value in changes.items():
        *outer, last = key.split(".")
        result = placed(result, outer, last, value)
    return result


def placed(tree: Mapping[str, Any], outer: list[str], last: str, value: Any) -> dict[str, Any]:
    """A copy of the tree with one value set; what stands in the way of a table is replaced by one."""
    copy = dict(tree)
    if outer:
        inner = copy.get(outer[0])
        if outer[0] == "steps" and isinstance(inner, list) and len(outer) > 1:
            copy["steps"] = [
                placed(step, outer[2:], last, value) if named(step) == outer[1] else step for step in inner
            ]
            return copy
        copy[outer[0]] = placed(inner if isinstance(inner, dict) else {}, outer[1:], last, value)
    else:
        copy[last] = value
    return copy


def named(step: Any) -> str | None:
    name = step.get("name") if isinstance(step, dict) else None
    return name if isinstance(name, str) else None


def names(value: Any) -> set[str]:
    return set(value) if isinstance(value, Mapping) else set[str]()
