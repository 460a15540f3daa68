"""Steps that call operations by key, what runs before and behind them, and steps that a study leaves out."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.errors import UsageError
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.stats.run_figures import figures_of_run
from inrush.study.reading import load_study
from inrush.study.shipped import find_study
from inrush.study.study import Study
from tests import test_steps
from tests.steps import run_study_file

WORKLOAD: dict[str, Any] = {
    "schema": 1,
    "epoch": "2026-01-01T00:00:00Z",
    "tables": {
        "t": {
            "series": 1,
            "period_s": 1,
            "identity": ["k"],
            "layouts": {"pk": ["identity"]},
            "columns": [
                {"name": "k", "type": "i64", "gen": "sequence", "start": 0, "step": 1},
                {"name": "version", "type": "i64", "gen": "version"},
                {"name": "a", "type": "i32", "gen": "uniform", "from": 0, "to": 9},
            ],
        }
    },
    "operations": {
        "look": {"kind": "key", "does": "read", "table": "t"},
        "put": {"kind": "key", "does": "insert", "table": "t", "keys": {"rows": 50}},
        "change": {"kind": "key", "does": "update", "table": "t"},
        "take": {"kind": "key", "does": "delete", "table": "t"},
    },
}
LOAD = {"name": "load", "do": "load", "table": "t", "rows": {"total": 1000}}
PUT = {"name": "put", "do": "call", "operation": "put", "calls": 50}
READ = {"name": "read", "do": "read", "operation": "look", "seconds": 2, "warm_s": 1, "cool_s": 0.5}
CHANGE = {"name": "change", "do": "call", "operation": "change", "calls": 30}
TAKE = {"name": "take", "do": "call", "operation": "take", "calls": 20}
DUMP = {"name": "out", "do": "dump", "table": "t", "by": "time"}
BACK = {"name": "back", "do": "load", "table": "t", "from": "out"}


def study_of(*steps: dict[str, Any], **changes: Any) -> Study:
    return test_steps.study_of(*steps, workload=copy.deepcopy(WORKLOAD), **changes)


def planned(*steps: dict[str, Any], **changes: Any) -> StudyPlan:
    study = study_of(*steps, layout="pk", **changes)
    return plan_study(study, {name: server(name) for name in study.engines})


def refused(*steps: dict[str, Any], **changes: Any) -> list[str]:
    with pytest.raises(UsageError) as found:
        planned(*steps, **changes)
    return [f"{p.key}: {p.remedy}" for p in found.value.problems]


def drives(plan: StudyPlan) -> list[tuple[str, str, str]]:
    found = [s for s in plan.runs[0].plan["segments"] if s["kind"] == "drive"]
    return [(s["label"], s["phase"], s.get("step", "")) for s in found]


def test_calls_that_change_rows_are_a_step_and_a_read_changes_none() -> None:
    assert [step for _, _, step in drives(planned(LOAD, PUT, CHANGE, TAKE))] == [
        "load",
        "put",
        "change",
        "take",
    ]
    assert refused(LOAD, {**CHANGE, "do": "read"}) == [
        'steps[1].operation: change is an update by key; its step is do = "call"'
    ]
    assert refused(LOAD, {**READ, "do": "call"}) == [
        'steps[1].operation: look changes no row by its key; its step is do = "read"'
    ]
    mixed = {"name": "both", "do": "call", "operations": {"look": 3, "change": 1}, "calls": 40}
    assert drives(planned(LOAD, mixed))[1] == ("both", "measure", "both")


def test_a_read_draws_keys_of_the_rows_that_are_loaded_and_not_of_those_that_calls_add() -> None:
    plan = planned(LOAD, PUT, READ)
    keys = {o["name"]: o["keys"][0] for o in plan.runs[0].plan["operations"] if "keys" in o}
    assert (keys["look"]["first_row"], keys["look"]["rows"]) == (0, 1000)
    assert (keys["put"]["first_row"], keys["put"]["rows"]) == (1000, 50)


def test_what_runs_before_and_behind_a_step_is_of_no_step() -> None:
    plan = planned(LOAD, READ)
    assert drives(plan)[1:] == [
        ("read/warm", "warm", ""),
        ("read", "measure", "read"),
        ("read/cool", "cool", ""),
    ]
    segments = [s for s in plan.runs[0].plan["segments"] if s["kind"] == "drive"][1:]
    assert [s["roles"][0]["until"]["ns"] for s in segments] == [10**9, 2 * 10**9, 5 * 10**8]
    assert "read/warm" not in [label for label, _, _ in drives(planned(LOAD, {**READ, "cool_s": 1}))][2:]
    counted = {"name": "read", "do": "read", "operation": "look", "calls": 5, "warm_s": 1}
    assert refused(LOAD, counted) == [
        "steps[1].warm_s: calls are counted from the first to the last; write seconds = S, or remove warm_s"
    ]
    long = refused(LOAD, {**READ, "warm_s": 700})
    assert long == [
        "steps[1].warm_s: it would be cut at 600 s, schedule.limit_s; raise limit_s or read for less"
    ]


def test_rows_that_calls_have_changed_are_not_dumped_nor_brought_back() -> None:
    assert refused(LOAD, CHANGE, DUMP) == [
        "steps[2].table: change has changed rows of this table, and a dump has those of its load; dump it before"
    ]
    assert refused(LOAD, DUMP, CHANGE, BACK) == [
        "steps[3].from: change has changed rows of t, and they are not what the dump has; load it before"
    ]
    (said,) = refused(LOAD, CHANGE, {**LOAD, "name": "more", "adds": True})
    assert "change changes its rows" in said


def test_a_study_skips_steps_and_ends_with_one_and_says_so() -> None:
    steps = (LOAD, PUT, READ, CHANGE, TAKE)
    plan = planned(*steps, skip=["put"], ends_with="change")
    assert [step for _, phase, step in drives(plan) if phase == "measure"] == ["load", "read", "change"]
    assert plan.runs[0].plan["labels"]["steps_left_out"] == {
        "put": "the study skips it",
        "take": "the study ends with change",
    }
    # What follows a step that is skipped is left out with it.
    after = planned(LOAD, PUT, {**READ, "after": "put"}, CHANGE, skip=["put"])
    assert [step for _, _, step in drives(after)] == ["load", "change"]


def test_what_cannot_be_skipped_is_said() -> None:
    assert refused(LOAD, READ, skip=["load"]) == [
        "steps[1]: it needs rows of t, which no step before it loads; load them first"
    ]
    answer = {"kind": "comparison", "of": "read.ops_per_s"}
    (said,) = refused(LOAD, READ, TAKE, skip=["read"], answer=answer)
    assert said.startswith("answer.of: step read is left out (the study skips it)")
    assert "unknown step" in refused(LOAD, READ, skip=["reed"])[0]
    assert "unknown step" in refused(LOAD, READ, ends_with="reed")[0]
    study = str(find_study("telemetry-batch").path)
    said = problems_of_study(study, "skip=load", "ends_with=load")
    assert [p for p in said if 'only a study of kind = "steps"' in p] == said and len(said) == 2


def problems_of_study(named: str, *overrides: str) -> list[str]:
    with pytest.raises(UsageError) as found:
        load_study(named, "xs", overrides)
    return [f"{p.key}: {p.remedy}" for p in found.value.problems]


def test_one_name_on_the_command_line_is_a_list_of_one() -> None:
    study = load_study("keylookup-phases", "xs", ["skip=update", "ends_with=reread"])
    assert {s.name: s.without for s in study.steps if s.without} == {
        "update": "the study skips it",
        "delete": "the study ends with reread",
    }
    study = load_study("keylookup-phases", "xs", ["skip=update,delete"])
    assert [s.name for s in study.steps if s.without] == ["update", "delete"]


def test_a_role_with_a_table_makes_the_calls_by_key_of_this_table_alone() -> None:
    study = load_study("keylookup-records", "xs", ["depth=1"], ["sqlite"])
    plan = plan_study(study, {"sqlite": server("sqlite")})
    called = {
        run.labels["factors"]["record"]: [
            w["operation"]
            for s in run.plan["segments"]
            if s["kind"] == "drive" and s["phase"] == "measure"
            for w in s["roles"][0]["operations"]
        ]
        for run in plan.runs
    }
    assert called == {
        "record_2x4": ["look_2x4"],
        "record_25x4": ["look"],
        "record_25x160": ["look_25x160"],
    }


@pytest.mark.slow
def test_what_runs_before_and_behind_a_step_is_counted_apart(tmp_path: Path) -> None:
    path = find_study("keylookup-phases").path
    folder = run_study_file(path, tmp_path, "xs")
    for run in study_record(Results(folder)).runs:
        phases = {s["segment"]: (s["phase"], s.get("step")) for s in run.rows("segments")}
        ops = dict.fromkeys(("warm", "measure", "cool"), 0)
        for row in run.rows("repetitions"):
            if row["role"] == "read":
                ops[phases[row["segment"]][0]] += row["ops"]
        figures = figures_of_run(run)
        assert ops["warm"] > 0 and ops["cool"] > 0
        assert figures["read.ops"] == ops["measure"]
        assert figures["read.makespan_s"] == pytest.approx(0.4, abs=0.2)
        assert figures["update.client_cpu_us_per_op"] > 0
        assert not [row for row in run.rows("proofs") if not row["holds"]]
