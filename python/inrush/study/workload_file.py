"""A workload file: TOML tree -> `Workload`, or every problem in it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, TypeAlias

from inrush.errors import Problem
from inrush.study.document import Node
from inrush.study.generators import Catalogue
from inrush.study.operations import check_members, parse_operation
from inrush.study.sizes import read_size
from inrush.study.tables import check_name, parse_table
from inrush.workload import Table, Workload

SCHEMA = 1
#: What the core says of the generators of a table: each column with what is wrong. The epoch is the workload's.
Refused: TypeAlias = Callable[[Table, str], Sequence[tuple[str, str]]]


def parse_workload(
    tree: Any,
    file: str,
    name: str,
    problems: list[Problem],
    catalogue: Catalogue | None = None,
    sizes: Mapping[str, float] | None = None,
    refused: Refused | None = None,
) -> Workload:
    """The workload of a document; what is wrong goes to `problems`.

    catalogue: None where the core cannot be asked; then generators are checked when the plan is run.
    sizes: values that replace the file's own, e.g. from a study; unknown names were refused by the caller.
    refused: None as the catalogue.
    """
    root = Node(file, "", tree, problems)
    allowed = ("schema", "epoch", "sizes", "tables", "operations")
    fields = root.fields(allowed, required=("schema", "epoch", "tables", "operations"))
    if (schema := fields.get("schema")) and schema.value != SCHEMA:
        schema.problem(f"this inrush reads schema {SCHEMA}")
    own_sizes = (
        {key: read_size(key, node) for key, node in fields["sizes"].members().items()}
        if "sizes" in fields
        else {}
    )
    all_sizes = {**own_sizes, **(sizes or {})}
    epoch = parse_epoch(fields.get("epoch"))
    tables = {}
    if "tables" in fields:
        for key, node in fields["tables"].members().items():
            check_name(node, key)
            before = len(problems)
            tables[key] = parse_table(node, key, all_sizes, catalogue, epoch)
            if refused is not None and tables[key].files is None:
                check_generators(node, tables[key], problems[before:], lambda table: refused(table, epoch))
    operations = {}
    if "operations" in fields:
        members = fields["operations"].members()
        for key, node in members.items():
            check_name(node, key)
            operations[key] = parse_operation(node, key, tables, tuple(members), all_sizes)
        check_members(members, operations)
    return Workload(
        name=name,
        epoch=epoch,
        sizes=all_sizes,
        tables=tables,
        operations=operations,
        file=file,
    )


def check_generators(
    node: Node, table: Table, own: Sequence[Problem], refused: Callable[[Table], Sequence[tuple[str, str]]]
) -> None:
    """What values mean together, as `from` above `to`: of columns that are right otherwise. own: problems of this table.

    A column that is wrong has a stand-in, so that those which derive from it are looked at.
    """
    keys = {i: f"{node.key}.columns[{i}]" for i in range(len(table.columns))}
    wrong = {i for i, key in keys.items() if any(p.key == key or p.key.startswith(f"{key}.") for p in own)}
    columns = [
        replace(column, gen={"kind": "constant", "value": 0}) if i in wrong else column
        for i, column in enumerate(table.columns)
    ]
    at = {column.name: i for i, column in enumerate(columns)}
    for name, why in refused(replace(table, columns=tuple(columns))):
        if name in at and at[name] not in wrong:
            node.problems.append(Problem(node.file, keys[at[name]], name, why))


class WorkloadReader:
    """One workload file under the sizes of several scales; equal sizes are read once."""

    def __init__(
        self,
        tree: Mapping[str, Any] | None,
        file: str,
        generators: Catalogue | None,
        refused: Refused | None = None,
    ) -> None:
        self.tree, self.file, self.generators, self.refused = tree, file, generators, refused
        self._read: dict[str, tuple[Workload, list[Problem]]] = {}

    def read(self, name: str, sizes: Mapping[str, float], problems: list[Problem]) -> Workload:
        key = f"{name} {sorted(sizes.items())}"
        if key not in self._read:
            found: list[Problem] = []
            workload = parse_workload(self.tree, self.file, name, found, self.generators, sizes, self.refused)
            self._read[key] = (workload, found)
        workload, found = self._read[key]
        problems += found
        return workload


def parse_epoch(node: Node | None) -> str:
    """RFC 3339 in UTC, data time zero."""
    default = "2026-01-01T00:00:00Z"
    if node is None:
        return default
    value = node.value.isoformat() if isinstance(node.value, datetime) else node.value
    try:
        when = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
        if when.tzinfo is None or not 1970 <= when.astimezone(timezone.utc).year <= 2200:
            raise ValueError
    except (ValueError, OverflowError):
        node.problem('write a time with its zone from 1970 to 2200, e.g. "2026-01-01T00:00:00Z"')
        return default
    if when.microsecond:
        node.problem("data time zero is a whole second; leave the fraction out")
        return default
    return when.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
