"""The message about a column's type that is none."""

from __future__ import annotations

import pytest

from inrush.errors import Problem
from inrush.study.column_types import ELSEWHERE, KINDS, NAMES, NAMES_OF_FILES
from inrush.study.document import Node
from inrush.study.tables import parse_column


def remedy(name: str, from_files: bool = False) -> str:
    problems: list[Problem] = []
    column = {"name": "c", "type": name} | ({} if from_files else {"gen": "constant", "value": 1})
    parse_column(Node("w.toml", "column", column, problems), {}, None, from_files)
    (problem,) = problems
    assert problem.key == "column.type"
    return problem.remedy


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("numeric", "decimal(p, s)"),
        ("NUMERIC(10, 2)", "decimal(p, s)"),
        ("varchar(20)", "char(n)"),
        ("bigint", "i64"),
        ("double precision", "f64"),
        ("timestamp", "time_us"),
        ("string", "text"),
        ("boolean", "bool"),
        ("uuidd", "uuid"),
        ("tex", "text"),
    ],
)
def test_the_type_that_was_meant_is_named_and_all_others_too(name: str, meant: str) -> None:
    assert remedy(name) == f"unknown type; did you mean `{meant}`? choose from: {', '.join(NAMES)}"


@pytest.mark.parametrize("name", ["list_f16", "list_f46", "i63", "f16", "u128", "geometry", "list_blob"])
def test_no_type_of_another_meaning_is_suggested(name: str) -> None:
    assert remedy(name) == f"unknown type; choose from: {', '.join(NAMES)}"


@pytest.mark.parametrize("name", ["geometry", "numeric", "bytea"])
def test_of_a_table_from_files_only_types_are_named_that_files_are_read_as(name: str) -> None:
    assert remedy(name, from_files=True) == f"unknown type; choose from: {', '.join(NAMES_OF_FILES)}"
    assert {"char(n)", "text", "time_us"} <= set(NAMES_OF_FILES) < set(NAMES)


def test_names_of_elsewhere_lead_to_types_that_there_are_and_are_none_themselves() -> None:
    assert set(ELSEWHERE.values()) <= set(NAMES) and not set(ELSEWHERE) & set(KINDS)
    assert {"char(n)", "decimal(p, s)"} <= set(NAMES)
