"""What belongs to one step of a run and to no other: rows of tables, figures, verdicts, and the seconds of a plan."""

from __future__ import annotations

import copy
from typing import Any

import pyarrow as pa
import pytest

from inrush.analysis.verdicts import Figures, Outcome, Verdict, invalid
from inrush.border.tables import ROWS
from inrush.guards.guard import About, Guard
from inrush.guards.steps import cut_step, guard_steps
from inrush.plan.draft import READ_BACK_ROWS
from inrush.results.schema import SCHEMAS
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import StepFigures, figures_of_run, run_figures
from inrush.stats.steps import of_step, segments_of_steps, steps_of
from inrush.stats.stored import sizes_at_end
from tests.test_steps import ANALYZE, LOAD, WARM, WORKLOAD, planned

S = 1_000_000_000
#: Tables with rows of a role in a segment, and the segments themselves.
OF_WORK = ["segments", "repetitions", "samples", "intervals", "hist", "failures", "sessions"]


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """What a row does not say is nothing, or 0."""
    schema = SCHEMAS[name]
    zero = {
        f.name: "" if pa.types.is_string(f.type) else [] if pa.types.is_list(f.type) else 0 for f in schema
    }
    return pa.Table.from_pylist([{**zero, **row} for row in rows], schema)


def run_of(actions: list[dict[str, Any]] | None = None, **rows: list[dict[str, Any]]) -> RunRecord:
    """load, index and anew: a drive, a statement and a restart, a second each."""
    kinds = [("load", "drive"), ("index", "statement"), ("anew", "pause")]
    segments = [
        {"segment": i, "kind": kind, "label": step, "step": step, "start_ns": i * S, "end_ns": (i + 1) * S,
         "ended_by": "work", "phase": "measure" if kind == "drive" else ""}
        for i, (step, kind) in enumerate(kinds)
    ]  # fmt: skip
    plan = {"segments": [{"kind": kind, "step": step, "action": "restart"} for step, kind in kinds]}
    tables = {name: table(name, found) for name, found in {"segments": segments, **rows}.items()}
    return RunRecord("r", plan, {}, {"actions": actions or []}, tables)


@pytest.mark.parametrize("name", OF_WORK)
def test_rows_of_work_are_of_the_step_that_did_it(name: str) -> None:
    rows = [{"segment": 0}, {"segment": 1}] if name != "segments" else []
    run = run_of(**({name: rows} if rows else {}))
    assert [r["segment"] for r in of_step(run, "load").rows(name)] == [0]
    assert [r["segment"] for r in of_step(run, "index").rows(name)] == [1]


def test_what_is_watched_and_asked_stays_whole_in_every_step() -> None:
    run = run_of(resources=[{"role": "client", "t_ns": 5}], counters=[{"segment": 1}])
    for name in ("resources", "counters"):
        assert of_step(run, "load").rows(name) == run.rows(name)
    assert set(OF_WORK) <= set(ROWS)


def test_statements_that_were_cut_are_not_among_those_that_ended() -> None:
    ends = ["work", "work", "limit", "running", "unknown", "error"]
    rows = [{"segment": 1, "step": "index", "statement": i, "ended_by": end} for i, end in enumerate(ends)]
    assert figures_of_run(run_of(steps=rows))["index.statements"] == 2


def test_a_restart_that_was_not_done_is_the_verdict_of_its_step_and_of_all_behind_it() -> None:
    figures = {"load.rows_per_s": 1.0, "index.duration_s": 1.0, "anew.duration_s": 1.0}
    done = {"index": 2, "action": "restart", "ok": True, "how": "clean stop, then started again"}
    assert cut_step(run_of([done]), figures, "ended as planned") is None
    said = cut_step(run_of([{**done, "ok": False, "why": "the port is taken"}]), figures, "ended as planned")
    assert said is not None and said.outcome is Outcome.INVALID
    assert said.sentence == "Step anew was not done: the port is taken"
    assert said.breaks("anew.duration_s") and not said.breaks("index.duration_s")


def test_a_guard_is_asked_of_each_step_by_the_names_of_a_run_without_steps() -> None:
    """And what it makes invalid is named by the step."""
    asked: list[tuple[list[str], dict[str, float]]] = []

    def check(run: RunRecord, own: Figures) -> Verdict:
        asked.append((list(segments_of_steps(run)), dict(own)))
        return invalid("any", "It is wrong", figures=["server.busy_cores", "load.rows_per_s"])

    of = {"server.busy_cores": 1.0, "load.rows_per_s": 2.0}
    run = run_of()
    steps = {step: StepFigures(view, of) for step, view in steps_of(run).items()}
    verdict = guard_steps(Guard(About.RUN, "any", check, "nothing"), steps, run_figures(run, steps))
    assert asked == [(["load"], of)], "no other step has sessions"
    assert verdict.sentence == "Step load: It is wrong"
    assert verdict.figures == ("load.server_busy_cores", "load.rows_per_s")


