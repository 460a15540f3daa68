"""A client that did not run when it should have: which share of its time, by whom, and which figures that moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from inrush.analysis.answer import answer
from inrush.analysis.deciding import above, crossed, tried
from inrush.analysis.lack import Lack, behind, lack_of
from inrush.analysis.parts import BEHIND, OPEN
from inrush.analysis.points import Measured
from inrush.analysis.sentence import sentence
from inrush.analysis.verdicts import Outcome, Verdict
from inrush.guards.analyse import analyse
from inrush.guards.decisions import LIMITS
from inrush.guards.lacking import NAME as LACKING
from inrush.guards.lacking import rates_of, server_had_its_processors
from inrush.guards.lacking import server_had_its_processors as lacking
from inrush.guards.lateness import client_on_time
from inrush.guards.saturation import client_not_saturated
from inrush.machine.processes import RunningProcess
from inrush.results.schema import SCHEMAS
from inrush.stats import others as others_module
from inrush.stats import starved as starved_module
from inrush.stats.brackets import brackets, starved_closed
from inrush.stats.paced import paced_roles, slower_than_due
from inrush.stats.record import RunRecord, StudyRecord
from inrush.stats.run_figures import figures_of_run
from inrush.stats.session_time import session_time
from inrush.stats.starved import Starved, held_back, others_of_client, starved_roles
from inrush.stats.trials import Trial
from inrush.stats.watched import cumulative
from inrush.targets.standing import others
from tests import synthetic
from tests.synthetic import SECOND
from tests.test_hosts import row, run_on
from tests.test_sentence import KEEPS_UP, analysis_of
from tests.test_sentence import paced as paced_samples

MS = 1_000_000
#: Of 8 processors; synthetic clients and servers use 1 of them.
RATE, P99 = "writers.rows_per_s", "writers.latency_p99_s"


def closed(
    queued: float | None, others: float = 0.0, more: dict[str, float] | None = None, **how: Any
) -> RunRecord:
    """A closed role of 10 s whose sessions waited for processors for a share of their time, and what its client says of quotas
    at its end."""
    metrics = [
        {"role": "client", "t_ns": t * SECOND, "metric": metric, "device": "", "value": value * (t - 1) / 10}
        for metric, value in (more or {}).items()
        for t in (1, 11)
    ]
    return synthetic.run("postgresql", makespan_s=10.0, latency_ns=[MS] * 500, noise={"others": others},
                         totals={"queued_ns": None if queued is None else int(queued * 10 * SECOND)}, more={"resources": metrics}, **how)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "calls", "took_s", "late"),
    [
        ("constant", 1_000, 10.0, False),  # 100 a second were due
        ("constant", 1_000, 10.4, False),
        ("constant", 1_000, 10.7, True),
        ("constant", 10, 0.13, False),  # the last call alone took 30 ms
        ("constant", 10, 0.3, True),
        ("poisson", 1_000, 11.0, False),  # gaps that are random may be
        ("poisson", 1_000, 12.0, True),
        ("closed", 1_000, 30.0, False),
    ],
)
def test_a_role_that_makes_all_its_calls_late_fell_behind(
    kind: str, calls: int, took_s: float, late: bool
) -> None:
    """Its share of calls is 1, and it inserts nothing whose queue would tell."""
    of_call = 30 * MS
    run = synthetic.run("postgresql", makespan_s=took_s, rows=calls, batch_rows=1, schedule=kind,
                        latency_ns=[of_call] * calls, service_ns=[of_call] * calls)  # fmt: skip
    figures = {k: v for k, v in figures_of_run(run).items() if k != "writers.keeps_up"}
    assert figures["writers.attempted_share"] == figures["writers.achieved_share"] == 1
    assert behind(run, figures) == ["writers.attempts_per_s"] * late
    lack = lacking(run, figures)
    assert lack is None or lack.outcome is Outcome.PASS


@pytest.mark.parametrize(("longest_s", "late"), [(50.0, []), (60.0, ["writers/a.attempts_per_s"])])
def test_parts_of_a_role_end_with_their_own_work_and_make_their_whole_no_later(
    longest_s: float, late: list[str]
) -> None:
    """1,000 calls of one and 100 of the other, each 20 a second: the whole takes as long as the longer one."""
    made = synthetic.run("postgresql", schedule="constant")
    (totals,) = made.rows("repetitions")
    parts = [("writers/a", 1_000, longest_s), ("writers/b", 100, 5.0)]
    rows = [
        {**totals, "role": name, "ops": n, "ok": n, "end_ns": totals["start_ns"] + int(s * SECOND)}
        for name, n, s in parts
    ]
    create, measure = made.plan["segments"]
    schedule = {"kind": "constant", "rate_per_s": 20.0}
    roles = [{**synthetic.role_plan(name), "schedule": schedule} for name, _, _ in parts]
    plan: Any = {**made.plan, "segments": [create, {**measure, "roles": roles}]}
    run = replace(
        made, plan=plan, tables={**made.tables, "repetitions": synthetic.table("repetitions", rows)}, _rows={}
    )
    figures = {k: v for k, v in figures_of_run(run).items() if not k.endswith(".keeps_up")}
    assert "writers.attempts_per_s" in figures and behind(run, figures) == late


def test_one_slow_call_of_few_is_no_schedule_that_was_fallen_behind() -> None:
    """Three calls at 0.4 a second, all sent when they were due; the last one takes 4 s."""
    figures = {
        "writers.ops": 3.0, "writers.attempts_per_s": 3 / 9.0, "writers.repetitions": 1.0, "writers.service_p50_s": 0.1,
        "writers.service_p99_s": 4.0,
    }  # fmt: skip
    run = synthetic.run("postgresql", schedule="constant")
    roles = run.plan["segments"][1]["roles"]
    roles[0]["schedule"]["rate_per_s"] = 0.4  # type: ignore[index,typeddict-item]
    assert slower_than_due(run, figures) == []
    assert slower_than_due(run, {**figures, "writers.attempts_per_s": 3 / 13.0}) == ["writers"]


def test_calls_that_failed_hide_no_role_that_fell_behind() -> None:
    """Two of a hundred failed, so that the 99th percentile is infinite; due for 50 s they took 100."""
    run = synthetic.run("postgresql", schedule="constant")
    roles = run.plan["segments"][1]["roles"]
    roles[0]["schedule"]["rate_per_s"] = 20.0  # type: ignore[index,typeddict-item]
    figures = {
        "writers.ops": 1_000.0, "writers.attempts_per_s": 10.0, "writers.repetitions": 1.0,
        "writers.service_p50_s": 0.1, "writers.service_p99_s": float("inf"),
    }  # fmt: skip
    assert slower_than_due(run, figures) == ["writers"]
    few = {**figures, "writers.ops": 50.0, "writers.attempts_per_s": 10.0}
    assert slower_than_due(run, few) == ["writers"]


def test_what_it_lacked_leaves_its_rate_and_its_makespan_open(monkeypatch: pytest.MonkeyPatch) -> None:
    run = synthetic.run("postgresql", makespan_s=30.0, rows=1_000, batch_rows=1, schedule="constant")
    figures = figures_of_run(run)
    monkeypatch.setattr("inrush.guards.lacking.lack_of", lambda run: Lack(0.9, 0.0, "cc"))
    found = lacking(run, figures)
    assert (
        found is not None and found.outcome is Outcome.INVALID and "writers did not keep up" in found.sentence
    )
    assert found.breaks("writers.ops_per_s") and found.breaks("writers.makespan_s")


def test_a_part_that_fell_behind_leaves_the_rates_of_its_whole_open_too() -> None:
    named = (
        "writers/a.rows_per_s",
        "writers/b.rows_per_s",
        "writers.rows_per_s",
        "writers.makespan_s",
        "readers.rows_per_s",
    )
    late = rates_of(["writers/a.attempts_per_s"], dict.fromkeys(named, 1.0))
    assert sorted(late) == ["writers.makespan_s", "writers.rows_per_s", "writers/a.rows_per_s"]


def verdict(run: RunRecord) -> Verdict:
    return client_on_time(run, figures_of_run(run))


@pytest.mark.parametrize(
    ("of", "share", "most"),
    [
        (Starved(), 0.0, 0.0),
        (Starved(stood=0.5, queued=0.0, others=0.0), 0.5, 0.5),
        (Starved(queued=0.4, others=0.0), 0.0, 0.0),  # its own sessions and server
        (Starved(queued=0.0, others=0.9), 0.0, 0.0),  # others, on other processors
        (Starved(queued=0.4, others=0.1), 0.1, 0.1),
        (Starved(queued=0.3, others=0.1, quota=0.9), 0.3, 0.3),
        (Starved(stood=0.6, queued=0.7, others=1.0), 1.0, 1.0),
        (Starved(queued=0.4), 0.0, 0.4),  # a server that was not watched
        (Starved(others=0.4), 0.0, 0.4),  # a kernel that does not count
        (Starved(quota=0.4), 0.0, 0.4),
        (Starved(queued=0.4, others=0.0, others_most=0.9), 0.0, 0.4),  # on some processors
        (Starved(queued=0.4, others=0.1, others_most=0.2), 0.1, 0.2),
        (Starved(stood=0.1, late=0.4, others=0.0), 0.1, 0.4),
    ],
)
def test_what_is_lost_is_what_was_waited_for_and_taken(of: Starved, share: float, most: float) -> None:
    assert (of.share, of.most) == pytest.approx((share, most))


def test_a_closed_role_that_others_kept_from_running_is_invalid_in_its_rates_and_times() -> None:
    run = replace(closed(0.4, others=0.3), summary={
        "begun_unix_ns": SECOND, "ended_unix_ns": 11 * SECOND, "others": [{"pid": 7, "program": "rustc", "cpu_s": 24.0}],
    })  # fmt: skip
    found = verdict(run)
    assert found.outcome is Outcome.INVALID and found.breaks(RATE) and found.breaks(P99), found
    assert not found.breaks("writers.rows"), "what was counted stands"
    assert "waited for a processor for 40 % of their time" in found.sentence, found.sentence
    assert (
        "other processes took 30 % of the processors that it may use (rustc (process 7) 2.4 cores)"
        in found.sentence
    )
    bracket = brackets(run, figures_of_run(run), [])[RATE]
    assert bracket.on_time == pytest.approx(bracket.measured / 0.7)


@pytest.mark.parametrize("kind", ["latency", "service", "first_row", "freshness"])
def test_every_time_of_a_closed_role_is_moved_by_what_kept_it_from_running(kind: str) -> None:
    """An extract's first row, and what a poller sees, come later as its calls do."""
    (row, *_) = [r for r in closed(0.0).rows("hist") if r["kind"] == "latency"]
    made = closed(0.4, others=0.3)
    hists = [*(r for r in made.rows("hist") if r["kind"] != kind), {**row, "kind": kind}]
    run = replace(made, tables={**made.tables, "hist": synthetic.table("hist", hists)}, _rows={})
    figure = f"writers.{kind}_p99_s"
    bracket = brackets(run, figures_of_run(run), [])[figure]
    assert bracket.on_time == pytest.approx(bracket.measured * 0.7) and verdict(run).breaks(figure)


