"""Kill −9 at random points of a load from files: resumed, every row is stored once and no half-written run counts."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from inrush.results.store import Results, Store, unsealed_runs

PACKAGE = Path(__file__).parents[1]
ROWS, MALFORMED, KILLS = 100_000, 7, 20
#: SQLite's file holds more when all rows are in.
LOADED_BYTES = 2_000_000
SIZES = ("batch_rows=[50]", "repeats={count=7, confirm=0}", "schedule.at_least_s=0")
#: Rows that survive this process and not the power: how quick the disk is just now decides nothing.
DURABILITY = ('options={sqlite={synchronous="NORMAL"}}',)


def command(*words: str) -> Sequence[str]:
    return [sys.executable, "-m", "inrush.cli", *words]


def environment(results: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PACKAGE), "NO_COLOR": "1", "INRUSH_RESULTS": str(results)}


def study_of_a_file(folder: Path) -> Path:
    """A study that `inrush new` wrote for a CSV, whose rows then went bad in places."""
    good = [f"{i},2026-01-01T00:{i // 60 % 60:02d}:{i % 60:02d}Z,{i / 4}\n" for i in range(ROWS)]
    (folder / "my.csv").write_text("id,at,amount\n" + "".join(good))
    env = environment(folder / "results")
    subprocess.run(
        command("new", "mine", "--from", "my.csv"), cwd=folder, env=env, check=True, capture_output=True
    )
    for i in range(MALFORMED):
        good.insert(i * ROWS // MALFORMED + 1, f"x{i},not a time,\n")
    (folder / "my.csv").write_text("id,at,amount\n" + "".join(good))
    return folder / "mine.toml"


def stored_bytes(folder: Path) -> int:
    """What SQLite has written so far; files come and go while we look."""
    found = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                found += (Path(root) / name).stat().st_size
            except FileNotFoundError:
                continue
    return found


def killed_at(words: Sequence[str], results: Path, sealed: int, at_bytes: int) -> None:
    """Starts inrush and kills it when, with so many runs sealed, the load in hand has come so far."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=environment(results)) as process:  # fmt: skip
        end_s, began_ns = time.monotonic() + 300, time.time_ns()
        while process.poll() is None and not reached(results, sealed, at_bytes, began_ns):
            assert time.monotonic() < end_s, "the load did not come so far in five minutes"
            time.sleep(0.001)
        process.kill()


def reached(results: Path, sealed: int, at_bytes: int, began_ns: int) -> bool:
    """By loads begun since: what the kill before left lies there until the resume has cleared it away."""
    try:
        loads = [p for p in results.glob("*/data/b*") if modified_ns(p) >= began_ns]
        return any(stored_bytes(p) >= at_bytes for p in loads) and len(sealed_runs(results)) >= sealed
    except FileNotFoundError:
        return False  # a folder that was cleared away while we looked into it


def modified_ns(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def sealed_runs(results: Path) -> list[Path]:
    return list(results.glob("*/b*/run.json"))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_kill_9_at_random_points_of_a_file_load_stores_every_row_once(tmp_path: Path, whole: bool) -> None:
    study, results, rng = study_of_a_file(tmp_path), tmp_path / "results", random.Random(20)
    words = command("run", str(study), "sqlite", *(w for c in (*SIZES, *DURABILITY) for w in ("-P", c)))
    kills = KILLS if whole else 6
    for kill in range(kills):
        # Every fifth kill lets the run in hand end first, so that kills meet several runs.
        ended = len(sealed_runs(results)) + (kill % 5 == 4)
        killed_at(words, results, ended, rng.randrange(1, LOADED_BYTES * 2 // 3))
        words = command("run", "--resume")
    done = subprocess.run(words, env=environment(results), capture_output=True, text=True, check=False)
    # 3: other tests took the processors, which is no loss of rows.
    assert done.returncode in (0, 3), done.stderr
    found = Results(Store(results).latest().path)
    assert len(Store(results).studies()) == 1 and unsealed_runs(found.path) == []
    assert [r.id for r in found.runs] == [p["run"] for p in found.study["planned"]]
    assert len(list((found.path / "quarantine").iterdir())) >= kills // 2, "kills that met a run half-written"
    loads = [r for r in found.runs if r.labels["engine"] == "sqlite"]
    assert len(loads) == 8
    for run in loads:
        proofs = {p["item"]: p for p in run.table("proofs").to_pylist()}
        assert all(p["holds"] for p in proofs.values())
        assert proofs["rows"]["found"] == str(ROWS) and "read_back" in proofs
        assert run.table("repetitions").column("rows").to_pylist()[0] == ROWS
        counted = {c["name"].rpartition(".")[2]: c["value"] for c in run.table("counters").to_pylist()}
        assert (counted["rows_read"], counted["rows_rejected"]) == (str(ROWS), str(MALFORMED))
