"""The binding of NDB where memory ends: an error comes back, and nothing is thrown into Rust, which would end the process."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from inrush.engines.ndb import release as ndb_release

SOURCE = Path(__file__).with_name("ndb_out_of_memory.cpp")


def test_an_allocation_that_fails_is_an_error_of_the_call(tmp_path: Path) -> None:
    offer = ndb_release.ClusterPrograms()
    if os.environ.get("INRUSH_REQUIRE_SERVERS"):
        offer.release()
    if not (offer.folder / ndb_release.LIBRARY).exists() or shutil.which("c++") is None:
        pytest.skip("no client library of NDB, or no c++")
    program, home = tmp_path / "starved", offer.folder
    subprocess.run(
        ["c++", "-O1", "-I", home / "include", "-I", ndb_release.BINDING_SOURCE.parent, SOURCE, "-o", program,
         "-L", home, "-lndbclient", f"-Wl,-rpath,{home}", "-ldl"],
        check=True,
    )  # fmt: skip
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[-1] == "lived", done.stderr
    *starved, negative = lines[:-1]
    assert {line.split()[0] for line in starved} >= {"connect", "open"}
    assert all(line.endswith(": out of memory") for line in starved), starved
    assert negative.startswith("negative 0 open: "), negative
