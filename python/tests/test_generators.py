"""Mistakes of generators are said when a study is planned: all of a file at once, each with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.errors import Problem
from inrush.run.call import StudyCall
from inrush.run.prepare import prepare
from inrush.study.document import Node
from inrush.study.generators import parameter
from inrush.study.reading import load_study
from inrush.study.shipped import shipped_studies
from tests.terminal import Inrush

WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[sizes]
ports = 40
keep_s = 60
half_s = 0.5
[tables.t]
columns = [
  { name = "id", type = "i64", gen = "sequence", start = 1, step = 1 },
  COLUMNS
]
identity = ["id"]
[operations.insert]
kind = "insert"
"""
SESSIONS = """
kind = "fixed_volume"
[roles.writers]
operation = "insert"
table = "t"
batch_rows = 5
rows = { total = 10 }
"""
PIPELINE = """
kind = "pipeline"
[pipeline]
table = "t"
row_bytes = 10
file_bytes = 100
files = { total = 2 }
"""


def written(folder: Path, columns: str, work: str = SESSIONS) -> str:
    """A study with these columns behind `id`."""
    (folder / "w.toml").write_text(WORKLOAD.replace("COLUMNS", columns))
    head = (
        'schema = 1\ntitle = "t"\nquestion = "q?"\nexpect = "e"\nworkload = "w.toml"\nengines = ["sqlite"]\n'
    )
    (folder / "s.toml").write_text(head + work)
    return str(folder / "s.toml")


#: A column's type and generator -> what the core says of it.
REFUSED = [
    ('type = "u8", gen = "uniform", from = 0, to = 256', "do not fit type u8"),
    ('type = "text", gen = "format", pattern = "D%s", fields = [{ gen = "uniform", from = 0, to = 9 }]', "`D%s` has a field"),
    ('type = "i64", gen = "sum", of = ["id", "nobody"]', "`nobody`, which is not a column"),
    ('type = "f64", gen = "normal", mean = 0, sd = -1', "sd is -1"),
    ('type = "list_i64", gen = "array", of = { gen = "uniform", from = 0, to = 9 }, min_items = 5, max_items = 2', "min_items is 5"),
]  # fmt: skip


@pytest.mark.parametrize("command", ["plan", "run"])
def test_what_the_core_refuses_is_said_of_all_columns_before_anything_starts(
    inrush: Inrush, tmp_path: Path, command: str
) -> None:
    columns = ",\n".join(f'{{ name = "c{i}", {column} }}' for i, (column, _) in enumerate(REFUSED))
    said = inrush(command, written(tmp_path, columns))
    lines = said.err.splitlines()
    assert said.code == 2 and len(lines) == len(REFUSED), said.err
    for i, (line, (_, says)) in enumerate(zip(lines, REFUSED, strict=True)):
        assert f"w.toml: tables.t.columns[{i + 1}] is c{i}; " in line and says in line, line
    assert inrush.store.studies() == []


def test_what_the_core_refuses_is_said_with_all_that_is_wrong_otherwise(
    inrush: Inrush, tmp_path: Path
) -> None:
    columns = [
        'type = "i64", gen = "uniform", from = 9, to = 0',
        'type = "text", gen = "text", min_bytes = 9, max_bytes = 2',
        'type = "i64", gen = "unifrom", from = 9, to = 0',
        'type = "i64", gen = "sum", of = ["c2"]',
    ]
    text = ",\n".join(f'{{ name = "c{i}", {column} }}' for i, column in enumerate(columns))
    said = inrush("plan", written(tmp_path, text, SESSIONS.replace("batch_rows", "batch_row")))
    keys = [line.partition("toml: ")[2].partition(" is ")[0] for line in said.err.splitlines()]
    assert said.code == 2 and sorted(keys) == [
        "roles.writers.batch_row",
        "tables.t.columns[1]",
        "tables.t.columns[2]",
        "tables.t.columns[3].gen",
    ], said.err


def test_files_that_a_pipeline_generates_are_checked_too(inrush: Inrush, tmp_path: Path) -> None:
    study = written(tmp_path, f'{{ name = "c", {REFUSED[0][0]} }}', PIPELINE)
    said = inrush("plan", study, "--start", "postgresql")
    assert said.code == 2 and "tables.t.columns[1] is c; values 0 … 256" in said.err, said.err


