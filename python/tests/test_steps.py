"""Steps of a study: how they are read, what is refused, and what they become in a plan."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from inrush.agent.patience import Graces, Patience
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.errors import UsageError
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.study.forms import Total
from inrush.study.reading import parse_study
from inrush.study.step_kinds import Load, Read
from inrush.study.study import Known, Study
from inrush.targets.deployment import Deployment
from inrush.targets.needs import lacking, without
from tests.strategies import METHODS

WORKLOAD: dict[str, Any] = {
    "schema": 1,
    "epoch": "2026-01-01T00:00:00Z",
    "sizes": {"series": 10},
    "tables": {
        name: {
            "series": "series",
            "period_s": 1,
            "identity": ["time", "id"],
            "columns": [
                {"name": "time", "type": "time_ms", "gen": "sweep_time"},
                {"name": "id", "type": "i32", "gen": "cycle", "from": 1, "to": 10},
                {"name": "value", "type": "i64", "gen": "uniform", "from": 0, "to": 99},
            ],
        }
        for name in ("events", "others")
    },
    "operations": {
        "one": {
            "kind": "query",
            "table": "events",
            "params": {"id": {"gen": "of_series", "column": "id"}},
            "sql": {"default": "SELECT count(*) FROM {events} WHERE id = :id"},
        },
        "of_others": {"kind": "query", "table": "others", "sql": {"default": "SELECT count(*) FROM {others}"}},
        "no_sqlite": {
            "kind": "query",
            "table": "events",
            "sql": {"default": "SELECT 1 FROM {events}"},
            "unsupported": {"sqlite": "it has no such thing"},
        },
        "analyze": {"kind": "maintain", "table": "events", "sql": {"default": "ANALYZE {table}"}},
        "cluster": {
            "kind": "maintain",
            "table": "events",
            "sql": {"postgresql": ["CLUSTER {table}", {"text": "SELECT 1", "repeat": "each_row"}]},
        },
    },
}  # fmt: skip
KNOWN = Known(engines={**METHODS, "null": ("bulk",), "questdb": ("multirow",)})
LOAD = {"name": "load", "do": "load", "table": "events", "rows": {"total": 1000}}
WARM = {"name": "warm", "do": "read", "operation": "one", "calls": 5}
ANALYZE = {"name": "analyze", "do": "statement", "operation": "analyze", "limit_s": 5}
AGAIN = {"name": "again", "do": "read", "operation": "one", "calls": 5, "after": "analyze"}


def study_of(*steps: dict[str, Any], workload: dict[str, Any] = WORKLOAD, **changes: Any) -> Study:
    tree = {
        "schema": 1, "title": "Steps", "question": "How?", "expect": "So.", "workload": "here", "kind": "steps",
        "engines": ["sqlite"], "repeats": {"count": 1, "seed": 7}, "steps": list(steps), **changes,
    }  # fmt: skip
    return parse_study(
        copy.deepcopy(tree), workload, name="steps", file="steps.toml", workload_file="here.toml", known=KNOWN
    )


def planned(*steps: dict[str, Any], **changes: Any) -> StudyPlan:
    study = study_of(*steps, **changes)
    return plan_study(study, {name: server(name) for name in study.engines})


def problems(*steps: dict[str, Any], **changes: Any) -> list[str]:
    """Of reading and of planning."""
    with pytest.raises(UsageError) as refused:
        planned(*steps, **changes)
    return [f"{p.key}: {p.remedy}" for p in refused.value.problems]


def segments(plan: StudyPlan) -> list[tuple[str, str, str]]:
    return [(s["kind"], s["label"], s.get("step", "")) for s in plan.runs[0].plan["segments"]]


def test_a_plan_is_its_steps_in_their_order_between_create_and_proof() -> None:
    settle = {"name": "rest", "do": "settle", "seconds": 0.5}
    assert segments(planned(LOAD, WARM, ANALYZE, settle, AGAIN)) == [
        ("control", "create", ""),
        ("probe", "before", ""),
        ("drive", "load", "load"),
        ("probe", "load", "load"),
        ("drive", "warm", "warm"),
        ("probe", "warm", "warm"),
        ("probe", "before", ""),
        ("statement", "analyze", "analyze"),
        ("probe", "analyze", "analyze"),
        ("settle", "rest", "rest"),
        ("probe", "rest", "rest"),
        ("drive", "again", "again"),
        ("probe", "again", "again"),
        ("proof", "proof", ""),
        ("probe", "after", ""),
        ("control", "drop", ""),
    ]


def test_the_role_of_a_step_has_its_name_and_a_statement_its_own_limit() -> None:
    plan = planned(LOAD, WARM, ANALYZE, schedule={"limit_s": 60}).runs[0].plan
    load, warm, analyze = (
        s for s in plan["segments"] if s.get("step") and s["kind"] in ("drive", "statement")
    )
    assert [r["name"] for r in (*load["roles"], *warm["roles"])] == ["load", "warm"]
    assert load["roles"][0]["work"]["rows"] == 1000
    assert warm["roles"][0]["work"] == {"kind": "calls", "count": 5}
    assert (load["limit_ns"], analyze["limit_ns"]) == (60 * 10**9, 5 * 10**9)
    assert analyze["statements"][0].startswith('ANALYZE "inrush_')
    assert plan["labels"]["steps"] == {"load": "load", "warm": "read", "analyze": "statement"}


def test_cold_and_restart_are_what_python_does_in_a_pause() -> None:
    plan = planned(
        LOAD, {"name": "chill", "do": "cold"}, {"name": "anew", "do": "restart"}, WARM, engines=["postgresql"]
    )
    pauses = [s for s in plan.runs[0].plan["segments"] if s["kind"] == "pause"]
    assert [(s["step"], s["action"]) for s in pauses] == [("chill", "make_cold"), ("anew", "restart")]


def test_what_a_load_acknowledged_is_waited_for_before_sizes_and_before_the_next_step() -> None:
    plan = planned({**LOAD, "limit_s": 20}, WARM, engines=["questdb"])
    behind = segments(plan)[segments(plan).index(("drive", "load", "load")) + 1 :]
    assert behind[:3] == [("control", "seen", ""), ("probe", "load", "load"), ("drive", "warm", "warm")]
    seen = next(s for s in plan.runs[0].plan["segments"] if s["label"] == "seen")
    assert [s["repeat"] for s in seen["statements"]] == ["until_no_rows"]
    assert seen["limit_ns"] == 20 * 10**9, (
        "a table that is suspended is waited for as long as its load may take"
    )
    assert "is suspended" in seen["statements"][0]["text"]
    assert ("control", "seen", "") not in segments(planned(LOAD, WARM))


def test_no_sizes_are_asked_for_between_a_cold_step_and_the_read_that_it_is_for() -> None:
    chill, rest = {"name": "chill", "do": "cold"}, {"name": "rest", "do": "settle", "seconds": 0.5}
    later = {**rest, "name": "later"}
    plan = planned(LOAD, chill, rest, WARM, later)
    asked = {
        s["label"]: {probe["into"] for probe in s["probes"]}
        for s in plan.runs[0].plan["segments"]
        if s["kind"] == "probe"
    }
    assert "sizes" in asked["load"] and "sizes" in asked["later"]
    assert all("sizes" not in asked.get(step, set()) for step in ("chill", "rest"))


def test_a_statement_behind_a_cold_step_is_not_probed_before_and_one_behind_a_read_is() -> None:
    chill = {"name": "chill", "do": "cold"}
    assert ("probe", "before", "") in segments(planned(LOAD, WARM, ANALYZE))[3:]
    assert ("probe", "before", "") not in segments(planned(LOAD, chill, ANALYZE))[3:]


@pytest.mark.parametrize(
    ("steps", "changes", "said"),
    [
        ((LOAD, {"name": "rest", "do": "settle", "seconds": 7, "limit_s": 1}), {}, "have a limit; remove it"),
        ((LOAD, {"name": "chill", "do": "cold", "limit_s": 1}), {}, "have a limit; remove it"),
        (({**LOAD, "name": "client"},), {}, "figures of a process have this name"),
        ((LOAD, WARM), {"accept": {"client.busy_cores": 1}}, "<step>.client_busy_cores"),
    ],
)  # fmt: skip
def test_keys_and_names_that_would_be_ignored_are_refused(steps: Any, changes: Any, said: str) -> None:
    assert any(said in problem for problem in problems(*steps, **changes))


def test_progress_is_asked_for_while_a_statement_runs_where_the_server_reports_it() -> None:
    cluster = {"name": "cluster", "do": "statement", "operation": "cluster"}
    plan = planned(LOAD, cluster, engines=["postgresql"], record={"sizes_s": 2})
    (sample,) = (s["sample"] for s in plan.runs[0].plan["segments"] if s["kind"] == "statement")
    assert sample["every_ns"] == 2 * 10**9
    assert [p["into"] for p in sample["probes"]] == ["counters", "sizes", "sizes", "sizes"]
    assert "pg_stat_progress_cluster" in sample["probes"][0]["statement"]
    (alone,) = (
        s["sample"]
        for s in planned(LOAD, cluster, engines=["postgresql"]).runs[0].plan["segments"]
        if s["kind"] == "statement"
    )
    assert (alone["every_ns"], len(alone["probes"])) == (500_000_000, 1)
    embedded = planned(LOAD, ANALYZE, record={"sizes_s": 2}).runs[0].plan["segments"]
    assert not any("sample" in s for s in embedded if s["kind"] == "statement")


def test_a_statement_that_an_engine_has_not_is_left_out_with_what_follows_it() -> None:
    cluster = {"name": "cluster", "do": "statement", "operation": "cluster"}
    after = {**WARM, "name": "then", "after": "cluster"}
    last = {**WARM, "name": "last", "after": "then"}
    plan = planned(LOAD, WARM, cluster, after, last, engines=["sqlite", "postgresql"])
    by_engine = {r.labels["engine"]: r for r in plan.runs}
    assert by_engine["sqlite"].labels["steps_left_out"] == {
        "cluster": "cluster has no statement for sqlite",
        "then": "it follows cluster, which is left out",
        "last": "it follows then, which is left out",
    }
    assert [s["step"] for s in by_engine["sqlite"].plan["segments"] if s["kind"] == "drive"] == [
        "load",
        "warm",
    ]
    assert "steps_left_out" not in by_engine["postgresql"].labels
    assert [
        s["statements"][1] for s in by_engine["postgresql"].plan["segments"] if s["kind"] == "statement"
    ] == [{"text": "SELECT 1", "repeat": "each_row"}]
    assert any("step cluster is left out" in note for p in plan.planned.values() for note in p.notes)


def with_blobs(*tables: str) -> dict[str, Any]:
    """The workload with a column of a type that QuestDB lacks in these tables."""
    workload = copy.deepcopy(WORKLOAD)
    for name in tables:
        workload["tables"][name]["columns"].append(
            {"name": "raw", "type": "blob", "gen": "bytes", "min_bytes": 0, "max_bytes": 8}
        )
    return workload


def test_a_table_that_an_engine_cannot_hold_is_left_out_with_all_that_needs_its_rows() -> None:
    others = {"name": "load_others", "do": "load", "table": "others", "rows": {"total": 1000}}
    count = {"name": "count", "do": "read", "operation": "of_others", "calls": 1}
    then = {**WARM, "name": "then", "after": "count"}
    study = study_of(
        LOAD, others, WARM, count, then, workload=with_blobs("others"), engines=["questdb", "sqlite"]
    )
    plan = plan_study(study, {name: server(name) for name in study.engines})
    assert plan.unsupported == ()
    by_engine = {r.labels["engine"]: r for r in plan.runs}
    left = by_engine["questdb"].labels["steps_left_out"]
    assert list(left) == ["load_others", "count", "then"]
    assert left["load_others"].startswith("QuestDB has no blob, and column raw (blob) of others is one")
    assert left["count"] == left["load_others"] and left["then"] == "it follows count, which is left out"
    assert len(by_engine["questdb"].plan["tables"]) == 1
    assert "steps_left_out" not in by_engine["sqlite"].labels
    assert any("step load_others is left out" in n for p in plan.planned.values() for n in p.notes)


def test_an_engine_that_can_hold_no_table_of_a_study_has_no_point() -> None:
    study = study_of(LOAD, WARM, workload=with_blobs("events"), engines=["questdb"])
    plan = plan_study(study, {name: server(name) for name in study.engines})
    assert plan.runs == () and "QuestDB has no blob" in plan.unsupported[0].reason


ASKED = {
    "sql": "SHOW edition",
    "equals": "whole",
    "reason": "the small edition has no CLUSTER; the whole one has",
}


def with_needs(engine: str) -> dict[str, Any]:
    workload = copy.deepcopy(WORKLOAD)
    workload["operations"]["cluster"]["needs"] = {engine: ASKED}
    return workload


@pytest.mark.parametrize(
    ("answer", "left"),
    [([["whole"]], {}), ([["small"]], {"postgresql": {"cluster": ASKED["reason"]}}), ([], {"postgresql": {"cluster": ASKED["reason"]}})],
)  # fmt: skip
def test_a_statement_that_a_server_lacks_by_its_edition_is_left_out_before_the_first_run(
    answer: list[list[str]], left: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = (
        {"name": "cluster", "do": "statement", "operation": "cluster"},
        {**WARM, "name": "then", "after": "cluster"},
    )
    study = study_of(LOAD, WARM, *steps, workload=with_needs("postgresql"), engines=["postgresql"])
    place = Deployment(server("postgresql"), Target("postgresql", "postgresql://here/db"))
    asked: list[Any] = []
    monkeypatch.setattr(Deployment, "ask", lambda self, statement: asked.append(statement) or answer)
    assert (lacking(study, [place]), asked) == (left, ["SHOW edition"])
    plan = plan_study(without(study, left), {"postgresql": server("postgresql")})
    labels = plan.runs[0].labels
    assert labels.get("steps_left_out", {}).get("cluster", "") == (ASKED["reason"] if left else "")
    assert ("then" in labels.get("steps_left_out", {})) == bool(left)


def test_a_server_that_refuses_the_question_says_in_the_run_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from inrush import _core

    def refuse(self: Deployment, statement: Any) -> Any:
        raise _core.CoreFailure("statement", "no such parameter")

    cluster = {"name": "cluster", "do": "statement", "operation": "cluster"}
    study = study_of(LOAD, WARM, cluster, workload=with_needs("postgresql"), engines=["postgresql"])
    monkeypatch.setattr(Deployment, "ask", refuse)
    assert (
        lacking(study, [Deployment(server("postgresql"), Target("postgresql", "postgresql://here/db"))]) == {}
    )


def test_needs_stand_beside_statements_alone() -> None:
    cluster = {"name": "cluster", "do": "statement", "operation": "cluster"}
    with pytest.raises(UsageError, match="no statement for mysql that could need it"):
        study_of(LOAD, cluster, workload=with_needs("mysql"))
    workload = copy.deepcopy(WORKLOAD)
    workload["operations"]["one"]["needs"] = {"postgresql": ASKED}
    with pytest.raises(UsageError, match='only statements of kind = "maintain"'):
        study_of(LOAD, WARM, workload=workload)


def test_a_read_that_an_engine_cannot_answer_is_left_out_too() -> None:
    plan = planned(LOAD, WARM, {"name": "odd", "do": "read", "operation": "no_sqlite", "calls": 1})
    assert plan.runs[0].labels["steps_left_out"] == {"odd": "it has no such thing"}


def test_every_mistake_of_the_steps_is_said_at_once() -> None:
    said = problems(
        LOAD,
        {**WARM, "after": "analyze"},
        ANALYZE,
        {**WARM},
        {"name": "odd", "do": "dance"},
        {"name": "vague", "do": "read", "operation": "one"},
        {"name": "wrong", "do": "read", "operation": "analyze", "calls": 1},
        {"name": "unknown", "do": "statement", "operation": "one"},
        {"name": "self", "do": "cold", "after": "self"},
        {"name": "lost", "do": "cold", "after": "nowhere"},
        {"name": "long", "do": "settle", "seconds": 0},
        {"name": "twice", "do": "load", "table": "events", "rows": {"total": 5}},
        {"name": "early", "do": "read", "operation": "of_others", "calls": 1},
    )
    expected = {
        "steps[1].after": "comes later",
        "steps[3].name": "two steps have this name",
        "steps[4].do": "unknown kind of step",
        "steps[5]": "calls = N or seconds = S",
        "steps[6].operation": "is no query",
        "steps[7].operation": "is no maintenance",
        "steps[8].after": "does not follow itself",
        "steps[9].after": "unknown step",
        "steps[10].seconds": "above 0",
    }
    for key, remedy in expected.items():
        assert any(line.startswith(f"{key}: ") and remedy in line for line in said), (key, said)
    assert any("loads this table already" in line for line in said), said
    assert any("needs rows of others" in line for line in said), said


def test_what_no_step_heeds_and_reads_beyond_their_limit_are_refused_all_at_once() -> None:
    said = problems(
        LOAD,
        {"name": "long", "do": "read", "operation": "one", "seconds": 61},
        {"name": "own", "do": "read", "operation": "one", "seconds": 61, "limit_s": 7},
        {"name": "fits", "do": "read", "operation": "one", "seconds": 60},
        {"name": "given", "do": "read", "operation": "one", "seconds": 100, "limit_s": 101},
        schedule={"limit_s": 60, "at_least_s": 0, "measure_s": 5, "max_repetitions": 3, "proof": "read_back"},
    )
    assert [line for line in said if line.startswith("steps")] == [
        "steps[1].seconds: it would be cut at 60 s, schedule.limit_s; raise limit_s or read for less",
        "steps[2].seconds: it would be cut at 7 s, its limit_s; raise limit_s or read for less",
    ]
    unheeded = [line.partition(":")[0] for line in said if "no step heeds it" in line]
    assert unheeded == [f"schedule.{key}" for key in ("at_least_s", "max_repetitions", "measure_s", "proof")]
    assert len(said) == 6


def test_a_load_whose_table_is_a_factor_is_before_its_reads_at_each_of_its_values() -> None:
    load = {**LOAD, "table": "@table"}
    both, others = {"table": ["events", "others"]}, {"table": ["others"]}
    early = problems(WARM, load, factors={"table": ["events"]})
    assert early == [
        "steps[0]: it needs rows of events, which no step before it loads, where table is events; load them first"
    ]
    (one,) = problems(load, WARM, factors=both)
    assert one.startswith(
        "steps[1]: it needs rows of events, which no step before it loads, where table is others"
    )
    (twice,) = problems({**LOAD, "name": "first"}, load, WARM, factors=both)
    assert "first loads this table already, where table is events" in twice
    assert planned({**LOAD, "name": "first"}, load, WARM, factors=others).runs
    assert planned(load, WARM, factors={"table": ["events"]}).runs


def test_what_no_server_of_an_engine_can_do_is_refused_for_all_of_them_at_once() -> None:
    steps = (LOAD, {"name": "chill", "do": "cold"}, {"name": "anew", "do": "restart"}, WARM)
    said = problems(*steps, engines=["sqlite", "null"])
    assert [line.partition(",")[0].partition(" has no")[0] for line in said] == [
        "steps[2].do: sqlite is no server that inrush starts",
        "steps[1].do: null",
        "steps[2].do: null is no server that inrush starts",
    ]


@pytest.mark.parametrize(
    ("of", "remedy"),
    [("warm.latency_p50_s", ""), ("analyze.duration_s", ""), ("load.after_bytes", ""), ("warm.after_bytes", "unknown figure"),
     ("analyze.latency_p50_s", "unknown figure"), ("later.duration_s", "unknown role")],
)  # fmt: skip
def test_an_answer_may_ask_for_figures_that_its_step_has(of: str, remedy: str) -> None:
    answer = {"kind": "comparison", "of": of}
    if remedy:
        assert any(remedy in line for line in problems(LOAD, WARM, ANALYZE, answer=answer))
    else:
        assert planned(LOAD, WARM, ANALYZE, answer=answer).study.answer is not None


def test_a_study_has_steps_or_roles_and_not_both() -> None:
    roles = {"readers": {"operation": "one", "calls": 1}}
    assert any(line.startswith("roles: ") for line in problems(LOAD, WARM, roles=roles))
    assert any(line.startswith("steps: ") for line in problems(LOAD, WARM, kind="mixed", roles=roles))
    assert any(line.startswith("load: ") for line in problems(LOAD, WARM, load={"rows": 5}))


def test_a_scale_changes_a_step_by_its_name() -> None:
    scale = {"xs": {"steps": {"load": {"rows": {"total": 7}}, "warm": {"calls": 2}}}}
    tree = {
        "schema": 1, "title": "Steps", "question": "How?", "expect": "So.", "workload": "here", "kind": "steps",
        "engines": ["sqlite"], "steps": [LOAD, WARM], "scale": scale,
    }  # fmt: skip
    study = parse_study(tree, WORKLOAD, name="steps", file="steps.toml", scale="xs", known=KNOWN)
    assert (study.roles["load"].rows.rows, study.roles["warm"].calls) == (7, 2)  # type: ignore[union-attr]
    scale["xs"]["steps"]["none"] = {"calls": 2}
    with pytest.raises(
        UsageError, match=r"scale\.xs\.steps\.none is a table; unknown step; choose from: load, warm"
    ):
        parse_study(tree, WORKLOAD, name="steps", file="steps.toml", scale="xs", known=KNOWN)


def test_a_worker_that_does_not_end_a_statement_at_its_limit_is_not_waited_for() -> None:
    plan: Any = planned(LOAD, ANALYZE).runs[0].plan
    at = next(i for i, s in enumerate(plan["segments"]) if s["kind"] == "statement")
    patience = Patience(plan, Graces(limit_s=30.0))
    patience.saw(
        {"event": "segment", "index": at, "label": "analyze", "kind": "statement", "phase": "", "t_ns": 0},
        100.0,
    )
    assert patience.over(100.0 + 5 + 29) is None
    assert "after the limit of segment analyze, 5 s" in (patience.over(100.0 + 5 + 31) or "")


def changed(*overrides: str) -> Study:
    tree = {
        "schema": 1, "title": "Steps", "question": "How?", "expect": "So.", "workload": "here", "kind": "steps",
        "engines": ["sqlite"], "repeats": {"count": 1, "seed": 7}, "steps": [LOAD, WARM],
    }  # fmt: skip
    return parse_study(
        copy.deepcopy(tree), WORKLOAD, name="steps", file="steps.toml", workload_file="here.toml", known=KNOWN,
        overrides=overrides,
    )  # fmt: skip


def test_the_command_line_changes_the_step_that_it_names_and_no_other() -> None:
    load, warm = changed("steps.load.rows.total=20", "steps.warm.calls=7").steps
    assert isinstance(load, Load) and isinstance(warm, Read)
    assert (load.role.rows, warm.role.calls) == (Total(20), 7)


@pytest.mark.parametrize("override", ["steps.lod.rows.total=20", "steps.load=20", "steps=20"])
def test_a_step_that_the_command_line_does_not_find_is_answered_with_their_names(override: str) -> None:
    with pytest.raises(UsageError, match=r"write steps\.<name>\.<key>=value.*load"):
        changed(override)
