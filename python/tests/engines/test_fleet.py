"""A study on a fleet of this machine and a real server: the rows are those of the plan, and no password is anywhere."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inrush.fleet import local
from inrush.results.store import Results
from tests.needed import need_distributed
from tests.steps import WORKLOAD
from tests.terminal import Inrush
from tests.test_clients_steps import COUNTED

from .servers import need

need_distributed()
WORKERS = 2


def run(
    inrush: Inrush, folder: Path, study: str, *overrides: str, scale: str | None = "xs", fleet: bool = True
) -> Results:
    need("postgresql")
    changes = [word for override in overrides for word in ("-P", override)]
    # As docs/fleet.md: inrush run STUDY --start postgresql --fleet local:2
    said = inrush(
        "run", study, *(("--scale", scale) if scale else ()), "--start", "postgresql",
        *(("--fleet", f"local:{WORKERS}") if fleet else ()), "--data", str(folder), "--quiet", *changes,
    )  # fmt: skip
    assert said.code in (0, 3), said.err
    study_folder = max(inrush.store.studies(), key=lambda found: found.doc["begun_unix_ns"])
    found = Results(study_folder.path)
    assert study_folder.doc["status"] == "done", study_folder.doc
    return found


def table_of(results: Results, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = results.runs[-1].table(name).to_pylist()
    return found


def test_rows_that_workers_write_are_those_of_the_plan_of_one_machine(inrush: Inrush, folder: Path) -> None:
    found = run(
        inrush, folder, "telemetry-writers",
        "factors.writers=[1]", "roles.readers.sessions=0", "schedule.at_least_s=0", "repeats.count=1",
    )  # fmt: skip
    sealed = found.runs[-1]
    assert sealed.plan["share"]["of"] == WORKERS
    planned = {
        role["name"]: role["work"]["rows"]
        for segment in sealed.plan["segments"] if segment.get("phase") == "measure"
        for role in segment["roles"]
    }  # fmt: skip
    measured = {r["role"]: r for r in table_of(found, "repetitions") if r["role"] in planned}
    assert planned and {name: r["rows"] for name, r in measured.items()} == planned
    assert all(r["errors"] == r["wrong"] == 0 and r["sessions"] == WORKERS for r in measured.values())
    proofs = table_of(found, "proofs")
    assert {"rows", "rows_read_back"} & {p["item"] for p in proofs}, {p["item"] for p in proofs}
    assert all(p["holds"] for p in proofs), "each row that is there is a row of the generator, and each once"
    assert {int(p["found"]) for p in proofs if p["item"] == "rows"} == set(planned.values())
    ran = sealed.doc["clients"]
    assert len({w["pid"] for w in ran["workers"]}) == WORKERS == ran["count"]


def test_reads_by_key_on_workers_are_right_and_no_password_is_in_any_file(
    inrush: Inrush, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "a-secret-of-the-test-7731"
    monkeypatch.setenv("PGPASSWORD", secret)
    # Workers inherit it not: their file alone has it.
    monkeypatch.setattr(local, "NODE", ("/usr/bin/env", "-u", "PGPASSWORD", *local.NODE))
    found = run(
        inrush, folder, "keylookup-threads", "factors.threads=[2]", "repeats.count=1", "schedule.measure_s=1"
    )  # fmt: skip
    measured = next(r for r in table_of(found, "repetitions") if r["role"] == "clients")
    assert measured["wrong"] == measured["errors"] == 0 and measured["ok"] > 0
    assert measured["sessions"] == 2 * WORKERS
    for path in found.path.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


STEPS = """
schema = 1
title = "Loads by several"
question = "What do several load?"
expect = "The rows of one."
workload = "work.toml"
kind = "steps"
engines = ["postgresql"]
repeats = { count = 1, seed = 3, pilot = false }
answer = { kind = "comparison", of = "load.rows_per_s" }
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = 30_000 }
sessions = 2
batch_rows = 500
[[steps]]
name = "index"
do = "statement"
operation = "index"
[[steps]]
name = "anew"
do = "restart"
[[steps]]
name = "look"
do = "read"
operations = { count = 1, by_id = 3 }
sessions = 2
calls = 40
after = "index"
[[steps]]
name = "mixed"
do = "roles"
[steps.roles.writers]
operation = "write_log"
rows = { total = 2_000 }
batch_rows = 10
[steps.roles.counters]
operation = "count"
until = "writers"
"""


def stepped(folder: Path) -> Path:
    (folder / "work.toml").write_text(WORKLOAD.replace("ANALYZE", "ANALYZE {events}") + COUNTED)
    path = folder / "stepped.toml"
    path.write_text(STEPS)
    return path


def same_rows(found: Results, rows: int = 30_000) -> None:
    """What all have loaded is proven, and what each has read of it was right."""
    assert found.runs[-1].plan["share"]["of"] == WORKERS
    measured = {r["role"]: r for r in table_of(found, "repetitions")}
    assert measured["load"]["rows"] == rows and measured["load"]["sessions"] == 2 * WORKERS
    assert measured["look"]["ops"] == measured["look"]["ok"] == 40
    assert measured["mixed.writers"]["rows"] == 2_000
    # What lies there from a step before is counted while others write.
    assert measured["mixed.counters"]["ok"] == measured["mixed.counters"]["ops"] > 0
    proofs = table_of(found, "proofs")
    assert proofs and all(p["holds"] for p in proofs)
    assert {int(p["found"]) for p in proofs if p["item"] == "rows"} == {rows, 2_000}
    assert "read_back" in {p["item"] for p in proofs}


@pytest.mark.slow
def test_a_load_step_and_reads_behind_a_restart_by_two_processes(inrush: Inrush, folder: Path) -> None:
    same_rows(run(inrush, folder / "data", str(stepped(folder)), "clients=2", scale=None, fleet=False))


def test_a_load_step_and_reads_behind_a_restart_on_two_workers(inrush: Inrush, folder: Path) -> None:
    same_rows(run(inrush, folder / "data", str(stepped(folder)), scale=None))


@pytest.mark.slow
def test_a_worker_that_is_killed_in_a_load_step_ends_the_run_and_resume_makes_it_anew(
    inrush: Inrush, folder: Path
) -> None:
    need("postgresql")
    study = stepped(folder)
    # So slow that it goes on until a worker is gone.
    study.write_text(
        STEPS.replace(
            "batch_rows = 500", 'batch_rows = 500\nschedule = { mode = "constant", rate_per_s = 10 }'
        )
    )
    killed: list[int] = []

    def kill() -> None:
        """The second worker, once its client process is there and loads."""
        end = time.monotonic() + 120
        while time.monotonic() < end and not killed:
            second = next(iter(children([os.getpid()], "002")), 0)
            for client in children([second], "drive").values():
                intervals = Path(client[-2]) / "intervals.arrows"
                if intervals.is_file() and intervals.stat().st_size > 2_000:
                    killed.append(second)
                    os.kill(second, signal.SIGKILL)
            time.sleep(0.1)

    thread = threading.Thread(target=kill)
    thread.start()
    said = inrush(
        "run",
        str(study),
        "--start",
        "postgresql",
        "--fleet",
        f"local:{WORKERS}",
        "--data",
        str(folder / "data"),
        "--quiet",
    )
    thread.join()
    assert killed and said.code not in (0, 3), said.err
    (left,) = inrush.store.studies()
    assert all(run.doc["failure"] for run in Results(left.path).runs), "a run that failed says so"
    said = inrush("run", "--resume", str(left.path), "--quiet")
    assert said.code in (0, 3), said.err
    (done,) = inrush.store.studies()
    assert done.doc["status"] == "done"
    same_rows(Results(done.path))


def children(of: Sequence[int], word: str) -> dict[int, list[str]]:
    """Process -> its command line, of children that have a word in theirs."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = entry.read_bytes().decode().split("\0")
            parent = int((entry.parent / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if word in words and parent in of:
                found[int(entry.parent.name)] = words
    return found


@pytest.mark.parametrize("fleet", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_files_of_a_load_are_shared_out_as_they_are_and_each_is_loaded_once(
    inrush: Inrush, folder: Path, fleet: bool
) -> None:
    """Processes of this host share a folder; each worker has its own files, also of those that a step has sorted."""
    found = run(
        inrush, folder, "bulkindex-load", "steps.load.rows.total=20_000", "repeats.count=1", "clients=2",
        fleet=fleet,
    )  # fmt: skip
    ways = {str(sealed.plan["labels"]["factors"]["way"]): sealed for sealed in found.runs}
    assert len(ways) == 4
    for way, sealed in ways.items():
        files = sealed.table("files").to_pylist()
        assert sorted(f["file"] for f in files) == [*range(100)], way
        loading = {f["pipeline"] for f in files}
        # The second process's are numbered behind the first's, whose every session has loaded some.
        assert len(loading) >= 2 and sum(f["rows"] for f in files) == 20_000, way
        by_process = [f for f in files if f["file"] % 2]
        assert {f["pipeline"] for f in by_process}.isdisjoint(
            f["pipeline"] for f in files if f["file"] % 2 == 0
        )
        proofs = sealed.table("proofs").to_pylist()
        assert all(p["holds"] for p in proofs), way
        assert {int(p["found"]) for p in proofs if p["item"] == "rows"} == {20_000}, way
        if fleet:
            made = [worker["files"] for worker in sealed.doc["clients"]["workers"]]
            # A sorted file has rows of all, so these are whole on each.
            assert [of["files"] for of in made] == ([100, 100] if "sorted" in way else [50, 50]), way
            if "sorted" not in way:
                assert sum(of["bytes"] for of in made) == sum(f["bytes"] for f in files), way
    if fleet:
        assert not [*(folder / "inputs").rglob("*.tsv")] and not [*found.path.rglob("*.tsv")]
