"""One mistake in a study's file is one message: what only results from it is not said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from inrush.errors import UsageError
from inrush.study.reading import load_study
from tests.extracting import STUDY as EXTRACTS
from tests.extracting import WORKLOAD as RANGES
from tests.strategies import KNOWN

WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.events]
series = 10
identity = ["device", "time"]
columns = [
  { name = "device", type = "i32", gen = "cycle", from = 1, to = 10 },
  { name = "time", type = "time_ms", gen = "sweep_time" },
]
[operations.put]
kind = "insert"
table = "events"
[operations.look]
kind = "query"
table = "events"
sql.default = "SELECT COUNT(*) AS n FROM {table}"
[operations.index]
kind = "maintain"
table = "events"
sql.default = "CREATE INDEX by_device ON {table} (device)"
"""
HEAD = """
schema = 1
title = "Steps"
question = "How long does a look take?"
expect = "Not long."
workload = "work.toml"
kind = "steps"
engines = ["sqlite"]
factors.rows = [1_000, 2_000]
answer = { kind = "curve", of = "looks.latency_p50_s", along = "rows" }
"""
STEPS = (
    HEAD
    + """
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = "@rows" }
[[steps]]
name = "index"
do = "statement"
operation = "index"
[[steps]]
name = "looks"
do = "read"
operation = "look"
calls = 20
[scale.xs]
steps.looks.calls = 5
"""
)
ROLES = (
    HEAD.replace("looks.latency", "both.users.latency")
    + """
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = "@rows" }
[[steps]]
name = "both"
do = "roles"
[steps.roles.others]
operation = "look"
calls = 5
[steps.roles.users]
operation = "look"
until = "others"
"""
)
SESSIONS = (
    HEAD.replace('"steps"', '"mixed"').replace("looks.latency", "users.latency")
    + """
[roles.writers]
operation = "put"
batch_rows = "@rows"
rows = { total = 5_000 }
[roles.users]
operation = "look"
until = "writers"
"""
)


def said(folder: Path, study: str, workload: str = WORKLOAD) -> list[str]:
    (folder / "work.toml").write_text(workload)
    (folder / "s.toml").write_text(study)
    try:
        load_study(str(folder / "s.toml"), known=KNOWN)
    except UsageError as refused:
        return [f"{p.key}: {p.remedy}" for p in refused.problems]
    return []


@pytest.mark.parametrize("study", [STEPS, ROLES, SESSIONS])
def test_the_studies_of_these_tests_are_right(tmp_path: Path, study: str) -> None:
    assert said(tmp_path, study) == []


@pytest.mark.parametrize(
    ("study", "right", "wrong", "key"),
    [
        (STEPS, 'kind = "steps"', 'kind = "step"', "kind"),
        (SESSIONS, 'kind = "mixed"', 'kind = "mixd"', "kind"),
        (STEPS, "factors.rows = [1_000, 2_000]", "factors.rows = []", "factors.rows"),
        (SESSIONS, "factors.rows = [1_000, 2_000]", "factors.rows = []", "factors.rows"),
        (ROLES, 'until = "others"', 'until = "other"', "steps[1].roles.users.until"),
        (SESSIONS, 'until = "writers"', 'until = "writer"', "roles.users.until"),
        (STEPS, 'operation = "look"', 'operation = "put"', "steps[2].operation"),
        (STEPS, 'operation = "look"', 'operation = "index"', "steps[2].operation"),
        (STEPS, 'operation = "look"', "operations = { put = 1, look = 2 }", "steps[2].operations"),
        (STEPS, 'do = "load"', 'do = "laod"', "steps[0].do"),
        (STEPS, 'do = "read"', 'do = "raed"', "steps[2].do"),
        (STEPS, 'do = "read"', 'doo = "read"', "steps[2].doo"),
        (ROLES, 'do = "roles"', 'do = "rolls"', "steps[1].do"),
        (STEPS, 'table = "events"', 'table = "event"', "steps[0].table"),
        (STEPS, 'table = "events"', 'tabel = "events"', "steps[0].tabel"),
        (STEPS, "{ total =", "{ totl =", "steps[0].rows.totl"),
        (STEPS, "rows = { total", "row = { total", "steps[0].row"),
        (STEPS, "calls = 20", "cals = 20", "steps[2].cals"),
        (ROLES, 'until = "others"', 'untl = "others"', "steps[1].roles.users.untl"),
        (SESSIONS, "batch_rows =", "batch_row =", "roles.writers.batch_row"),
        (SESSIONS, 'operation = "put"', 'operatin = "put"', "roles.writers.operatin"),
        (STEPS, '"work.toml"', '"wrk.toml"', "workload"),
        (SESSIONS, '"work.toml"', '"wrk.toml"', "workload"),
    ],
)
def test_one_mistake_is_one_message(tmp_path: Path, study: str, right: str, wrong: str, key: str) -> None:
    assert right in study
    found = said(tmp_path, study.replace(right, wrong, 1))
    assert [text.partition(": ")[0] for text in found] == [key], found


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        (
            lambda t: t.replace('do = "load"', 'do = "laod"').replace("calls = 20", "calls = -1"),
            {"steps[0].do", "steps[2].calls"},
        ),
        (
            lambda t: t.replace('"steps"', '"step"').replace('do = "load"', 'do = "laod"'),
            {"kind", "steps[0].do"},
        ),
        (
            lambda t: t.replace('operation = "look"', 'operation = "put"').replace('"curve"', '"curv"'),
            {"steps[2].operation", "answer.kind"},
        ),
        (
            lambda t: t.replace('do = "read"', 'do = "raed"').replace("latency_p50_s", "no_figure"),
            {"steps[2].do", "answer.of"},
        ),
        (lambda t: t.replace('"@rows"', "500"), {"factors.rows"}),
        (lambda t: t.replace("looks.latency", "look.latency"), {"answer.of"}),
    ],
)
def test_two_mistakes_are_two_messages(tmp_path: Path, change: Callable[[str], str], keys: set[str]) -> None:
    found = {text.partition(": ")[0] for text in said(tmp_path, change(STEPS))}
    assert found == keys


