"""Disk, load server and shards made slow in turn: each is told to be full first by the small loads, and is by the largest.

In SQLite, on lines so slow that the machine itself has nothing to do: what is full is what the study says.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from inrush.analysis.points import Analysis
from inrush.guards.analyse import analyse
from inrush.load.pipeline import cpu_quota
from inrush.predict.pipelines import INPUT_DISK, LOAD_SERVER, SHARDS
from inrush.predict.resources import ResourceForecast, resource_forecasts
from inrush.results.store import Results
from inrush.stats.measures import study_record
from tests.terminal import pipeline_results

pytestmark = pytest.mark.slow

LINE_BYTES_PER_S, FILE_BYTES, ROW_BYTES = 200_000, 100_000, 123
#: Lines that fill what is slow; the largest load is twice that.
KNEE, LARGEST = 3, 6


def analysed(cwd: Path, pipelines: Sequence[int], changes: Sequence[str]) -> Analysis:
    words = (
        f"pipelines={list(pipelines)}",
        f"pipeline.file_bytes={FILE_BYTES}",
        "pipeline.files={ per_session = 3 }",
        f"pipeline.pipeline_bytes_per_s={LINE_BYTES_PER_S}",
        # A chunk is a small part of a file, as rows come in from a real disk.
        "pipeline.chunk_rows=100",
        # Each chunk is a transaction: a load server that is behind would store more at once, and a row cost it less.
        "pipeline.flush_rows=100",
        "repeats.count=1",
        "repeats.pilot=false",
        *changes,
    )
    return analyse(study_record(Results(pipeline_results(["sqlite"], words, cwd))))


def detail(cwd: Path, *changes: str) -> ResourceForecast:
    (found,) = resource_forecasts(analysed(cwd, [1, 2, 4, LARGEST], changes))
    return found


def test_a_slow_disk(tmp_path: Path) -> None:
    found = detail(tmp_path, f"pipeline.device_bytes_per_s={KNEE * LINE_BYTES_PER_S}")
    check(found, INPUT_DISK)


def test_slow_shards(tmp_path: Path) -> None:
    rows_per_s = KNEE * LINE_BYTES_PER_S / ROW_BYTES
    found = detail(tmp_path, "pipeline.shards=2", f"pipeline.shard_rows_per_s={round(rows_per_s / 2)}")
    check(found, SHARDS)


def test_a_slow_load_server(tmp_path: Path) -> None:
    """What so many lines cost it is measured here first: it differs between machines, and is not in proportion to them."""
    try:
        cpu_quota.made(cpu_quota.CGROUPS, 1.0).remove()
    except OSError as e:
        pytest.skip(f"part of a core takes a cgroup of ours, and there is none to be had here: {e}")
    (busy,) = [m.figures["load_server.busy_cores"] for m in analysed(tmp_path, [KNEE], ()).runs if m.counts]
    found = detail(tmp_path, f"pipeline.load_server_cores={max(0.01, busy):.4f}")
    check(found, LOAD_SERVER)


def check(found: ResourceForecast, name: str) -> None:
    first = found.resources[0]
    assert (first.name, first.verdict) == (name, "confirmed: full"), found.resources
    assert 0.6 * KNEE <= first.full_at <= 1.6 * KNEE, "where it was made to be full"
    others = [r for r in found.resources[1:] if r.verdict.startswith("rejected")]
    assert not others, "nothing else was told to be full"
