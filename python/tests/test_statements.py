"""Statements of plans are data: no comment in front of a text says what is to be done with it or its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from inrush.border.plan import DIRECTIVES_VERSION
from inrush.engines import ENGINES, server
from inrush.engines.plans import Unsupported
from inrush.errors import Problem, StudyInvalid
from inrush.plan.plan import plan_study
from inrush.study.document import Node
from inrush.study.operations import statements
from inrush.study.study import load_study
from inrush.workload import AnswerForm, Operation
from tests.strategies import shipped_files

#: Engines with statements of their own.
STORING = sorted(set(ENGINES) - {"adbc", "mariadb", "null", "simulated"})
#: As plans of versions 1 and 2 had them.
CONTROL_WORD = re.compile(r"\s*(/\*\s*(each|until none)\b|--\s*(on|if marked|columns|empty|pairs|only)\s*:)")


def texts(document: Any) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict):
        for value in document.values():
            yield from texts(value)
    elif isinstance(document, (list, tuple)):
        for value in document:
            yield from texts(value)


def plans(engine: str) -> list[dict[str, Any]]:
    """Of every shipped study that the engine takes."""
    found = []
    for path in shipped_files():
        try:
            study = load_study(str(path), "xs", (), [engine])
            planned = plan_study(study, {engine: server(engine)})
        except StudyInvalid:
            continue  # it needs what this engine has not
        found += [dict(point.plan) for point in planned.planned.values()]
    return found


@pytest.mark.parametrize(
    "engine", [pytest.param(e, marks=[] if e == "influxdb" else pytest.mark.slow) for e in STORING]
)
def test_no_plan_has_control_words_in_its_texts(engine: str) -> None:
    of_engine = plans(engine)
    assert len(of_engine) > (3 if engine == "device" else 10)  # a file in place of a database: few studies
    found = {text for plan in of_engine for text in texts(plan) if CONTROL_WORD.match(text)}
    assert not found


@pytest.mark.ci
def test_plans_with_directives_have_the_version_that_knows_them() -> None:
    of_engine = plans("influxdb")
    assert {plan["version"] for plan in of_engine} == {DIRECTIVES_VERSION}
    directives = [op["directives"] for plan in of_engine for op in plan["operations"] if "directives" in op]
    assert {"columns": ("n",), "zero_when_empty": True} in directives


@pytest.mark.parametrize(
    "text", ["/* each */ SELECT", "-- columns: a\nSELECT", " -- if marked: x\nDROP", "\n-- on: db\nDELETE"]
)
def test_a_control_word_is_seen(text: str) -> None:
    assert [t for t in texts({"segments": [{"statements": [{"text": text}]}]}) if CONTROL_WORD.match(t)]


# --- as authors of workloads write them


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
        ("-- columns: n\nSELECT n", "write sql.influxdb = { text = …, columns = […] }"),
        ("\n--empty: 0\nSELECT n", "write sql.influxdb = { text = …, columns = […] }"),
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
