"""Statements as authors of workloads write them: a text, or a text with the form of its answers."""

from __future__ import annotations

from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.plans import Unsupported
from inrush.errors import Problem
from inrush.study.document import Node
from inrush.study.operations import statements
from inrush.workload import AnswerForm, Operation


def read(**sql: Any) -> tuple[dict[str, str], dict[str, AnswerForm], list[str]]:
    problems: list[Problem] = []
    found = statements(Node("workload.toml", "operations.q.sql", sql, problems))
    return *found, [f"{p.key}: {p.remedy}" for p in problems]


def test_the_form_of_an_answer_is_written_beside_its_text() -> None:
    form = {"text": "SELECT n FROM t", "columns": ["n"], "zero_when_empty": True}
    assert read(default="SELECT 1", influxdb=form) == (
        {"default": "SELECT 1", "influxdb": "SELECT n FROM t"},
        {"influxdb": AnswerForm(("n",), zero_when_empty=True)},
        [],
    )


@pytest.mark.parametrize(
    ("of_influxdb", "says"),
    [
        ({"text": "SELECT n"}, "columns: is missing"),
        ({"columns": ["n"]}, "text: is missing"),
        ({"text": "SELECT n", "columns": []}, "columns: write at least 1 value"),
        ({"text": "SELECT n", "columns": ["n"], "colums": ["n"]}, "did you mean `columns`?"),
    ],
)
def test_what_is_no_form_of_an_answer_is_a_problem(of_influxdb: object, says: str) -> None:
    *_, problems = read(influxdb=of_influxdb)
    assert len(problems) == 1 and says in problems[0]


def test_an_engine_that_says_the_columns_in_its_text_takes_no_form() -> None:
    query = Operation("q", "query", sql={"mysql": "SELECT 1"}, answers={"mysql": AnswerForm(("n",))})
    planned = server("mysql").plan_operation(query, "", {})
    assert isinstance(planned, Unsupported) and "write it without `columns`" in planned.reason
