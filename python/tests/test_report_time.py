"""The report is made of intervals and buckets: a thousand times the operations take it no longer."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from inrush.report.report import write_report
from inrush.stats.record import StudyRecord
from tests import synthetic

#: CPU of one report may differ so much for other reasons.
SLACK = 1.5
#: Until they agree: the least of several rounds is what the work costs, the others met a busy machine.
ROUNDS = 12
#: More values than this fill no further buckets worth the time; each then stands for many.
MOST_DRAWN = 10**5


def recorded(ops: int) -> StudyRecord:
    """Three blocks of one point whose every run made `ops` calls, of latencies drawn anew, in the same intervals."""
    record = synthetic.study({("sqlite", 1000): 4.0}, blocks=3, interval_s=0.05)
    values = min(ops, MOST_DRAWN)
    drawn = synthetic.hist(np.random.default_rng(1).lognormal(np.log(1e6), 1.0, values).astype(int).tolist())
    many = ops // values
    drawn |= {
        "count": [many * c for c in drawn["count"]],
        "n": many * drawn["n"],
        "sum_ns": many * drawn["sum_ns"],
    }
    assert drawn["n"] == ops
    runs = []
    for run in record.runs:
        hists = [{**h, **drawn} for h in run.rows("hist")]
        repetitions = [{**s, "ops": ops, "ok": ops, "rows": 1000 * ops} for s in run.rows("repetitions")]
        held = run.rows("intervals")
        intervals = [{**i, "ops": ops // len(held), "rows": 1000 * ops // len(held)} for i in held]
        made = {"hist": hists, "repetitions": repetitions, "intervals": intervals}
        tables = {name: synthetic.table(name, rows) for name, rows in made.items()}
        runs.append(replace(run, tables={**run.tables, **tables}, _rows={}))
    return replace(record, runs=runs)


def cpu_s(record: StudyRecord, path: Path) -> float:
    """CPU of reading the tables and writing the page; each round reads them afresh."""
    fresh = replace(record, runs=[replace(r, _rows={}) for r in record.runs])
    before = time.process_time()
    write_report(fresh, path)
    return time.process_time() - before


def test_report_time_does_not_grow_with_the_number_of_operations(tmp_path: Path) -> None:
    few, many = recorded(10**4), recorded(10**7)
    few_page, many_page = tmp_path / "few.html", tmp_path / "many.html"
    cpu_s(few, few_page)  # loads what draws
    least_few = least_many = float("inf")
    for _ in range(ROUNDS):
        least_few = min(least_few, cpu_s(few, few_page))
        least_many = min(least_many, cpu_s(many, many_page))
        if least_many <= SLACK * least_few:
            break
    assert least_many <= SLACK * least_few
    assert many_page.stat().st_size <= 1.1 * few_page.stat().st_size
