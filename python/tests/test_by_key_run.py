"""Calls by key in whole runs: every row is read, added, changed and deleted, and the proof knows which are left."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.stats.measures import study_record
from inrush.stats.run_figures import figures_of_run
from tests.terminal import Inrush

WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.t]
series = 1
period_s = 1
identity = ["k"]
layouts = { none = [], pk = ["identity"] }
columns = [
  { name = "k", type = "i64", gen = "sequence", start = 100, step = 3 },
  { name = "a", type = "i32", gen = "uniform", from = 0, to = 1_000_000 },
  { name = "b", type = "text", gen = "text", min_bytes = 3, max_bytes = 9 },
  { name = "f", type = "f64", gen = "normal", mean = 0, sd = 1 },
  { name = "fixed", type = "u32", gen = "uniform", from = 0, to = 1_000_000 },
  { name = "version", type = "u64", gen = "version" },
]
[operations]
look = { kind = "key", does = "read", table = "t" }
look_new = { kind = "key", does = "read", table = "t", keys = { rows = 1_300 } }
put = { kind = "key", does = "insert", table = "t", keys = { rows = 300 } }
take = { kind = "key", does = "delete", table = "t", keys = { rows = 500 } }
change = { kind = "key", does = "update", table = "t", columns = ["a", "b", "f"] }
set = { kind = "key", does = "write", table = "t", columns = ["a", "b", "f"] }
"""
#: Writers of all kinds beside readers; on the rows that they change, too.
STUDY = """
schema = 1
title = "By key"
question = "Is every row right?"
expect = "Every row is."
workload = "workload.toml"
kind = "mixed"
engines = ["ENGINE"]
layout = "pk"
load = { rows = 1_000 }
schedule = { mode = "closed" }
factors.depth = DEPTHS
repeats = { count = 1, order = "as_written", pilot = false }
[roles]
readers = { operations = { look = 1, look_new = 1 }, calls = 600, sessions = 2, depth = "@depth" }
putters = { operation = "put", calls = 250, depth = "@depth" }
takers = { operation = "take", calls = 400, depth = "@depth" }
changers = { operation = "change", calls = 400, sessions = 2, keys = { by = "own_range" }, depth = "@depth" }
setters = { operation = "set", calls = 400, keys = { by = "zipf", exponent = 0.7 }, depth = "@depth" }
"""


def ran(inrush: Inrush, folder: Path, engine: str, depths: str, url: str = "") -> None:
    """Asserts that every call was right, and every row that is left."""
    (folder / "workload.toml").write_text(WORKLOAD)
    (folder / "by-key.toml").write_text(STUDY.replace("ENGINE", engine).replace("DEPTHS", depths))
    said = inrush("run", str(folder / "by-key.toml"), *([url] if url else []), "--json")
    assert said.code in (0, 3), said.err
    runs = study_record(inrush.store.find(None)).runs
    assert len(runs) == len(depths.split(","))
    for run in runs:
        wrong = {
            name: value for name, value in figures_of_run(run).items() if name.endswith(".wrong") and value
        }
        assert not wrong, wrong
        # Calls in flight together may be one transaction, and deadlock with those of another session: then none is done.
        failed = [row for row in run.tables["failures"].to_pylist() if row["outcome"] != "conflict"]
        assert not failed, failed
        proofs = {row["item"]: row["found"] for row in run.rows("proofs") if not row["holds"]}
        assert not proofs, proofs
        assert "rows_by_key" in {row["item"] for row in run.rows("proofs")}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_rows_that_come_go_and_change_are_proven_while_they_are_read(
    inrush: Inrush, tmp_path: Path, engine: str
) -> None:
    ran(inrush, tmp_path, engine, "[1]")


@pytest.mark.slow
def test_a_depth_that_the_engine_does_not_have_is_one_line(inrush: Inrush, tmp_path: Path) -> None:
    (tmp_path / "workload.toml").write_text(WORKLOAD)
    (tmp_path / "by-key.toml").write_text(STUDY.replace("ENGINE", "sqlite").replace("DEPTHS", "[64]"))
    said = inrush("run", str(tmp_path / "by-key.toml"))
    assert said.code == 2
    assert "a session of sqlite has 1 call in flight at most" in said.err