@pytest.mark.parametrize(
    ("queued", "others"),
    [(0.6, 0.0), (0.6, 0.04), (0.04, 0.6), (0.0, 0.0)],
    ids=["its own load", "little of others", "others elsewhere", "undisturbed"],
)
def test_waiting_that_nobody_else_caused_and_work_of_others_that_nobody_waited_for_are_no_fault(
    queued: float, others: float
) -> None:
    found = verdict(closed(queued, others))
    assert found.outcome in (Outcome.PASS, Outcome.NOTE), found


@pytest.mark.parametrize(
    ("others", "cpus", "least", "most", "outcome"),
    [
        (0.07, 8, 0.07, 0.07, Outcome.INVALID),  # a client that may use all
        (0.25, 2, 0.0, 1.0, Outcome.NOT_CHECKED),  # two cores: those of the client, or two of the six others
        (0.80, 2, 0.2, 1.0, Outcome.INVALID),  # 6.4 cores do not fit on the six others
        (0.01, 2, 0.0, 0.04, Outcome.PASS),
        (0.0, 2, 0.0, 0.0, Outcome.PASS),  # its own load
    ],
)
def test_work_elsewhere_is_not_charged_to_a_client_on_some_processors(
    others: float, cpus: int, least: float, most: float, outcome: Outcome
) -> None:
    run = closed(0.5, others=others, env={"cpu_logical": cpus})
    found = others_of_client(run)
    assert found == pytest.approx((least, most))
    said = verdict(run)
    assert said.breaks(RATE) is (outcome is Outcome.INVALID), said
    assert (said.outcome is Outcome.NOT_CHECKED) is (outcome is Outcome.NOT_CHECKED), said
    if outcome is Outcome.NOT_CHECKED:
        assert "waited for a CPU for up to 50 % of the time" in said.sentence
        assert "inrush could not see whether others used those of the client" in said.sentence, said
    if (least, outcome) == (0.2, Outcome.INVALID):
        assert "other processes took at least 20 %" in said.sentence, said


