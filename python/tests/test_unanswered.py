"""Inserts whose connection was lost before their answer: what may be there of them, and what is then said of the run.

On SQLite behind an engine that lies (`target.faults`): real rows, and no server.
"""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.analysis.verdicts import Outcome, Verdict
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.guards.agreement import rows_of
from inrush.guards.analyse import measured_run
from inrush.plan import draft
from inrush.plan.plan import plan_study
from inrush.plan.planned import PlannedRun
from inrush.results.store import Results, Store
from inrush.results.unanswered import at_the_end, unanswered
from inrush.run import oracle
from inrush.run.listener import Silent
from inrush.run.run import run_study
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from inrush.study.reading import load_study
from inrush.targets.deployment import ACTIONS, Deployment
from tests import synthetic

BATCH, BATCHES = 50, 40
STUDY = f"""
schema = 1
title = "Inserts without an answer"
question = "What is there of an insert whose connection was lost?"
expect = "All of it, or nothing."
workload = "telemetry"
kind = "fixed_volume"
engines = ["sqlite"]
sizes = {{ ports = 100 }}
factors.sessions = [1]
schedule = {{ mode = "closed", at_least_s = 0, limit_s = 60 }}
[roles.writers]
operation = "insert"
table = "port_data_counters"
batch_rows = {BATCH}
sessions = "@sessions"
rows = {{ total = {BATCH * BATCHES} }}
[repeats]
count = 1
pilot = false
[answer]
kind = "curve"
of = "writers.rows_per_s"
along = "sessions"
per = ["engine"]
"""


def planned(folder: Path, faults: list[str], overrides: tuple[str, ...] = ()) -> PlannedRun:
    study = folder / "unanswered.toml"
    study.write_text(STUDY)
    found = load_study(str(study), overrides=list(overrides))
    run = next(iter(plan_study(found, {"sqlite": server("sqlite")}).block(1)))
    return replace(run, plan={**run.plan, "target": {**run.plan["target"], "faults": faults}})


def ran(run: PlannedRun, folder: Path) -> RunRecord:
    results = Store(folder / "results").new_study("unanswered", {})
    outcome = run_study(
        [run], results, {"sqlite": Deployment(server("sqlite"), Target("sqlite", ""))}, Silent()
    )
    assert (outcome.done, outcome.failed) == (1, {})
    (sealed,) = study_record(Results(results.path)).runs
    return sealed


def proven(run: RunRecord) -> Verdict:
    return next(v for v in measured_run(run).verdicts if v.guard == "rows proven")


def broken(run: RunRecord) -> list[str]:
    return [f"{p['item']} is {p['found']}" for p in run.rows("proofs") if not p["holds"]]


def tampered(run: PlannedRun, statement: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> PlannedRun:
    """The run with a pause before its proof, in which a statement changes the table behind its back."""

    def act(deployment: Deployment, argument: str) -> dict[str, Any]:
        (path,) = folder.rglob("run.sqlite")
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            changed = connection.execute(statement.format(table=run.plan["tables"][0]["name"])).rowcount
        return {"ok": changed > 0}

    monkeypatch.setitem(ACTIONS, "tamper", act)
    segments = list(run.plan["segments"])
    at = next(k for k, s in enumerate(segments) if s["kind"] == "proof")
    pause = {"kind": "pause", "label": "tamper", "action": "tamper"}
    return replace(run, plan={**run.plan, "segments": [*segments[:at], pause, *segments[at:]]})


def test_what_was_acknowledged_is_there_and_an_insert_without_an_answer_whole_or_not_at_all(
    tmp_path: Path,
) -> None:
    # The 10th, 20th, 30th and 40th insert was stored, the 15th was not; none of them is sent again.
    run = ran(planned(tmp_path, ["cut:10", "cut_before:15"]), tmp_path)
    verdict = proven(run)
    assert broken(run) == []
    sentence = "All 1,750 acknowledged rows are there; of 5 inserts without an answer 4 were stored"
    assert verdict.sentence.startswith(sentence) and not verdict.hides
    figures = figures_of_run(run)
    assert (figures["writers.rows"], figures["writers.ok"], figures["writers.errors"]) == (1_750, 35, 5)
    # Five of forty: the makespan is not that of the volume, and everything else stands.
    assert verdict.outcome is Outcome.INVALID and verdict.figures == ("writers.makespan_s",)
    assert not verdict.breaks("writers.rows_per_s")


def test_few_inserts_without_an_answer_leave_every_figure_valid(tmp_path: Path) -> None:
    verdict = proven(ran(planned(tmp_path, ["cut:40"]), tmp_path))
    assert verdict.outcome is Outcome.NOTE
    assert verdict.sentence == (
        "All 1,950 acknowledged rows are there; of 1 insert without an answer 1 was stored"
    )


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("cut_half:40", "unanswered(1950..2000) is in part, 25 of 50 rows"),
        ("cut_twice:40", "unanswered(1950..2000) is whole, and 50 rows more than once"),
        ("cut_changed:40", "unanswered(1950..2000) is in part, 49 of 50 rows"),
    ],
)
def test_an_insert_without_an_answer_that_is_there_in_another_way_hides_the_run(
    tmp_path: Path, fault: str, found: str
) -> None:
    run = ran(planned(tmp_path, [fault]), tmp_path)
    verdict = proven(run)
    assert verdict.hides and found in broken(run)
    if fault.startswith("cut_changed"):
        (difference,) = [b for b in broken(run) if b.startswith("difference")]
        assert "1 foreign rows, first: " in difference
    else:
        assert f"{found}, expected whole or none" in verdict.sentence


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM {table} WHERE rowid <= 50", "acknowledged is 1900"),
        ("INSERT INTO {table} SELECT * FROM {table} WHERE rowid <= 50", "acknowledged is 2000"),
        ("UPDATE {table} SET xmit_data = xmit_data + 1 WHERE rowid = 7", "difference is 1 foreign rows"),
    ],
)
def test_an_acknowledged_row_that_is_lost_doubled_or_changed_is_seen_beside_an_insert_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, found: str
) -> None:
    run = ran(tampered(planned(tmp_path, ["cut_before:40"]), statement, tmp_path, monkeypatch), tmp_path)
    assert [a["ok"] for a in run.summary["actions"]] == [True]
    verdict = proven(run)
    assert verdict.hides and any(b.startswith(found) for b in broken(run)), broken(run)
    # The call that got no answer does not explain it.
    assert "look for lost, doubled or changed rows" in verdict.sentence


