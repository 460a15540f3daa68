"""Dumps as they are read and planned: which rows go into which file, what asks for them, and what is refused."""

from __future__ import annotations

import copy
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.plan.cost import cost
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.study.files import at_dumps
from inrush.study.reading import parse_study
from inrush.study.study import Known
from tests.test_steps import LOAD, WARM, WORKLOAD, planned, problems, study_of

OUT = {"name": "out", "do": "dump", "table": "events", "by": "time"}
BACK = {"name": "back", "do": "load", "table": "events", "from": "out"}
EPOCH_MS = int(datetime(2026, 1, 1, tzinfo=timezone.utc).timestamp() * 1000)


def dump_of(plan: StudyPlan, run: int = 0) -> dict[str, Any]:
    (found,) = [dict(o) for o in plan.runs[run].plan["operations"] if "dump" in o]
    return found


def calls(plan: StudyPlan) -> int:
    (drive,) = [s for s in plan.runs[0].plan["segments"] if s.get("step") == "out" and s["kind"] == "drive"]
    count: int = drive["roles"][0]["work"]["count"]  # type: ignore[typeddict-item]
    return count


def test_a_dump_without_files_is_one_file_of_all_rows_in_order() -> None:
    found = dump_of(planned(LOAD, OUT))
    assert "bounds" not in found["dump"] and found["params"] == []
    assert found["text"].endswith('ORDER BY "time"') and "WHERE" not in found["text"]
    assert calls(planned(LOAD, OUT)) == 1
    by_key = dump_of(planned(LOAD, {**OUT, "by": "key"}))
    assert by_key["text"].endswith('ORDER BY "id", "time"')


def test_files_of_a_dump_by_key_share_the_keys_and_leave_none_out() -> None:
    found = dump_of(planned(LOAD, {**OUT, "by": "key", "files": 4}))
    assert found["dump"]["bounds"] == [1, 3, 6, 8, 11]
    assert '"id" >= ? AND "id" < ?' in found["text"]
    assert [p["gen"]["kind"] for p in found["params"]] == ["piece_from", "piece_to"]


def test_files_of_a_dump_by_time_share_the_time_and_reach_beyond_both_ends() -> None:
    plan = planned(LOAD, {**OUT, "files": 4})
    first, *inner, last = dump_of(plan)["dump"]["bounds"]
    # 1,000 rows of 10 series, a second apart: 100 s.
    assert inner == [EPOCH_MS + 25_000, EPOCH_MS + 50_000, EPOCH_MS + 75_000]
    assert first < EPOCH_MS and last > EPOCH_MS + 100_000
    assert calls(plan) == 4


