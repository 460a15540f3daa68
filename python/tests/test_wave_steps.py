"""The rule of a wave on runs with steps: each step's throughput is judged by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from inrush.analysis.expected import expectation_marks
from inrush.guards.analyse import analyse
from inrush.stats.record import RunRecord, StudyRecord
from inrush.stats.waves import waves_of_run
from tests import synthetic
from tests.test_steps_alone import table as full_table
from tests.test_waves import DIPS, SECOND, N, T, noise

#: Step -> its roles: two loads, as of an archive and of an index built behind its rows, and readers beside writers.
STEPS = {"load": ("load",), "build": ("build",), "mixed": ("writers", "readers")}
LASTS_NS = N * SECOND // 10


def calls(seed: int, swings: bool) -> np.ndarray:
    """Of each interval; a thousand a second are fewer commits than the disk of synthetic runs can do."""
    return 100 - 40 * DIPS * swings + noise(seed, sd=2.0)


def stepped(block: int, waves: frozenset[str]) -> RunRecord:
    """waves: `step.role` of each that swings every 2 s."""
    segments, plans, intervals, repetitions = [], [], [], []
    for place, (step, roles) in enumerate(STEPS.items()):
        segment, begin_ns = place, SECOND + place * LASTS_NS
        segments.append({"segment": segment, "kind": "drive", "label": step, "step": step, "phase": "measure",
                         "start_ns": begin_ns, "end_ns": begin_ns + LASTS_NS, "ended_by": "work"})  # fmt: skip
        plans.append({"kind": "drive", "label": step, "step": step, "phase": "measure", "limit_ns": 600 * SECOND,
                      "roles": [synthetic.role_plan(role, "insert") for role in roles]})  # fmt: skip
        for k, role in enumerate(roles):
            ops = calls(10 * block + 3 * place + k, f"{step}.{role}" in waves).astype(int)
            totals = {"segment": segment, "repetition": 0, "role": role, "sessions": 1, "start_ns": begin_ns,
                      "end_ns": begin_ns + LASTS_NS, "ops": int(ops.sum()), "ok": int(ops.sum()),
                      "rows": 100 * int(ops.sum())}  # fmt: skip
            repetitions.append(totals)
            intervals += [
                {"segment": segment, "role": role, "op": "insert", "t_ns": begin_ns + i * SECOND // 10,
                 "dt_ns": SECOND // 10, "ops": int(n), "rows": 100 * int(n)}
                for i, n in enumerate(ops)
            ]  # fmt: skip
    base = synthetic.run("postgresql", block=block)
    labels = {**base.plan["labels"], "steps": dict.fromkeys(STEPS, "load")}
    tables = {
        **base.tables,
        **{
            name: full_table(name, rows)
            for name, rows in {
                "segments": segments,
                "intervals": intervals,
                "repetitions": repetitions,
                "hist": [],
                "resources": [],
            }.items()
        },
    }
    plan: Any = {**base.plan, "labels": labels, "segments": plans}
    return replace(base, plan=plan, summary={**base.summary, "labels": labels}, tables=tables, _rows={})


def words(rules: Mapping[str, float], *waves: str) -> list[str]:
    """What the rules (figure -> period in s) say of three runs in which these roles swing."""
    expected = [
        {"claim": figure, "values": {"all": value}, "rule": {"kind": "wave", "of": figure}}
        for figure, value in rules.items()
    ]
    doc = {**synthetic.STUDY, "expect": "Waves.", "expected": expected}
    runs = [stepped(block, frozenset(waves)) for block in (1, 2, 3)]
    return [mark.word for mark in expectation_marks(analyse(StudyRecord(doc, runs)))]


FOUND = {"load.rows_per_s": 2.0, "build.rows_per_s": 2.0, "mixed.writers.rows_per_s": 2.0}
NONE = dict.fromkeys(FOUND, 0.0)


@pytest.mark.parametrize("step", range(3))
def test_a_wave_of_one_step_is_found_in_it_and_in_no_other(step: int) -> None:
    swings = [figure.removesuffix(".rows_per_s") for figure in FOUND][step]
    of = f"{swings}.{swings}" if "." not in swings else swings
    assert words(FOUND, of) == ["right" if n == step else "wrong" for n in range(3)]
    assert words(NONE, of) == ["wrong" if n == step else "right" for n in range(3)]


def test_steps_without_a_wave_have_none_and_a_step_that_is_not_there_is_not_judged() -> None:
    assert words({**NONE, "index.rows_per_s": 0.0}) == ["right"] * 3 + ["not judged"]


def test_another_period_is_wrong() -> None:
    assert words(dict.fromkeys(FOUND, 3.0), "load.load", "build.build", "mixed.writers") == ["wrong"] * 3


def test_each_role_of_each_step_is_looked_at_by_itself() -> None:
    found = {w.of.name: w.claimed for w in waves_of_run(stepped(1, frozenset({"mixed.readers"})))}
    assert found == {"load": False, "build": False, "mixed.writers": False, "mixed.readers": True}
    period = next(w.period_s for w in waves_of_run(stepped(1, frozenset({"mixed.readers"}))) if w.claimed)
    assert period == pytest.approx(2.0, rel=0.2) and len(T) == N
