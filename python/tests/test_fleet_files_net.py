"""Files of a load by sessions on two hosts that share none: each sees its own folder alone, and every row is there once."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

import pytest

from benches.netlab.cluster import HEAD, Cluster, cluster
from benches.netlab.database import postgresql
from inrush.results.store import Results, Store
from tests.needed import need_distributed, need_lab

from .engines.servers import need, scratch

need_distributed()
need_lab()
#: Dear in time: four hosts of their own.
pytestmark = pytest.mark.slow
WORKERS, DATABASE = 2, "database"
FILES, ROWS, LIMIT_S = 100, 20_000, 300.0
PARALLEL, SORTED = "L2 parallel", "L3 sorted"
WAYS = {PARALLEL: "parallel", SORTED: "sorted"}
STUDY = (
    "run", "bulkindex-load", "--scale", "xs", "-P", f"steps.load.rows.total={ROWS}", "-P", f"sizes.files={FILES}",
    "-P", "repeats={count=1,confirm=0}", "-P", f"clients={WORKERS}",
)  # fmt: skip


def value(way: str) -> str:
    """Of the factor, with the way that is wanted alone."""
    return f'{{name="{way}",table="secondary_index",layout="pk",sessions=2,connect="once"}}'


def hidden(at: Cluster, folder: Path) -> None:
    """The folder of each worker is empty on every other host, that of inrush among them."""
    for host in (HEAD, *at.names):
        for name in at.names:
            if name != host:
                place = str(folder / name)
                mounted = at.lab[host].start(["mount", "-t", "tmpfs", "none", place], folder / "mount.log")
                assert mounted.wait(10.0) == 0, (folder / "mount.log").read_text()


def with_rows(folder: Path) -> set[str]:
    """Names of the files in the folder of a worker that have rows, as this machine sees it."""
    # Folders and files go with their run, also while they are looked at.
    paths = (Path(place) / name for place, _, names in os.walk(folder) for name in names)
    found = set()
    for path in paths:
        with contextlib.suppress(OSError):
            if path.suffix == ".tsv" and path.stat().st_size:
                found.add(path.name)
    return found


def ran(at: Cluster, url: str, folder: Path, way: str) -> dict[str, set[str]]:
    """One study; the names of the files that were seen in the folder of each worker meanwhile."""
    folder.mkdir()
    fleet = ("--fleet", at.address, "--fleet-insecure")
    running = at.lab[HEAD].start(
        [sys.executable, "-m", "inrush.cli", *STUDY, "-P", f"factors.way=[{value(way)}]", url, *fleet],
        folder / "log", {"INRUSH_RESULTS": str(folder / "results"), "NO_COLOR": "1"}, cwd=folder,
    )  # fmt: skip
    seen: dict[str, set[str]] = {name: set() for name in at.names}
    end = time.monotonic() + LIMIT_S
    while (code := running.code()) is None and time.monotonic() < end:
        for name in at.names:
            seen[name] |= with_rows(at.folder / name)
        time.sleep(0.02)
    assert code in (0, 3), (folder / "log").read_text()
    return seen


def test_hosts_that_share_no_file_load_what_one_machine_would(tmp_path: Path) -> None:
    need("postgresql")
    seen = {}
    with (
        scratch() as folder,
        cluster(WORKERS, folder, 1, [DATABASE]) as at,
        postgresql(at.lab[DATABASE], folder / DATABASE) as url,
    ):
        hidden(at, folder)
        for way, name in WAYS.items():
            seen[way] = ran(at, url, tmp_path / name, way)
            left = [path for host in at.names for path in (folder / host).rglob("inrush-*")]
            assert not left, left
        names = at.names
    (one, other) = seen[PARALLEL].values()
    assert len(one) == len(other) == FILES // 2 and not one & other, (
        "each host has its own files, and no other"
    )
    assert all(len(files) == 2 * FILES for files in seen[SORTED].values()), "as they are made, and sorted"
    for way, name in WAYS.items():
        for run in Results(Store(tmp_path / name / "results").latest().path).runs:
            assert run.doc["status"] == "done", run.doc["failure"]
            proofs = run.table("proofs").to_pylist()
            assert {"rows", "read_back"} <= {p["item"] for p in proofs} and all(p["holds"] for p in proofs)
            assert {int(p["found"]) for p in proofs if p["item"] == "rows"} == {ROWS}
            files = run.table("files").to_pylist()
            assert sorted(f["file"] for f in files) == [*range(FILES)], way
            workers = run.doc["clients"]["workers"]
            assert [w["host"] for w in workers] == names
            each = FILES if way == SORTED else FILES // 2
            assert [w["files"]["files"] for w in workers] == [each] * WORKERS, way
