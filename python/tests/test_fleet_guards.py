"""What the guards say of runs whose client processes were on several hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from inrush.guards.run import guard_run
from inrush.guards.verdicts import Outcome, Verdict
from inrush.stats.headroom import client_share
from inrush.stats.measures import figures_of_run
from inrush.stats.record import RunRecord
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
    return next(v for v in guard_run(run, figures_of_run(run)) if v.guard == guard)


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
