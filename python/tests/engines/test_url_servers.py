"""A server at a URL of this machine, which the run did not start: its CPU is watched, or a line says why not."""

from __future__ import annotations

from inrush.engines.instance import Target
from inrush.results.store import Results
from inrush.stats.measures import figures_of_run, study_record
from tests.terminal import Inrush

from .losing import Losing

STUDY = (
    "run", "keylookup-threads", "--scale", "xs", "-P", "factors.threads=[1]", "-P", "repeats={count=1,confirm=0}",
    "-P", "load.rows=2000", "-P", "schedule.measure_s=1", "-P", "schedule.warm_s=0.2",
)  # fmt: skip


def test_the_processes_of_a_server_at_a_url_are_its_figures(inrush: Inrush, postgresql: Target) -> None:
    said = inrush(*STUDY, postgresql.url)
    assert said.code in (0, 3), said.err
    assert "are not watched" not in said.out + said.err
    results = Results(inrush.store.latest().path)
    (run,) = study_record(results).runs
    assert figures_of_run(run)["server.busy_cores"] > 0.05
    assert results.runs[0].doc["target_hosts"] and "server_unseen" not in results.runs[0].doc


def test_behind_a_proxy_nothing_is_taken_for_the_server_and_a_line_says_so(
    inrush: Inrush, postgresql: Target
) -> None:
    with Losing(postgresql.url, spared=10**9) as proxy:
        said = inrush(*STUDY, proxy.url)
    assert said.code in (0, 3), said.err
    why = "which is no PostgreSQL"
    (line,) = [line for line in (said.out + said.err).splitlines() if "are not watched" in line]
    assert "CPU and memory of the server at" in line and why in line
    results = Results(inrush.store.latest().path)
    (run,) = study_record(results).runs
    assert "server.busy_cores" not in figures_of_run(run)
    assert why in results.runs[0].doc["server_unseen"]