@pytest.mark.parametrize(
    ("faults", "stored"),
    [(["cut:40"], 1), (["cut_before:40"], 0), (["cut_half:40"], None), (["cut_twice:40"], None)],
)
def test_inserts_without_an_answer_into_a_table_too_large_to_read_back_are_told_apart_by_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: list[str], stored: int | None
) -> None:
    monkeypatch.setattr(draft, "READ_BACK_ROWS", 500)
    run = ran(planned(tmp_path, faults), tmp_path)
    verdict = proven(run)
    if stored is None:
        assert verdict.hides and "unanswered is other rows" in broken(run)
    else:
        assert verdict.sentence.startswith(
            "All 1,950 acknowledged rows are there; of 1 insert without an answer"
        )
        assert f"{stored} {'was' if stored == 1 else 'were'} stored" in verdict.sentence


@pytest.mark.ci
def test_every_repetition_is_proven_with_its_own_inserts_without_an_answer(tmp_path: Path) -> None:
    again = ("schedule.at_least_s=100", "schedule.max_repetitions=3")
    run = ran(planned(tmp_path, ["cut:40"], again), tmp_path)
    assert figures_of_run(run)["writers.repetitions"] == 3
    assert proven(run).sentence.startswith(
        "All 5,850 acknowledged rows are there; of 3 inserts without an answer 3 were stored"
    )
    half = tmp_path / "half"
    half.mkdir()
    assert proven(ran(planned(half, ["cut_half:80"], again), half)).hides, "in the second repetition"


# --- what follows from it: what quiet answers may hold ---------------------------------------------------


def proof(item: str, found: str, segment: int = 3, repetition: int = 0) -> dict[str, Any]:
    expected = found if item in ("rows", "acknowledged") else "whole or none"
    return {
        "segment": segment, "repetition": repetition, "table": "t", "item": item, "expected": expected,
        "found": found, "holds": True,
    }  # fmt: skip


def test_what_a_repetition_has_proven_is_not_counted_again_at_the_end() -> None:
    first = [proof("rows", "100", 2, 0)]
    second = [
        proof("acknowledged", "90", 2, 1),
        proof("unanswered(90..100)", "none", 2, 1),
        proof("rows", "90", 2, 1),
    ]
    last = [proof("acknowledged", "90"), proof("unanswered(90..100)", "none"), proof("rows", "90")]
    found = unanswered([*first, *second, *last])
    assert found is not None
    assert (found.acknowledged, len(found.inserts), found.stored) == (190, 1, 0)
    assert [(i.first_row, i.end_row, i.found) for i in at_the_end([*first, *second, *last])] == [
        (90, 100, "none")
    ]
    assert unanswered([*first, proof("rows", "100")]) is None


def test_the_oracle_has_the_rows_that_the_proof_found() -> None:
    inserts = at_the_end([proof("unanswered(10..20)", "none"), proof("unanswered(30..40)", "whole")])
    table = {"first_row": 0, "rows": 100}
    assert list(oracle.there(table, "t", inserts)) == [(0, 10), (20, 100)]
    assert list(oracle.there(table, "other", inserts)) == [(0, 100)]
    assert list(oracle.there({"first_row": 15, "rows": 10}, "t", inserts)) == [(20, 25)]


def test_engines_are_held_against_each_other_over_the_same_rows_only() -> None:
    def over(*proofs: dict[str, Any]) -> str:
        return rows_of(synthetic.run("postgresql", more={"proofs": list(proofs)}))

    absent, there = (over(proof("unanswered(10..20)", found)) for found in ("none", "whole"))
    assert there == over() and absent != there
    assert over(proof("unanswered(10..20)", "in part, 3 of 10 rows")) not in (absent, there)
