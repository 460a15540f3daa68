"""What the guards say of runs whose client processes were on several hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from inrush.agent.barriers import SharedStart, Starts
from inrush.agent.clocks import SAME, Clock
from inrush.analysis.verdicts import Outcome, Verdict
from inrush.guards.analyse import measured_run
from inrush.guards.laws import nothing_overfull
from inrush.stats.headroom import client_share
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from tests import synthetic


def on_hosts(busy: list[float], cores: list[Any], boots: str, ours: int, **more: Any) -> RunRecord:
    """A run by a process on each worker, directed from a host with `ours` cores. boots: a letter for each worker."""
    workers = [
        {
            "host": f"host-{boot}",
            "boot": boot,
            "clock": {"error_ns": 0},
            **({"cores": n} if n else {}),
            **more,
        }
        for n, boot in zip(cores, boots, strict=True)
    ]
    run = synthetic.run(
        "postgresql", client_cores=sum(busy), env={"cpu_logical": ours}, doc={"clients": {"workers": workers}}
    )
    told = run.tables["resources"].to_pylist()
    whole = [r for r in told if (r["role"], r["metric"]) == ("client", "cpu_s")]
    parts = [
        {**r, "role": f"client/{n}", "value": r["value"] * each / sum(busy)}
        for n, each in enumerate(busy, start=1)
        for r in whole
    ]
    table = pa.Table.from_pylist([*told, *parts], schema=run.tables["resources"].schema)
    return replace(run, tables={**run.tables, "resources": table})


def said(run: RunRecord, guard: str) -> Verdict:
    return next(v for v in measured_run(run).verdicts if v.guard == guard)


@pytest.mark.parametrize(
    ("busy", "cores", "boots", "ours", "outcome", "words"),
    [
        ([3.95, 3.95], [4, 4], "ab", 64, Outcome.INVALID, "3.95 of 4 cores on host-a"),
        ([0.5, 3.95], [4, 4], "ab", 64, Outcome.INVALID, "3.95 of 4 cores on host-b"),
        ([2.0] * 4, [8] * 4, "abcd", 8, Outcome.PASS, "2.00 of 8 cores on host-a"),
        ([2.0, 2.0], [4, 4], "aa", 64, Outcome.INVALID, "4.00 of 4 cores on host-a"),
        ([0.5, 0.5], [4, None], "ab", 64, Outcome.NOT_CHECKED, "host-b"),
    ],
)
def test_the_cpu_of_client_processes_is_judged_by_the_cores_of_their_own_host(
    busy: list[float], cores: list[Any], boots: str, ours: int, outcome: Outcome, words: str
) -> None:
    found = said(on_hosts(busy, cores, boots, ours), "client not saturated")
    assert found.outcome is outcome and words in found.sentence, found


def test_workers_of_one_host_with_cores_of_their_own_have_them_together() -> None:
    run = on_hosts([2.0, 2.0], [4, 4], "aa", 64)
    apart = [{**w, "cpus": cpus} for w, cpus in zip(run.summary["clients"]["workers"], ([0, 1, 2, 3], [4, 5, 6, 7]), strict=True)]  # fmt: skip
    split = replace(run, summary={**run.summary, "clients": {"workers": apart}})
    found = said(split, "client not saturated")
    assert found.outcome is Outcome.PASS and "4.00 of 8 cores" in found.sentence


def test_headroom_is_that_of_the_busiest_host_of_clients() -> None:
    def share(run: RunRecord) -> float | None:
        return client_share(run, figures_of_run(run))

    assert share(on_hosts([1.0, 3.0], [4, 4], "ab", 64)) == pytest.approx(0.75)
    assert share(on_hosts([1.0, 3.0], [4, None], "ab", 64)) is None


def started(last: list[list[int]], error_ns: int = 0, off: list[list[int]] | None = None) -> RunRecord:
    """A run of repetitions of 2 s. last: for each, by process, how late its last session began."""
    starts = [
        {
            "segment": 2,
            "repetition": n,
            "first_session_late_ns": [0] * len(late),
            "last_session_late_ns": late,
        }
        | ({"instant_off_ns": off[n]} if off else {})
        for n, late in enumerate(last)
    ]
    workers = [
        {"clock": {"error_ns": error_ns}, "host": str(n), "boot": str(n), "cores": 8}
        for n in range(len(last[0]))
    ]
    return synthetic.run(
        "postgresql", makespan_s=[2.0] * len(last), doc={"clients": {"workers": workers, "starts": starts}}
    )


MS = 1_000_000


@pytest.mark.parametrize(
    ("run", "outcome", "words"),
    [
        (started([[0, 0], [0, 0]]), Outcome.PASS, "0 % of all sessions"),
        # 300 ms of 2 s for one of two: 7.5 %, and 3.75 % of both repetitions together.
        (started([[0, 300 * MS], [0, 0]]), Outcome.INVALID, "process 2 began 300 ms late"),
        (started([[0, 0], [300 * MS, 0]]), Outcome.INVALID, "process 1 began 300 ms late"),
        (started([[0, 0], [0, 0]], 30 * MS), Outcome.NOTE, "known to ± 30 ms: 2 %"),
        (started([[0, 0], [0, 0]], 120 * MS), Outcome.INVALID, "known to ± 120 ms: 6 %"),
        (started([[0, 0], [0, 0]], 0, [[0, -120 * MS], [0, 0]]), Outcome.NOTE, "process 2 began 120 ms late: 3 %"),
        (started([[0, 0], [0, 0]], 50 * MS, [[0, 0], [0, 120 * MS]]), Outcome.INVALID, "process 2 began 120 ms late, and the clocks are known to ± 50 ms: 6 %"),
        (started([[0, 100 * MS], [0, 0]], 0, [[0, 120 * MS], [0, 0]]), Outcome.INVALID, "began 220 ms late: 6 %"),
    ],
)  # fmt: skip
def test_one_start_is_judged_by_the_worst_repetition_and_the_clocks_as_known_in_the_end(
    run: RunRecord, outcome: Outcome, words: str
) -> None:
    found = said(run, "clients started together")
    assert found.outcome is outcome and words in found.sentence, found


@pytest.mark.parametrize(
    ("late", "error_ns", "outcome", "words"),
    [
        ([0, 0], 0, Outcome.PASS, "client 1 began 0 ms late: 0 % of all clients' time"),
        ([0, 300 * MS], 0, Outcome.INVALID, "client 2 began 300 ms late"),
        ([120 * MS, None], 0, Outcome.INVALID, "client 1 began 120 ms late: 6 %"),
        ([0, 60 * MS], 0, Outcome.NOTE, "client 2 began 60 ms late: 2 %"),
        ([0, 0], 30 * MS, Outcome.NOTE, "known to ± 30 ms: 2 %"),
    ],
)
def test_clients_of_a_pipeline_over_hosts_begin_together_or_it_is_said(
    late: list[int | None], error_ns: int, outcome: Outcome, words: str
) -> None:
    workers = [{"clock": {"error_ns": error_ns}, "host": str(n)} for n in range(len(late) + 1)]
    # It begins nothing.
    watcher = {"clock": {"error_ns": 400 * MS}, "host": "shard", "servers": []}
    of = {"workers": [*workers, watcher], "clients": len(late), "late_ns": late}
    run = synthetic.run("postgresql", makespan_s=[2.0], doc={"hosts": of})
    found = said(run, "clients started together")
    assert found.outcome is outcome and words in found.sentence, found


@pytest.mark.parametrize("errors", [[0, 0, 120 * MS], [120 * MS, 0, 0]])
def test_of_clocks_that_are_not_known_equally_well_the_worst_counts(errors: list[int]) -> None:
    workers = [{"clock": {"error_ns": each}, "host": str(n)} for n, each in enumerate(errors)]
    run = synthetic.run(
        "postgresql", makespan_s=[2.0], doc={"hosts": {"workers": workers, "clients": 2, "late_ns": [0, 0]}}
    )
    found = said(run, "clients started together")
    assert found.outcome is Outcome.INVALID and "known to ± 120 ms: 6 %" in found.sentence


def test_what_was_sent_to_a_process_is_put_beside_the_instant_by_its_last_known_clock() -> None:
    starts = Starts(2)
    then, final = Clock(ahead_ns=1_000), Clock(ahead_ns=1_400)
    for repetition, at_ns in enumerate((10**9, 5 * 10**9)):
        starts.given(SharedStart(at_ns, {0: at_ns, 1: then.there(at_ns)}))
        for process in range(2):
            starts.began(process, {
                "event": "began", "index": 2, "repetition": repetition, "t_ns": 0, "first_late_ns": 1, "last_late_ns": 2,
            })  # fmt: skip
    assert [s["instant_off_ns"] for s in starts.documents([SAME, final])] == [[0, -400], [0, -400]]


def test_client_processes_of_other_hosts_are_held_against_the_cores_of_their_own() -> None:
    """Eight processes on two large hosts, directed from a small one; and one that says more than its host has."""

    def judged(busy: list[float], ours: int) -> tuple[str, str]:
        run = on_hosts(busy, [8, 8], "ab", ours)
        verdict = nothing_overfull(run, figures_of_run(run))
        assert verdict is not None
        return verdict.outcome.value, verdict.sentence

    assert judged([6.0, 3.0], 4) == ("pass", "At most 6.00 of 8 cores busy with its processes, on host-a")
    outcome, sentence = judged([6.0, 11.0], 128)
    assert outcome == "note" and sentence.startswith("host-b: 11.00 cores of its processes busy of 8")
