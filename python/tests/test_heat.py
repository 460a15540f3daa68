"""The map of time and latency shows every call once, whatever the length of the run, on a page that stays small."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.analysis.answer import answer
from inrush.guards.analyse import analyse
from inrush.report.figures import figures
from inrush.report.heat import MOST_STEPS, cells, chart, steps_of
from inrush.report.report import write_report
from inrush.results.histogram import merge, of_table
from inrush.stats.record import RunRecord, StudyRecord
from tests import synthetic
from tests.synthetic import SECOND


def over_time(intervals: list[list[int]], schedule: str = "constant") -> RunRecord:
    """A run whose writers' latencies (ns) are known interval by interval, of a second each."""
    run = synthetic.run(
        "sqlite",
        {"batch_rows": 1000},
        makespan_s=float(len(intervals)),
        schedule=schedule,
        lag_ns=[1000] * 10,
        latency_ns=[10**6],
        totals={"ops": sum(map(len, intervals)), "ok": sum(map(len, intervals))},
    )
    whole = next(h for h in run.rows("hist") if h["kind"] == "latency")
    rows: list[dict[str, Any]] = [
        {**whole, "t_ns": SECOND + i * SECOND, "dt_ns": SECOND, **synthetic.hist(of)}
        for i, of in enumerate(intervals)
    ]
    others = [h for h in run.rows("hist") if h["kind"] != "latency"]
    tables = {**run.tables, "hist": synthetic.table("hist", rows + others)}
    return replace(run, tables=tables, _rows={})


@given(st.lists(st.lists(st.integers(0, 10**11), max_size=4), min_size=1, max_size=3 * MOST_STEPS))
def test_every_call_is_in_exactly_one_cell_and_merged_steps_are_the_whole(intervals: list[list[int]]) -> None:
    run = over_time(intervals)
    steps = steps_of(run, "writers")
    assert len(steps) <= MOST_STEPS
    assert sum(r["n"] for r in cells(steps)) == sum(map(len, intervals))
    if steps:
        whole = of_table(run.tables["hist"], ("kind",))[("latency",)]
        merged = merge([s.latency for s in steps])
        assert (merged.n, merged.bucket.tolist(), merged.count.tolist()) == (
            whole.n, whole.bucket.tolist(), whole.count.tolist(),
        )  # fmt: skip
    for r in cells(steps):
        assert 0 < r["low"] < r["high"] and r["t"] < r["u"]


def test_the_line_of_p99_is_broken_where_calls_failed() -> None:
    run = over_time([[10**6] * 90 for _ in range(10)])
    rows = [
        {"segment": 2, "role": "writers", "op": "insert", "t_ns": SECOND + i * SECOND, "dt_ns": SECOND, "ops": 90,
         "errors": 10 if i == 4 else 0}
        for i in range(10)
    ]  # fmt: skip
    failing = replace(run, tables={**run.tables, "intervals": synthetic.table("intervals", rows)}, _rows={})
    steps = steps_of(failing, "writers")
    assert [s.latency.failed for s in steps] == [10 if i == 4 else 0 for i in range(10)]
    drawn = chart(steps).to_dict()
    p99 = [r["p99"] for rows in drawn["datasets"].values() for r in rows if "p99" in r]
    assert len(p99) == 20 and p99[8] is None and p99[9] is None and None not in p99[:8] + p99[10:]


def test_a_stall_stands_where_and_as_high_as_it_was() -> None:
    intervals = [[10**6] * 100 for _ in range(20)]
    intervals[7] = [9 * 10**8] * 100
    high = [r for r in cells(steps_of(over_time(intervals), "writers")) if r["high"] > 100]
    assert [(r["t"], r["u"], r["n"]) for r in high] == [(7.0, 8.0, 100)]
    assert high[0]["low"] <= 900 <= high[0]["high"]


@pytest.mark.parametrize(
    ("schedule", "seconds", "shown"), [("constant", 10, True), ("closed", 10, False), ("closed", 40, True)]
)
def test_a_map_is_drawn_of_paced_and_of_long_runs(schedule: str, seconds: int, shown: bool) -> None:
    run = over_time([[10**6, 2 * 10**6, 3 * 10**6]] * seconds, schedule)
    analysis = analyse(StudyRecord(synthetic.STUDY, [run]))
    assert any(f.name.startswith("heat-") for f in figures(analysis, answer(analysis))) == shown


def test_two_calls_a_second_are_no_map() -> None:
    run = over_time([[10**6, 2 * 10**6]] * 40, "constant")
    analysis = analyse(StudyRecord(synthetic.STUDY, [run]))
    assert not any(f.name.startswith("heat-") for f in figures(analysis, answer(analysis)))


@pytest.mark.slow
def test_the_page_of_a_run_of_hours_stays_below_two_megabytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    hours = [rng.lognormal(14, 1.5, 30).astype(int).tolist() for _ in range(2 * 3600)]
    page = tmp_path / "report.html"
    write_report(StudyRecord(synthetic.STUDY, [over_time(hours)]), page)
    assert "heat-0" in page.read_text() and page.stat().st_size < 2_000_000
