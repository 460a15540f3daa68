"""What is seen of a study while it runs: figures of the moment, steps over time, what is near a limit."""

from __future__ import annotations

import json
import time
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from inrush.report.live.calls import Calls, histogram, quantile_s
from inrush.report.live.distance import distances, figures_so_far, makespans
from inrush.report.live.seen import StudySeen
from inrush.report.live.series import RoleSlice, RunSeries, Slice
from inrush.report.live.snapshot import snapshot, step_rows
from inrush.report.live.terminal import Plain, Terminal, line, words
from inrush.report.live.usage import Using
from inrush.report.live.view import SeriesPlace, View
from inrush.results.histogram import of_values
from inrush.results.schema import RESULT_SCHEMA
from tests.live_events import latencies, progress, role, usage
from tests.test_run import Planned, begin

STUDY: dict[str, Any] = {
    "name": "quickstart",
    "id": "quickstart-1",
    "title": "Quick <start>",
    "question": "How fast?",
}
MS = 1_000_000


class Run(Planned):
    """A planned run with a measured segment of its own limit."""

    @property
    def plan(self) -> dict[str, Any]:
        drive = {
            "kind": "drive",
            "label": "measure",
            "phase": "measure",
            "limit_ns": 100 * 10**9,
            "roles": [
                {
                    "name": "writers",
                    "operations": [],
                    "sessions": 1,
                    "schedule": {"kind": "closed"},
                    "until": {"kind": "time", "ns": 60 * 10**9},
                }
            ],
        }
        return {**super().plan, "segments": [{"kind": "control", "label": "create", "limit_ns": 0}, drive]}


def seen(study: dict[str, Any] | None = None, runs: int = 3) -> StudySeen:
    found = StudySeen(study or STUDY, [Run(k, []) for k in range(runs)], 1_000.0)  # type: ignore[arg-type]
    found.begun(1, runs, found.planned[0], 1_000.0)
    begun: Any = {
        "event": "segment",
        "index": 1,
        "label": "measure",
        "kind": "drive",
        "phase": "measure",
        "t_ns": 0,
    }
    found.event(begun, 1_000.0)
    return found


def shown(of: StudySeen, now_s: float = 1_010.0) -> dict[str, Any]:
    return snapshot(of, [], [], "", now_s)