@pytest.mark.parametrize(
    ("counted", "beats", "late_s", "longest_s", "outcome", "said"),
    [
        # 10 of every 100 ms, as `cpulimit -l 90` stops it: 52 of its 520 beats meet a stall, and are late by 5 ms.
        (True, 52, 0.26, 0.0099, Outcome.INVALID, "stood still for 1"),
        (True, 7, 0.035, 0.0099, Outcome.PASS, "on time"),
        # Where waiting is not counted, its own load makes beats late.
        (False, 300, 1.2, 0.0099, Outcome.NOT_CHECKED, "does not count"),
        (False, 7, 0.035, 0.0099, Outcome.PASS, "on time"),
        (False, 1, 0.7, 0.7, Outcome.INVALID, "stood still for 700 ms"),
    ],
)
def test_a_client_that_stood_still_for_short_times_is_told_by_its_late_beats(
    counted: bool, beats: int, late_s: float, longest_s: float, outcome: Outcome, said: str
) -> None:
    run = closed(0.0 if counted else None)
    told = {"stalls": beats, "stall_total_s": late_s, "stall_longest_s": longest_s}
    rows = [
        {"role": "client", "t_ns": 11 * SECOND, "metric": metric, "device": "", "value": float(value)}
        for metric, value in told.items()
    ]
    resources = synthetic.table("resources", [*run.rows("resources"), *rows])
    found = verdict(replace(run, tables={**run.tables, "resources": resources}, _rows={}))
    assert found.outcome is outcome and said in found.sentence, found