def test_the_only_step_of_a_run_without_steps_has_no_name_in_figures_or_verdicts() -> None:
    run = RunRecord("r", {}, {}, {})
    said = invalid("any", "It is wrong", figures=["server.busy_cores"])
    steps = {step: StepFigures(view, {"server.busy_cores": 1.0}) for step, view in steps_of(run).items()}
    assert run_figures(run, steps) == {"server.busy_cores": 1.0}
    assert guard_steps(Guard(About.RUN, "any", lambda *_: said, "nothing"), steps, {}) == said


def test_sizes_that_were_sampled_while_a_step_worked_are_not_those_at_its_end() -> None:
    rows = [{"segment": i, "name": "table:t", "value": str(10 * i)} for i in (0, 1)]
    assert sizes_at_end(run_of(sizes=rows)) == {}
    assert sizes_at_end(run_of(sizes=[*rows, {"segment": 2, "name": "table:t", "value": "7"}])) == {
        "table:t": 7
    }


# what a plan makes of seconds


def segments_of(*steps: dict[str, Any], **changes: Any) -> dict[str, Any]:
    segments = planned(*steps, **changes).runs[0].plan["segments"]
    return {s["step"]: s for s in segments if s.get("step") and s["kind"] != "probe"}


def test_a_read_of_so_many_seconds_ends_with_them() -> None:
    timed = {"name": "timed", "do": "read", "operation": "one", "seconds": 7}
    (role,) = segments_of(LOAD, timed)["timed"]["roles"]
    assert role["until"] == {"kind": "time", "ns": 7 * S}
    (role,) = segments_of(LOAD, WARM)["warm"]["roles"]
    assert role["until"] == {"kind": "work"}


def test_the_longest_step_says_how_finely_a_run_is_watched_and_recorded() -> None:
    day = {"name": "rest", "do": "settle", "seconds": 86_400}
    short, long = (planned(LOAD, *more, WARM).runs[0].plan for more in ((), (day,)))
    assert short["watch"]["every_ns"] == S // 5
    assert long["watch"]["every_ns"] > 2 * S and long["record"]["interval_ns"] > 10 * S
    read = {"name": "timed", "do": "read", "operation": "one", "seconds": 86_400, "limit_s": 90_000}
    assert planned(LOAD, read).runs[0].plan["watch"]["every_ns"] == long["watch"]["every_ns"]


def test_a_forecast_has_the_seconds_of_settling_and_of_reads_by_time() -> None:
    rests = [{"name": f"rest{i}", "do": "settle", "seconds": 50} for i in (1, 2)]
    reads = [{"name": f"read{i}", "do": "read", "operation": "one", "seconds": 30} for i in (1, 2)]
    (of,) = planned(LOAD, *rests, *reads, ANALYZE).planned.values()
    assert of.fixed_s == 100
    assert {w.step: w.due_s for w in of.lasts.work if w.due_s is not None} == {"read1": 30, "read2": 30}


def test_keys_of_a_read_are_of_the_rows_that_a_step_before_it_loads() -> None:
    workload = copy.deepcopy(WORKLOAD)
    workload["operations"]["by_key"] = {
        "kind": "query",
        "table": "events",
        "params": {"id": {"gen": "key", "column": "id"}, "at": {"gen": "key", "column": "time"}},
        "sql": {"default": "SELECT id, time FROM {events} WHERE id = :id AND time = :at"},
    }
    by_key = {"name": "keyed", "do": "read", "operation": "by_key", "calls": 5}
    plan = planned(LOAD, by_key, workload=workload).runs[0].plan
    (operation,) = (o for o in plan["operations"] if o["name"] == "by_key")
    assert operation["keys"][0]["rows"] == 1000


@pytest.mark.parametrize(("order", "ranges"), [("time", 4), ("key", 0)])
def test_rows_that_are_not_sweep_after_sweep_are_not_read_back_by_ranges_of_time(
    order: str, ranges: int
) -> None:
    load = {**LOAD, "rows": {"total": READ_BACK_ROWS + 10}}
    plan = planned(load, WARM, row_order=order, engines=["postgresql"]).runs[0].plan
    (proofs,) = (s["proofs"] for s in plan["segments"] if s["kind"] == "proof")
    assert len(proofs) == 1 + ranges
    assert [p["rows"] for p in proofs[:1]] == [READ_BACK_ROWS + 10]
