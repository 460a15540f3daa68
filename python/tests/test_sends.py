"""Calls that leave together: figures of sends, their course over time, and engines and pages without any."""

from __future__ import annotations

from typing import Any

import pytest

from inrush.report.timeline import panels
from inrush.stats.measures import figures_of_run
from inrush.stats.quantity import show
from inrush.stats.record import RunRecord
from tests import synthetic
from tests.synthetic import SECOND

TENTH = SECOND // 10


def run(depth: int = 16, sends: int | None = 3, role: str = "writers") -> RunRecord:
    """50 calls in a second, in ten intervals of five; in each so many sends of 100 bytes a send."""
    where = {"segment": 2, "repetition": 0, "role": role, "dt_ns": TENTH}
    sent = [
        {**where, "t_ns": SECOND + i * TENTH, "sends": sends, "bytes": 100 * sends}
        for i in range(10)
        if sends is not None
    ]
    # What another segment sent is no part of the measured one.
    sent.append({**where, "segment": 0, "t_ns": 0, "sends": 1000, "bytes": 1})
    found = synthetic.run(makespan_s=1.0, more={"sends": sent})
    found.plan["segments"][1]["roles"][0]["depth"] = depth
    return found


def test_calls_and_bytes_of_a_send_are_those_of_the_measured_segments() -> None:
    figures = figures_of_run(run(sends=2))
    assert figures["writers.sends"] == 20
    assert figures["writers.ops_per_send"] == pytest.approx(figures["writers.ops"] / 20)
    assert figures["writers.bytes_per_send"] == 100


def test_a_part_counts_for_its_whole() -> None:
    figures = figures_of_run(run(sends=2, role="writers/pe"))
    assert figures["writers.sends"] == figures["writers/pe.sends"] == 20
    assert "writers/pe.ops_per_send" not in figures, "no call of that role ended"


def test_an_engine_without_a_socket_has_no_such_figure() -> None:
    assert not [name for name in figures_of_run(run(sends=None)) if "send" in name]


def test_the_report_draws_calls_per_send_of_roles_with_several_in_flight() -> None:
    def drawn(**how: Any) -> list[dict[str, Any]]:
        return [row for p in panels(run(**how)) if p.title == "calls per send" for row in p.rows]

    assert [round(row["y"], 3) for row in drawn(sends=2)] == [2.5] * 10
    assert [row["t"] for row in drawn(sends=2)][:2] == [0.05, 0.15]
    assert not drawn(depth=1)
    assert not drawn(sends=None)


def test_sends_are_shown_in_their_units() -> None:
    assert show(12.3456, "writers.ops_per_send") == "12.3 calls/send"
    assert show(1500, "writers.bytes_per_send") == "1.50 kB/send"
