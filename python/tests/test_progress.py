"""The line that a study says of itself: its rates are those of the last moments, however seldom a sample is due."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from inrush.report.live.clock import StudyClock
from inrush.report.live.run_lines import written_per_s
from inrush.report.live.seen import StudySeen
from inrush.report.live.snapshot import snapshot
from inrush.report.live.terminal import line
from inrush.text import show_s
from tests import live_events
from tests.test_run import Planned

ROWS, CALLS = 5_000, 20
EVERY_S = 0.25


def beat(
    at_s: float, rows: int, ops: int, repetition: int = 0, rate: float = 0.0, began_s: float = 0.0
) -> dict[str, Any]:
    roles = {"ports": live_events.role(rows, ops, rows_per_s=rate)}
    return dict(live_events.progress(at_s, roles, segment=3, repetition=repetition, began_s=began_s))


class Run(Planned):
    """A planned run whose writers are those named."""

    def __init__(self, writers: Sequence[str] = ()) -> None:
        super().__init__(0, [])
        self.writers = writers

    @property
    def plan(self) -> dict[str, Any]:
        work = {"kind": "rows", "table": 0, "rows": 10**9, "batch_rows": 100}
        roles = [
            {
                "name": name,
                "work": work,
                "schedule": {"kind": "closed"},
                "until": {"kind": "work"},
                "operations": [{"operation": "put", "weight": 1}],
            }
            for name in self.writers
        ]
        drive = {"kind": "drive", "phase": "measure", "limit_ns": 0}
        segments = [{"kind": "load", "phase": "load", "limit_ns": 0}] * 3 + [drive]
        operations = [{"name": "put", "kind": "insert"}]
        return {
            **super().plan,
            "operations": operations,
            "segments": [{**s, "roles": roles} for s in segments],
        }


class Study:
    """A study of one run, by the line that is said of it."""

    def __init__(self, *writers: str) -> None:
        run: Any = Run(writers)
        self.seen = StudySeen({}, [run], 0.0)
        self.seen.begun(1, 1, run, 0.0)

    def event(self, event: Any) -> None:
        begun: Any = {
            "event": "segment",
            "index": 3,
            "label": event["label"],
            "kind": "drive",
            "phase": "",
            "t_ns": 0,
        }
        if self.seen.segment is None:
            self.seen.event(begun, 0.0)
        self.seen.event(event, 0.0)

    def line(self) -> str:
        return line(snapshot(self.seen, [], [], "", 0.0))


def rate_in(line: str) -> str:
    (shown,) = (part for part in line.split(" · ") if part.endswith("/s"))
    assert shown.startswith("now "), "no rate of the run, which its end says"
    return shown.removeprefix("now ")


@pytest.mark.parametrize("ends_at_s", [30.0, 30.25, 30.5, 30.75])
def test_a_sample_a_second_is_one_rate_at_every_moment(ends_at_s: float) -> None:
    study = Study()
    for k in range(int(ends_at_s / EVERY_S) + 1):
        at_s = k * EVERY_S
        study.event(beat(at_s, rows=int(at_s) * ROWS, ops=int(at_s) * CALLS))
    assert rate_in(study.line()) == "5.00 k rows/s"


def load_beat(at_s: float, rows: int, **more: Any) -> dict[str, Any]:
    loaded = {"rows": 30_000_000 + rows, "of": 100_000_000, "gaps": 0, "gaps_s": 0.0, **more}
    return {**beat(at_s, rows, 3), "label": "load", "loaded": loaded, "left_s": 1_800.0}


def test_a_load_says_how_far_it_is_how_fast_now_its_gaps_and_when_it_ends() -> None:
    study = Study()
    study.event(load_beat(100, 4_000_000))
    study.event(load_beat(105, 4_200_000, gaps=2, gaps_s=200.0))
    line = study.line()
    assert rate_in(line) == "40.0 k rows/s", "of the last moments, and not since the load began"
    parts = line.split(" · ")
    assert parts[1:4] == ["load", "34,200,000 of 100,000,000 rows, 34 %", "2 gaps, 3 min"]
    at = time.strftime("%H:%M", time.localtime(1_800))
    assert parts[4] == f"the load ends at {at}" and parts[-1] == f"30 min left, until {at}"


def test_one_event_alone_says_its_own_rate() -> None:
    study = Study()
    study.event(beat(0.25, rows=ROWS, ops=CALLS, rate=20_000))
    assert rate_in(study.line()) == "20.0 k rows/s"


def test_a_repetition_begins_to_count_anew() -> None:
    study = Study()
    for k in range(9):
        study.event(beat(k, rows=k * ROWS, ops=k * CALLS))
    for k in range(3):
        study.event(beat(9 + k, rows=k * 1_000, ops=k, repetition=1, began_s=9.0))
    assert rate_in(study.line()) == "1.00 k rows/s"


def test_a_last_word_a_moment_after_the_first_one_makes_no_rate_of_that_moment() -> None:
    study = Study()
    study.event(beat(100.5, rows=50_000, ops=50, began_s=100.0))
    study.event(beat(100.501, rows=60_000, ops=60, began_s=100.0))
    assert rate_in(study.line()) == "120 k rows/s", "and not 10,000,000"


def test_what_writes_no_rows_is_told_by_its_calls() -> None:
    study = Study()
    for k in range(5):
        study.event(beat(k, rows=0, ops=k * CALLS))
    assert rate_in(study.line()) == "20.0 calls/s"


def test_rows_that_are_deleted_or_read_are_in_no_rate_of_what_is_put_in() -> None:
    def detail(*writers: str) -> str:
        study = Study(*writers)
        for k in range(5):
            roles = {
                role: beat(k, rows=k * rows, ops=k * 10, rate=rows)["roles"]["ports"]
                for role, rows in {"ports/a": 3_000, "ports/b": 1_000, "deletes": 6_000, "fresh": 50}.items()
            }
            study.event({**beat(k, 0, 0), "roles": roles})
            assert k > 0 or rate_in(study.line()) == ("4.00 k rows/s" if writers else "10.1 k rows/s")
        return rate_in(study.line())

    assert detail("ports/a", "ports/b", "ports") == "4.00 k rows/s"
    assert detail() == "10.1 k rows/s"


def test_a_runs_rate_is_of_all_that_write_side_by_side() -> None:
    figures = {
        "ports.rows_per_s": 10_000.0, "ports.makespan_s": 90.0,
        "jobs.rows_per_s": 9_500.0, "jobs.makespan_s": 85.0,
    }  # fmt: skip
    assert written_per_s(figures, {"ports", "jobs"}) == pytest.approx((900_000 + 807_500) / 90)
    assert written_per_s(figures, {"jobs"}) == pytest.approx(9_500)
    assert written_per_s(figures, {"readers"}) is None


def timed(*segments: tuple[str, float | None]) -> dict[str, Any]:
    """Phase, and seconds of a role's schedule; None: until its work is done, beside a role without an end of its own."""

    def until(s: float | None) -> dict[str, Any]:
        return {"kind": "work"} if s is None else {"kind": "time", "ns": int(s * 1e9)}

    roles = [[{"name": "r", "schedule": {"kind": "closed"}, "until": until(s)}] for _, s in segments]
    return {
        "segments": [
            {"kind": "drive", "phase": phase, "roles": of}
            for (phase, _), of in zip(segments, roles, strict=True)
        ]
    }