@pytest.mark.parametrize(
    ("engine", "inner"),
    [
        # Made beforehand, from the epoch on; cut as rows come, at multiples since 1970.
        ("mysql", [EPOCH_MS + 40_000, EPOCH_MS + 80_000]),
        ("timescaledb", [EPOCH_MS // 40_000 * 40_000 + k * 40_000 for k in (1, 2)]),
    ],
)
def test_a_dump_by_time_has_a_file_for_each_partition(engine: str, inner: list[int]) -> None:
    workload = copy.deepcopy(WORKLOAD)
    own = {"every_s": 40, **({"count": 3} if engine == "mysql" else {})}
    workload["tables"]["events"]["partitions"] = {engine: own}
    tree = {
        "schema": 1, "title": "Steps", "question": "How?", "expect": "So.", "workload": "here", "kind": "steps",
        "engines": [engine], "repeats": {"count": 1, "seed": 7}, "steps": [LOAD, OUT],
    }  # fmt: skip
    known = Known(engines={engine: server(engine).methods})
    study = parse_study(tree, workload, name="s", file="s.toml", workload_file="here.toml", known=known)
    bounds = dump_of(plan_study(study, {engine: server(engine)}))["dump"]["bounds"]
    assert bounds[1:-1] == inner


@pytest.mark.parametrize("files", [None, 4])
def test_a_dump_by_time_of_a_table_cut_by_values_is_as_if_it_were_not_cut(files: int | None) -> None:
    """Such partitions have no length in time."""
    workload = copy.deepcopy(WORKLOAD)
    workload["tables"]["events"]["partitions"] = {"mysql": {"column": "id", "below": [4, 8]}}
    known = Known(engines={"mysql": server("mysql").methods})
    step = {**OUT, **({"files": files} if files else {})}
    tree = {
        "schema": 1, "title": "Steps", "question": "How?", "expect": "So.", "workload": "here", "kind": "steps",
        "engines": ["mysql"], "repeats": {"count": 1, "seed": 7}, "steps": [LOAD, step],
    }  # fmt: skip
    study = parse_study(tree, workload, name="s", file="s.toml", workload_file="here.toml", known=known)
    plan = plan_study(study, {"mysql": server("mysql")})
    assert len(dump_of(plan)["dump"].get("bounds", [0, 0])) == (files or 1) + 1


def test_a_forecast_says_how_much_room_the_files_take() -> None:
    assert cost(planned(LOAD, WARM)).dumped_bytes == 0
    # 1,000 rows of an integer of 4 bytes, a time and an integer of 8: twice that as text.
    assert cost(planned(LOAD, OUT)).dumped_bytes == 1_000 * (4 + 8 + 8) * 2


def test_what_is_loaded_from_a_dump_is_emptied_before_and_has_as_many_rows() -> None:
    plan = planned(LOAD, OUT, {**BACK, "batch_rows": 100}, WARM)
    labels = [s["label"] for s in plan.runs[0].plan["segments"]]
    assert labels.index("out") < labels.index("emptied") < labels.index("back") < labels.index("warm")
    (back,) = [s for s in plan.runs[0].plan["segments"] if s["label"] == "back" and s["kind"] == "drive"]
    assert back["roles"][0]["work"] == {  # type: ignore[typeddict-item]
        "kind": "rows", "table": 0, "first_row": 0, "rows": 1000, "batch_rows": 100, "dump": "dump/out",
    }  # fmt: skip
    proofs = [s for s in plan.runs[0].plan["segments"] if s["kind"] == "proof"]
    assert [[p.get("dump") for p in s["proofs"]] for s in proofs] == [["dump/out"], [None]]


def test_on_the_null_engine_the_rows_of_a_dump_are_made() -> None:
    (own,) = planned(LOAD, OUT, BACK).calibrations
    works = [role["work"] for s in own.plan["segments"] for role in s["roles"]]  # type: ignore[typeddict-item]
    assert all("dump" not in work for work in works) and len(works) == 3


def test_an_engine_that_hands_over_no_rows_leaves_dump_and_load_out() -> None:
    study = study_of(LOAD, OUT, BACK, engines=["questdb"])
    labels = plan_study(study, {"questdb": server("questdb")}).runs[0].labels
    assert list(labels["steps_left_out"]) == ["out", "back"]
    assert "reads the files of out" in labels["steps_left_out"]["back"]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((OUT,), "needs rows of events, which no step before it loads"),
        ((LOAD, {**OUT, "by": "size"}), "key, time"),
        ((LOAD, {**OUT, "files": 0}), "files"),
        ((LOAD, {**OUT, "calls": 3}), "calls"),
        ((LOAD, BACK), "unknown earlier dump"),
        ((LOAD, OUT, {**BACK, "from": "load"}), "step load is no dump"),
        ((LOAD, OUT, {**BACK, "rows": {"total": 5}}), "its rows are those of the dump"),
        ((LOAD, OUT, {**BACK, "table": "others"}), "out is a dump of events"),
        ((LOAD, OUT, {**LOAD, "name": "twice"}), "loaded once, or again from a dump"),
        ((LOAD, {**OUT, "limit_s": 0}), "limit_s"),
    ],
)  # fmt: skip
def test_what_a_dump_cannot_be_is_refused(steps: Any, said: str) -> None:
    found = problems(*steps)
    assert any(said in problem for problem in found), found


def test_keys_that_are_no_numbers_in_turn_are_not_cut() -> None:
    workload = copy.deepcopy(WORKLOAD)
    workload["tables"]["events"]["columns"][1] = {"name": "id", "type": "i64", "gen": "sequence"}
    found = problems(LOAD, {**OUT, "by": "key", "files": 3}, workload=workload)
    assert any("steps.out.files" in problem and "write files = 1" in problem for problem in found), found


def test_files_lie_with_the_run_or_in_a_folder_of_the_run_below_the_one_that_is_named() -> None:
    named = [{"name": "dump/out", "dump": {"folder": folder}} for folder in ("", "/fast")]
    placed = at_dumps({"operations": [{"name": "insert"}, *named]}, Path("/data/b01"), "study-1/b01")
    found = [o.get("dump", {}).get("folder") for o in placed["operations"]]
    assert found == [None, "/data/b01/dumps", "/fast/study-1/b01"]
    none = {"operations": []}
    assert at_dumps(none, Path("/data"), "r") == none