@pytest.mark.parametrize(
    "env", [{"cgroup_cpu_cores": 2.0}, {"cpu_logical": 2}, {"cgroup_cpu_cores": 6.0, "cpu_logical": 2}]
)
def test_what_a_client_computes_is_held_against_the_cores_that_it_may_use(env: dict[str, float]) -> None:
    run = closed(0.0, client_cores=1.8, env=env)
    found = client_not_saturated(run, figures_of_run(run))
    assert found is not None and "1.80 of 2 cores" in found.sentence and found.outcome is Outcome.INVALID, (
        found
    )


THROTTLED = {"quota_throttled_s": 9.0, "quota_throttled": 64.0, "quota_periods": 68.0}


def test_a_quota_that_was_used_up_is_named_with_its_periods_and_invalid_where_sessions_waited() -> None:
    run = closed(0.8, more=THROTTLED)
    assert held_back(run).share == pytest.approx(0.9)
    found = verdict(run)
    assert found.breaks(RATE) and "its quota of CPU was used up in 64 of 68 periods" in found.sentence, found
    assert "raise the quota" in found.sentence
    assert verdict(closed(0.01, more=THROTTLED)).outcome is not Outcome.INVALID, "without effect"
    assert verdict(closed(0.8)).outcome is not Outcome.INVALID, "without a quota"