def test_time_left_of_the_first_run_is_the_study_s_by_its_schedules() -> None:
    study = StudyClock()
    plan = timed(("load", None), ("warm", 5.0), ("measure", 40.0), ("cool", 1.0))
    study.begun(1, 6, "mysql", 0, (), plan)
    study.event({**beat(1, rows=1, ops=1), "left_s": 8.4})
    assert study.left_s() == pytest.approx(6 * 46.0, abs=1.0), "the core speaks of the segment in hand"
    study.took_s = [50.0]
    study.begun(2, 6, "mysql", 0, (), plan)
    assert study.left_s() == pytest.approx(5 * 50.0, abs=1.0)


def test_runs_to_come_are_as_long_as_points_and_not_as_runs_on_the_null_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("inrush.report.live.clock.time.monotonic", lambda: now[0])
    study = StudyClock()
    for n, (point, took_s) in enumerate((("client overhead: null", 1.0), ("mysql", 16.0)), start=1):
        study.begun(n, 4, point, 0)
        now[0] += took_s
        study.ended()
        assert study.points_s == [16.0][: n - 1] and study.took_s[-1] == took_s
    study.begun(3, 4, "mysql", 1)
    assert study.left_s() == pytest.approx(2 * 16.0)


def test_nothing_says_how_long_the_first_of_several_runs_is_that_ends_with_its_work() -> None:
    study = StudyClock()
    study.begun(1, 6, "mysql", 0, (), timed(("measure", None)))
    study.event({**beat(1, rows=1, ops=1), "left_s": 8.4})
    assert study.left_s() is None
    study.begun(6, 6, "mysql", 0, (), timed(("measure", None)))
    study.event({**beat(1, rows=1, ops=1), "left_s": 8.4})
    assert study.left_s() == pytest.approx(8.4)


def test_a_forecast_of_centuries_says_no_more_than_that() -> None:
    assert show_s(5.5e13) == show_s(float("inf")) == "more than 1,000 days"
    assert (show_s(86_400 * 4 + 3 * 3600), show_s(71 * 3600)) == ("4 days 3 h", "71 h 0 min")
