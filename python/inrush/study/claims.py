"""What others published and what a study expects, each with the rule that holds it against what was measured. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inrush.known import ENGINES
from inrush.study.document import Node, Reader, given, unknown, whole, word
from inrush.study.forms import Factors
from inrush.study.metric_names import Named, check_measure, figure

#: Rule -> what it needs to know beside the figure; twin of `RULES` in `analysis/claims.py`.
RULES: Mapping[str, tuple[str, ...]] = {
    "speed_up": ("along",),
    "cost": ("along",),
    "best": ("along",),
    "at_most": (),
    "keeps_up": (),
    "sustains": ("along",),
    "wave": (),
}
#: Rules of an effect between two values of a factor, and what they may say of it.
EFFECTS, OF_AN_EFFECT = ("speed_up", "cost"), ("from", "to", "bound")
#: What else the rule of a wave may say: words in the name of its cause.
OF_A_WAVE = ("cause",)
#: The side on which an effect is expected; without it, it is to be near the value.
BOUNDS = ("at_least", "at_most")
#: What `beside` says besides a figure: the value that the study found best, what a factor costs, one figure by another.
ANSWER, COST_OF, DIVIDED_BY = "answer", "cost of ", " / "


@dataclass(frozen=True)
class Published:
    """A published figure, to be set beside ours with its hardware."""

    claim: str
    unit: str
    values: Mapping[str, Any]
    source: str
    hardware: str
    about: str = ""
    #: What of ours it stands beside: `role.metric`, one divided by another, `answer` or `cost of <factor>`; empty: it is only
    #: shown.
    beside: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    #: How it is held against ours (`analysis/claims.py`); empty: it only stands beside.
    rule: Mapping[str, Any] = field(default_factory=dict)
    #: The study's own expectation says the same: the rule judges it too.
    expected: bool = False


@dataclass(frozen=True)
class Expected:
    """One part of the expectation, in numbers."""

    claim: str
    #: Engine, or `all` -> value of the rule.
    values: Mapping[str, float]
    rule: Mapping[str, Any]


def parse_published(node: Node | None, factors: Factors, roles: Named) -> tuple[Published, ...]:
    required = ("claim", "unit", "values", "source", "hardware")
    readers: dict[str, Reader] = {
        "claim": Node.text,
        "unit": Node.text,
        "source": Node.text,
        "hardware": Node.text,
        "about": Node.text,
        "beside": lambda beside: parse_beside(beside, factors, roles),
        "values": lambda values: {k: v.number(low=-1e18) for k, v in values.members().items()},
        "where": scalars,
        "expected": Node.flag,
        "rule": lambda rule: parse_rule(rule, factors, roles),
    }
    found = []
    for item in node.items() if node else ():
        fields = item.fields((*required, "about", "beside", "where", "rule", "expected"), required)
        published = Published(**given(fields, readers, claim="", unit="", values={}, source="", hardware=""))
        if published.expected and "rule" not in fields:
            fields["expected"].problem("give the claim a `rule`; without one nothing judges it")
        found.append(published)
    return tuple(found)


def parse_beside(node: Node, factors: Factors, roles: Named) -> str:
    """A figure of ours, or a quotient of two: a table of other rows is compared by what a row costs."""
    said = node.text()
    if said.startswith(COST_OF):
        node.at("factor", said.removeprefix(COST_OF)).text([*factors, "engine"], "factor")
    elif said and said != ANSWER:
        for one in said.split(DIVIDED_BY, 1):
            check_measure(node, one, roles)
    return said


def parse_expected(node: Node | None, factors: Factors, roles: Named) -> tuple[Expected, ...]:
    keys = ("claim", "values", "rule")
    found = []
    for item in node.items() if node else ():
        readers: dict[str, Reader] = {
            "claim": Node.text,
            "values": lambda values: {k: v.number(low=-1e18) for k, v in values.members().items()},
            "rule": lambda rule: parse_rule(rule, factors, roles),
        }
        fields = item.fields(keys, keys)
        expected = Expected(**given(fields, readers, claim="", values={}, rule={}))
        if "values" in fields and isinstance(fields["values"].value, dict) and not expected.values:
            fields["values"].problem("name an engine and the value that you expect of it, or { all = 2 }")
        known = [*ENGINES, "all"]
        for engine in expected.values:
            if engine not in known:
                fields["values"].at(engine, expected.values[engine]).problem(unknown("engine", engine, known))
        found.append(expected)
    return tuple(found)


def parse_rule(node: Node, factors: Factors, roles: Named) -> dict[str, Any]:
    kind = (
        node.at("kind", node.members()["kind"].value).text(RULES, "rule") if "kind" in node.members() else ""
    )
    wanted = ("kind", "of", *RULES.get(kind, ()))
    of_kind = OF_AN_EFFECT if kind in EFFECTS else OF_A_WAVE if kind == "wave" else ()
    fields = node.fields((*wanted, *of_kind, "where", "cores"), required=wanted)
    for one, other in (("from", "to"), ("to", "from")):
        if one in fields and other not in fields:
            node.problem(
                f"has `{one}` alone; write `{other}` too, or neither: the smallest and the largest value"
            )
    readers: dict[str, Reader] = {
        "of": figure(roles),
        "along": lambda along: along.text([*factors, "engine"], "factor"),
        "from": scalar,
        "to": scalar,
        "bound": word(BOUNDS, "bound"),
        "cause": Node.text,
        "where": scalars,
        "cores": whole(1, 10**6),
    }
    for key, child in fields["where"].members().items() if "where" in fields else ():
        if key not in factors:
            child.problem(unknown("factor", key, factors))
    return given(fields, readers, kind=kind)


def scalars(node: Node) -> dict[str, Any]:
    return {key: scalar(child) for key, child in node.members().items()}


def scalar(node: Node) -> Any:
    if not isinstance(node.value, (str, int, float)):
        node.problem("write a text or a number")
        return ""
    return node.value
