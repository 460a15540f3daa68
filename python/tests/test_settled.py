"""Readers behind the last insert: when they are as fast as at rest, and what the engine wrote until then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.guards.analyse import analyse
from inrush.results.store import Results
from inrush.stats.course import courses_of
from inrush.stats.measures import measured_windows, study_record
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from inrush.stats.settled import LEAST_INTERVALS, settled_ns
from tests import synthetic
from tests.steps import run_study_file
from tests.synthetic import SECOND
from tests.test_beside import WORKLOAD
from tests.undisturbed import undisturbed

DT, MS = SECOND // 10, SECOND // 1000
#: Intervals with inserts.
WRITING = 5


def course(
    after: Sequence[int],
    failures: Sequence[Mapping[str, Any]] = (),
    written: float = 1e6,
    role: str = "readers",
) -> RunRecord:
    """A run whose last insert was acknowledged after `WRITING` intervals, and whose readers went on.

    after: mean latency of each interval behind it, ns; 0: nothing was answered. written: bytes that the server writes in each interval.
    """
    where = {"segment": 0, "role": role, "op": "query", "dt_ns": DT}
    means = [900 * MS] * WRITING + list(after)
    end_ns = (WRITING + len(after)) * DT
    tables = {
        "segments": [{"segment": 0, "kind": "drive", "phase": "measure", "end_ns": end_ns, "ended_by": "work"}],
        "repetitions": [
            {"segment": 0, "role": "writers", "end_ns": WRITING * DT, "ops": 9, "ok": 9, "rows": 900},
            {"segment": 0, "role": role, "end_ns": end_ns, "ops": len(after), "ok": len(after), "rows": 1},
        ],
        "intervals": [{**where, "t_ns": k * DT, "ops": int(ns > 0)} for k, ns in enumerate(means)],
        "hist": [
            {**where, "kind": "latency", "t_ns": k * DT, **synthetic.hist([ns])} for k, ns in enumerate(means) if ns
        ],
        "resources": [
            {"role": "server", "metric": "write_bytes", "t_ns": k * DT, "value": k * written}
            for k in range(WRITING + len(after) + 1)
        ],
        "failures": failures,
    }  # fmt: skip
    operations = [{"name": "insert", "kind": "insert"}, {"name": "query", "kind": "query"}]
    roles = [synthetic.role_plan("writers"), synthetic.role_plan(role, "query")]
    plan = {
        "segments": [{"kind": "drive", "phase": "measure", "step": "work", "roles": roles}],
        "operations": operations,
        "labels": {},
    }
    held = {name: synthetic.table(name, rows) for name, rows in tables.items()}
    return replace(synthetic.run(), plan=plan, summary={}, tables=held, _rows={})


def settled(run: RunRecord) -> dict[str, float]:
    return {name: value for name, value in figures_of_run(run).items() if ".settled_" in name}


@pytest.mark.parametrize("role", ["readers", "readers/pc"])
def test_slow_answers_behind_the_last_insert_are_counted_until_they_are_as_at_rest(role: str) -> None:
    run = course([50 * MS] * 8 + [10 * MS] * 22, role=role)
    assert settled(run) == {"readers.settled_s": 0.8, "readers.settled_bytes": 8e6}


def test_readers_as_fast_as_at_rest_from_the_start_have_settled_at_once() -> None:
    assert settled(course([10 * MS] * 30)) == {"readers.settled_s": 0.0, "readers.settled_bytes": 0.0}


@pytest.mark.parametrize(
    ("why", "after"),
    [
        ("still becoming faster at the end", [(100 - 3 * k) * MS for k in range(30)]),
        ("too short to know what rest is", [50 * MS] * 4 + [10 * MS] * (LEAST_INTERVALS - 5)),
        ("nobody reads behind it", []),
    ],
)
def test_what_did_not_settle_has_no_figure(why: str, after: list[int]) -> None:
    assert settled(course(after)) == {}, why


def test_a_reader_is_judged_while_it_reads_whatever_goes_on_behind_it() -> None:
    run, longer = course([50 * MS] * 8 + [10 * MS] * 22), course([20 * MS] * 90, role="others")
    (segment,) = run.plan["segments"]
    others = [role for role in longer.plan["segments"][0]["roles"] if role["name"] == "others"]
    plan: Any = {**run.plan, "segments": [{**segment, "roles": [*segment["roles"], *others]}]}
    rows = {name: [*run.rows(name), *longer.rows(name)] for name in ("intervals", "hist")}
    rows["repetitions"] = [*run.rows("repetitions"), *longer.rows("repetitions")[1:]]
    tables = {**longer.tables, **{name: synthetic.table(name, held) for name, held in rows.items()}}
    found = settled(replace(run, plan=plan, tables=tables, _rows={}))
    assert (found["readers.settled_s"], found["others.settled_s"]) == (0.8, 0.0)


def test_calls_that_failed_are_no_fast_answers() -> None:
    failure = {"segment": 0, "role": "readers", "op": "query", "outcome": "refused", "count": 1}
    assert settled(course([50 * MS] * 8 + [10 * MS] * 22, failures=[failure])) == {}


def test_what_was_loaded_before_is_no_insert_beside_readers() -> None:
    """A study that only reads: its table was filled in a segment of its own, and then it was warmed."""
    run = course([50 * MS] * 8 + [10 * MS] * 22)
    plan: Any = {
        **run.plan,
        "segments": [*run.plan["segments"], {"kind": "drive", "phase": "load", "roles": []}],
    }
    tables = {**run.tables}
    rows = run.tables["repetitions"].to_pylist()
    rows[0]["segment"] = 1
    tables["repetitions"] = synthetic.table("repetitions", rows)
    assert settled(replace(run, plan=plan, tables=tables, _rows={})) == {}


def mean(*parts: tuple[int, float]) -> float | None:
    """Of a course of so many intervals of each mean latency."""
    values = np.concatenate([np.full(count, value) for count, value in parts])
    return settled_ns(np.arange(len(values), dtype=np.float64), values)


def test_one_slow_interval_is_noise_and_two_together_are_not() -> None:
    assert mean((5, 10.0), (1, 90.0), (24, 10.0)) == 0.0
    assert mean((1, 90.0), (29, 10.0)) == 0.0
    assert mean((11, 10.0), (2, 90.0), (17, 10.0)) == 13.0
    assert mean((8, 50.0), (21, 10.0), (1, 100.0)) == 8.0


@pytest.mark.parametrize(
    ("why", "parts"),
    [
        ("slow again at rest", [(8, 50.0), (15, 10.0), (2, 60.0), (5, 10.0)]),
        ("slower to its end", [(8, 50.0), (17, 10.0), (5, 60.0)]),
        ("no answer at rest", [(8, 50.0), (12, 10.0), (10, np.inf)]),
    ],
)
def test_what_is_not_at_rest_is_nothing_to_compare_with(why: str, parts: list[tuple[int, float]]) -> None:
    assert mean(*parts) is None, why


def test_intervals_without_an_answer_are_slow() -> None:
    """A query that was blocked for half a second answers once, and everything around it is fast."""
    run = course([10 * MS] * 5 + [0] * 5 + [510 * MS] + [10 * MS] * 24)
    assert settled(run) == {"readers.settled_s": 1.1, "readers.settled_bytes": 1.1e7}
    assert mean((5, 10.0), (5, np.inf), (1, 510.0), (19, 10.0)) == 11.0


@given(st.lists(st.floats(0.5, 2.0), min_size=LEAST_INTERVALS, max_size=60))
def test_it_is_never_in_what_it_is_compared_with(noise: list[float]) -> None:
    times, values = np.arange(len(noise), dtype=np.float64), np.array(noise)
    found = settled_ns(times, values)
    assert found is None or found <= len(noise) - len(noise) // 3


STUDY = """
schema = 1
title = "Settled"
question = "How long after the last insert are queries slow?"
expect = "Not long."
workload = "work.toml"
kind = "steps"
engines = ["sqlite"]
repeats = { count = 1, seed = 1, pilot = false }
record = { watch_s = 0.1, interval_s = 0.1 }
answer = { kind = "comparison", of = "busy.users.settled_s" }
[[steps]]
name = "busy"
do = "roles"
seconds = 7
[steps.roles.writers]
operation = "insert"
table = "events"
rows = { total = 5_000 }
batch_rows = 100
[steps.roles.users]
operation = "one"
schedule = { mode = "constant", rate_per_s = 200 }
"""


def test_users_of_a_real_engine_settle_when_its_last_row_is_in(tmp_path: Path) -> None:
    (tmp_path / "work.toml").write_text(WORKLOAD)
    study = tmp_path / "settled.toml"
    study.write_text(STUDY)
    with undisturbed():
        found = analyse(study_record(Results(run_study_file(study, tmp_path))))
    (run,), figures = [m.run for m in found.runs], found.runs[0].figures
    (segment,) = measured_windows(run)
    last_ns = max(r["end_ns"] for r in run.rows("repetitions") if r["role"].startswith("busy.writers"))
    (course,) = courses_of(run, segment, {("busy.users", "one"): "users"}, from_ns=last_ns).values()
    assert len(course.t_ns) > LEAST_INTERVALS and course.t_ns[0] >= last_ns
    # On a busy machine nothing is at rest.
    assert 0 <= figures.get("busy.users.settled_s", 0.0) < 7
    assert "busy.users.settled_bytes" not in figures, "it has no process of its own"
    assert "busy.writers.settled_s" not in figures
