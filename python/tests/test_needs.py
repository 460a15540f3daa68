"""What `make run` and `make test` say on a machine that lacks something: one line, before anything is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: What any machine has that has make; nothing that is checked for is among them.
TOOLS = (
    "bash",
    "sh",
    "make",
    "cat",
    "env",
    "find",
    "grep",
    "head",
    "sed",
    "sort",
    "tail",
    "touch",
    "tr",
    "uname",
)
RUST = re.search(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
COMMANDS = pytest.mark.parametrize("command", ["run", "test"])


class Machine:
    """A checkout that nothing was built in, and a PATH with chosen programs alone."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.path = folder / "inrush", folder / "bin"
        self.path.mkdir()
        self.checkout.mkdir(parents=True)
        names = (
            "Makefile",
            "Cargo.toml",
            "Cargo.lock",
            "rust-toolchain.toml",
            "pyproject.toml",
            "constraints.txt",
        )
        for name in (*names, "tools", "python", "rust"):
            (self.checkout / name).symlink_to(ROOT / name)
        for name in TOOLS:
            self.has(name)

    def has(self, name: str, program: str | None = None) -> None:
        found = program or shutil.which(name)
        assert found, f"{name} is needed to test this"
        (self.path / name).symlink_to(found)

    def says(self, name: str, script: str) -> None:
        """A program that is a few lines of shell."""
        (self.path / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.path / name).chmod(0o755)

    def has_all(self) -> None:
        """All that is needed, none of it real."""
        self.says("cc", "exit 0")
        self.says("cargo", 'case $1 in --version) echo "cargo 9.9.0 (0 2026-01-01)";; esac')
        self.says("rustc", "echo host: x86_64-unknown-linux-gnu")
        self.has("python3", sys.executable)

    def refusal(self, command: str, **more: str) -> str:
        """The one line that a command ends with, beside make's own."""
        kept = {k: v for k, v in os.environ.items() if k in ("HOME", "RUSTUP_HOME", "LANG")}
        done = subprocess.run(
            ["make", command], cwd=self.checkout, env={**kept, "PATH": str(self.path), **more},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 2, done.stdout + done.stderr
        lines = [line for line in done.stderr.splitlines() if not line.startswith("make: ")]
        assert len(lines) == 1, done.stderr
        return lines[0]

    def installed(self) -> bool:
        return (self.checkout / ".venv").exists() or (self.checkout / "target").exists()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@COMMANDS
def test_without_rust_one_line_says_to_install_it(machine: Machine, command: str) -> None:
    machine.has_all()
    (machine.path / "cargo").unlink()
    said = machine.refusal(command)
    assert RUST is not None
    assert said == (
        f"inrush needs Rust {RUST[1]} or newer: there is no cargo in PATH that runs; install Rust with rustup"
    )
    assert not machine.installed()


@COMMANDS
def test_an_old_rust_is_named_with_its_version(machine: Machine, command: str) -> None:
    machine.has_all()
    machine.says("cargo", "echo cargo 1.9.0")
    said = machine.refusal(command)
    assert "or newer: cargo is 1.9.0; run `rustup update`" in said
    assert not machine.installed()


@COMMANDS
def test_an_old_python_is_named_with_its_version(machine: Machine, command: str) -> None:
    machine.has_all()
    (machine.path / "python3").unlink()
    machine.says("python3", "echo 3.9")
    said = machine.refusal(command)
    assert said == (
        "inrush needs Python 3.10 or newer: python3 is 3.9; install a newer one and name it: make PYTHON=python3.12"
    )
    assert not machine.installed()


@COMMANDS
def test_a_python_without_venv_names_the_package_that_brings_it(machine: Machine, command: str) -> None:
    machine.has_all()
    (machine.path / "python3").unlink()
    machine.says("python3", 'case "$2" in *version_info*) echo 3.12;; *) exit 1;; esac')
    assert machine.refusal(command) == "inrush needs the module venv of Python: install python3-venv"


def test_all_that_is_missing_stands_in_the_one_line(machine: Machine) -> None:
    said = machine.refusal("run")
    assert all(word in said for word in ("C compiler", "Rust", "Python")), said
    assert said.startswith("inrush needs ") and said.count("; ") >= 2


@COMMANDS
def test_without_a_network_one_line_says_so_before_anything_is_installed(
    machine: Machine, command: str
) -> None:
    """Crates are fetched first: here through a proxy that nothing listens at, into a folder that holds none."""
    machine.has_all()
    for name in ("cargo", "rustc"):
        (machine.path / name).unlink()
        machine.has(name)
    away = {"HTTPS_PROXY": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    said = machine.refusal(command, CARGO_HOME=str(machine.checkout.parent / "crates"), **away)
    assert said.startswith("inrush needs a network for the first build: ") and "HTTPS_PROXY" in said
    assert not machine.installed()


@pytest.mark.ci
def test_without_a_way_to_the_python_packages_one_line_says_so(machine: Machine) -> None:
    machine.has_all()
    away = {"HTTPS_PROXY": "http://127.0.0.1:9", "PIP_CONFIG_FILE": os.devnull}
    said = machine.refusal("run", **away)
    assert said.startswith("inrush needs a network for the first build: ") and "HTTPS_PROXY" in said
    assert not (machine.checkout / ".venv" / ".ready").exists()


def test_where_all_is_there_nothing_is_said(machine: Machine) -> None:
    machine.has_all()
    done = subprocess.run(
        ["tools/needs", "python3", "fetch"], cwd=machine.checkout, env={"PATH": str(machine.path)},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == done.stderr == ""