def test_a_quota_is_a_share_of_the_time_and_not_of_all_processors() -> None:
    """On 32 processors each was held back for 1 % of the time: that is 3.2 s of 10, and one period of a hundred."""
    many = {"quota_throttled_s": 3.2, "quota_throttled": 1.0, "quota_periods": 100.0}
    run = closed(0.8, more=many)
    assert held_back(run).share == pytest.approx(0.01)
    assert not verdict(run).breaks(RATE), "what its sessions waited for is its own load"
    few = {"quota_throttled_s": 0.4, "quota_throttled": 100.0, "quota_periods": 100.0}
    assert held_back(closed(0.8, more=few)).share == pytest.approx(0.04)
    assert held_back(closed(0.8, more=dict.fromkeys(many, 0.0))).share == 0.0


def test_what_kept_a_run_waiting_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run, looks = closed(0.4, others=0.3), list[str]()

    def counted(of: RunRecord, metric: str, device: str = "") -> Any:
        looks.append(metric)
        return cumulative(of, metric, device)

    for module in (others_module, starved_module):
        monkeypatch.setattr(module, "cumulative", counted)
    figures = figures_of_run(run)
    for _ in range(3):
        client_on_time(run, figures)
        lack_of(run)
    once = [m for m in looks if not m.startswith("stall")]
    assert once and max(once.count(m) for m in ("quota_throttled_s", "cpu_s")) <= 2, once


def test_what_a_kernel_does_not_count_and_what_was_not_watched_are_not_checked() -> None:
    untold = verdict(closed(None, others=0.3))
    assert untold.outcome is Outcome.NOT_CHECKED and "does not count" in untold.sentence, untold
    run = closed(0.4)
    unseen = replace(run, plan={**run.plan, "watch": {"processes": {}}, "target": {"engine": "postgresql", "url": "postgresql://u@127.0.0.1:5432/d"}})  # fmt: skip
    silent = verdict(unseen)
    if others_of_client(unseen) is None:
        assert (
            silent.outcome is Outcome.NOT_CHECKED and "inrush could not see who used it" in silent.sentence
        ), silent
    else:
        pytest.fail("the plan's server is not taken for one that is unseen here")


def page(queued: Mapping[str, float], paced: bool = False) -> RunRecord:
    """Readers whose page calls several queries, each with a session that waited for processors for a share of 10 s."""
    made = synthetic.run(
        "postgresql", makespan_s=10.0, reader_ns=[MS] * 500, schedule="constant", noise={"others": 0.5}
    )
    *before, row = made.rows("repetitions")
    members = [
        {**row, "role": f"readers/{name}", "queued_ns": int(share * 10 * SECOND)}
        for name, share in queued.items()
    ]
    hists = [
        {
            **made.rows("hist")[-1],
            "role": of["role"],
            "op": of["role"].split("/")[1],
            **synthetic.hist([MS] * 500),
        }
        for of in members
    ]
    *first, measure = made.plan["segments"]
    writers, readers = measure["roles"]
    segments = [
        *first,
        {**measure, "roles": [writers, {**readers, "schedule": writers["schedule"]} if paced else readers]},
    ]
    tables = {
        "repetitions": synthetic.table("repetitions", [*before, row, *members]),
        "hist": synthetic.table("hist", [*made.rows("hist"), *hists]),
    }
    return replace(made, plan={**made.plan, "segments": segments}, tables={**made.tables, **tables}, _rows={})


