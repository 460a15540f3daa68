"""Keys of a study file that are one value each, which may be a factor: engines, layout, method, clients, load. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from inrush.study.document import Node, unknown
from inrush.study.forms import Factors, FromFactor, read_count, read_form
from inrush.study.parts import Schedule
from inrush.workload import Workload

#: Engine -> its insert methods, fastest first; None: not known here, not checked.
KnownEngines: TypeAlias = Mapping[str, Sequence[str]] | None
#: Client processes of one run: more are a mistake in the file.
MOST_CLIENTS = 1_000


def parse_engines(node: Node, known: KnownEngines) -> tuple[str, ...]:
    """Engines by name; `null:text` is a variant of `null`."""
    names = node.texts(at_least=1)
    for i, name in enumerate(names):
        if known is not None and name.partition(":")[0] not in known:
            node.at(i, name).problem(unknown("engine", name, known))
    return names


def check_kind(node: Node, kind: str, schedule: Schedule[FromFactor]) -> None:
    if kind == "timed":
        if schedule.measure_s <= 0:
            node.problem('kind = "timed" needs measure_s, the seconds that enter figures')
    elif schedule.warm_s or schedule.cool_s:
        node.problem(f'only kind = "timed" warms and cools; a {kind} ends with its rows')


def parse_layout(node: Node | None, factors: Factors, workload: Workload, root: Node) -> str | FromFactor:
    """A layout that at least one table has; the factor `layout` is meant without saying so."""
    layouts = sorted({name for table in workload.tables.values() for name in table.layouts} | {"none"})
    if node is None or node.value == "@layout":
        for i, value in enumerate(factors.get("layout", ())):
            root.at(f"factors.layout[{i}]", value).text(layouts, "layout")
        return FromFactor("layout") if "layout" in factors else "none"
    return read_form(node, factors, lambda one: one.text(layouts, "layout"), "none") or "none"


def parse_method(
    node: Node | None, factors: Factors, known: KnownEngines, root: Node
) -> str | FromFactor | None:
    """A insert method that at least one engine has; the factor `method` is meant without saying so."""
    methods = sorted({m for ways in known.values() for m in ways}) if known else None
    if node is None or node.value == "@method":
        for i, value in enumerate(factors.get("method", ())):
            root.at(f"factors.method[{i}]", value).text(methods, "method")
        return FromFactor("method") if "method" in factors else None
    return node.text(methods, "method") or None


def parse_clients(node: Node | None, factors: Factors, work: str) -> int | FromFactor:
    """Client processes among which the sessions of roles work."""
    if node is None:
        return 1
    if work == "pipeline":
        node.problem(
            'the clients of a study with `pipeline` are the load\'s own: pipeline.client = "own" makes one for each of its '
            "pipelines; remove it"
        )
    return read_count(node, factors, 1, MOST_CLIENTS)


def parse_load(node: Node | None, factors: Factors) -> int | FromFactor:
    fields = node.fields(("rows",), required=("rows",)) if node else {}
    return read_count(fields["rows"], factors, 0, 10**12) if "rows" in fields else 0
