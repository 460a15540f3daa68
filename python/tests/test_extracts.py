"""Extracts of a study: how they are read, what is refused, and what they become in a plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.errors import UsageError
from inrush.plan.extracts import time_span_s
from inrush.plan.plan import canonical
from inrush.workload import Column, Table
from tests.extracting import STUDY, WORKLOAD, planned, write_study


def operations(found: Any) -> list[dict[str, Any]]:
    return [o for o in found.runs[0].plan["operations"] if o["kind"] == "extract"]


def counting(workload: str) -> str:
    """With a query of ranges beside the extract: it asks for one end alone."""
    return (
        workload
        + """
[operations.count]
kind = "query"
table = "values"
params.from = { gen = "range", end = "from" }
range = { rows = "length", series = 7 }
sql.default = "SELECT COUNT(*) AS n FROM {table} WHERE id = 8 AND time < :from"
"""
    )


def problems(folder: Path, study: str = STUDY, workload: str = WORKLOAD) -> str:
    with pytest.raises(UsageError) as refused:
        planned(write_study(folder, study, workload))
    return "\n".join(f"{p.key}: {p.remedy}" for p in refused.value.problems)


def test_an_extract_is_planned_with_its_range_and_the_engines_first_way_out(tmp_path: Path) -> None:
    found = planned(write_study(tmp_path, STUDY.replace('"sqlite", "duckdb"', '"sqlite"')))
    (extract,) = operations(found)
    assert (extract["name"], extract["method"], extract["holds"]) == ("all", "rows", [])
    assert extract["range"] == {
        "table": 0,
        "rows": 20_000,
        "columns": ["time", "value", "quality", "state"],
        "time": "time",
        "length": {"kind": "rows", "rows": 300},
    }
    assert [(p["name"], p["type"], p["gen"]["kind"]) for p in extract["params"]] == [
        ("id", "i32", "range_key"),
        ("from", "time_us", "range_from"),
        ("to", "time_us", "range_to"),
    ]
    for run in found.all_runs:
        assert _core.check_plan(canonical({**run.plan, "run_id": "r"})) == []


@pytest.mark.parametrize(
    "said, length",
    [
        ("{ rows = 7, series = 3 }", {"kind": "rows", "rows": 7}),
        ('{ rows = 7, series = "third" }', {"kind": "rows", "rows": 7}),
        ("{ share = 0.25, series = 3 }", {"kind": "share", "ppm": 250_000}),
        ("{ seconds = 1.5, series = 3 }", {"kind": "time", "ns": 1_500_000_000}),
    ],
)
def test_a_range_is_so_many_rows_a_share_of_a_series_or_a_time(
    tmp_path: Path, said: str, length: dict[str, Any]
) -> None:
    text = WORKLOAD.replace('range = { rows = "length" }', f"range = {said}")
    text = text.replace("sizes = { ", "sizes = { third = 3, ")
    (extract,) = operations(planned(write_study(tmp_path, workload=text)))
    assert (extract["range"]["length"], extract["range"]["series"]) == (length, 3)


def test_a_way_out_is_a_factor_and_two_ways_of_one_extract_are_two_operations(tmp_path: Path) -> None:
    text = STUDY.replace(
        'engines = ["sqlite", "duckdb"]', 'engines = ["sqlite"]\nfactors.way = ["rows", "copy"]'
    )
    found = planned(write_study(tmp_path, text.replace("calls = 12", 'calls = 12\nmethod = "@way"')))
    (missing,) = found.unsupported
    assert missing.reason == "all/warm: sqlite has no way out copy; it has rows"
    # The step without a word of it goes the engine's first way: the same of another name.
    assert sorted((o["name"], o["method"]) for o in operations(found)) == [
        ("all/cold", "rows"),
        ("all/warm", "rows"),
    ]


def test_an_engine_without_extracts_leaves_the_step_out_and_says_why(tmp_path: Path) -> None:
    text = STUDY.replace('"sqlite", "duckdb"', '"sqlite", "influxdb"').replace('row_order = "random"\n', "")
    text = text.replace('layout = "pk"\n', "").replace('[[steps]]\nname = "chill"\ndo = "cold"\n', "")
    found = planned(write_study(tmp_path, text, WORKLOAD.replace("rates = ", "# ")))
    run = next(r for r in found.runs if r.labels["engine"] == "influxdb")
    assert (
        run.labels["steps_left_out"]["warm"]
        == "influxdb hands over no rows as they come yet: it has no extracts"
    )


Change = Callable[[str], str]


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda t: t.replace('range = { rows = "length" }\n', ""), "an extract needs a range"),
        (lambda t: t.replace('rows = "length"', "rows = 3, share = 0.1"), "say how long it is, by one of"),
        (lambda t: t.replace('rows = "length"', "share = 1.5"), "a share is above 0 up to 1"),
        (
            lambda t: t.replace('params.from = { gen = "range", end = "from" }\n', ""),
            'gen = "range", end = "from"',
        ),
        (
            lambda t: t.replace('params.id = { gen = "range", column = "id" }\n', ""),
            'gen = "range", column = "id"',
        ),
        (
            lambda t: t.replace('returns = ["time", "value"', 'returns = ["value"'),
            "the answer is sorted by time",
        ),
        (lambda t: t.replace("ORDER BY time", ""), "without ORDER BY rows come in any order"),
        (lambda t: t.replace("ORDER BY time", "ORDER BY time LIMIT 5"), "remove LIMIT"),
        (lambda t: t.replace('table = "values"\nparams', "params"), "an extract needs `table`"),
        (lambda t: t.replace('{ gen = "range", column = "id" }', '{ gen = "range" }'), 'write column = "…"'),
        (lambda t: t.replace('rows = "length"', 'rows = 3, time = "value"'), "column of times"),
        (
            lambda t: t.replace('kind = "extract"', 'kind = "execute"'),
            "only an extract and a query ask for a range",
        ),
        (
            lambda t: t.replace('kind = "extract"', 'kind = "query"').replace(
                'range = { rows = "length" }', ""
            ),
            "a parameter of a range needs one",
        ),
        (
            lambda t: counting(t).replace(
                '{ gen = "range", end = "from" }', '{ gen = "now_minus", seconds = 1 }'
            ),
            "no parameter asks for it",
        ),
        (
            lambda t: counting(t).replace('"length", series = 7', "3, share = 0.5"),
            "say how long it is, by one of",
        ),
        (
            lambda t: t.replace('returns = ["time"', 'holds = ["oracle"]\nreturns = ["time"'),
            "held to the rows of its range",
        ),
        (lambda t: t.replace('rows = "length"', "rows = 3, series = 20"), "a whole number from 0 to 19"),
        (lambda t: t.replace('rows = "length"', 'rows = 3, series = "length"'), "has 20 series, from 0"),
    ],
)
def test_mistakes_of_an_operation_are_named(tmp_path: Path, change: Change, said: str) -> None:
    text = change(WORKLOAD)
    assert text != WORKLOAD
    assert said in problems(tmp_path, workload=text)


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda t: t.replace("calls = 12", 'calls = 12\nmethod = "quickly"'), "unknown way out"),
        (lambda t: t.replace("calls = 12", "calls = 12\ndepth = 4"), "depth"),
        (lambda t: t.replace("calls = 12", ""), "write calls = N or seconds = S"),
        (lambda t: t.replace('do = "extract"', 'do = "read"', 1), 'its step is do = "extract"'),
        (lambda t: t.replace("rows = { total = 20_000 }", "rows = { total = 200 }"), "has 200 rows in all"),
    ],
)
def test_mistakes_of_a_step_are_named(tmp_path: Path, change: Change, said: str) -> None:
    text = change(STUDY)
    assert text != STUDY
    assert said in problems(tmp_path, text)


@pytest.mark.parametrize(
    "seconds, rates, said",
    [
        ("1e14", True, "span 50 s of data time; set seconds to 50 at most"),
        ("1e9", True, "or load 400,000,000,000 rows"),
        ("50.1", True, "or load 20,040 rows"),
        ("50.1", False, "or load 20,040 rows"),
        ("50", True, None),
        ("50", False, None),
    ],
)
def test_a_range_longer_than_the_time_of_its_table_is_refused(
    tmp_path: Path, seconds: str, rates: bool, said: str | None
) -> None:
    """20,000 rows of 20 series, 0.05 s apart."""
    text = WORKLOAD.replace('range = { rows = "length" }', f"range = {{ seconds = {seconds} }}")
    text = text if rates else text.replace("rates = ", "# ")
    if said is None:
        assert operations(planned(write_study(tmp_path, workload=text)))
        return
    found = problems(tmp_path, workload=text)
    assert found.count("operations.all.range.seconds") == 1 and said in found


@pytest.mark.parametrize(
    "gen, span_s", [("time_us_of_rows", 3.0), ("series_time", pytest.approx(151 * 0.2 * 41.2, rel=1e-2))]
)
def test_the_time_of_a_table_is_that_of_the_column_of_the_range(gen: str, span_s: float) -> None:
    by = {
        "time_us_of_rows": {"kind": "time", "period_us": 1_000},
        "series_time": {"kind": "series_time", "median_period_ms": 200, "sigma": 1.0},
    }
    table = Table("t", (Column("at", "time_us", by[gen]),), series=20)
    assert time_span_s(table, "at", 3_000) == span_s


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    text = WORKLOAD.replace("ORDER BY time", "").replace(
        'params.from = { gen = "range", end = "from" }\n', ""
    )
    said = problems(tmp_path, workload=text.replace(":from", "0"))
    assert 'end = "from"' in said and "ORDER BY" in said


def test_a_role_may_extract_from_a_table_that_is_loaded_and_stays(tmp_path: Path) -> None:
    head = STUDY.partition("[[steps]]")[0].replace('kind = "steps"', 'kind = "mixed"')
    head = head.replace("warm.rows_per_s", "users.rows_per_s")
    roles = '[roles.users]\noperation = "all"\ncalls = 3\n'
    loaded = head.replace("[load", "[load") + "[load]\nrows = 20_000\n" + roles
    (extract,) = operations(planned(write_study(tmp_path, loaded)))
    assert extract["range"]["rows"] == 20_000
    assert "has no rows that are loaded and stay" in problems(tmp_path, head + roles)
    writers = '[roles.writers]\noperation = "load"\ntable = "values"\nrows = { total = 9_000 }\nbatch_rows = 1_000\n'
    insert = '[operations.load]\nkind = "insert"\n'
    assert "has no rows that are loaded and stay" in problems(
        tmp_path, head + roles + writers, WORKLOAD + insert
    )
    deep = loaded + "depth = 2\n"
    assert "a session reads one answer to its end" in problems(tmp_path, deep)