def test_a_page_waited_as_its_slowest_query_did_and_its_own_row_has_no_time() -> None:
    for queued in ({"top": 0.4}, {"top": 0.4, "last": 0.0}):
        run = page(queued)
        found = starved_roles(run)
        assert found["readers"].queued == found["readers/top"].queued == pytest.approx(0.4)
        assert "readers" not in session_time(run)
        assert verdict(run).breaks("readers.ops_per_s") and verdict(run).breaks("readers/top.ops_per_s")
    assert starved_roles(page({"top": 0.4, "last": 0.0}))["readers/last"].queued == 0.0
    assert starved_roles(page({}))["readers"].queued == 0.0, "a role without members is its own"


def test_a_query_of_a_paced_page_is_paced() -> None:
    run = page({"top": 0.4}, paced=True)
    assert starved_closed(run, paced_roles(run)) == {} and not verdict(run).breaks("readers/top.ops_per_s")


def test_one_percent_is_less_than_buckets_resolve_and_moves_no_decision() -> None:
    run = closed(0.009, others=0.5)
    figures = figures_of_run(run)
    assert all(b.on_time == b.measured for b in brackets(run, figures, []).values())


# The server.


def paced(others: float, late: bool = True, engine: str = "postgresql") -> RunRecord:
    """A role at a rate, on 8 processors of which it keeps 1 busy, and others a share; two of five calls were never sent."""
    made = synthetic.run(
        engine,
        schedule="constant",
        makespan_s=5.0,
        rows=500_000,
        latency_ns=[MS] * 500,
        noise={"others": others},
    )
    (totals,) = made.rows("repetitions")
    rows = [{**totals, "unsent": 200 if late else 0}]
    return replace(
        made, tables={**made.tables, "repetitions": synthetic.table("repetitions", rows)}, _rows={}
    )


@pytest.mark.parametrize(
    ("others", "late", "outcome"),
    [
        (0.85, True, Outcome.INVALID),
        (0.5, True, Outcome.PASS),  # 37 % were idle: the server could have had them
        (0.0, True, Outcome.PASS),
        (0.85, False, Outcome.PASS),  # it kept up beside them
    ],
)
def test_a_server_that_lacked_what_others_took_has_not_shown_that_it_falls_behind(
    others: float, late: bool, outcome: Outcome
) -> None:
    run = paced(others, late)
    figures = figures_of_run(run)
    found = server_had_its_processors(run, figures)
    assert found is not None and found.guard == LACKING and found.outcome is outcome, found
    share = "writers.attempted_share"
    assert found.breaks(share) is (outcome is Outcome.INVALID)
    m = Measured(run, figures, [found])
    trial = tried(m, m, share, 0.99).trial
    assert trial is (Trial.UNDECIDED if outcome is Outcome.INVALID else Trial.FAILED if late else Trial.HELD)
    stops = above(m, m, P99, 0.5 * figures[P99])
    assert (stops is not None) is (others == 0.85), stops
    if outcome is Outcome.INVALID:
        assert (
            "other processes took 85 % of the processors" in found.sentence
            and "cannot show whether it keeps up" in found.sentence
        )


def without_server(run: RunRecord) -> RunRecord:
    """It is on another machine."""
    rows = [r for r in run.rows("resources") if r["role"] != "server"]
    return replace(run, tables={**run.tables, "resources": synthetic.table("resources", rows)}, _rows={})


def test_what_others_take_where_no_server_is_leaves_a_server_that_falls_behind_behind() -> None:
    run = without_server(paced(0.85))
    figures = figures_of_run(run)
    found = server_had_its_processors(run, figures)
    assert found is not None and found.outcome is Outcome.NOT_CHECKED, found
    m = Measured(run, figures, [found])
    assert tried(m, m, "writers.attempted_share", 0.99).trial is Trial.FAILED
    assert above(m, m, P99, 0.5 * figures[P99]) is None


