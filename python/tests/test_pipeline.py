"""Pipelines: what a study of them plans, what its files hold, how shards prove together, and what the rules decide."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inrush import _core
from inrush.analysis.points import say
from inrush.border.pipeline import load_over_shards, whole_load
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.load.pipeline import inputs, proofs, stretches, tables
from inrush.load.pipeline.addresses import at_ends
from inrush.load.pipeline.core_plan import CREATE, DROP, PROVE, core_plan
from inrush.load.pipeline.ends import files_of
from inrush.load.pipeline.environment import OneHost
from inrush.load.pipeline.over_shards import RunLoadOverShards
from inrush.plan.pipeline import LOAD, READY, STORED, loadable
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.predict.pipelines import quota_busy, quota_parts
from inrush.predict.resources import verdict
from inrush.report.footprint import drawn_to, number_of
from inrush.results.parts import whole
from inrush.results.store import Results, Store
from inrush.run.prepare import generators
from inrush.stats.files import file_figures, gain_per_doubling
from inrush.stats.levels import levels_off
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.study.files import key_of_cut
from inrush.study.reading import load_study
from inrush.study.study import Known
from inrush.targets.deployment import Deployment, at_deployment
from tests.journals import journal
from tests.terminal import Inrush


def planned(engine: str, study: str, *overrides: str) -> StudyPlan:
    known = Known(generators=generators())
    return plan_study(load_study(study, "xs", overrides, [engine], known), {engine: server(engine)})


def placed(
    engine: str, folder: Path, *overrides: str, options: dict[str, str] | None = None
) -> dict[str, Any]:
    """The plan of one point with its addresses."""
    plan = planned(engine, "pipeline-parallel", "pipelines=2", *overrides).runs[0].plan
    deployment = Deployment(server(engine), Target(engine, "", options or {}))
    at = at_deployment({**plan, "run_id": "r"}, deployment, folder)  # type: ignore[typeddict-item]
    return dict(at_ends(at, deployment, folder, folder / "inputs"))


def ends(plan: Mapping[str, Any]) -> dict[str, Any]:
    """What client and load server have of its one load."""
    found: dict[str, Any] = plan["loads"]["pipelines"]
    return found


# What is planned.


def test_the_engines_that_the_loader_fills_are_those_that_know_their_columns_types() -> None:
    assert loadable() == ["sqlite", "duckdb", "postgresql", "timescaledb", "clickhouse", "mysql", "mariadb"]


def test_files_of_each_pipeline_grow_with_the_pipelines_and_rows_with_the_bytes() -> None:
    plan = planned("sqlite", "pipeline-parallel")
    assert [plan.planned[p.id].rows for p in plan.points] == [2 * n * 1_626 for n in (1, 2, 4)]
    one = plan.planned[plan.points[0].id]
    assert one.bytes == 2 * 200_000
    (role,) = next(s for s in one.plan["segments"] if s.get("phase") == "measure")["roles"]
    assert (role["name"], role["sessions"]) == ("pipelines", 1)


def test_one_embedded_file_is_not_opened_by_several_load_servers() -> None:
    plan = planned("duckdb", "pipeline-parallel", "pipeline.process_per_file=true")
    assert [m.factors["pipelines"] for m in plan.unsupported] == [2, 4]
    assert "one process at a time" in plan.unsupported[0].reason


def test_an_engine_without_a_ledger_is_told_and_not_left_out() -> None:
    (missing,) = planned("influxdb", "pipeline-parallel", "pipelines=1").unsupported
    assert "ledger" in missing.reason


def test_clients_of_their_own_share_no_bucket_and_roles_have_no_place_here() -> None:
    with pytest.raises(UsageError, match="do not share a bucket"):
        planned("sqlite", "pipeline-parallel", 'pipeline.client="own"', "pipeline.device_bytes_per_s=1000")
    with pytest.raises(UsageError, match="has no `roles`"):
        planned("sqlite", "pipeline-parallel", "roles.writers.sessions=1")


def test_no_more_clients_are_named_than_there_are() -> None:
    two = "pipeline.clients_on=['a','b']"
    with pytest.raises(UsageError, match="names 2 workers, and client_hosts is 1; write client_hosts = 2"):
        planned("sqlite", "pipeline-parallel", two)
    planned("sqlite", "pipeline-parallel", two, "pipeline.client_hosts=2")


def test_every_shard_has_a_home_and_a_ledger_of_its_own(tmp_path: Path) -> None:
    plan = ends(placed("sqlite", tmp_path, "pipeline.shards=3"))
    assert len({s["namespace"] for s in plan["shards"]}) == 3
    assert len({s["target"]["url"] for s in plan["shards"]}) == 3
    assert [e["plan"]["target"] for e in plan["load_server"]["load"]["shards"]] == [
        s["target"] for s in plan["shards"]
    ]


def test_addresses_of_shards_must_be_as_many_as_the_plan_has(tmp_path: Path) -> None:
    two = {"shards": "postgresql://a/x postgresql://b/x"}
    plan = ends(placed("postgresql", tmp_path, "pipeline.shards=2", options=two))
    assert [s["target"]["url"] for s in plan["shards"]] == two["shards"].split()
    with pytest.raises(UsageError, match="names 2 addresses, the plan has 3"):
        placed("postgresql", tmp_path, "pipeline.shards=3", options=two)


def test_a_study_of_pipelines_is_one_load_and_the_core_waits_for_all_that_is_done_on_shards(
    tmp_path: Path,
) -> None:
    two = {"shards": "postgresql://a/x postgresql://b/x"}
    plan: Any = placed("postgresql", tmp_path, "pipeline.shards=2", options=two)
    assert [(s["kind"], s["label"]) for s in plan["segments"]] == [
        ("control", "create"), ("pause", "ready"), ("load", "measure"), ("pause", "stored"), ("proof", "proof"),
        ("control", "drop"),
    ]  # fmt: skip
    assert whole_load(plan) == ends(plan) == load_over_shards(plan)
    core = core_plan(plan, plan["watch"])
    assert {s["kind"] for s in core["segments"]} == {"pause"}
    assert [s["action"] for s in core["segments"]] == [
        f"{name}:pipelines" for name in (CREATE, READY, LOAD, STORED, PROVE, DROP)
    ]
    assert "postgresql://" not in json.dumps(core), "it connects to none of them"


# Input files.


def test_a_file_holds_the_generators_rows_and_is_made_once(tmp_path: Path) -> None:
    plan = placed("sqlite", tmp_path)
    seen: list[tuple[int, int]] = []
    held = ends(plan)["inputs"]
    made = inputs.made(held, plan["seed"], plan["epoch_ns"], lambda n, of: seen.append((n, of)))
    lines = made[1].read_text().splitlines()
    rows = held["rows_per_file"]
    assert (len(made), len(lines), seen[-1]) == (4, rows, (4, 4))
    assert lines[0].split(",")[0] == str(1_000_000_000 + rows), "file 1 goes on where file 0 ended"
    assert made[0].stat().st_size == pytest.approx(200_000, rel=0.03), "row_bytes says what a row takes"
    before = made[0].stat().st_mtime_ns
    assert inputs.made(held, plan["seed"], plan["epoch_ns"], lambda *_: None) == made
    assert made[0].stat().st_mtime_ns == before


def test_files_of_another_size_or_seed_are_other_files(tmp_path: Path) -> None:
    held = ends(placed("sqlite", tmp_path))["inputs"]
    keys = {
        key_of_cut(held, 1, 0),
        key_of_cut(held, 2, 0),
        key_of_cut({**held, "rows_per_file": held["rows_per_file"] + 1}, 1, 0),
    }
    assert len(keys) == 3
    assert key_of_cut({**held, "files": 99}, 1, 0) in keys, "more files of a size are the same files"


def test_clients_share_out_every_file_once() -> None:
    assert sorted(n for k in range(3) for n in files_of(k, 3, range(10))) == list(range(10))


# Proofs of several shards.


def proof(item: str, expected: int, found: str) -> dict[str, Any]:
    return {
        "table": "t",
        "item": item,
        "expected": str(expected),
        "found": found,
        "holds": str(expected) == found,
    }


def test_figures_of_shards_add_up_to_the_whole() -> None:
    one = [
        proof("rows", 10, "4"),
        proof("sum_low(id)", 55, "20"),
        proof("sum_wrapped(id)", -4, str(2**63 - 1)),
    ]
    two = [
        proof("rows", 10, "6"),
        proof("sum_low(id)", 55, "35"),
        proof("sum_wrapped(id)", -4, str(2**63 - 3)),
    ]
    found = proofs.together([one, two], "t")
    assert [(row["found"], row["holds"]) for row in found] == [("10", True), ("55", True), ("-4", True)]


def test_a_row_that_a_shard_lost_or_has_twice_breaks_the_sum() -> None:
    lost = proofs.together([[proof("rows", 10, "4")], [proof("rows", 10, "5")]], "t")
    twice = proofs.together([[proof("rows", 10, "4")], [proof("rows", 10, "7")]], "t")
    mute = proofs.together([[proof("rows", 10, "4")], [proof("rows", 10, "no answer")]], "t")
    assert [row["holds"] for row in (*lost, *twice, *mute)] == [False, False, False]
    assert mute[0]["found"] == "no answer"


def test_a_copy_on_another_shard_than_the_next_does_not_hold_though_the_copies_add_up() -> None:
    of = [
        [proof("rows", 10, n), proof("sum_low(id)", 55, s)] for n, s in (("2", "9"), ("3", "16"), ("5", "30"))
    ]
    right, wrong = [of[2], of[0], of[1]], [of[0], of[1], of[2]]
    assert proofs.together(right, "c") == proofs.together(wrong, "c")
    assert proofs.beside(of, right, "c")["holds"]
    found = proofs.beside(of, wrong, "c")
    assert (found["holds"], found["found"]) == (False, "rows is 2 on shard 0, and 3 in its copies on shard 1")


# Rules.


def test_gain_is_counted_for_each_doubling() -> None:
    assert gain_per_doubling(4.0, 1.0, 4.0) == pytest.approx(1.0)
    assert gain_per_doubling(1.0, 1.0, 16.0) == 0.0


def rates(*means: float, spread: float = 0.01, blocks: int = 5) -> dict[float, dict[int, float]]:
    """Sizes 1, 2, 4 … with a rate a block."""
    noise = np.random.default_rng(1)
    return {
        2.0**k: {b: mean * float(np.exp(noise.normal(0, spread))) for b in range(1, blocks + 1)}
        for k, mean in enumerate(means)
    }


def test_the_smallest_size_is_chosen_from_which_no_doubling_gains() -> None:
    assert levels_off(rates(10, 20, 30, 30.2, 30.1)).chosen == 4.0


def test_a_plateau_before_a_further_rise_is_not_enough() -> None:
    assert levels_off(rates(10, 20, 20.1, 40, 40.1)).chosen == 8.0


def test_what_still_gains_or_is_too_noisy_to_tell_chooses_nothing() -> None:
    assert levels_off(rates(10, 20, 40, 80)).chosen is None
    assert levels_off(rates(10, 10, 10, spread=0.5)).chosen is None
    assert levels_off({1.0: {1: 10.0}, 2.0: {1: 10.0}}).chosen is None, "one block has no confidence"


def test_a_resource_is_confirmed_where_it_was_told_and_rejected_elsewhere() -> None:
    assert verdict(full_at=4, largest=8, share=0.95).startswith("confirmed: full")
    assert verdict(full_at=4, largest=8, share=0.5).startswith("rejected")
    assert verdict(full_at=20, largest=8, share=0.95).startswith("rejected: full earlier")
    assert verdict(full_at=9, largest=8, share=0.8).startswith("confirmed: not full yet")
    assert verdict(full_at=20, largest=8, share=0.4) == "not tried so far"


# Figures.


def test_a_group_of_a_flag_says_which_flag_it_is() -> None:
    assert say({"engine": "postgresql", "process_per_file": True}) == "postgresql, process_per_file"
    assert say({"engine": "postgresql", "process_per_file": False}) == "postgresql, no process_per_file"


def record(files: list[dict[str, int]], plan: dict[str, Any] | None = None) -> RunRecord:
    found = RunRecord("r", plan or {}, {}, {}, {})
    found._rows["files"] = [{"role": "pipelines", **f} for f in files]
    found._rows["counters"] = [
        {"name": "shard 0 rows", "value": "30"},
        {"name": "shard 1 rows", "value": "10"},
    ]
    return found


def test_a_files_rate_is_its_bytes_over_its_own_time() -> None:
    second = 1_000_000_000
    rows = [
        {
            "file": n,
            "pipeline": 0,
            "due_ns": 0,
            "start_ns": n * second,
            "end_ns": n * second + took,
            "bytes": 1_000_000,
        }
        for n, took in enumerate((second, second // 2, second // 4))
    ]
    found = file_figures(record(rows))
    assert found["pipelines.file_bytes_per_s"] == pytest.approx(2e6)
    assert (found["pipelines.files"], found["pipelines.file_p50_s"]) == (3.0, 0.5)


def test_what_a_study_throttles_is_a_resource_of_known_capacity() -> None:
    how = {
        "device_bytes_per_s": 100,
        "pipeline_bytes_per_s": 7,
        "shard_rows_per_s": 10,
        "load_server_cores": 1,
    }
    load = {"kind": "load", "roles": [{"name": "pipelines"}]}
    run = record([], {"segments": [load], "loads": {"pipelines": {"pipelines": how, "shards": [{}, {}]}}})
    parts = {p.name: (p.capacity, p.parts, p.weights) for p in quota_parts(run)}
    assert parts == {
        "input disk": (1.0, 1, None),
        "load server": (1, 1, None),
        "shards": (1.0, 2, (30.0, 10.0)),
    }
    figures = {"pipelines.bytes_per_s": 50.0, "pipelines.rows_per_s": 15.0, "load_server.busy_cores": 0.4}
    assert quota_busy(run, figures) == {"input disk": 0.5, "load server": 0.4, "shards": 1.5}


def test_what_is_a_pause_to_the_core_is_in_the_tables_what_the_plan_has_there(tmp_path: Path) -> None:
    """The load lasts from GO to the last row stored."""
    plan: list[Any] = [{"kind": kind} for kind in ("control", "load", "proof")]
    core = [
        {"segment": n, "kind": "pause", "label": "", "phase": "", "start_ns": n * 100, "end_ns": n * 100 + 99,
         "ended_by": "work", "client_cpu_ns": 0, "step": ""}
        for n in range(3)
    ]  # fmt: skip
    tables.write(tmp_path, {"segments": core})
    load = {"phase": "measure", "start_ns": 110, "end_ns": 150}
    tables.loaded_segments(tmp_path, plan, {1: load})
    rows = whole("segments", tmp_path).to_pylist()
    assert [(r["kind"], r["phase"], r["start_ns"], r["end_ns"]) for r in rows] == [
        ("control", "", 0, 99), ("load", "measure", 110, 150), ("proof", "", 200, 299),
    ]  # fmt: skip


def intervals_of(
    folder: Path, looks: list[tuple[int, int, int]], interval_ns: int, *spans: tuple[int, int]
) -> Any:
    """Of a load whose files have 10 rows and 50 bytes each."""
    one = journal(folder, {n: (begin, end, 10, 50) for n, (begin, end) in enumerate(spans)}, looks)
    whole = stretches.whole([one], "work")
    return list(stretches.intervals([one], whole, len(spans), 2, "pipelines", "load/events", interval_ns))


def test_intervals_lie_between_looks_and_add_up_to_the_load(tmp_path: Path) -> None:
    looks = [(90, 1, 1), (150, 4, 30), (160, 5, 40), (250, 15, 90), (390, 30, 150), (450, 30, 150)]
    found = intervals_of(tmp_path, looks, 50, (100, 200), (200, 310), (310, 400))
    assert [(i["t_ns"], i["dt_ns"], i["rows"], i["bytes"], i["ops"]) for i in found] == [
        (100, 50, 4, 30, 0), (150, 100, 11, 60, 1), (250, 150, 15, 60, 2),
    ]  # fmt: skip
    assert [(i["in_flight"], i["backlog"], i["cum_rows"]) for i in found] == [
        (1, 2, 4),
        (1, 1, 15),
        (0, 0, 30),
    ]
    assert {(i["role"], i["op"]) for i in found} == {("pipelines", "load/events")}


def test_a_load_without_a_look_is_one_interval(tmp_path: Path) -> None:
    (only,) = intervals_of(tmp_path, [(999, 30, 150)], 1000, (100, 200))
    assert (only["t_ns"], only["dt_ns"], only["rows"], only["bytes"], only["ops"]) == (100, 100, 10, 50, 1)


def test_received_bytes_are_those_of_the_load_however_late_they_are_told() -> None:
    assert tables.received([(5, 3), (30, 70), (99, 100)], 10, 50) == [(10, 0), (30, 70), (50, 100)]
    assert tables.received([(99, 100)], 10, 50) == [(10, 0), (50, 100)], "a load shorter than a second"
    assert tables.received([], 10, 50) == []


def test_a_prediction_is_drawn_beyond_its_knee_and_not_into_the_far_distance() -> None:
    assert drawn_to(4, [5.0, 12.0]) == 7.5
    assert drawn_to(4, [271.0]) == 16
    assert drawn_to(8, [2.0]) == 8
    assert drawn_to(8, []) == 12
    assert [number_of(n) for n in (5.125, 2_461.0, float("inf"))] == ["5.12", "2,460", "never"]


def test_the_core_reads_both_ends_as_they_are_planned() -> None:
    """An end that the core cannot read fails before anything is begun, with the field's name."""
    plan = planned("sqlite", "pipeline-parallel", "pipelines=1").runs[0].plan
    client = {**ends(plan)["client"], "surprise": 1}
    with pytest.raises(_core.CoreFailure, match="surprise"):
        _core.start_load(json.dumps(client))


