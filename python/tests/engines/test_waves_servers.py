"""A wave that is made on a real server and cured: found, its period and its cause named, and gone without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.results.store.reading import Results
from inrush.stats.measures import study_record
from inrush.stats.waves import RoleWave, waves_of_run
from tests.terminal import Inrush

from .servers import Target

#: Seconds between two stalls, and of one.
EVERY_S, STALL_S = 1.5, 0.6
WORKLOAD = f"""
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.jobs]
series = 2_000
identity = ["jobid"]
layouts = {{ none = [], pk = ["identity"] }}
columns = [{{ name = "jobid", type = "i64", gen = "sequence", start = 1000, step = 1 }}]
[operations.insert]
kind = "insert"
[operations.stall]
kind = "execute"
sql.default = "DO $$ BEGIN LOCK TABLE {{jobs}} IN SHARE MODE; PERFORM pg_sleep({STALL_S}); END $$"
"""
STUDY = f"""
schema = 1
title = "Stalls"
question = "Are they seen?"
expect = "They are."
workload = "w.toml"
kind = "fixed_volume"
engines = ["postgresql"]
layout = "pk"
schedule = {{ mode = "closed", at_least_s = 0, think_s = 0.003 }}
record = {{ interval_s = 0.1, watch_s = 0.1 }}
repeats = {{ count = 1, order = "as_written", pilot = false }}
factors.stalls = [0, 1]
[roles.writers]
operation = "insert"
table = "jobs"
sessions = 2
batch_rows = 10
rows = {{ per_session = 50_000 }}
[roles.maintenance]
operation = "stall"
sessions = "@stalls"
until = "writers"
schedule = {{ mode = "constant", rate_per_s = {1 / EVERY_S} }}
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_stalls_of_maintenance_are_a_wave_with_its_cause_and_gone_without_it(
    folder: Path, postgresql: Target, inrush: Inrush
) -> None:
    (folder / "w.toml").write_text(WORKLOAD)
    (folder / "s.toml").write_text(STUDY)
    said = inrush("run", str(folder / "s.toml"), postgresql.url, "--json")
    assert said.code in (0, 3), said.err
    waves: dict[object, RoleWave] = {
        run.point["stalls"]: w
        for run in study_record(Results(Path(said.json["run_dir"]))).runs
        for w in waves_of_run(run)
        if w.of.role == "writers"
    }
    assert waves[1].claimed and waves[1].period_s == pytest.approx(EVERY_S, rel=0.2)
    assert waves[1].causes and waves[1].causes[0].name == "calls of maintenance"
    assert not waves[0].wave.found or abs(waves[0].period_s / EVERY_S - 1) > 0.2
