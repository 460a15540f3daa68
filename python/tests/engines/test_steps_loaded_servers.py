"""A load step by client and load server on a server that inrush started, and what later steps do with its rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.analysis.verdicts import Outcome
from inrush.stats.steps import step_windows
from inrush.targets.deployment import Deployment
from tests.test_steps_loaded import ROWS, write_study

from .test_steps_servers import analysed, leftovers, run, verdict
from .test_steps_servers import own as own_server_of_a_test

own = own_server_of_a_test

CLUSTER = """
[operations.cluster]
kind = "maintain"
table = "events"
sql.postgresql = ["CREATE INDEX by_id ON {table} (id, time)", "CLUSTER {table} USING by_id", "ANALYZE {table}"]
"""
STEPS = """
[[steps]]
name = "cluster"
do = "statement"
operation = "cluster"
[[steps]]
name = "clustered"
do = "extract"
operation = "all"
calls = 3
[[steps]]
name = "anew"
do = "restart"
[[steps]]
name = "kept"
do = "dump"
table = "events"
by = "key"
files = 2
[[steps]]
name = "back"
do = "load"
table = "events"
from = "kept"
pipeline = { pipelines = 2, connections = 2, process_per_file = true }
"""


@pytest.mark.slow
@pytest.mark.parametrize("own", ("postgresql",), indirect=True)
def test_rows_of_the_loader_are_clustered_and_extracted_and_come_back_once_more(
    own: Deployment, folder: Path
) -> None:
    path = write_study(
        folder,
        ('["sqlite", "duckdb"]', '["postgresql"]'),
        ("pipelines = 2,", "pipelines = 2, connections = 2,"),
    )
    (folder / "work.toml").write_text((folder / "work.toml").read_text() + CLUSTER)
    path.write_text(path.read_text() + STEPS)
    end, results = run(path, own)
    assert not end.failed
    found = analysed(results)
    (one,) = found.runs
    names = ["load", "read", "out", "cluster", "clustered", "anew", "kept", "back"]
    assert list(step_windows(one.run)) == names
    assert [one.figures[f"{step}.rows"] for step in ("load", "kept", "back")] == [ROWS] * 3
    assert one.figures["out.rows"] == one.figures["clustered.rows"] == 900
    assert one.figures["cluster.statements"] == 3 and one.figures["cluster.grown_bytes"] > 0
    assert one.figures["load.grown_bytes"] > 0
    assert one.figures["back.duration_s"] >= one.figures["back.file_p50_s"], "its processes are in it"
    roles = {row["role"] for row in one.run.rows("resources")}
    assert {"server", "load_client", "load_server", "client"} <= roles
    for guard in ("ended as planned", "rows proven", "answers right", "one server"):
        assert verdict(found, guard).outcome is Outcome.PASS, verdict(found, guard)
    assert leftovers(own) == []