@pytest.mark.parametrize(("full", "lacks"), [(1, True), (2, False)])
def test_of_several_hosts_that_of_the_server_is_looked_at(full: int, lacks: bool) -> None:
    """The first process of a fleet is beside the server and watches it."""
    made = run_on({f"host/{n}": {"cpu_busy_s": 7.9 if n == full else 1.0} for n in (1, 2)})
    server = [row("server", t, "cpu_s", 1.0 * t) for t in range(12)]
    table = pa.concat_tables(
        [made.tables["resources"], pa.Table.from_pylist(server, schema=SCHEMAS["resources"])]
    )
    run = replace(made, tables={**made.tables, "resources": table}, _rows={})
    assert (lack_of(run) is not None) is lacks


def test_an_engine_in_the_clients_process_lacks_what_others_take_there() -> None:
    run = without_server(paced(0.9, engine="duckdb"))
    found = server_had_its_processors(run, figures_of_run(run))
    assert found is not None and found.outcome is Outcome.INVALID and "the engine needed" in found.sentence, (
        found
    )


@pytest.mark.parametrize(
    ("figures", "late"),
    [
        ({"achieved_share": 0.99, "attempted_share": 1.0, "errors": 1, "refused": 0}, []),
        ({"achieved_share": 0.98, "attempted_share": 0.99}, ["achieved_share", "attempted_share"]),
        ({"in_time_share": 0.99, "attempted_share": 1.0, "errors": 1, "refused": 1}, []),
        ({"keeps_up": 0.0, "attempted_share": 1.0, "errors": 1, "refused": 1}, []),
        ({"in_time_share": 0.99, "attempted_share": 1.0, "errors": 1}, ["in_time_share"]),  # a timeout
        ({"in_time_share": 0.99}, ["in_time_share"]),
    ],
)
def test_calls_that_failed_lacked_no_processor(figures: Mapping[str, float], late: Sequence[str]) -> None:
    run = paced(0.85, late=False)
    named = {f"writers.{name}": float(value) for name, value in figures.items()}
    found = server_had_its_processors(run, named)
    assert found is not None and found.outcome is (Outcome.INVALID if late else Outcome.PASS)
    broken = [name for name in named if name.endswith(("_share", "keeps_up")) and found.breaks(name)]
    assert broken == [f"writers.{name}" for name in late]
    m = Measured(run, named, [found])
    for name in ("achieved_share", "in_time_share", "keeps_up"):
        if f"writers.{name}" in named:
            negative = Trial.UNDECIDED if late else Trial.FAILED
            assert tried(m, m, f"writers.{name}", 1.0).trial is negative


@pytest.mark.parametrize(
    ("shares", "decided"), [((0.85, 0.85), False), ((0.85, 0.0), True), ((0.0, 0.0), True)]
)
def test_a_limit_that_is_crossed_beside_others_is_not_decided_unless_a_run_crosses_it_alone(
    shares: Sequence[float], decided: bool
) -> None:
    limit = 0.5 * figures_of_run(paced(0.0, late=False))[P99]
    runs = [replace(paced(of, late=False), run_id=f"r{n}") for n, of in enumerate(shares)]
    analysis = analyse(StudyRecord({**synthetic.STUDY, "accept": {P99: limit}}, runs))
    (line,) = crossed(analysis)
    assert analysis.valid is decided and ("not decided: other processes took 85 %" in line) is not decided, (
        line
    )
    assert analysis.answer_outcome is not Outcome.INVALID
    (found,) = [v for v in analysis.study_verdicts if v.guard == LIMITS]
    assert found.breaks(P99) is not decided and not found.breaks("writers.makespan_s"), found


def test_a_wrong_answer_is_decided_beside_whatever_ran() -> None:
    run = paced(0.85)
    m = Measured(run, {"writers.wrong": 1.0, "writers.errors": 1.0}, [])
    assert above(m, m, "writers.wrong", 0) is None and above(m, m, "writers.errors", 0) is not None


