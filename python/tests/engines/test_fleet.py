"""A study on a fleet of this machine and a real server: the rows are those of the plan, and no password is anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inrush.fleet import local
from inrush.results.store import Results
from tests.needed import need_distributed
from tests.terminal import Inrush

from .servers import need

need_distributed()
WORKERS = 2


def run(inrush: Inrush, folder: Path, study: str, *overrides: str) -> Results:
    need("postgresql")
    changes = [word for override in overrides for word in ("-P", override)]
    # As docs/fleet.md: inrush run STUDY --start postgresql --fleet local:2
    said = inrush(
        "run", study, "--scale", "xs", "--start", "postgresql", "--fleet", f"local:{WORKERS}",
        "--data", str(folder), "--quiet", *changes,
    )  # fmt: skip
    assert said.code in (0, 3), said.err
    (study_folder,) = inrush.store.studies()
    found = Results(study_folder.path)
    assert study_folder.doc["status"] == "done", study_folder.doc
    return found


def rows(results: Results, name: str) -> list[dict[str, Any]]:
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
    measured = {r["role"]: r for r in rows(found, "repetitions") if r["role"] in planned}
    assert planned and {name: r["rows"] for name, r in measured.items()} == planned
    assert all(r["errors"] == r["wrong"] == 0 and r["sessions"] == WORKERS for r in measured.values())
    proofs = rows(found, "proofs")
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
    measured = next(r for r in rows(found, "repetitions") if r["role"] == "clients")
    assert measured["wrong"] == measured["errors"] == 0 and measured["ok"] > 0
    assert measured["sessions"] == 2 * WORKERS
    for path in found.path.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path
