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
from inrush.stats.measures import study_record
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

    after: mean latency of each interval behind it, ns. written: bytes that the server writes in each interval.
    """
    where = {"segment": 0, "role": role, "op": "query", "kind": "latency"}
    end_ns = (WRITING + len(after)) * DT
    tables = {
        "segments": [{"segment": 0, "kind": "drive", "phase": "measure", "end_ns": end_ns, "ended_by": "work"}],
        "repetitions": [
            {"segment": 0, "role": "writers", "end_ns": WRITING * DT, "ops": 9, "ok": 9, "rows": 900},
            {"segment": 0, "role": role, "end_ns": end_ns, "ops": len(after), "ok": len(after), "rows": 1},
        ],
        "hist": [
            *({**where, "t_ns": k * DT, **synthetic.hist([900 * MS])} for k in range(WRITING)),
            *({**where, "t_ns": (WRITING + k) * DT, **synthetic.hist([ns])} for k, ns in enumerate(after)),
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
        ("still becoming faster at the end", [(60 - k) * MS for k in range(30)]),
        ("too short to know what rest is", [50 * MS] * 4 + [10 * MS] * (LEAST_INTERVALS - 5)),
        ("nobody reads behind it", []),
    ],
)
def test_what_did_not_settle_has_no_figure(why: str, after: list[int]) -> None:
    assert settled(course(after)) == {}, why


def test_calls_that_failed_are_no_fast_answers() -> None:
    failure = {"segment": 0, "role": "readers", "op": "query", "outcome": "refused", "count": 1}
    assert settled(course([50 * MS] * 8 + [10 * MS] * 22, failures=[failure])) == {}


def test_one_slow_interval_at_rest_is_noise_and_two_together_are_not() -> None:
    times = np.arange(30, dtype=np.float64)
    mean = np.full(30, 10.0)
    mean[[5, 12]] = 90.0
    assert settled_ns((times, mean)) == 0.0
    mean[[11, 12]] = 90.0
    assert settled_ns((times, mean)) == 13.0


@given(st.lists(st.floats(0.5, 2.0), min_size=LEAST_INTERVALS, max_size=60), st.floats(0.1, 100.0))
def test_it_is_never_in_what_it_is_compared_with_and_knows_no_unit(noise: list[float], unit: float) -> None:
    times, mean = np.arange(len(noise), dtype=np.float64), np.array(noise)
    found = settled_ns((times, mean))
    assert found is None or found < len(noise) - len(noise) // 3 + 1
    assert settled_ns((times, mean * unit)) == found


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
seconds = 4
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
    figures = found.runs[0].figures
    assert 0 <= figures["busy.users.settled_s"] < 2
    assert figures["busy.users.settled_bytes"] >= 0
    assert "busy.writers.settled_s" not in figures
