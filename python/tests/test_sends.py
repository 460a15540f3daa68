"""Calls that leave together: figures of sends, their course over time, and engines and pages without any."""

from __future__ import annotations

from typing import Any

import pytest

from inrush.report.over_time import panels
from inrush.stats.quantity import show
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from tests import synthetic
from tests.synthetic import SECOND

TENTH = SECOND // 10


def run(depth: int = 16, sends: int | None = 3, role: str = "writers") -> RunRecord:
    """Ten intervals: 20 calls leave in every second of them, in so many sends of 100 bytes each, and end in the next."""
    where = {"segment": 2, "repetition": 0, "role": role, "dt_ns": TENTH}
    sent = [
        {**where, "t_ns": SECOND + i * TENTH, "ops": 20, "sends": sends, "bytes": 100 * sends}
        for i in range(0, 10, 2)
        if sends is not None
    ]
    # What another segment sent is no part of the measured one.
    sent.append({**where, "segment": 0, "t_ns": 0, "ops": 1, "sends": 1000, "bytes": 1})
    found = synthetic.run(makespan_s=1.0, more={"sends": sent})
    found.plan["segments"][1]["roles"][0]["depth"] = depth
    return found


def test_calls_and_bytes_of_a_send_are_those_of_the_measured_segments() -> None:
    figures = figures_of_run(run(sends=4))
    assert figures["writers.sends"] == 20
    assert figures["writers.ops_per_send"] == 5
    assert figures["writers.bytes_per_send"] == 100


def test_a_part_counts_for_its_whole() -> None:
    figures = figures_of_run(run(sends=4, role="writers/pe"))
    for role in ("writers", "writers/pe"):
        assert (figures[f"{role}.sends"], figures[f"{role}.ops_per_send"]) == (20, 5)


def test_an_engine_without_a_socket_has_no_such_figure() -> None:
    assert not [name for name in figures_of_run(run(sends=None)) if "send" in name]


def test_the_report_draws_calls_per_send_of_roles_with_several_in_flight() -> None:
    def drawn(**how: Any) -> list[dict[str, Any]]:
        return [row for p in panels(run(**how)) if p.title == "calls per send" for row in p.rows]

    assert [row["y"] for row in drawn(sends=8)] == [2.5] * 5
    assert [row["t"] for row in drawn(sends=8)][:2] == [0.05, 0.25]
    assert not drawn(depth=1)
    assert not drawn(sends=None)


@pytest.mark.parametrize(
    ("value", "figure", "shown"),
    [
        (12.3456, "writers.ops_per_send", "12.3 calls/send"),
        (1500, "writers.bytes_per_send", "1.50 kB/send"),
        (123_456, "host.packets_per_s", "123 k packets/s"),
        (0.5, "load.host_context_switches_per_s", "0.500 switches/s"),
        (2_000, "writers.attempts_per_s", "2.00 k calls/s"),
    ],
)
def test_sends_and_counts_are_shown_in_their_units(value: float, figure: str, shown: str) -> None:
    assert show(value, figure) == shown