def test_the_step_that_lacks_a_load_is_named_by_its_place(tmp_path: Path) -> None:
    text = EXTRACTS.replace(
        'do = "load"\ntable = "values"\nrows = { total = 20_000 }', 'do = "settle"\nseconds = 1'
    )
    found = said(tmp_path, text, RANGES)
    assert [line.partition(": ")[0] for line in found] == ["steps[1]", "steps[3]"]


@pytest.mark.parametrize(
    ("right", "wrong", "key"),
    [
        ('kind = "insert"', 'kind = "inserts"', "operations.put.kind"),
        ('kind = "insert"', 'kind = "xyz"', "operations.put.kind"),
        ('kind = "query"', 'kind = "querry"', "operations.look.kind"),
        ('kind = "query"', 'kind = "xyz"', "operations.look.kind"),
        ('kind = "query"\n', "", "operations.look.kind"),
        ('kind = "maintain"', 'kind = "maintian"', "operations.index.kind"),
    ],
)
def test_a_kind_of_operation_that_is_misspelt_is_one_message(
    tmp_path: Path, right: str, wrong: str, key: str
) -> None:
    assert right in WORKLOAD
    for study in (STEPS, SESSIONS):
        found = said(tmp_path, study, WORKLOAD.replace(right, wrong, 1))
        assert [text.partition(": ")[0] for text in found] == [key], found


@pytest.mark.parametrize("wrong", ['"@row"', '"@size"'])
@pytest.mark.parametrize(
    ("study", "key"), [(STEPS, "steps[0].rows.total"), (SESSIONS, "roles.writers.batch_rows")]
)
def test_a_factor_that_is_misspelt_is_not_one_that_nothing_uses(
    tmp_path: Path, study: str, key: str, wrong: str
) -> None:
    found = said(tmp_path, study.replace('"@rows"', wrong))
    assert [text.partition(": ")[0] for text in found] == [key], found


@pytest.mark.parametrize(
    ("changes", "key", "meant"),
    [
        ("steps.looks.calls = -5", "scale.xs.steps.looks.calls", "from 1"),
        ("steps.looks.cals = 5", "scale.xs.steps.looks.cals", "`calls`"),
        ("steps.look.calls = 5", "scale.xs.steps.look", "`looks`"),
        ("repeets.count = 5", "scale.xs.repeets", "`repeats`"),
        ("factors.rows = []", "scale.xs.factors.rows", "at least 1"),
    ],
)
@pytest.mark.parametrize("scale", [None, "xs"])
def test_what_a_scale_sets_is_named_by_its_place_in_the_file(
    tmp_path: Path, changes: str, key: str, meant: str, scale: str | None
) -> None:
    ((found, remedy),) = in_scale(tmp_path, STEPS.replace("steps.looks.calls = 5", changes), scale)
    assert found == key and meant in remedy


@pytest.mark.parametrize("scale", [None, "xs"])
def test_rows_of_a_role_in_a_scale_are_named_as_they_are_written(tmp_path: Path, scale: str | None) -> None:
    for changes, key in (("writer = { total = 5 }", "writer"), ("writers = { totl = 5 }", "writers.totl")):
        found = in_scale(tmp_path, f"{SESSIONS}[scale.xs]\nrows.{changes}\n", scale)
        assert [place for place, _ in found] == [f"scale.xs.rows.{key}"]


def test_rows_of_a_role_that_the_scale_itself_adds_are_known(tmp_path: Path) -> None:
    (tmp_path / "work.toml").write_text(WORKLOAD)
    more = "[scale.xs]\nrows.more = { total = 5 }\n[scale.xs.roles.more]\nsessions = 1\noperation = 'put'\nbatch_rows = 10\n"
    (tmp_path / "s.toml").write_text(SESSIONS + more)
    study = load_study(str(tmp_path / "s.toml"), "xs", known=KNOWN)
    assert "more" in study.roles


def in_scale(folder: Path, study: str, scale: str | None) -> list[tuple[str, str]]:
    """Key and remedy of each problem of a study that is read in a scale."""
    (folder / "work.toml").write_text(WORKLOAD)
    (folder / "s.toml").write_text(study)
    with pytest.raises(UsageError) as refused:
        load_study(str(folder / "s.toml"), scale, known=KNOWN)
    return [(p.key, p.remedy) for p in refused.value.problems]
