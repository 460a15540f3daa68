"""Studies over several client processes: what they plan, and what is refused before anything is touched."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inrush import _core
from inrush.engines import server
from inrush.errors import UsageError
from inrush.plan.plan import canonical, plan_study
from inrush.plan.planned import StudyPlan
from inrush.run.call import StudyCall
from inrush.run.prepare import with_clients
from inrush.study.reading import load_study


def planned(name: str, *overrides: str, engine: str = "postgresql", scale: str = "xs") -> StudyPlan:
    study = load_study(name, scale, overrides, [engine])
    return plan_study(study, {engine: server(engine)})


def refused(name: str, *overrides: str, engine: str = "postgresql") -> list[str]:
    with pytest.raises(UsageError) as info:
        planned(name, *overrides, engine=engine)
    assert all("\n" not in str(p.remedy) for p in info.value.problems)
    return [f"{p.key}: {p.remedy}" for p in info.value.problems]


def test_one_client_plans_byte_for_byte_as_a_study_without_the_key() -> None:
    def plans(*overrides: str) -> list[str]:
        return [canonical(run.plan) for run in planned("keylookup-threads", *overrides).runs]

    assert plans("clients=1") == plans()
    assert plans("clients=2") != plans()


def test_a_plan_says_how_many_processes_share_it_and_each_has_all_sessions() -> None:
    plans: list[Any] = [run.plan for run in planned("keylookup-clients", "clients=1,3").block(1)]
    one, three = sorted(plans, key=lambda plan: len(plan.get("share", {})))
    assert "share" not in one and three["share"] == {"index": 0, "of": 3}
    assert three["labels"]["clients"] == 3 and "clients" not in one["labels"]
    roles = [next(s for s in p["segments"] if s["label"] == "measure")["roles"] for p in (one, three)]
    assert roles[0] == roles[1] and roles[0][0]["sessions"] == 2


def test_rows_of_each_session_are_those_of_the_sessions_of_all_processes() -> None:
    def rows(*overrides: str) -> int:
        plan = planned(
            "telemetry-writers", "writers=2", "schedule.at_least_s=0", "roles.readers.sessions=0", *overrides
        )
        segments: Any = plan.runs[-1].plan["segments"]
        (measure,) = [s for s in segments if s["label"] == "measure"]
        return sum(role["work"]["rows"] for role in measure["roles"])

    alone = rows("roles.writers.rows={per_session=3000}")
    assert rows("roles.writers.rows={per_session=3000}", "clients=2") == 2 * alone
    assert rows("roles.writers.rows={total=6000}", "clients=2") == rows("roles.writers.rows={total=6000}")


def test_ranges_of_keys_are_counted_over_the_sessions_of_all_processes() -> None:
    own = ('roles.clients.keys="own_range"', "load.rows=5", "threads=4")
    assert planned("keylookup-threads", *own).runs
    assert refused("keylookup-threads", *own, "clients=2") == [
        "operations.look.keys: own_range gives each of 8 sessions rows of its own, and there are 5; lower sessions"
    ]


def test_an_engine_inside_of_the_client_has_no_point_with_several() -> None:
    plan = planned("keylookup-clients", "clients=1,2", engine="sqlite")
    assert {m.reason for m in plan.unsupported} == {
        "sqlite works inside of the client, and 2 client processes cannot share its data"
    }
    assert plan.runs, "the points with one client are planned"
    assert not planned("keylookup-clients", "clients=1,2", engine="null").unsupported, "it keeps no data"


@pytest.mark.parametrize(
    ("study", "overrides", "why"),
    [
        (
            "pipeline-parallel",
            (),
            "the clients of a study with `pipeline` are the load's own: pipeline.client",
        ),
        (
            "keylookup-phases",
            (),
            "put, change and take: what it does to rows is known to its own process alone",
        ),
        ("telemetry-writers", ("roles.readers.sessions=0",), "which one process does alone"),
        ("telemetry-keepup", ("schedule.at_least_s=0",), "samples are stored by one process"),
        (
            "telemetry-mixed",
            ("schedule.at_least_s=0",),
            "it waits for rows, which may be those of any process",
        ),
        (
            "telemetry-writers",
            ("schedule.at_least_s=0", "roles.readers.operation=pc_count", "roles.readers.sessions=1"),
            "pc_count: it promises counts of rows of all processes, which are written meanwhile",
        ),
        ("archive-dump", (), "its calls write one file after the other"),
        ("archive-dump", (), "reload: its rows are read from files, one after the other"),
        ("bulkindex-load", ("steps.load.files.way=parsed",), "load: its rows are read from files, one after"),
        ("archive-rate", (), "subscribers: its queue is of one process"),
        (
            "telemetry-production",
            (),
            "rows are deleted by age, which one process does",
        ),
        ("telemetry-mixed", ("schedule.at_least_s=0",), "judged by what its own process has written"),
        ("keylookup-threads", ("roles.clients.operation=change",), "known to its own process alone"),
        ("keylookup-threads", ("roles.clients.operation=take",), "known to its own process alone"),
    ],
)
def test_what_one_process_alone_knows_is_refused_with_a_line(
    study: str, overrides: tuple[str, ...], why: str
) -> None:
    said = refused(study, "clients=2", *overrides)
    assert any(line.startswith("clients: ") and why in line for line in said), said


def test_the_remedy_holds_also_where_the_number_is_that_of_a_fleet() -> None:
    """Left out, `clients` is the number of workers there: the same refusal again."""
    (said,) = [
        line
        for line in refused("telemetry-keepup", "schedule.at_least_s=0", "clients=2")
        if "samples" in line
    ]
    assert "leave it out" not in said
    remedy = said.partition("`-P ")[2].partition("`")[0]
    call = StudyCall("telemetry-keepup", "xs", ("schedule.at_least_s=0", remedy), (), fleet="local:2")
    assert with_clients(call, lambda: 2) is call, "no scheduler is asked"
    assert planned("telemetry-keepup", *call.overrides).runs


#: Of a plan that was made elsewhere: what the core refuses by itself, of the studies that the planner refuses above.
UNPLANNED = (
    ("keylookup-phases", (), "does to rows is known to its own process alone"),
    ("telemetry-writers", ("roles.readers.sessions=0",), "do not repeat one"),
    ("telemetry-keepup", ("schedule.at_least_s=0",), "parts of a sample are of one process"),
    ("telemetry-mixed", ("schedule.at_least_s=0",), "it waits for rows, which may be those of any process"),
    (
        "telemetry-writers",
        ("schedule.at_least_s=0", "roles.readers.operation=pc_last", "roles.readers.sessions=1"),
        "pc_last: its rows are written meanwhile, and it is judged by what its own process has written",
    ),
    (
        "telemetry-writers",
        ("schedule.at_least_s=0", "roles.readers.operation=pc_count", "roles.readers.sessions=1"),
        "pc_count: it promises counts of rows of all processes, which are written meanwhile",
    ),
    ("archive-dump", (), "its calls write one file after the other"),
    ("archive-dump", (), "reload: its rows are read from files, one after the other"),
    ("bulkindex-load", ("steps.load.files.way=parsed",), "load: its rows are read from files, one after"),
    ("archive-rate", (), "queue_calls is of one process"),
    ("telemetry-production", (), "rows are deleted by age, which one process does"),
)


@pytest.mark.parametrize(("study", "overrides", "why"), UNPLANNED)
def test_a_plan_from_elsewhere_is_refused_by_the_core_for_the_same_reasons(
    study: str, overrides: tuple[str, ...], why: str
) -> None:
    said: list[str] = []
    for run in planned(study, *overrides).runs:
        plan = json.loads(canonical(run.plan))
        assert _core.check_plan(json.dumps(plan)) == []
        shared = {**plan, "share": {"index": 1, "of": 2}}
        said += _core.check_plan(json.dumps(shared))
        alone = {**shared, "share": {"index": 0, "of": 1}}
        assert _core.check_plan(json.dumps(alone)) == []
    assert any(why in line for line in said), said


@pytest.mark.parametrize("study", ["keylookup-clients", "keylookup-threads", "telemetry-writers"])
def test_what_the_planner_shares_the_core_takes(study: str) -> None:
    more = () if study != "telemetry-writers" else ("schedule.at_least_s=0", "roles.readers.sessions=0")
    for run in planned(study, "clients=2", *more).runs:
        assert _core.check_plan(canonical(run.plan)) == []


@pytest.mark.parametrize("value", ["0", "1.5", "1001", '"@threads"'])
def test_a_number_of_clients_is_a_count_or_a_factor(value: str) -> None:
    if value == '"@threads"':
        shares = [run.plan.get("share") for run in planned("keylookup-threads", f"clients={value}").block(1)]
        assert shares == [None, {"index": 0, "of": 2}] or shares == [{"index": 0, "of": 2}, None]
        return
    with pytest.raises(UsageError, match="clients"):
        planned("keylookup-threads", f"clients={value}")
