"""A server of several processes is one role, and each of them a part of it: what is summed over roles counts it once."""

from __future__ import annotations

import re

import pytest

from inrush.analysis.verdicts import Outcome
from inrush.guards import laws, quiet
from inrush.predict.training import cores_busy, written_bytes_per_s
from inrush.report.process_table import process_table
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from tests import synthetic
from tests.test_resumed_guards import gone_on

PARTS = {"server cpu_s": 5.0, "server/node_1 cpu_s": 3.0, "server/node_2 cpu_s": 2.0}


def test_cores_of_a_part_are_in_its_whole() -> None:
    figures = {"client.busy_cores": 1.0, "server.busy_cores": 5.0, "server/node_1.busy_cores": 5.0}
    assert cores_busy(figures) == 6.0
    run = gone_on(PARTS, gap_s=0.0)
    found = laws.nothing_overfull(run, figures)
    assert found is not None and found.outcome is Outcome.PASS and "6.00 of 8 cores busy" in found.sentence


def test_what_others_computed_is_less_by_each_process_once() -> None:
    """Of 80 s of eight processors 10 were busy: 5 of the server, 5 of others."""
    host = {"host cpu_total_s": 80.0, "host cpu_busy_s": 10.0}
    ((_, shares),) = quiet.noise_by_host(gone_on({**PARTS, **host}, gap_s=0.0))
    assert shares["other processes"] == pytest.approx(5.0 / 80.0)


def test_what_is_written_is_counted_once() -> None:
    run = gone_on(
        {"server write_bytes": 5e6, "server/node_1 write_bytes": 3e6, "client write_bytes": 1e6}, gap_s=0.0
    )
    assert written_bytes_per_s(run) == pytest.approx(6e5)


#: Role and thread -> CPU-seconds in the 10 s that are measured.
SPENT = {
    ("server", ""): 9.0, ("server", "ldm"): 6.0, ("server", "recv"): 2.0, ("server", "ndb_mgmd"): 0.5,
    ("server/management", ""): 0.5, ("server/management", "ndb_mgmd"): 0.5,
    ("server/node_10", ""): 4.0, ("server/node_10", "ldm"): 2.0,
    ("server/node_2", ""): 4.5, ("server/node_2", "ldm"): 4.0, ("server/node_2", "recv"): 2.0,
    ("client", ""): 1.0, ("client", "inrush-watch"): 0.1,
}  # fmt: skip


def with_threads(spent: dict[tuple[str, str], float]) -> RunRecord:
    plain = synthetic.run("postgresql", makespan_s=10.0, resources=False)
    (of,) = [s for s in plain.rows("segments") if s["phase"] == "measure"]
    host = {("host", "", "cpu_user_s"): 20.0}
    each = {**host, **{(role, device, "cpu_s"): used for (role, device), used in spent.items()}}
    rows = [
        {"role": role, "t_ns": t, "metric": metric, "device": device, "value": share * used}
        for (role, device, metric), used in each.items()
        for t, share in ((of["start_ns"], 0.0), (of["end_ns"], 1.0))
    ]
    return synthetic.run("postgresql", makespan_s=10.0, resources=False, more={"resources": rows})


def test_threads_of_each_type_are_figures_of_each_process_and_of_their_sum() -> None:
    figures = figures_of_run(with_threads(SPENT))
    found = {name: value for name, value in figures.items() if name.endswith("_thread_cores")}
    assert found == pytest.approx({
        "server.ldm_thread_cores": 0.6, "server.recv_thread_cores": 0.2, "server.ndb_mgmd_thread_cores": 0.05,
        "server/management.ndb_mgmd_thread_cores": 0.05, "server/node_10.ldm_thread_cores": 0.2,
        "server/node_2.ldm_thread_cores": 0.4, "server/node_2.recv_thread_cores": 0.2,
    })  # fmt: skip
    assert figures["server/node_2.busy_cores"] == pytest.approx(0.45)


def test_a_server_of_one_process_has_no_figures_of_threads() -> None:
    one = {of: used for of, used in SPENT.items() if "/" not in of[0]}
    assert not [name for name in figures_of_run(with_threads(one)) if name.endswith("_thread_cores")]
    assert process_table(synthetic.analysed([with_threads(one)], {})) == ""


def test_the_report_has_a_line_for_each_process_with_its_threads() -> None:
    page = process_table(synthetic.analysed([with_threads(SPENT)], {}))
    header, *lines = [
        [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    ]
    assert header[1:] == ["process", "busy", "ldm", "recv", "ndb_mgmd"]
    assert [line[1:] for line in lines] == [
        ["all", "0.9", "0.6", "0.2", "0.05"],
        ["node_2", "0.45", "0.4", "0.2", "–"],
        ["node_10", "0.4", "0.2", "–", "–"],
        ["management", "0.05", "–", "–", "0.05"],
    ]
