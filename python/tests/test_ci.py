"""What `.ci/run` rests on: a PATH that has only what README asks for, and two Pythons for the wheel."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CI = ROOT / ".ci"


def run(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(w) for w in words], cwd=ROOT, env={**os.environ, **environment},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_bare_path_has_what_readme_asks_for_and_nothing_else(tmp_path: Path) -> None:
    program(tmp_path / "psql", "echo a client of PostgreSQL")
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert run("psql", PATH=path).stdout == "a client of PostgreSQL\n"
    done = run(
        CI / "bare", "sh", "-c",
        "cargo --version && python3 --version && make --version && cc --version && git --version && ! command -v psql"
        " && ! command -v pip && ! command -v rustup && ! command -v chromium && ! command -v curl && echo $PATH",
        PATH=path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    only = done.stdout.splitlines()[-1]
    assert ":" not in only and not Path(only).exists(), "one folder, and gone afterwards"


def test_a_bare_command_ends_with_its_own_code() -> None:
    assert run(CI / "bare", "sh", "-c", "exit 7").returncode == 7


def test_ci_builds_with_the_bare_path_before_it_installs_what_the_tests_need() -> None:
    text = (CI / "run").read_text()
    before, after = text.split("\n.ci/bare make run ")
    assert "chromium" not in before and "postgresql-client" not in before and "maven" not in before
    assert "packages+=(chromium)" in after and "packages+=(maven" in after
    assert "\nmake " not in before.replace("\n# ", ""), "nothing is built before it"


def pythons(folder: Path, *minors: int) -> subprocess.CompletedProcess[str]:
    """What `.ci/pythons` prints on a machine whose pyenv has these versions, and no other Python is there."""
    for minor in minors:
        # It answers the question for its version, as it is asked.
        program(
            folder / "pyenv" / "versions" / f"3.{minor}.1" / "bin" / "python3",
            f'case "$2" in *"(3, {minor})"*) exit 0;; *) exit 1;; esac',
        )
    path = folder / "bin"
    path.mkdir(exist_ok=True)
    for name in ("bash", "env", "dirname", "sed", "seq", "sh"):
        (path / name).symlink_to(f"/usr/bin/{name}")
    return run(
        CI / "pythons",
        PATH=str(path),
        PYENV_ROOT=str(folder / "pyenv"),
        HOME=str(folder),
        UV_PYTHON_INSTALL_DIR=str(folder / "uv"),
    )


def test_the_oldest_and_the_newest_python_are_chosen(tmp_path: Path) -> None:
    done = pythons(tmp_path, 9, 10, 11, 13)
    assert done.returncode == 0 and done.stderr == ""
    assert [Path(line).parents[1].name for line in done.stdout.splitlines()] == ["3.10.1", "3.13.1"]


@pytest.mark.parametrize(("minors", "chosen"), [((10,), ["3.10.1"]), ((11, 13), ["3.11.1", "3.13.1"])])
def test_where_one_of_the_two_is_missing_it_fails_and_says_what_to_do(
    tmp_path: Path, minors: tuple[int, ...], chosen: list[str]
) -> None:
    done = pythons(tmp_path, *minors)
    assert done.returncode == 1
    assert [Path(line).parents[1].name for line in done.stdout.splitlines()] == chosen
    assert "Python 3.10 and a newer one are needed: uv python install 3.10" in done.stderr


def test_no_python_at_all_is_one_line(tmp_path: Path) -> None:
    done = pythons(tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == "pythons: no Python from 3.10 on with venv is in PATH; install python3-venv\n"


def test_ci_tries_the_wheel_with_two_pythons_or_fails(tmp_path: Path) -> None:
    assert (
        "\nINRUSH_REQUIRE_PYTHONS=1 make try-wheel WHEEL='dist/here/inrush-*.whl'\n"
        in (CI / "run").read_text()
    )
    pythons(tmp_path, 11)
    wheel = tmp_path / "inrush.whl"
    wheel.touch()
    for name in ("realpath", "mktemp", "rm"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    done = run(
        CI / "try-wheel", wheel,
        PATH=str(tmp_path / "bin"), PYENV_ROOT=str(tmp_path / "pyenv"), HOME=str(tmp_path), TMPDIR=str(tmp_path),
        UV_PYTHON_INSTALL_DIR=str(tmp_path / "uv"), INRUSH_REQUIRE_PYTHONS="1",
    )  # fmt: skip
    assert done.returncode == 1
    assert "try-wheel: the oldest and the newest Python are not both here" in done.stderr
