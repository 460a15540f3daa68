"""Sessions that send their calls together: how many leave in one send of a real server's wire, each answer judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.engines.base.instance import Target
from inrush.stats.measures import study_record
from inrush.stats.run_figures import figures_of_run
from inrush.study.shipped import find_study
from tests.terminal import Inrush

from .servers import each_kind

DEPTH = 64
STUDY = f"""
schema = 1
title = "Refill"
question = "How many calls leave together?"
expect = "As many as wait."
workload = "workload.toml"
kind = "mixed"
engines = ["postgresql"]
layout = "pk"
sizes = {{ jobs = 2_000 }}
factors.depth = [1, {DEPTH}]
factors.refill = ["each", "half", "round"]
load = {{ rows = 2_000 }}
schedule = {{ mode = "closed", measure_s = 0.3, refill = "@refill" }}
repeats = {{ count = 1, pilot = false }}

[roles.users]
operation = "job_look"
keys_per_call = 1
depth = "@depth"

[answer]
kind = "curve"
of = "users.ops_per_send"
along = "depth"
per = ["engine", "refill"]
"""


@pytest.mark.parametrize("engine", each_kind(("postgresql", "mysql", "mariadb", "valkey")))
def test_a_session_that_waits_for_all_or_half_of_its_calls_sends_as_many_together(
    request: pytest.FixtureRequest, engine: str, inrush: Inrush, tmp_path: Path
) -> None:
    server: Target = request.getfixturevalue(engine)
    shipped = find_study("telemetry-lookups").path.with_name("workload.toml")
    (tmp_path / "workload.toml").write_text(shipped.read_text())
    (tmp_path / "refill.toml").write_text(STUDY)
    said = inrush("run", str(tmp_path / "refill.toml"), server.url, "--json")
    assert said.code in (0, 3), said.err
    runs = study_record(inrush.store.find(None)).runs
    figures = {(run.point["depth"], run.point["refill"]): figures_of_run(run) for run in runs}
    assert len(figures) == 6
    assert not any(f["users.errors"] or f["users.wrong"] for f in figures.values())
    together = {point: f["users.ops_per_send"] for point, f in figures.items()}
    for refill in ("each", "half", "round"):
        assert 0.9 < together[1, refill] <= 1.01, together
    # The last batch may be a smaller one.
    assert 0.8 * DEPTH < together[DEPTH, "round"] <= DEPTH, together
    # PostgreSQL and Valkey answer what came together in one send too: then all slots are free at once, whatever is waited for.
    # The others answer one by one; where several answers are read at once, some more slots than half are free.
    alike = engine in ("postgresql", "valkey")
    assert 0.4 * DEPTH < together[DEPTH, "half"] <= (DEPTH if alike else 0.7 * DEPTH), together
    assert together[DEPTH, "each"] <= together[DEPTH, "half"] + 1, together