def test_what_is_no_value_of_a_parameter_is_said_with_the_parameter(inrush: Inrush, tmp_path: Path) -> None:
    columns = [
        'type = "i64", gen = "uniform", from = 0, to = "nine"',
        'type = "i64", gen = "zipf", n = 1.5, exponent = "x", scatter = 1',
        'type = "i64", gen = "uniform", from = 0, to = 9, per = "rows"',
        'type = "text", gen = "format", pattern = 7, fields = [{ gen = "uniform", from = 0, too = 9 }, 5]',
        'type = "i64", gen = "sum", of = "id"',
        'type = "i64", gen = "categorical", values = [1, 2], weights = [1, "2"]',
        'type = "u64", gen = "sequence", start = 9, step = "half_s"',
    ]
    text = ",\n".join(f'{{ name = "c{i}", {column} }}' for i, column in enumerate(columns))
    said = inrush("plan", written(tmp_path, text))
    keys = [line.partition("tables.t.")[2].partition(" is ")[0] for line in said.err.splitlines()]
    assert said.code == 2 and keys == [
        "columns[1].to",
        "columns[2].n",
        "columns[2].exponent",
        "columns[2].scatter",
        "columns[3].per",
        "columns[4].pattern",
        "columns[4].fields[0].too",
        "columns[4].fields[0]",
        "columns[4].fields[1]",
        "columns[5].of",
        "columns[6].weights[1]",
        "columns[7].step",
    ], said.err


def test_a_generator_in_a_list_is_read_and_a_size_in_seconds_is_whole(tmp_path: Path) -> None:
    columns = (
        '{ name = "a", type = "text", gen = "format", pattern = "D%d", fields = [{ gen = "uniform", from = 0, to = "ports" }] },'
        '{ name = "b", type = "i64", gen = "uniform", from = 0, to = "keep_s" }'
    )
    prepared = prepare(StudyCall(written(tmp_path, columns)))
    (point,) = prepared.plan.planned.values()
    a, b = (column["gen"] for column in point.plan["tables"][0]["columns"][1:])
    assert a["fields"] == [{"kind": "uniform", "from": 0, "to": 40}]
    assert json.dumps(b["to"]) == "60"


def test_every_type_of_a_parameter_of_the_core_is_one_that_is_checked() -> None:
    catalogue = json.loads(_core.generators())
    wrong: dict[str, Any] = {"any": None, "generator": 5, "list": 5}
    for kind, entry in catalogue.items():
        for name, said in entry["params"].items():
            problems: list[Problem] = []
            value = wrong.get(said["type"], wrong["list"] if said["type"].startswith("list") else [])
            parameter(Node("f", name, value, problems), said["type"], {}, catalogue)
            assert problems, f"{kind}.{name} takes {value!r} for {said['type']}"


#: Without an engine that is embedded.
TOGETHER = (
    "keylookup-clients",
    "keylookup-connections",
    "keylookup-delay",
    "keylookup-depth",
    "keylookup-transactions",
    "keylookup-waves",
)
#: Of many points, with the tables of archive-load and of telemetry-quickstart.
DEAR = ("archive-rate", "telemetry-batch", "telemetry-mixed")


@pytest.mark.parametrize(
    "study",
    [pytest.param(s.name, marks=[pytest.mark.slow] if s.name in DEAR else []) for s in shipped_studies()],
)
def test_the_core_makes_every_row_of_every_shipped_study(study: str) -> None:
    # Calls in flight together need a server; the tables are the same with one call at a time.
    call = StudyCall(study, "xs", targets=("sqlite",)) if study in TOGETHER else StudyCall(study, "full")
    if (found := load_study(study)).start:  # of servers that are begun for it
        call = StudyCall(study, "full", start=found.engines)
    if found.shards is not None:
        call = StudyCall(study, "full", start=tuple(f"{engine},shards=4" for engine in found.engines))
    assert prepare(call).plan.runs


def test_a_generator_that_cannot_be_read_hides_no_other_and_makes_none_wrong() -> None:
    def column(name: str, gen: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "type": "i64" if "of" in gen else "u8", "wire": "", "gen": gen}

    columns = [
        column("unread", {"kind": "uniform", "from": 0}),
        column("wide", {"kind": "uniform", "from": 0, "to": 256}),
        column("of_unread", {"kind": "sum", "of": ["unread"]}),
        column("of_nobody", {"kind": "sum", "of": ["nobody"]}),
    ]
    table = {"name": "t", "stream": "t", "columns": columns}
    source = {"kind": "generated", "series": 4, "period_ns": 1_000_000_000}
    found = dict(_core.check_table(json.dumps({**table, "source": source}), 1, 0))
    assert list(found) == ["unread", "wide", "of_nobody"] and "missing field `to`" in found["unread"], found
    ((place, _),) = _core.check_table(json.dumps({**table, "source": {**source, "series": 0}}), 1, 0)[1:]
    assert place == "", "a mistake of the table has no column"
    with pytest.raises(_core.CoreFailure):
        _core.check_table("{}", 1, 0)