def test_who_took_processors_are_those_that_are_none_of_ours_the_largest_first() -> None:
    def process(pid: int, parent: int, program: str, cpu_s: float) -> RunningProcess:
        return RunningProcess(pid, parent, f"/usr/bin/{program}", cpu_s)

    before = {1: process(1, 0, "init", 5.0), 40: process(40, 1, "make", 1.0)}
    after = {
        1: process(1, 0, "init", 5.0),
        40: process(40, 1, "make", 9.0),
        50: process(50, 1, "inrush", 3.0),
        51: process(51, 50, "worker", 20.0),
        60: process(60, 1, "mysqld", 30.0),
        70: process(70, 1, "hog", 12.0),
    }
    found = others(before, after, {50, 60})["others"]
    assert [(o["program"], o["cpu_s"]) for o in found] == [("hog", 12.0), ("make", 8.0)]
    assert others(before, before, set()) == {}


def test_what_ended_children_used_is_theirs_as_far_as_they_ran_beside() -> None:
    """A child that had used 100 s when a run began, and ended in it, used those before: its parent took 2 s of the run."""
    shell, child = "/usr/bin/sh", "/usr/bin/cc1"
    before = {9: RunningProcess(9, 1, shell, 1.0), 10: RunningProcess(10, 9, child, 100.0)}
    after = {9: RunningProcess(9, 1, shell, 103.0)}
    (found,) = others(before, after, set())["others"]
    assert (found["program"], found["cpu_s"]) == ("sh", pytest.approx(2.0))
    # A grandchild that ended goes up by way of its parent, which still runs or has ended, too.
    deep = {**before, 11: RunningProcess(11, 10, child, 7.0)}
    (found,) = others(deep, {9: RunningProcess(9, 1, shell, 110.0)}, set())["others"]
    assert found["cpu_s"] == pytest.approx(2.0)
    still = {9: RunningProcess(9, 1, shell, 1.0), 10: RunningProcess(10, 9, child, 109.0)}
    (found,) = others(deep, still, set())["others"]
    assert (found["program"], found["cpu_s"]) == ("cc1", pytest.approx(2.0))


@pytest.mark.parametrize("share", [0.85, 0.0])
def test_an_answer_names_who_took_what_a_server_lacked_in_place_of_its_falling_behind(share: float) -> None:
    """MySQL stores a second's rows in 1.5 s: beside others it is not decided, alone it falls behind."""
    runs = []
    for block in (1, 2, 3):
        made = paced_samples("mysql", 4, block, [1.5] * 40)
        end_ns = max(s["end_ns"] for s in made.rows("segments"))
        host = synthetic.table("resources", synthetic.resource_rows(end_ns, 0.1, {"others": share}, 8))
        took = {"begun_unix_ns": block * 100 * SECOND, "ended_unix_ns": (block * 100 + 40) * SECOND, "others": [{"pid": 7, "program": "rustc", "cpu_s": 240.0}]}  # fmt: skip
        runs.append(
            replace(
                made, tables={**made.tables, "resources": host}, summary={**made.summary, **took}, _rows={}
            )
        )
    measured = [
        Measured(run, figures, [found] if (found := server_had_its_processors(run, figures)) else [])
        for run in runs
        for figures in (figures_of_run(run),)
    ]
    analysis = analysis_of(StudyRecord({**synthetic.STUDY, "accept": {}, "answer": KEEPS_UP}, runs), measured)
    said = sentence(analysis, answer(analysis))
    found = answer(analysis)
    assert found is not None
    (part,) = (p for p in found.parts if p.group == (("engine", "mysql"),))
    decided = part.tries[-1]
    if share:
        words = "is not decided at 20,000 rows/s with 4 readers: other processes took 85 % of the processors (rustc (process 7) 6 cores)"
        assert words in said and "(in 3 of 3 runs)." in said and "falls behind" not in said, said
        assert (decided.word, decided.count) == (OPEN, 3), decided
        assert words.partition(": ")[2] in decided.because
        assert not analysis.valid, "no decision is no result"
    else:
        assert "falls behind at 20,000 rows/s" in said and decided.word == BEHIND, (said, decided)
        assert analysis.valid
