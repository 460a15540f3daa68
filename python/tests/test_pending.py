"""Roles with events: their queue over time, whether they keep up, and the knee of an engine of known capacity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.analysis.answer import answer
from inrush.analysis.parts import FAILS, HOLDS
from inrush.analysis.points import Analysis
from inrush.analysis.sentence import sentence
from inrush.border.segment import RolePlan
from inrush.engines import server
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.plan.plan import plan_study
from inrush.plan.search import bisection_order, bracket, is_wanted
from inrush.report.over_time import panels
from inrush.results.histogram import of_values
from inrush.results.store import Results
from inrush.stats.pending import LATE_SHARE, Queue, event_quantile_ns
from inrush.stats.record import Absent, RunRecord, StudyRecord
from inrush.stats.run_figures import figures_of_run
from inrush.stats.trials import Trial
from inrush.study.reading import load_study
from tests import synthetic
from tests.synthetic import SECOND, hist, table
from tests.terminal import Inrush

POLL_S = 0.1


@dataclass(frozen=True)
class Stored:
    """A batch: when it was due, sent and stored, seconds."""

    due: float
    sent: float
    done: float


def served(
    per_s: float, for_s: float, batch: int, service_s: Sequence[float], subscribers: int = 1
) -> list[Stored]:
    """Batches of equally spaced events by subscribers of one queue; service times go round."""
    free, found = [0.0] * subscribers, []
    for k in range(round(per_s * for_s / batch)):
        due, at = k * batch / per_s, free.index(min(free))
        sent = max(due, free[at])
        free[at] = sent + service_s[k % len(service_s)]
        found.append(Stored(due, sent, free[at]))
    return found


def record(
    per_s: float, batch: int, batches: Sequence[Stored], late_s: float = 0.0, **totals: int
) -> RunRecord:
    """As the core would have recorded it. late_s: what each batch would have been sooner with a client on time."""
    t0, end = SECOND, max(b.done for b in batches)
    where = {"segment": 2, "repetition": 0, "role": "subscribers", "op": "insert"}
    rows: dict[str, list[dict[str, Any]]] = {"intervals": [], "hist": []}
    for poll in range(math.ceil(end / POLL_S)):
        begins, ends = poll * POLL_S, (poll + 1) * POLL_S
        at = {**where, "t_ns": t0 + round(begins * SECOND), "dt_ns": round(POLL_S * SECOND)}
        waiting = sum(b.due < ends < b.sent for b in batches)
        mine = [b for b in batches if begins < b.done <= ends]
        rows["intervals"].append({**at, "backlog": waiting, "rows": batch * len(mine), "ops": len(mine)})
        for kind, seconds in (
            ("latency", [b.done - b.due for b in mine]),
            ("on_time", [b.done - b.due - late_s for b in mine]),
            ("service", [b.done - b.sent for b in mine]),
        ):
            if seconds:
                rows["hist"].append({**at, "kind": kind, **hist([round(s * SECOND) for s in seconds])})
    n = len(batches)
    of_all = {"segment": 2, "repetition": 0, "role": "subscribers", "start_ns": t0, "end_ns": t0 + round(end * SECOND),
              "rows": n * batch, "ops": n, "ok": n, "sessions": 1, **totals}  # fmt: skip
    segment = {
        "segment": 2,
        "kind": "drive",
        "phase": "measure",
        "start_ns": t0,
        "end_ns": of_all["end_ns"],
        "ended_by": "work",
    }
    role = {"name": "subscribers", "operations": [{"operation": "insert", "weight": 1}], "sessions": 1, "depth": 1,
            "schedule": {"kind": "constant", "rate_per_s": per_s / batch},
            "work": {"kind": "rows", "table": 0, "first_row": 0, "rows": n * batch, "batch_rows": batch}}  # fmt: skip
    made = synthetic.run("simulated")
    plan = {
        **made.plan,
        "tables": [{"name": "t"}],
        "segments": [{}, {}, {"kind": "drive", "phase": "measure", "roles": [role]}],
    }
    tables = {**made.tables, "repetitions": table("repetitions", [of_all]), "segments": table("segments", [segment]),
              **{name: table(name, found) for name, found in rows.items()}}  # fmt: skip
    return RunRecord("r", plan, made.env, made.summary, tables)


def figures(
    per_s: float, service_s: Sequence[float], batch: int = 100, for_s: float = 10.0, **more: Any
) -> dict[str, float]:
    batches = served(per_s, for_s, batch, service_s, more.pop("subscribers", 1))
    found = figures_of_run(record(per_s, batch, batches, **more))
    return {name.removeprefix("subscribers."): value for name, value in found.items()}


# --- the rules


def test_a_queue_that_a_stall_made_and_that_was_worked_off_does_not_grow() -> None:
    stalled = Queue([0, *range(100, 1_100, 100), 400, 100, 0, 0], 14)
    assert stalled.grew == 10 and stalled.at_end == 0 and not stalled.grows
    assert Queue([0, *range(100, 1_100, 100)], 11).grows
    assert not Queue([0, 100, 200, 300, 400, 500], 6).grows, "five polls are not six"


def test_a_poll_with_less_than_half_of_the_highest_begins_the_count_anew() -> None:
    assert Queue([10, 20, 30, 14, 40, 50, 60], 7).grew == 3
    assert Queue([10, 20, 30, 15, 40, 50, 60], 7).grew == 6
    assert Queue([10, 0, 20, 30, 40, 50], 6).grew == 4
    assert Queue([10, 0, 20], 3).most == 20 and Queue([], 0).most == Queue([], 0).at_end == 0


def test_polls_after_the_last_event_are_no_growth() -> None:
    assert Queue([0, 1, 2, 3, 4, 5, 6, 7], 4).grew == 3


def test_a_failed_store_and_a_full_queue_are_not_kept_up_with() -> None:
    assert figures(5_000, [0.01])["keeps_up"] == 1
    assert figures(5_000, [0.01], errors=1)["keeps_up"] == 0
    assert figures(5_000, [0.01], unsent=3)["keeps_up"] == 0
    assert figures(5_000, [0.01], rows=4_000)["keeps_up"] == 0


def test_a_rate_one_percent_too_high_grows_before_its_batches_are_late() -> None:
    found = figures(1_010, [0.001], batch=1)
    assert found["event_p99_s"] < LATE_SHARE * 10, "by latency alone it would be kept up with"
    assert (found["keeps_up"], found["pending_end"]) == (0, found["pending_max"])


def test_an_event_waits_for_its_batch_and_then_as_long_as_the_batch() -> None:
    # A thousand a second in batches of a hundred: the one that came j-th from the end waits j ms, and the batch 10 ms.
    found = figures(1_000, [0.01], batch=100)
    for name in ("event", "event_on_time"):
        assert found[f"{name}_p50_s"] == pytest.approx(0.0595, rel=0.03)
        assert found[f"{name}_p99_s"] == pytest.approx(0.1085, rel=0.03)


def test_what_only_a_late_client_missed_is_said_by_the_other_end() -> None:
    late = figures(9_000, [0.01], late_s=0.0)
    assert (late["keeps_up"], late["keeps_up_on_time"]) == (1, 1)
    # 0.3 s late at the end, a client's own: 2 % of 10 s are allowed.
    batches = [Stored(b.due, b.sent, b.done + 0.3) for b in served(9_000, 10, 100, [0.01])]
    shifted = [Stored(b.due, b.sent + 0.3, b.done) for b in batches]
    found = figures_of_run(record(9_000, 100, shifted, late_s=0.3))
    assert (found["subscribers.keeps_up"], found["subscribers.keeps_up_on_time"]) == (0, 1)


def test_the_time_line_of_a_run_draws_its_queue() -> None:
    run = record(12_000, 100, served(12_000, 2, 100, [0.01]))
    (panel,) = [p for p in panels(run) if p.title == "pending rows"]
    highest = max(panel.rows, key=lambda row: row["y"])
    # 2,000 rows a second more than are stored: 4,000 when the events end, after 2 s.
    assert highest["t"] == pytest.approx(2.0, abs=0.11) and highest["y"] == pytest.approx(4_000, rel=0.06)


# --- capacity


def knee(capacity: float, batch: int, subscribers: int, seed: int) -> tuple[float, float]:
    """What a search over rates 5 % apart finds of an engine with service times that vary by a tenth either way."""
    random = Random(seed)
    mean = subscribers * batch / capacity
    service = [mean * random.uniform(0.9, 1.1) for _ in range(997)]
    rates = [capacity / 8 * 1.05**k for k in range(90)]
    found: list[Trial | None] = [None] * len(rates)
    for place in bisection_order(len(rates)):
        if is_wanted(place, found, pilot=True):
            up = figures(rates[place], service, batch, subscribers=subscribers)["keeps_up"]
            found[place] = Trial.HELD if up else Trial.FAILED
    now = bracket(found)
    return rates[now.holds], rates[now.fails]


@pytest.mark.parametrize(
    ("batch", "capacity", "subscribers"),
    [
        (1, 150.0, 1),
        pytest.param(1_000, 20_000.0, 1, marks=pytest.mark.slow),
        pytest.param(10_000, 60_000.0, 1, marks=pytest.mark.slow),
        (100, 8_000.0, 4),
    ],
)
def test_the_knee_of_an_engine_of_known_capacity_is_found_within_5_percent_twice(
    batch: int, capacity: float, subscribers: int
) -> None:
    first, second = (knee(capacity, batch, subscribers, seed) for seed in (1, 2))
    for holds, fails in (first, second):
        assert fails == pytest.approx(1.05 * holds)
        assert 0.95 * capacity <= holds <= 1.05 * capacity
    assert first[0] == pytest.approx(second[0], rel=0.051)


def test_a_subscriber_slower_than_its_source_is_told_by_pending_before_latency() -> None:
    """A source a tenth faster than its subscriber: the queue grows at six polls before any batch is 2 % of the time late."""
    per_s, service_s, for_s = 11_000, 0.01, 10.0
    batches = served(per_s, for_s, 100, [service_s])
    pending = [sum(b.due < t < b.sent for b in batches) for t in (POLL_S * k for k in range(1, 101))]
    told = next(k for k in range(1, 101) if Queue(pending[:k], k).grows) * POLL_S
    late = next(b.done for b in batches if b.done - b.due > service_s + LATE_SHARE * for_s)
    assert told < late / 2, f"pending tells at {told} s, latency at {late} s"


def test_of_a_server_that_stopped_latency_says_nothing_and_pending_everything() -> None:
    batches = [b for b in served(5_000, 10, 100, [0.01]) if b.done < 5]
    found = figures_of_run(record(5_000, 100, batches, rows=100 * len(batches), unsent=500 - len(batches)))
    assert found["subscribers.latency_p99_s"] == math.inf, "what was never sent is slower than all others"
    assert found["subscribers.keeps_up"] == 0


# --- the answer


def searched(capacity: float, rates: Sequence[float], **failed: int) -> Analysis:
    """Two runs of each rate against one subscriber of known capacity, in batches of 1,000."""
    runs = []
    for order, per_s in enumerate(rates):
        for block in (1, 2):
            made = record(
                per_s,
                1_000,
                served(per_s, 10, 1_000, [1_000 / capacity]),
                **(failed if per_s > capacity else {}),
            )
            labels = {**made.labels, "factors": {"engine": "postgresql", "events_per_s": per_s}, "block": block,
                      "order": order, "engine": "postgresql"}  # fmt: skip
            plan = {
                **made.plan,
                "labels": labels,
                "target": {"engine": "postgresql", "url": "postgresql://db"},
            }
            summary = {**made.summary, "labels": labels, "block": block}
            runs.append(RunRecord(f"b{block:02d}-{order:03d}", plan, made.env, summary, made.tables))
    asked = {"kind": "sustained", "of": "subscribers.keeps_up", "along": "events_per_s", "per": ["engine"]}
    search = {"along": "events_per_s", "of": "subscribers.keeps_up", "at_least": 1}
    document = {**synthetic.STUDY, "answer": asked, "search": search, "accept": {}}
    return analyse(
        StudyRecord(document, runs, [Absent({"engine": "postgresql", "events_per_s": 40_000}, "stopped", "")])
    )


def test_the_answer_names_the_rate_the_knee_and_what_a_step_that_did_not_run_would_say() -> None:
    analysis = searched(12_500, [6_000, 12_000, 13_200, 26_000])
    found = answer(analysis)
    assert found is not None
    (part,) = found.parts
    assert part.best == (12_000,)
    tries = {t.value: (t.word, t.count) for t in part.tries}
    assert (tries[12_000], tries[13_200]) == ((HOLDS, 2), (FAILS, 0))
    assert part.note == (
        "the knee lies between 12,000 and 13,200, and a search that reports the step after the last that held would say 13,200"
    )
    assert "PostgreSQL keeps up with 12,000 events/s, at 13,200 its queue grows (2 runs)" in sentence(
        analysis, found
    )


def test_of_rates_that_were_all_kept_up_with_there_is_no_knee() -> None:
    analysis = searched(50_000, [6_000, 12_000])
    found = answer(analysis)
    assert found is not None and found.parts[0].note == "nothing higher was tried"
    assert "keeps up with at least 12,000 events/s (2 runs)" in sentence(analysis, found)


def test_failed_inserts_are_no_queue_that_grows() -> None:
    analysis = searched(12_500, [12_000, 13_200], errors=3)
    assert "at 13,200 inserts fail" in sentence(analysis, answer(analysis))


# --- times of events


@given(
    st.integers(1, 40),
    st.lists(st.integers(0, 200), min_size=1, max_size=20),
    st.floats(0.01, 1.0),
    st.floats(0.5, 50),
)
def test_an_events_time_is_its_wait_for_a_full_batch_and_the_latency_of_the_batch(
    batch: int, latencies: list[int], q: float, gap_ns: float
) -> None:
    # Below 256 ns each value has a bucket of its own.
    events = sorted(latency + j * gap_ns for latency in latencies for j in range(batch))
    exact = events[max(1, math.ceil(round(q * len(events), 9))) - 1]
    found = event_quantile_ns(of_values(latencies), batch, gap_ns, q)
    assert found == pytest.approx(exact, abs=1.01) or found == pytest.approx(
        events[min(len(events) - 1, events.index(exact) + 1)], abs=1.01
    )


# --- as a study


STUDY = """
schema = 1
title = "A subscriber of known capacity"
question = "Is the knee found?"
expect = "One server, 50 ms an insert of 1,000 events: 20,000 events/s."
workload = "archive"
kind = "fixed_volume"
engines = ["simulated"]
options.simulated = { service_ns = 50_000_000, distribution = "fixed", servers = 1 }
sizes = { attributes = 100, pinned = 66, period_s = 315_360 }
factors.events_per_s = [4_000, 16_400, 17_200, 18_050, 19_000, 20_000, 21_000, 22_000, 23_000, 80_000]
schedule = { mode = "closed", at_least_s = 0 }
search = { along = "events_per_s", of = "subscribers.keeps_up", at_least = 1 }
record = { interval_s = 0.1 }
[roles.subscribers]
operation = "insert"
table = "att_scalar_devdouble_ro"
sessions = 1
batch_rows = 1_000
events = { per_s = "@events_per_s", for_s = 3, queue_rows = 10_000 }
[repeats]
count = 1
[answer]
kind = "sustained"
of = "subscribers.keeps_up"
along = "events_per_s"
per = ["engine"]
"""


def planned(tmp_path: Path, change: tuple[str, str] = ("", "")) -> RolePlan:
    file = tmp_path / "known.toml"
    file.write_text(STUDY.replace(*change) if change[0] else STUDY)
    plan = plan_study(load_study(str(file)), {"simulated": server("simulated")})
    run = next(r for r in plan.runs if r.labels["factors"]["events_per_s"] == 20_000)
    return next(role for s in run.plan["segments"] if s["kind"] == "drive" for role in s["roles"])


def test_events_are_planned_as_full_batches_at_their_rate(tmp_path: Path) -> None:
    role = planned(tmp_path)
    assert role["schedule"] == {"kind": "constant", "rate_per_s": 20.0}
    assert role["work"] == {"kind": "rows", "table": 0, "first_row": 0, "rows": 60_000, "batch_rows": 1_000}
    assert role["queue_calls"] == 10
    assert planned(tmp_path, ("queue_rows = 10_000", "queue_rows = 90_500"))["queue_calls"] == 90
    assert "queue_calls" not in planned(tmp_path, (", queue_rows = 10_000", ""))


def test_few_large_batches_are_still_ten(tmp_path: Path) -> None:
    assert planned(tmp_path, ("for_s = 3", "for_s = 0.1"))["work"]["rows"] == 10_000  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("for_s = 3, ", ""), "for_s"),
        (("for_s = 3", "for_s = 0"), "for_s"),
        (("sessions = 1", "sessions = 1\nrows = { total = 5 }"), "events say how many rows"),
        (
            ("sessions = 1", 'sessions = 1\nschedule = { mode = "constant", rate_per_s = 5 }'),
            "events say how many rows",
        ),
        (("sessions = 1", "sessions = 1\nsamples = { count = 5 }"), "events say how many rows"),
        (('per_s = "@events_per_s"', "per_s = 0"), "per_s"),
    ],
)
def test_what_events_cannot_mean_is_refused(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    if "samples" in change[1]:
        said = "samples say how many rows"
    with pytest.raises(UsageError, match=said):
        planned(tmp_path, change)


@pytest.mark.slow
def test_the_knee_of_a_simulated_engine_is_found_and_a_full_queue_ends_its_run(
    inrush: Inrush, tmp_path: Path
) -> None:
    file = tmp_path / "known.toml"
    file.write_text(STUDY)
    said = inrush("run", str(file), "--json")
    # 3: the machine was busy.
    assert said.code in (0, 3), said.err
    results = Results(Path(said.json["run_dir"]))
    runs = {
        (r.doc["block"], r.labels["factors"]["events_per_s"]): r
        for r in results.runs
        if r.labels["engine"] == "simulated"
    }
    kept: dict[int, float] = {}
    for (_, rate), run in runs.items():
        up = figures_of_run(RunRecord(run.id, run.plan, run.env, run.doc, run.tables))["subscribers.keeps_up"]
        kept[rate] = min(up, kept.get(rate, 1.0))
    # A busy machine may lower what holds, never raise it: the capacity is 20,000.
    assert max(rate for rate, up in kept.items() if up) <= 21_000
    assert min(rate for rate, up in kept.items() if not up) <= 22_000
    full = [r for (_, rate), r in runs.items() if rate == 80_000]
    for run in full:
        ends = {s["ended_by"] for s in run.tables["segments"].to_pylist()}
        assert "queue" in ends