def test_processors_of_a_load_are_known_to_its_end_however_seldom_the_watch_looks(inrush: Inrush) -> None:
    """Its processes end with it, and what they used since the last look would end with them."""
    changed = (
        "repeats.count=1",
        "record.watch_s=60",
        "factors.process_per_file=[false]",
        "factors.file_bytes=[20000, 100000]",
    )
    words = ("pipeline-filesize", "sqlite", "--scale", "xs", *(w for c in changed for w in ("-P", c)))
    assert inrush("run", *words).code in (0, 3)
    for measured in analyse(study_record(Results(inrush.store.latest().path))).runs:
        assert all(r["cpu_ns"] > 0 for r in measured.run.rows("repetitions"))
        assert measured.figures["client.busy_cores"] > 0 and measured.figures["load_server.busy_cores"] > 0


def test_a_load_over_shards_drops_what_it_has_made_once_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it ends: also by a stop while tables are made, behind which no pause comes."""
    plan: Any = placed("sqlite", tmp_path)
    said: list[str] = []
    monkeypatch.setattr(
        "inrush.load.pipeline.proofs.control", lambda shard, statement, *_: said.append(statement)
    )
    load = RunLoadOverShards(
        plan, "pipelines", tmp_path, lambda _: None, OneHost(plan, "pipelines", tmp_path / "w")
    )
    load.drop()
    assert said == [], "nothing was made"
    monkeypatch.setattr(load, "make", lambda: None)
    load.create()
    made = len(said)
    load.drop()
    load.drop()
    assert len(said) - made == sum(len(shard["drop"]) for shard in load.shards) > 0
    load.close()


@pytest.mark.slow
def test_sizes_are_sampled_while_a_pipeline_loads(inrush: Inrush) -> None:
    words = (
        "record={sizes_s=0.1, interval_s=0.1}",
        "pipeline.shard_rows_per_s=20000",
        "repeats={count=1,confirm=0}",
    )
    said = inrush(
        "run",
        "pipeline-parallel",
        "sqlite",
        "--scale",
        "xs",
        "-P",
        "pipelines=[1]",
        *(w for c in words for w in ("-P", c)),
    )
    assert said.code in (0, 3), said.err
    (run,) = Results(Store(inrush.store.root).latest().path).runs
    (load,) = (s for s in run.table("segments").to_pylist() if s["kind"] == "load")
    window = load["start_ns"], load["end_ns"]
    sizes = [s for s in run.table("sizes").to_pylist() if s["segment"] == load["segment"]]
    assert {s["name"] for s in sizes} == {"file", "log"} and len(sizes) > 4
    assert all(window[0] <= s["t_ns"] <= window[1] + 100_000_000 for s in sizes)
