"""Servers at a URL of this machine, which inrush takes for the user's: their processes are found, and their CPU is in the figures."""

from __future__ import annotations

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.stats.run_figures import figures_of_run
from inrush.targets.server_processes import found_here
from tests.terminal import Inrush

from .losing import Losing
from .servers import SETTINGS
from .small_studies import small_study

#: Its servers are several processes behind one that only manages them.
NOT_FOUND = "ndb"


@pytest.mark.parametrize("engine", [engine for engine in SETTINGS if engine != NOT_FOUND])
def test_the_process_that_listens_is_a_program_of_its_engine(
    request: pytest.FixtureRequest, engine: str
) -> None:
    there: Target = request.getfixturevalue(engine)
    found = found_here(server(engine), there.url)
    assert found is not None and not found.why and len(found.pids) == 1, found
    if there.instance is not None:
        assert found.pids == (there.instance.pid,)


def test_a_run_has_the_cpu_of_a_server_at_a_url(inrush: Inrush, postgresql: Target) -> None:
    said = inrush("run", *small_study(postgresql))
    assert said.code in (0, 3) and "not watched" not in said.err, said.err
    record = study_record(Results(inrush.store.find(None).path))
    ours = [run for run in record.runs if run.engine == "postgresql"]
    assert ours and all("server" in run.tables["resources"]["role"].unique().to_pylist() for run in ours)
    assert all("server_unseen" not in run.summary for run in ours)


def test_behind_a_proxy_nothing_is_taken_for_the_server_and_a_line_says_so(
    inrush: Inrush, postgresql: Target
) -> None:
    with Losing(postgresql.url, spared=10**9) as proxy:
        said = inrush("run", *small_study(Target("postgresql", proxy.url)))
    assert said.code in (0, 3), said.err
    why = "which is no PostgreSQL"
    (line,) = [line for line in (said.out + said.err).splitlines() if "are not watched" in line]
    assert "CPU and memory of the server at" in line and why in line
    results = Results(inrush.store.find(None).path)
    ours = [run for run in study_record(results).runs if run.engine == "postgresql"]
    assert ours and not any("server.busy_cores" in figures_of_run(run) for run in ours)
    assert all(why in run.summary["server_unseen"] for run in ours)
