"""A pipeline over shards that are PostgreSQL databases of their own: sealed, every row proven, each row on one shard."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest

from inrush.border.pipeline import shards_of
from inrush.engines.base.instance import Target
from inrush.engines.servers import life
from inrush.targets import instances
from tests.terminal import pipeline_results

from .servers import control, databases, need, scratch

SHARDS, PIPELINES, FILES, FILE_BYTES = 2, 2, 4, 200_000
#: Files × rows that a file of so many bytes holds, of 123 bytes each.
ROWS = FILES * round(FILE_BYTES / 123)


@pytest.fixture
def shards(postgresql: Target) -> Iterator[list[str]]:
    with databases(postgresql, SHARDS) as urls:
        yield urls


@pytest.mark.slow
@pytest.mark.parametrize("per_file", [False, True], ids=["one load server", "process per file"])
def test_a_study_over_shards_is_proven_to_the_row(
    postgresql: Target, shards: list[str], tmp_path: Path, per_file: bool
) -> None:
    changes = (
        "repeats.count=1",
        f"pipelines={PIPELINES}",
        f"pipeline.file_bytes={FILE_BYTES}",
        f"pipeline.files={{ total = {FILES} }}",
        "pipeline.pipeline_bytes_per_s=0",
        f"pipeline.process_per_file={str(per_file).lower()}",
        f"pipeline.shards={SHARDS}",
        f'options.postgresql.shards="{" ".join(shards)}"',
    )
    sealed = sealed_run([postgresql.url], changes, tmp_path)
    check_proven(sealed)
    files = pq.read_table(sealed / "files.parquet").to_pylist()
    assert (len(files), sum(f["rows"] for f in files)) == (FILES, ROWS)
    assert {f["pipeline"] for f in files} == set(range(PIPELINES))
    for shard in shards:
        left = control(
            Target("postgresql", shard),
            "SELECT COUNT(*) FROM pg_tables WHERE tablename IN ('events', 'load_ledger')",
        )
        assert int(left[0][0]) == 0, "tables are dropped after the run"


def sealed_run(words: Sequence[str], changes: Sequence[str], cwd: Path) -> Path:
    (sealed,) = pipeline_results([*words], changes, cwd).glob("b01-*")
    return sealed


def check_proven(sealed: Path) -> None:
    """Every row, by generator and ledger, and spread over the shards."""
    proofs = pq.read_table(sealed / "proofs.parquet").to_pylist()
    assert proofs and [p for p in proofs if not p["holds"]] == []
    found = {p["item"]: int(p["found"]) for p in proofs if p["item"].startswith("rows")}
    assert found["rows in the ledger"] == found["rows in = stored + rejected"] == ROWS
    stored = {
        c["name"]: int(c["value"])
        for c in pq.read_table(sealed / "counters.parquet").to_pylist()
        if c["name"].endswith(" rows")
    }
    assert sum(stored.values()) == ROWS
    assert all(rows > ROWS / SHARDS / 2 for rows in stored.values()), "the hash spreads keys"


SMALL = (
    "repeats.count=1",
    f"pipelines={PIPELINES}",
    f"pipeline.file_bytes={FILE_BYTES}",
    f"pipeline.files={{ total = {FILES} }}",
)
ASKED = f"postgresql,shards={SHARDS},profile=default,shared_buffers=16MB,max_connections=40"


@pytest.mark.ci
@pytest.mark.parametrize(
    "asked", [ASKED, pytest.param(f"clickhouse,shards={SHARDS},profile=default", marks=pytest.mark.slow)]
)
def test_a_study_starts_its_shards_is_proven_over_them_and_ends_them(asked: str, tmp_path: Path) -> None:
    engine = asked.partition(",")[0]
    need(engine)
    with scratch() as data:
        sealed = sealed_run([engine, "--start", asked, "--data", str(data)], SMALL, tmp_path)
        check_proven(sealed)
        plan = json.loads((sealed / "plan.json").read_text())
        assert (
            len({s["target"]["url"] for s in shards_of(plan)})
            == SHARDS
            == len(plan["watch"]["processes"]["shards"])
        )
        roles = set(pq.read_table(sealed / "resources.parquet").column("role").to_pylist())
        assert {"client", "load_server", "shards"} <= roles
        assert not life.working_in(data), "coordinator and shards are stopped with the study"


@pytest.mark.slow
def test_shards_behind_a_coordinator_that_runs_already_are_found_by_its_address(
    postgresql_programs: None, tmp_path: Path
) -> None:
    with scratch() as data:
        rows = instances.start([ASKED], data, lambda _: None).rows
        try:
            sealed = sealed_run([rows[0]["url"]], (*SMALL, f"pipeline.shards={SHARDS}"), tmp_path)
        finally:
            instances.stop(["postgresql"], data, lambda _: None)
    check_proven(sealed)
    plan = json.loads((sealed / "plan.json").read_text())
    assert [port(s["target"]["url"]) for s in shards_of(plan)] == [port(row["url"]) for row in rows[1:]]


def port(url: str) -> int | None:
    return urlsplit(url).port
