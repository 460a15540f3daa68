"""Where processor time went, and what the kernel kept of files: figures and lines of made-up runs of known truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from inrush.report.machine import machine_panels
from inrush.report.timeline import Panel
from inrush.stats.hosts import hosts_of
from inrush.stats.processors import processor_figures
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from tests import synthetic

SECOND = synthetic.SECOND
#: Cores by state.
HOST = {"user": 1.5, "system": 0.75, "irq": 0.25, "iowait": 0.5}
SYSTEM = {"server": 0.3, "client": 0.1}


def panels_of(run: RunRecord) -> list[Panel]:
    (host,) = hosts_of(run)
    return machine_panels(run, host)


def run_with(extra: Sequence[dict[str, Any]]) -> RunRecord:
    plain = synthetic.run(makespan_s=4.0, client_cores=0.5, noise={"steal": 0.05})
    looks = plain.tables["resources"]
    rows = [{"device": "", **row} for row in extra]
    return replace(
        plain,
        tables={
            **plain.tables,
            "resources": pa.concat_tables([looks, pa.Table.from_pylist(rows, looks.schema)]),
        },
        _rows={},
    )


def split_rows(seconds: float = 8.0) -> list[dict[str, Any]]:
    """Two looks a second; the kernel writes files back at 3 s of the run."""
    rows: list[dict[str, Any]] = []
    for half in range(int(2 * seconds)):
        t_ns, t_s = half * SECOND // 2, half / 2
        rows += [
            {"role": "host", "t_ns": t_ns, "metric": f"cpu_{state}_s", "value": cores * t_s}
            for state, cores in HOST.items()
        ]
        rows += [
            {"role": role, "t_ns": t_ns, "metric": "cpu_system_s", "value": c * t_s}
            for role, c in SYSTEM.items()
        ]
        dirty = 4e8 if t_s < 3 else 1e8
        kept = {"page_cache_bytes": 1e9 + 1e7 * t_s, "dirty_bytes": dirty, "writeback_bytes": 5e7}
        rows += [{"role": "host", "t_ns": t_ns, "metric": m, "value": v} for m, v in kept.items()]
    return rows


def test_what_a_role_computed_is_split_and_the_parts_add_up() -> None:
    found = figures_of_run(run_with(split_rows()))
    for role, busy in (("server", 0.8), ("client", 0.5)):
        assert found[f"{role}.busy_cores"] == pytest.approx(busy)
        assert found[f"{role}.system_cores"] == pytest.approx(SYSTEM[role])
        assert found[f"{role}.user_cores"] == pytest.approx(busy - SYSTEM[role])


def test_the_host_has_its_states_and_the_most_that_it_kept_of_files() -> None:
    run = run_with(split_rows())
    found = figures_of_run(run)
    assert {k: found[f"host.{k}_cores"] for k in HOST} == pytest.approx(HOST)
    assert found["host.steal_cores"] == pytest.approx(0.05 * 8)
    assert found["host.dirty_bytes"] == 4.5e8, "to be written, and being written"
    assert found["host.page_cache_bytes"] == pytest.approx(1e9, rel=0.1)
    later = processor_figures(run, [(3 * SECOND, 5 * SECOND)])
    assert later["host.dirty_bytes"] == 1.5e8
    assert later["host.page_cache_bytes"] == 1e9 + 5e7


def test_the_host_has_its_interrupts_and_its_packets_those_within_the_machine_once() -> None:
    def looks(metric: str, per_s: float, device: str = "") -> list[dict[str, Any]]:
        return [
            {"role": "host", "t_ns": i * SECOND, "metric": metric, "device": device, "value": 1e6 + per_s * i}
            for i in range(9)
        ]

    rows = [
        *split_rows(), *looks("cpu_softirq_s", 0.125), *looks("interrupts", 4_000), *looks("context_switches", 9_000),
        *looks("net_tx_packets", 700, "lo"), *looks("net_rx_packets", 700, "lo"),
        *looks("net_tx_packets", 30, "eth0"), *looks("net_rx_packets", 20, "eth0"), *looks("net_rx_packets", 5, "eth1"),
    ]  # fmt: skip
    found = figures_of_run(run_with(rows))
    figures = (
        "softirq_cores",
        "interrupts_per_s",
        "context_switches_per_s",
        "loopback_packets_per_s",
        "packets_per_s",
    )
    assert [found[f"host.{name}"] for name in figures] == pytest.approx([0.125, 4_000, 9_000, 700, 55])
    seconds, calls = found["writers.makespan_s"], found["writers.ops"]
    assert found["host.packets_per_op"] == pytest.approx(755 * seconds / calls)


def test_results_without_the_split_have_no_figure_and_no_line_of_it() -> None:
    plain = synthetic.run(makespan_s=4.0)
    assert not [k for k in figures_of_run(plain) if k.endswith(("user_cores", "system_cores", "steal_cores"))]
    assert not [k for k in figures_of_run(plain) if k.startswith("host.")]
    assert panels_of(plain) == []


def test_the_lines_of_the_machine_are_the_rates_of_its_states_by_time() -> None:
    panels = {p.title: p.rows for p in panels_of(run_with(split_rows()))}
    states = panels["all processors, cores"]
    assert {r["series"] for r in states} == {*HOST, "steal"}
    for state, cores in HOST.items():
        assert all(r["y"] == pytest.approx(cores) for r in states if r["series"] == state)
    assert {r["series"] for r in panels["in the kernel, cores"]} == set(SYSTEM)
    kept = panels["kept of files, MB"]
    assert {r["y"] for r in kept if r["series"] == "dirty"} == {400.0, 100.0}


def test_a_state_in_which_the_processors_hardly_were_has_no_line() -> None:
    rows = [r for r in split_rows() if r["metric"] != "cpu_iowait_s"]
    rows += [
        {"role": "host", "t_ns": k * SECOND, "metric": "cpu_iowait_s", "value": 0.001 * k} for k in range(8)
    ]
    panels = {p.title: p.rows for p in panels_of(run_with(rows))}
    assert "iowait" not in {r["series"] for r in panels["all processors, cores"]}
