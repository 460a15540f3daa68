"""Intervals follow the length of a run, and a run that is not long is recorded as it always was."""

from __future__ import annotations

from typing import Any

import pytest

from inrush.plan.intervals import MOST_INTERVALS, MOST_LOOKS, interval_s, watch_s
from inrush.plan.plan import plan_study
from inrush.report.plan_text import plan_lines
from inrush.study.reading import parse_study
from tests.strategies import fake_servers, small_tree, workload_tree

HOUR_S = 3_600.0


@pytest.mark.parametrize(
    ("hours", "interval", "watch"),
    [(0.001, 1, 0.2), (1, 1, 0.2), (2, 1, 0.2), (2.1, 2, 0.5), (8, 4, 1), (24, 12, 3), (168, 120, 20)],
)
def test_a_long_run_has_longer_intervals(hours: float, interval: float, watch: float) -> None:
    length_s = hours * HOUR_S
    assert interval_s(None, length_s) == interval
    assert watch_s(None, length_s) == watch
    assert length_s / interval <= MOST_INTERVALS and length_s / watch <= MOST_LOOKS


def test_what_a_study_says_is_what_it_gets() -> None:
    assert interval_s(0.25, 24 * HOUR_S) == 0.25
    assert watch_s(0.1, 24 * HOUR_S) == 0.1


def planned(measure_s: float, **changes: Any) -> dict[str, Any]:
    tree = small_tree(
        factors={"readers": [1]}, stop=[], kind="mixed", load={"rows": 100},
        roles={"users": {"operation": "pc_top", "sessions": "@readers"}},
    )  # fmt: skip
    tree |= {"schedule": {"measure_s": measure_s, "limit_s": 1e6}} | changes
    study = parse_study(tree, workload_tree(), name="small", file="small.toml", workload_file="w.toml")
    plan = plan_study(study, fake_servers())
    return {**plan.runs[0].plan, "lines": plan_lines(plan)}


def test_a_day_is_planned_in_intervals_of_twelve_seconds_and_says_so() -> None:
    plan = planned(24 * HOUR_S)
    assert plan["record"] == {"interval_ns": 12 * 10**9, "flush_ns": 12 * 10**9}
    assert plan["watch"]["every_ns"] == 3 * 10**9
    assert any(
        "86,400 s are recorded in intervals of 12 s, CPU and disks every 3 s" in x for x in plan["lines"]
    )


def test_two_hours_are_planned_as_before_and_say_nothing() -> None:
    plan = planned(2 * HOUR_S)
    assert plan["record"] == {"interval_ns": 10**9, "flush_ns": 2 * 10**9}
    assert plan["watch"]["every_ns"] == 200_000_000
    assert not any("are recorded in intervals" in x for x in plan["lines"])


def test_a_day_whose_study_says_its_intervals_has_those() -> None:
    plan = planned(24 * HOUR_S, record={"interval_s": 1, "watch_s": 1})
    assert plan["record"]["interval_ns"] == 10**9
    assert not any("are recorded in intervals" in x for x in plan["lines"])
