"""`make test`: both halves are tested, it fails if either does, and shows why."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.engines.servers import running

ROOT = Path(__file__).parents[2]
PASSED = "echo 'test result: ok. 3 passed; 0 failed; 2 ignored; 0 measured'"
FAILED = "echo 'test one ... FAILED'; exit 1"
NONE = "echo 'nothing was compiled'"


def make_test(folder: Path, rust: str, python: str, **environment: str) -> tuple[int, str]:
    """Exit code and output, where cargo and pytest are lines of shell and everything else is built."""
    checkout, programs = folder / "inrush", folder / "bin"
    (checkout / ".venv" / "bin").mkdir(parents=True)
    programs.mkdir()
    for name in ("Cargo.toml", "Cargo.lock", "pyproject.toml", "constraints.txt"):
        (checkout / name).touch()
    for name in ("rust", "python/inrush", "tools"):
        (checkout / name).mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", checkout)
    scripts = {
        checkout / "tools" / "needs": "exit 0",
        checkout / ".venv" / "bin" / "python": python,
        programs / "cargo": rust,
    }
    for path, script in scripts.items():
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    (checkout / ".venv" / ".ready").touch()
    (checkout / "python" / "inrush" / "_core.abi3.so").touch()
    kept = {
        k: v
        for k, v in os.environ.items()
        if k not in ("INRUSH_REQUIRE_SERVERS", "CARGO_TARGET_DIR", "MAKEFLAGS")
    }
    path = f"{programs}:{os.environ['PATH']}"
    done = subprocess.run(
        ["make", "test"], cwd=checkout, env={**kept, **environment, "PATH": path}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_both_halves_pass(tmp_path: Path) -> None:
    code, said = make_test(tmp_path, PASSED, "echo 7 passed")
    assert code == 0, said
    assert "Rust: 3 tests passed, 2 need a server" in said
    assert "7 passed" in said


@pytest.mark.parametrize("rust", [FAILED, NONE])
def test_it_fails_if_the_rust_half_failed_or_tested_nothing_and_python_is_tested_all_the_same(
    tmp_path: Path, rust: str
) -> None:
    code, said = make_test(tmp_path, rust, "sleep 1; echo 7 passed")
    assert code != 0, said
    assert "7 passed" in said
    assert ("test one ... FAILED" in said) == (rust == FAILED)


def test_it_fails_if_the_python_half_failed(tmp_path: Path) -> None:
    code, said = make_test(tmp_path, PASSED, "echo 1 failed; exit 1")
    assert code != 0, said
    assert "Rust: 3 tests passed" in said


ON_SERVERS = 'case "$*" in *--ignore*) {};; *) {};; esac'


@pytest.mark.parametrize(
    ("rust", "python", "passes"),
    [
        (PASSED, ON_SERVERS.format("echo 7 apart", "echo 8 on servers"), True),
        (FAILED, ON_SERVERS.format("echo 7 apart", "echo 8 on servers"), False),
        (PASSED, ON_SERVERS.format("echo 7 apart; exit 1", "echo 8 on servers"), False),
        (PASSED, ON_SERVERS.format("echo 7 apart", "echo 8 on servers; exit 1"), False),
    ],
)
def test_with_servers_it_fails_if_any_part_does_and_every_part_is_tested(
    tmp_path: Path, rust: str, python: str, passes: bool
) -> None:
    code, said = make_test(tmp_path, rust, python, INRUSH_REQUIRE_SERVERS="1")
    assert (code == 0) == passes, said
    assert "7 apart" in said and "8 on servers" in said


def test_with_servers_rusts_come_first_and_those_on_servers_last(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code, said = make_test(
        tmp_path,
        f"sleep 1; echo rust >>{log}; {PASSED}",
        ON_SERVERS.format(f"sleep 0.5; echo apart >>{log}", f"echo servers >>{log}"),
        INRUSH_REQUIRE_SERVERS="1",
    )
    assert code == 0, said
    assert log.read_text().split() == ["rust", "apart", "servers"]


def test_a_server_that_runs_already_is_of_one_process_alone() -> None:
    named = {"INRUSH_MYSQL_URL": "mysql://a"}
    assert running("mysql", named) == "mysql://a"
    assert running("mysql", {**named, "PYTEST_XDIST_WORKER": "gw0"}) == "mysql://a"
    assert running("mysql", {**named, "PYTEST_XDIST_WORKER": "gw1"}) is None
    assert running("mysql", {}) is None
