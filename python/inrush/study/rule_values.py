"""Values of factors that rules of claims name: a rule of a value that no run can have would never be judged. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from inrush.known import ENGINES
from inrush.study.claims import Expected, Published
from inrush.study.document import Node, unknown
from inrush.study.forms import Factors
from inrush.study.roles import label
from inrush.study.step_kinds import Step


def check_rule_values(
    root: Node,
    expected: Sequence[Expected],
    published: Sequence[Published],
    everywhere: Iterable[Factors],
    searched: str | None,
) -> None:
    """everywhere: the factors of the file, of each of its scales, and as the command line has them.

    A paper may speak of a number that no run here has: its claim is not testable. A text, and all that an author expects
    of the study itself, is one of the values. searched: a factor whose numbers a search finds.
    """
    known = values_of(everywhere)
    rules = [(f"expected[{i}].rule", one.rule, False) for i, one in enumerate(expected)]
    rules += [(f"published[{i}].rule", one.rule, True) for i, one in enumerate(published)]
    for key, rule, of_paper in rules:
        for node, factor in named(root.at(key, rule), rule):
            others = of_paper or factor == searched
            check(node, factor, known.get(factor, ()), others)
    for i, one in enumerate(published):
        where = root.at(f"published[{i}].where", one.where)
        for factor, value in one.where.items():
            if factor in known:
                check(where.at(factor, value), factor, known[factor], True)


def check_only(root: Node, steps: Sequence[Step[Any]], everywhere: Iterable[Factors]) -> None:
    """Each value of `only` is one that its factor has in some scale, or in the file."""
    known = values_of(everywhere)
    for i, step in enumerate(steps):
        for factor, values in step.only.items():
            for k, value in enumerate(values):
                check(root.at(f"steps[{i}].only.{factor}[{k}]", value), factor, known[factor], False)


def values_of(everywhere: Iterable[Factors]) -> dict[str, list[Any]]:
    """Factor -> every value that some scale gives it, as points have it."""
    values_of_factor: dict[str, list[Any]] = {}
    for factors in everywhere:
        for name, values in factors.items():
            held = values_of_factor.setdefault(name, [])
            held += [v for v in map(label, values) if not is_among(v, held)]
    return values_of_factor


def named(rule: Node, of: Mapping[str, Any]) -> Iterator[tuple[Node, str]]:
    """Each value that a rule names, and its factor."""
    for end in ("from", "to"):
        if end in of and of.get("along"):
            yield rule.at(end, of[end]), str(of["along"])
    where = rule.at("where", of.get("where"))
    for factor, value in dict(of.get("where") or {}).items():
        yield where.at(factor, value), factor


def check(node: Node, factor: str, values: Sequence[Any], other_numbers: bool) -> None:
    if factor == "engine":
        if str(node.value).partition(":")[0] not in ENGINES:
            node.problem(unknown("engine", str(node.value), ENGINES))
        return
    numbers = other_numbers and any(kind_of(v) == "number" for v in values)
    if not values or is_among(node.value, values) or (numbers and kind_of(node.value) == "number"):
        return
    node.problem(unknown(f"value of {factor}", str(node.value), map(str, values)))


def is_among(value: Any, values: Iterable[Any]) -> bool:
    """1 is not true."""
    return any(kind_of(value) == kind_of(v) and value == v for v in values)


def kind_of(value: Any) -> str:
    return "flag" if isinstance(value, bool) else "number" if isinstance(value, (int, float)) else "text"
