"""What a host took from a run: the part that it left alone is told from the rest, and nothing is deleted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.analysis.verdicts import Outcome
from inrush.guards.analyse import analyse
from inrush.guards.lateness import client_on_time
from inrush.report.steal import steal_table
from inrush.results.schema import SCHEMAS
from inrush.stats.record import FloatArray, RunRecord, StudyRecord
from inrush.stats.run_figures import figures_of_run
from inrush.stats.steal_free import StealFree, covered_s, steal_free_intervals, steal_free_part
from tests import synthetic
from tests.synthetic import SECOND

MS = 1_000_000
CORES = 2
#: Seconds, from the run's first: its measured segment lasts from 1 to 21.
SECONDS = range(1, 21)
#: In these the host took half of the processors.
TAKEN = frozenset({5, 6, 11})
#: Steal is counted twice a second and a stretch asked with a count more at each end: their neighbours count as taken too.
TOUCHED = frozenset({4, 5, 6, 7, 10, 11, 12})


def ran(taken: Sequence[int] | frozenset[int] = TAKEN, samples: Sequence[dict[str, Any]] = ()) -> RunRecord:
    """Fifty paced calls a second, 20 µs late where the host took nothing, 5 ms where it did."""
    calls = [
        {"segment": 2, "role": "writers", "op": "insert", "t_ns": t * SECOND, "dt_ns": SECOND, "kind": kind,
         **synthetic.hist([value + (5 * MS if t in taken else 0)] * 50)}
        for t in SECONDS
        for kind, value in (("lag", 20_000), ("latency", 2 * MS))
    ] + [
        {"segment": 2, "role": "writers", "op": "insert", "t_ns": t * SECOND, "dt_ns": SECOND, "kind": "on_time",
         **synthetic.hist([2 * MS - 20_000] * 50)}
        for t in SECONDS
    ]  # fmt: skip
    took_s, counts = 0.0, []
    for half in range(2 * (SECONDS.stop + 1) + 1):
        host = {"cpu_total_s": CORES * half / 2, "cpu_steal_s": took_s, "cpu_busy_s": half / 2 + took_s}
        counts += [
            {"role": "host", "t_ns": half * SECOND // 2, "metric": m, "value": v} for m, v in host.items()
        ]
        took_s += 0.5 * CORES * 0.5 if half // 2 in taken else 0.0
    run = synthetic.run(
        "clickhouse", makespan_s=20.0, rows=50_000, batch_rows=50, schedule="constant", latency_ns=[], resources=False,
        more={"hist": calls, "resources": counts},
    )  # fmt: skip
    if samples:
        table = pa.Table.from_pylist(list(samples), SCHEMAS["samples"])
        schedule = {"kind": "samples", "every_ns": SECOND, "parts": 1}
        parts = [
            {**synthetic.role_plan(name), "schedule": schedule}
            for name in dict.fromkeys(s["role"] for s in samples)
        ]
        segments = [*run.plan["segments"][:-1], {**run.plan["segments"][-1], "roles": parts}]
        run = replace(
            run, plan={**run.plan, "segments": segments}, tables={**run.tables, "samples": table}, _rows={}
        )
    return run


def sample(number: int, role: str, due_s: float, took_s: float | None) -> dict[str, Any]:
    due_ns = round(due_s * SECOND)
    done_ns = 0 if took_s is None else due_ns + round(took_s * SECOND)
    return {"segment": 2, "repetition": 0, "role": role, "sample": number, "due_ns": due_ns, "collected_ns": due_ns,
            "sent_ns": due_ns, "done_ns": done_ns, "rows": 5, "missing": 0 if done_ns else 1, "seen_ns": 0,
            "sent_on_time_ns": due_ns, "done_on_time_ns": done_ns}  # fmt: skip


def steal_free(run: RunRecord) -> StealFree:
    found = steal_free_part(run)
    assert found is not None
    return found


def test_calls_that_ended_while_the_host_took_processors_are_not_in_the_calm_part() -> None:
    run = ran()
    found = steal_free(run)
    assert (found.seconds, found.of_s) == (len(SECONDS) - len(TOUCHED), len(SECONDS))
    assert figures_of_run(run)["writers.lag_p99_s"] == pytest.approx(5e-3, rel=0.02)
    assert found.figures["writers.lag_p99_s"] == pytest.approx(20e-6, rel=0.02)
    assert found.figures["writers.latency_p99_s"] == pytest.approx(2e-3, rel=0.02)


@given(st.sets(st.integers(1, 20), max_size=20))
def test_no_second_of_theft_or_next_to_one_is_calm_and_every_other_is(taken: set[int]) -> None:
    touched = {t for t in SECONDS if {t - 1, t, t + 1} & taken}
    found = steal_free(ran(frozenset(taken)))
    assert (found.seconds, found.of_s) == (len(SECONDS) - len(touched), len(SECONDS))
    assert ("writers.lag_p99_s" in found.figures) is (len(touched) < len(SECONDS))


def test_intervals_are_kept_or_left_out_whole() -> None:
    run = ran()
    intervals = run.tables["intervals"]
    begins = intervals.column("t_ns").to_pylist()
    assert len(begins) > 100

    def steal_in(begin_ns: FloatArray, end_ns: FloatArray) -> FloatArray:
        assert (end_ns > begin_ns).all()
        return np.where(begin_ns < begins[7], 1.0, 0.0)

    kept = steal_free_intervals(run, steal_in)
    assert kept is not None and kept.column("t_ns").to_pylist() == begins[7:]
    empty = replace(run, tables={**run.tables, "intervals": intervals.slice(0, 0)}, _rows={})
    assert steal_free_intervals(empty, steal_in) is empty.tables["intervals"]


def test_without_theft_the_calm_part_is_the_run() -> None:
    run = ran(taken=())
    whole = figures_of_run(run)
    assert {k: whole[k] for k in steal_free(run).figures} == steal_free(run).figures


def test_a_host_that_does_not_tell_what_it_takes_has_no_calm_part() -> None:
    assert steal_free_part(synthetic.run(resources=False)) is None
    assert (
        steal_free_part(replace(ran(), tables={k: v for k, v in ran().tables.items() if k != "hist"})) is None
    )


def test_a_sample_is_calm_where_all_its_parts_are_from_due_to_stored() -> None:
    parts = ("ports/a", "ports/b")
    run = ran(samples=[
        *(sample(0, role, 2.0, 0.1) for role in parts),  # long before
        sample(1, "ports/a", 3.0, 0.1), sample(1, "ports/b", 3.0, 2.5),  # one part lasts into the theft
        *(sample(2, role, 8.6, 0.3) for role in parts),  # between
        sample(3, "ports/a", 11.1, 0.2), sample(3, "ports/b", 11.1, None),  # in it, and never stored
        *(sample(4, role, 15.0, 0.2) for role in parts),  # after
    ])  # fmt: skip
    found = steal_free(run).figures
    assert (figures_of_run(run)["ports.samples"], found["ports.samples"]) == (5, 3)
    assert found["ports/a.samples"] == 3
    assert (found["ports.sample_s"], found["ports.in_time_share"]) == (pytest.approx(0.3), 1.0)


def test_the_run_stays_as_it_was() -> None:
    run = ran()
    before = figures_of_run(run)
    steal_free(run)
    assert figures_of_run(run) == before


def test_a_late_client_is_told_how_late_it_was_where_its_host_left_it_alone() -> None:
    run = ran()
    verdict = client_on_time(run, figures_of_run(run))
    assert verdict is not None and verdict.outcome is Outcome.INVALID
    assert (
        "in the 13 of 20 s in which it gave at most 1 %, lag p99 was 0.0201 ms (writers). Repeat"
        in verdict.sentence
    )
    everywhere = ran(taken=SECONDS)
    verdict = client_on_time(everywhere, figures_of_run(everywhere))
    assert verdict is not None and verdict.sentence.endswith("to others (steal): repeat when it does not")


def test_a_client_that_was_late_by_itself_is_not_told_of_its_host() -> None:
    late = [
        {"segment": 2, "role": "writers", "op": "insert", "t_ns": t * SECOND, "dt_ns": SECOND, "kind": "lag",
         **synthetic.hist([5 * MS] * 50)}
        for t in SECONDS
    ]  # fmt: skip
    run = ran(taken=())
    on_time = [{**row, "kind": "on_time", **synthetic.hist([0] * 50)} for row in late]
    held = [r for r in run.rows("hist") if r["kind"] not in ("lag", "on_time")] + on_time
    run = replace(run, tables={**run.tables, "hist": synthetic.table("hist", [*held, *late])}, _rows={})
    verdict = client_on_time(run, figures_of_run(run))
    assert verdict is not None and verdict.outcome is Outcome.INVALID and "steal" not in verdict.sentence


def test_the_page_shows_both_where_the_host_took_and_nothing_where_it_did_not() -> None:
    def shown(run: RunRecord) -> str:
        return steal_table(analyse(StudyRecord(synthetic.STUDY, [run])))

    page = re.sub(r' data-label="[^"]*"', "", shown(ran()))
    assert '<th class="num">lag p99</th>' in page and '<td class="num">7.5 %</td>' in page
    assert '<td class="num">20.0, 13.0</td><td>writers</td><td class="num">5.05 ms · 20.1 µs</td>' in page
    assert "runs that lost more" not in page, "it is shown"
    both = [ran(), ran(taken=SECONDS)]
    assert "1 of the 2 runs that lost more are shown" in steal_table(
        analyse(StudyRecord(synthetic.STUDY, both))
    )
    assert shown(ran(taken=())) == ""
    assert shown(ran(taken=SECONDS)) == ""  # nothing to set beside


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9)), max_size=12))
def test_time_that_intervals_share_counts_once(spans: list[tuple[int, int]]) -> None:
    covered = {t for begin, length in spans for t in range(begin, begin + length)}
    begins, lengths = (np.array([s[i] for s in spans], np.float64) * 1e9 for i in (0, 1))
    assert covered_s(begins, lengths) == pytest.approx(len(covered))
