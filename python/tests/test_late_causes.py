"""A client that was late for a reason that is known: the verdict names it with the option that helps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis.verdicts import Outcome
from inrush.guards import lateness
from inrush.guards.analyse import analyse
from inrush.report.report import closing_lines
from inrush.stats.record import RunRecord
from inrush.stats.starved import HeldBack, others_of_client
from tests import synthetic

MS = 1_000_000
COMMAND = "inrush run keepup --start clickhouse --data '/a disk' --seed 1"
P99 = "writers.latency_p99_s"


def late(engine: str, url: str = "", watched: bool = False, block: int = 1, **env: Any) -> RunRecord:
    run = synthetic.run(
        engine, {}, block, 0, schedule="constant", latency_ns=[6 * MS] * 100, lag_ns=[3 * MS] * 100, rows=100_000, env=env
    )  # fmt: skip
    processes = {"server": [4711]} if watched else {}
    target = {**run.plan["target"], "url": url or run.plan["target"]["url"]}
    return replace(run, plan={**run.plan, "target": target, "watch": {"processes": processes}}, _rows={})


def said_by(run: RunRecord, **doc: Any) -> RunRecord:
    return replace(run, summary={**run.summary, **doc})


def sentence(run: RunRecord) -> str:
    (found,) = [v for m in analyse(record(run)).runs for v in m.verdicts if v.guard == lateness.NAME]
    assert found.outcome is Outcome.INVALID
    return found.sentence


def record(*runs: RunRecord, of: str = P99) -> Any:
    asked = {"kind": "comparison", "of": of, "along": "engine"}
    return synthetic.StudyRecord(
        {**synthetic.STUDY, "status": "done", "answer": asked, "command": COMMAND}, list(runs), ()
    )


@pytest.mark.parametrize(
    ("run", "causes"),
    [
        (late("clickhouse", watched=True, data_journal=False), [lateness.UNJOURNALED, lateness.NO_PRIORITY]),
        (late("clickhouse", watched=True, data_journal=True), [lateness.NO_PRIORITY]),
        (late("postgresql", "postgresql://me@127.0.0.1:5432/d"), [lateness.NO_PRIORITY]),
        (late("postgresql", "postgresql://me@db.example/d"), []),
        (
            said_by(late("postgresql", "postgresql://me@db.example/d"), target_hosts=["db.example"]),
            [lateness.NO_PRIORITY],
        ),
        (
            said_by(
                late("postgresql", "postgresql://me@localhost/d"),
                clients={"workers": [{"host": "a", "clock": {"error_ns": 0}}]},
            ),
            [],
        ),
        (late("postgresql", watched=True, client_scheduling="first in, first out"), []),
        (late("sqlite"), []),
        (late("duckdb", data_journal=False), [lateness.UNJOURNALED]),
    ],
)
def test_what_is_known_of_the_machine_is_named(run: RunRecord, causes: list[lateness.Cause]) -> None:
    assert lateness.causes(run) == causes
    detail = sentence(run)
    for cause in (lateness.UNJOURNALED, lateness.NO_PRIORITY):
        assert (cause.sentence in detail) == (cause in causes)
    assert lateness.ANYWHERE in detail


def test_the_last_lines_name_the_cause_and_the_command_that_helps() -> None:
    runs = [late("clickhouse", watched=True, block=b, data_journal=False) for b in (1, 2)]
    *_, verdict, following = closing_lines(record(*runs))
    assert (
        verdict.startswith("INVALID: client on time (latency p99 of writers): ")
        and lateness.UNJOURNALED.sentence in verdict
    )
    assert following == (
        "next: inrush run keepup --start clickhouse --seed 1 --data DIR --realtime   (DIR on a filesystem with a journal)"
    )


def test_without_a_known_cause_the_doctor_comes_next() -> None:
    runs = [late("postgresql", "postgresql://me@db.example/d", block=b) for b in (1, 2)]
    assert closing_lines(record(*runs))[-1] == "next: inrush doctor"


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they took is left out of all other tests."""
    monkeypatch.setattr("inrush.stats.starved.others_of_client", others_of_client)


def test_other_processes_that_took_the_processors_are_named_before_what_has_no_share(
    others: None,
) -> None:
    runs = [
        synthetic.run("clickhouse", {}, b, 0, makespan_s=10.0, latency_ns=[MS] * 50, noise={"others": 0.3},
                      totals={"queued_ns": 4_000_000_000}, env={"data_journal": False})
        for b in (1, 2)
    ]  # fmt: skip
    assert lateness.causes(runs[0])[0] == lateness.OTHERS
    *_, verdict, following = closing_lines(record(*runs, of="writers.rows_per_s"))
    first, second = lateness.OTHERS.sentence, lateness.UNJOURNALED.sentence
    assert verdict.index(first) < verdict.index(second)
    assert following == (
        "next: inrush run keepup --start clickhouse --seed 1 --data DIR"
        "   (first stop the other processes, which took 30 % of the processors; DIR on a filesystem with a journal)"
    ), following


def test_where_only_other_processes_made_the_client_late_the_same_command_comes_next_without_them(
    others: None,
) -> None:
    runs = [
        synthetic.run("sqlite", {}, b, 0, makespan_s=10.0, latency_ns=[MS] * 50, noise={"others": 0.3},
                      totals={"queued_ns": 4_000_000_000})
        for b in (1, 2)
    ]  # fmt: skip
    assert lateness.causes(runs[0]) == [lateness.OTHERS]
    assert closing_lines(record(*runs, of="writers.rows_per_s"))[-1] == (
        f"next: {COMMAND}   (first stop the other processes, which took 30 % of the processors)"
    )


@pytest.mark.parametrize(
    ("quota", "taken", "first"), [(0.5, 0.3, lateness.QUOTA), (0.3, 0.5, lateness.OTHERS)]
)
def test_of_two_that_took_processors_the_one_that_took_more_stands_first(
    quota: float, taken: float, first: lateness.Cause, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lateness, "held_back", lambda run: HeldBack(quota))
    monkeypatch.setattr(lateness, "taken_share", lambda run: taken)
    causes = lateness.causes(synthetic.run("sqlite", {}, 1, 0, makespan_s=10.0))
    assert causes[0] == first and {*causes} == {lateness.QUOTA, lateness.OTHERS}