def run_for(of: StudySeen, seconds: int, rows: int = 1_000, ops: int = 10, ns: int = 2 * MS) -> None:
    """So many seconds at an even rate, two events in each: the core's intervals end with every second one."""
    for half in range(1, 2 * seconds + 1):
        whole = half % 2 == 0
        now = role(rows * half // 2, ops * half // 2, [ns] * ops if whole else ())
        of.event(progress(half / 2, {"writers": now}), 1_000.0 + half / 2)


# --- percentiles


def test_percentiles_are_those_of_the_merge_of_all_that_was_said() -> None:
    rng = np.random.default_rng(1)
    values = rng.lognormal(14, 1, 5_000).astype(int)
    calls = Calls()
    for part in np.array_split(values, 7):
        calls.add(latencies(part.tolist()))
    whole = of_values(values.tolist())
    for q in (0.5, 0.9, 0.99, 0.999):
        expected = min(whole.quantile_ns(q), values.max())
        assert quantile_s(calls.histogram(), q) == pytest.approx(expected / 1e9)
    assert (calls.n, calls.sum_ns, calls.max_ns) == (5_000, values.sum(), values.max())


def test_calls_that_failed_are_slower_than_every_other() -> None:
    calls = Calls()
    calls.add(latencies([MS] * 95), failed=5)
    assert quantile_s(calls.histogram(), 0.95) == pytest.approx(1e-3, rel=0.01)
    assert quantile_s(calls.histogram(), 0.99) is None, "no time is as long"


# --- the series of a run


def test_steps_become_fewer_and_keep_every_call() -> None:
    series = RunSeries(most=8)
    for k in range(100):
        of = RoleSlice(10, 1, 0, histogram(latencies([(k + 1) * MS])))
        series.add(Slice(k + 1.0, 1.0, {"writers": of}, {"client": 0.5}))
    assert len(series.steps) <= 8 and series.version > 0
    closed = [*series.steps, *([series.open] if series.open else [])]
    assert sum(step.roles["writers"].rows for step in closed) == 1_000
    merged = [step.roles["writers"].latency for step in closed]
    assert sum(h.n for h in merged if h is not None) == 100
    assert sum(step.busy_s["client"] for step in closed) == pytest.approx(50)
    assert sum(step.seconds for step in closed) == 100.0 and closed[-1].end_s == 100.0
    assert all(later.end_s == step.end_s + later.seconds for step, later in pairwise(closed))


def test_a_step_says_rates_and_percentiles_of_its_own_time() -> None:
    of = seen()
    run_for(of, 4)
    rows = step_rows(of.series.steps)
    assert len(rows) == 4
    assert {(r["rows"]["writers"], r["calls"]["writers"]) for r in rows} == {(1_000.0, 10.0)}
    assert rows[-1]["times"]["writers"]["p99"] == pytest.approx(2.0, rel=0.01)


def test_a_repetition_that_begins_anew_takes_nothing_from_the_sums() -> None:
    of = seen()
    run_for(of, 2)
    again = role(300, 3, [MS] * 3)
    of.event(progress(3.0, {"writers": again}, repetition=1, began_s=2.5), 1_003.0)
    assert of.totals[("", "writers")].rows == 2_300
    assert of.roles["writers"].measured_s == pytest.approx(2.5), "between repetitions no call was measured"
    assert (
        sum(s.roles["writers"].rows for s in of.series.steps)
        + (of.series.open.roles["writers"].rows if of.series.open else 0)
        == 2_300
    )


def test_a_step_has_the_time_in_which_its_roles_worked_and_none_between_two_segments() -> None:
    of = seen()
    # The wall clock says nothing of a pause before the segment, and jumps in it.
    for half in range(1, 9):
        now = role(500 * half, 5 * half, [2 * MS] * 5)
        of.event(progress(30.0 + half / 2, {"writers": now}, began_s=30.0), 5_000.0 - half)
    rows = step_rows(of.series.steps)
    assert [r["rows"]["writers"] for r in rows] == [1_000.0] * 4
    # Nor is what lies between a repetition and the next one.
    for half in (1, 2):
        now = role(500 * half, 5 * half, [2 * MS] * 5)
        of.event(progress(60.0 + half / 2, {"writers": now}, repetition=1, began_s=60.0), 5_030.0 + half)
    assert step_rows(of.series.steps)[-1]["rows"]["writers"] == 1_000.0


# --- what is used


def test_what_counts_up_is_shown_a_second_and_a_gauge_as_it_is() -> None:
    using = Using()
    using.look(
        [
            usage("cpu_s", 1.0, 10.0),
            usage("rss_bytes", 1.0, 5e6),
            usage("dev_busy_s", 1.0, 2.0, "host", "vda"),
        ]
    )
    using.look([usage("cpu_s", 1.5, 10.6), usage("rss_bytes", 1.5, 7e6)])
    assert "busy_cores" not in using.now[("client", "")], "half a second shows the kernel's clock ticks"
    using.look([usage("cpu_s", 2.0, 11.5), usage("dev_busy_s", 2.0, 2.25, "host", "vda")])
    assert using.now[("client", "")] == {"busy_cores": 1.5, "rss_bytes": 7e6}
    assert using.now[("host", "vda")] == {"busy_share": 0.25}


# --- limits


def test_the_distance_to_rules_and_limits_is_that_of_the_measured_phase_so_far() -> None:
    study = {
        **STUDY,
        "stop": [{"along": "rows", "above": {"writers.makespan_s": 8.0}}],
        "accept": {"writers.latency_p99_s": 0.001, "writers.errors": 0, "writers.sample_p99_s": 1.0},
    }
    of = seen(study)
    run_for(of, 4)
    found = {d.figure: d for d in distances(of, 1_004.0)}
    assert found["writers.makespan_s"].share == pytest.approx(0.5)
    assert found["writers.latency_p99_s"].share == pytest.approx(2.0, rel=0.01), "crossed"
    assert (found["writers.errors"].now, found["writers.errors"].share) == (0.0, 0.0)
    assert found["writers.sample_p99_s"].now is None, "known when the run has ended"
    assert (found["measure.time_s"].now, found["measure.time_s"].limit) == (4.0, 100.0)
    crossed = [limit["crossed"] for limit in shown(of)["limits"] if limit["now"] == "2.00 ms"]
    assert crossed == [True]


def test_calls_that_failed_are_attempts_and_no_calls_a_second() -> None:
    of = seen()
    of.event(progress(2.0, {"readers": role(0, 100, [MS] * 80, errors=20, failed={"timeout": 20})}), 1_002.0)
    figures = figures_so_far(of)
    assert (figures["readers.ops_per_s"], figures["readers.attempts_per_s"]) == (40.0, 50.0)


def with_roles(of: StudySeen, *roles: dict[str, Any]) -> StudySeen:
    """roles: of the measured segment's plan."""
    plan = of.planned[0].plan
    plan["segments"][1]["roles"] = list(roles)
    of.run = replace_plan(of.planned[0], plan)
    return of


def replace_plan(run: Any, plan: dict[str, Any]) -> Any:
    return type(
        "Replaced",
        (),
        {"plan": plan, "run_id": run.run_id, "point": run.point, "labels": run.labels, "block": 1},
    )()


WRITERS = {
    "name": "writers",
    "until": {"kind": "work"},
    "work": {"kind": "rows", "rows": 1_950, "batch_rows": 100},
}


def test_a_role_whose_work_has_ended_keeps_its_rate_and_its_makespan() -> None:
    readers = {"name": "readers", "until": {"kind": "time", "ns": 8 * 10**9}, "work": {"kind": "endless"}}
    of = with_roles(seen(), WRITERS, readers)
    for half in range(1, 17):
        # 20 calls in two seconds.
        wrote = role(min(500 * half, 1_950), min(5 * half, 20), [MS] * 5 if half <= 4 else ())
        of.event(progress(half / 2, {"writers": wrote, "readers": role(0, half, [MS])}), 1_000.0 + half / 2)
    figures = {**figures_so_far(of), **makespans(of)}
    assert (figures["writers.rows_per_s"], figures["writers.makespan_s"]) == (975.0, 2.0)
    assert (figures["readers.ops_per_s"], figures["readers.makespan_s"]) == (2.0, 8.0)
    # Its next repetition has a time of its own.
    of.event(progress(10.5, {"writers": role(500, 5, [MS] * 5)}, repetition=1, began_s=10.0), 1_010.5)
    assert of.roles["writers"].measured_s == 2.5


def test_percentiles_are_of_calls_that_end_now_and_there_are_none_in_a_stall() -> None:
    of = seen()
    run_for(of, 4)
    assert shown(of)["roles"]["writers"]["times"]["p99"]
    for half, known in ((1, True), (4, True), (5, False), (9, False)):
        of.event(progress(4.0 + half / 2, {"writers": role(4_000, 40)}), 1_004.0 + half / 2)
        assert bool(shown(of)["roles"]["writers"]["times"]["p99"]) is known, half


def test_a_segment_without_roles_shows_nothing_of_the_segment_before_as_now() -> None:
    of = seen()
    run_for(of, 5)
    assert shown(of)["roles"]["writers"]["rows_per_s"] > 0 and of.rates()
    measured = of.roles["writers"].measured_rows
    of.event(
        {"event": "segment", "index": 2, "label": "drop", "kind": "control", "phase": "", "t_ns": 0}, 1_010.0
    )
    role = shown(of)["roles"]["writers"]
    assert (role["rows_per_s"], role["ops_per_s"], role["backlog"]) == (0.0, 0.0, 0)
    assert set(role["times"].values()) == {None} and role["lag"] is None and role["due"] is None
    assert of.roles["writers"].measured_rows == measured > 0, "the measured phase keeps what it has"
    assert "rows/s" not in line(shown(of))


def test_the_warm_up_is_in_no_figure() -> None:
    of = seen()
    of.event(progress(1.0, {"writers": role(500, 5, [MS] * 5)}, phase="warm"), 1_001.0)
    assert figures_so_far(of).get("writers.rows_per_s") is None
    assert of.totals[("", "writers")].rows == 500


# --- the snapshot


def test_a_snapshot_is_plain_json_of_bounded_size() -> None:
    of = seen()
    run_for(of, 30)
    for k in range(200):
        of.note(f"note {k}", 1_030.0)
    text = json.dumps(shown(of), allow_nan=False)
    assert len(text) < 16_000
    assert json.loads(text)["roles"]["writers"]["rate"] == "1.00 k rows/s"


def test_errors_are_shown_by_class_and_calls_that_are_due() -> None:
    of = seen()
    late = role(
        10, 4, [MS], errors=3, failed={"timeout": 2, "lost": 1}, due=9, backlog=5, late=2, lag_p99_ms=4.0
    )
    of.event(progress(1.0, {"readers": late}), 1_001.0)
    found = shown(of)["roles"]["readers"]
    assert found["outcomes"] == {"timeout": 2, "lost": 1}
    assert (found["due"], found["backlog"], found["late"], found["lag"]) == (9, 5, 2, "4.00 ms")


def test_what_comes_next_are_the_runs_behind_the_one_in_hand() -> None:
    of = seen(runs=8)
    named = shown(of)["next"]
    assert [r["id"] for r in named["runs"]] == [r.run_id for r in of.planned[1:6]] and named["more"] == 2
    of.begun(8, 8, of.planned[7], 1_020.0)
    assert shown(of)["next"] == {"runs": [], "more": 0}


def test_sessions_that_say_nothing_any_more_are_said_to_be_silent() -> None:
    of = seen()
    run_for(of, 2)
    assert shown(of, 1_009.0)["run"]["silent_s"] == 7.0


def test_a_terminal_shows_the_same_in_words() -> None:
    of = seen({**STUDY, "accept": {"writers.errors": 0}}, runs=3)
    of.event(progress(1.0, {"writers": role(1_000, 10, [2 * MS] * 10)}), 1_001.0)
    failed = role(2_000, 22, [2 * MS] * 10, errors=2, failed={"timeout": 2}, due=30, backlog=8, late=1)
    resources = [usage("cpu_s", 1.0, 1.0), usage("rss_bytes", 1.0, 5e6)]
    of.event(progress(2.0, {"writers": failed}, resources=resources), 1_002.0)
    first, *rest = words(shown(of, 1_002.0))
    assert first.startswith("[1/3] ") and "measure" in first
    said = "\n".join(rest)
    for part in ("writers  1.00 k rows/s", "p50 2.", "8 due, 1 late", "2 errors: 2 timeout", "client: memory 5.00 MB",
                 "accepted at most 0", "next: "):  # fmt: skip
        assert part in said, (part, said)


def test_between_two_runs_the_charts_are_those_of_the_run_before(tmp_path: Path) -> None:
    view = View(lambda _: None, begin(tmp_path), [Run(0, []), Run(1, [])])  # type: ignore[list-item]
    first, second = view.seen.planned
    view.begun(1, 2, first)
    for at_s in (1, 2, 3):
        view.event(progress(at_s, {"writers": role(1_000 * at_s, 10 * at_s, [2 * MS] * 10)}))
    place, rows = view.steps_since(SeriesPlace())
    assert len(rows) == 3 and view.look()["series"]["before"] == ""
    view.begun(2, 2, second)
    assert view.steps_since(place) == (place, []), "nothing is taken from a page that has them"
    assert len(view.steps_since(SeriesPlace())[1]) == 3, "nor kept from one that is opened now"
    assert view.look()["series"]["before"] == first.point
    view.event(progress(1, {"writers": role(500, 5, [MS] * 5)}))
    later, rows = view.steps_since(place)
    assert later.series != place.series and len(rows) == 1 and view.look()["series"]["before"] == ""


def test_a_run_that_ends_leaves_one_line_that_says_something(tmp_path: Path) -> None:
    said: list[str] = []
    folder = begin(tmp_path)
    view = View(said.append, folder, [Run(0, [])])  # type: ignore[list-item]
    run = view.seen.planned[0]
    (folder.path / run.run_id).mkdir()
    (folder.path / run.run_id / "run.json").write_text(
        json.dumps({"schema": RESULT_SCHEMA, "status": "failed"})
    )
    view.begun(1, 1, run)
    view.ended(run, {"status": "failed", "failure": {"message": "no room"}})
    lines = [message["text"] for message in view.look()["messages"]]
    assert lines == said and len(lines) == 1 and lines[0].endswith("no room")


def test_without_a_terminal_a_line_of_the_same_snapshot_is_said_every_ten_seconds(tmp_path: Path) -> None:
    said: list[str] = []
    now = [100.0]
    view = Plain(said.append, begin(tmp_path), [Run(0, [])], clock=lambda: now[0])  # type: ignore[list-item]
    view.begun(1, 1, view.seen.planned[0])
    for second in range(1, 25):
        now[0] += 1
        view.event(progress(second, {"writers": role(1_000 * second, 10 * second, [2 * MS] * 10)}))
    assert len(said) == 2
    assert said[0].startswith("[1/1] fake 0 · ")
    assert "now 1.00 k rows/s" in said[0] and "p99 2." in said[0] and "client 0.50 cores" in said[0]


def test_a_terminal_is_drawn_from_the_view_with_ended_runs_above(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    console = Console(force_terminal=True, width=100, height=30, file=(out := StringIO()), color_system=None)
    view = View(console.print, folder, [Run(0, [])])  # type: ignore[list-item]
    with Terminal(console, view):
        view.begun(1, 1, view.seen.planned[0])
        for second in (1, 2):
            view.event(progress(second, {"writers": role(1_000 * second, 10, [2 * MS] * 10)}))
        view.note("a note of the study")
        time.sleep(0.7)
    said = out.getvalue()
    assert "a note of the study" in said and "[1/1] fake 0" in said and "writers  1.00 k rows/s" in said


def test_the_limit_of_a_segment_is_not_how_long_rows_of_files_take() -> None:
    """ "60 min left, until 00:28" stood over runs of 16 s: the core takes such rows for endless, and the limit for their time."""
    work = {"kind": "rows", "table": 0, "first_row": 0, "rows": 2**62, "batch_rows": 200}

    class OfFiles(Run):
        @property
        def plan(self) -> dict[str, Any]:
            found = super().plan
            found["segments"][1]["roles"][0] |= {"work": work, "until": {"kind": "work"}}
            return found

    of = StudySeen(STUDY, [OfFiles(k, []) for k in range(2)], 1_000.0)  # type: ignore[arg-type]
    for n in (1, 2):
        of.begun(n, 2, of.planned[n - 1], 1_000.0)
        of.event(progress(1.0, {"writers": role(300, 2)}, share=9e-17, left_s=3_599.0), 1_001.0)
        found = shown(of, 1_001.0)
        assert (found["run"]["share"], found["run"]["left_s"]) == (None, None)
        assert found["left"] is None if n == 1 else found["left"].endswith(" s"), found["left"]
        of.clock.took_s = [16.0]
