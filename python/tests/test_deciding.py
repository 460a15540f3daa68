"""Stop rules: which figures may stop a sweep, and what is said where one may not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Outcome, Verdict
from inrush.guards.analyse import analyse
from inrush.run.stop_rules import StopRules
from inrush.stats.record import Absent, RunRecord, StudyRecord
from tests import synthetic
from tests.synthetic import SECOND
from tests.test_plan import planned

POINT, LARGER = "postgresql batch_rows=200", "postgresql batch_rows=500"
RULE = {"along": "batch_rows", "above": {"writers.makespan_s": 1.5}}
MS = 1_000_000


def pilot(**how: Any) -> RunRecord:
    """Two seconds of makespan, above the rule's limit."""
    return synthetic.run("postgresql", {"batch_rows": 200}, 0, **how)


def ended(how: str) -> dict[str, Any]:
    """A segment that did not end as planned."""
    return {"more": {"segments": [{"segment": 4, "kind": "drive", "label": "measure", "phase": "cool",
                                   "start_ns": SECOND, "end_ns": 2 * SECOND, "ended_by": how}]}}  # fmt: skip


LOST = {"segment": 3, "table": "t", "item": "rows", "expected": "50000", "found": "49000", "holds": False}
#: Cause -> a pilot run whose makespan it makes invalid, and the guard that says so.
INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "rows are missing": ({"more": {"proofs": [LOST]}}, "rows proven"),
    "answers are wrong": ({"totals": {"wrong": 1}}, "answers right"),
    "the client had no core left": ({"client_cores": 7.9}, "client not saturated"),
    "its sessions computed": ({"totals": {"cpu_ns": 2 * SECOND}}, "client not saturated"),
    "the core is a debug build": ({"env": {"core_build_profile": "dev"}}, "release build"),
    "two servers ran": ({"doc": {"data_servers": [1, 2]}}, "one server"),
    "the disk cannot": ({"env": {"disk_write_bytes_per_s": 1e3}}, "below physical ceilings"),
    "it was stopped": (ended("stop"), "ended as planned"),
    "it ended by an error": (ended("error"), "ended as planned"),
}


def asked(record: RunRecord, point: str = LARGER, rule: Any = RULE) -> tuple[str | None, list[str]]:
    """Why a larger value is not run, and what is noted."""
    notes: list[str] = []
    sealed: Any = SimpleNamespace(
        id=record.run_id, labels={"point": POINT}, doc={**record.summary, "status": "done"}, plan=record.plan,
        env=record.env, tables=record.tables,
    )  # fmt: skip
    rules = StopRules(planned(engines=["postgresql"], stop=[rule]), notes.append)
    reasons = {rules(SimpleNamespace(point=point), [sealed]) for _ in range(3)}
    (reason,) = reasons
    return reason, notes


def test_a_valid_figure_above_its_limit_stops_the_sweep_and_nothing_is_noted() -> None:
    assert asked(pilot()) == ("writers.makespan_s = 2 > 1.5 at batch_rows = 200", [])
    assert asked(pilot(makespan_s=1.0)) == (None, [])


@pytest.mark.parametrize("cause", INVALID)
def test_an_invalid_figure_stops_no_sweep_and_says_so_once(cause: str) -> None:
    how, guard = INVALID[cause]
    reason, notes = asked(pilot(**how))
    assert reason is None
    (note,) = notes
    assert note.startswith(f"writers.makespan_s = 2 > 1.5 at {POINT} stops nothing: ")
    assert f"writers.makespan_s is invalid: {guard}: " in note


def test_a_figure_that_the_cause_does_not_touch_still_stops() -> None:
    """A late client moves latencies; how many calls failed is counted."""
    late = pilot(schedule="constant", latency_ns=[200 * MS] * 50, lag_ns=[150 * MS] * 50, failed=5)
    rule = {"along": "batch_rows", "above": {"writers.errors": 4}}
    assert asked(late, rule=rule) == ("writers.errors = 5 > 4 at batch_rows = 200", [])
    reason, notes = asked(late, rule={"along": "batch_rows", "above": {"writers.latency_p50_s": 0.15}})
    assert reason is None and "lateness decides" in notes[0]


def test_of_several_limits_one_in_doubt_is_enough() -> None:
    late = pilot(schedule="constant", makespan_s=12.0, latency_ns=[200 * MS] * 50, lag_ns=[150 * MS] * 50)
    both = {"along": "batch_rows", "above": {"writers.makespan_s": 1.5, "writers.latency_p50_s": 0.15}}
    reason, notes = asked(late, rule=both)
    assert reason is None and "writers.latency_p50_s is 0.2" in notes[0]


def test_a_run_cut_at_its_time_limit_stops_the_sweep_since_it_shows_the_least() -> None:
    reason, notes = asked(pilot(**ended("limit")))
    assert reason == (
        "writers.makespan_s = 2 > 1.5 at batch_rows = 200; that run was cut at its time limit, and shows the least"
    )
    assert notes == []


# --- the same in the report


def studied(record: RunRecord, absent: tuple[Absent, ...] = ()) -> Analysis:
    counted = synthetic.run("postgresql", {"batch_rows": 200}, 1)
    return analyse(StudyRecord({**synthetic.STUDY, "stop": [RULE]}, [record, counted], absent))


def verdict(analysis: Analysis) -> Verdict:
    return next(v for v in analysis.study_verdicts if v.guard == "stop rules stand")


def test_the_report_says_which_limit_was_crossed_by_a_figure_that_is_invalid() -> None:
    assert verdict(studied(pilot())).outcome is Outcome.PASS
    found = verdict(studied(pilot(client_cores=7.9)))
    assert found.outcome is Outcome.NOTE
    assert "batch_rows 200: writers.makespan_s is invalid: client not saturated" in found.sentence
    assert found.sentence.endswith("no larger value was stopped")


def test_points_that_such_a_figure_stopped_are_not_shown_to_be_beyond_the_limit() -> None:
    """As in results of before, or where the pilot's end told more than was known when the rule fired."""
    stopped = Absent({"engine": "postgresql", "batch_rows": 500}, "stopped", "writers.makespan_s = 2 > 1.5")
    found = verdict(studied(pilot(client_cores=7.9), (stopped,)))
    assert found.sentence.endswith("1 larger value stopped by it, not shown to be beyond the limit")
    elsewhere = Absent({"engine": "mysql", "batch_rows": 500}, "stopped", "")
    assert "no larger value" in verdict(studied(pilot(client_cores=7.9), (elsewhere,))).sentence


def test_a_study_without_stop_rules_has_nothing_to_check() -> None:
    analysis = analyse(StudyRecord(synthetic.STUDY, [pilot()]))
    assert verdict(analysis).outcome is Outcome.NOT_CHECKED
