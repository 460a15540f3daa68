"""What a command loads before it does anything: counted, as seconds say nothing on a busy machine."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.strategies import ENVIRONMENT

#: Prints every module that was loaded by the end of the program behind it.
COUNTED = "import atexit, json, sys\natexit.register(lambda: print('\\n' + json.dumps(list(sys.modules))))\n"
#: A command line of two commands that do nothing.
BARE = "import typer\na = typer.Typer()\na.command('run')(lambda: 0)\na.command('doctor')(lambda: 0)\n"
OURS = "import sys\nfrom inrush.cli import main\nsys.argv = ['inrush', *{words!r}]\nmain()\n"


def loaded(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", COUNTED + program],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def of_the_parser() -> set[str]:
    """What a command line costs that has no command of ours."""
    return loaded(f"{BARE}a(['--help'])") | loaded(f"{BARE}a(['doctor'])")


def is_ours(module: str) -> bool:
    return module.partition(".")[0] == "inrush"


def test_help_of_all_commands_loads_the_parser_and_their_words_and_nothing_else(
    of_the_parser: set[str],
) -> None:
    found = loaded(OURS.format(words=["--help"]))
    assert {module for module in found - of_the_parser if not is_ours(module)} == set()
    assert sum(map(is_ours, found)) <= 16


@pytest.mark.parametrize(
    ("words", "most"), [(["version"], 21), (["--version"], 21), (["studies"], 22), (["run", "--help"], 16)]
)
def test_a_quick_command_loads_few_modules_and_no_package(
    of_the_parser: set[str], words: list[str], most: int
) -> None:
    packages = {module.partition(".")[0] for module in of_the_parser}
    found = loaded(OURS.format(words=words))
    foreign = {module.partition(".")[0] for module in found if not is_ours(module)}
    assert foreign - packages - sys.stdlib_module_names - {"tomli"} == set()
    assert sum(map(is_ours, found)) <= most


def test_a_package_that_is_loaded_too_early_is_seen(of_the_parser: set[str]) -> None:
    assert "numpy" in loaded("import numpy") - of_the_parser


#: A sealed run with one table, read as the line of the first result reads it.
SEALED = """
import json, pathlib
import pyarrow as pa, pyarrow.parquet as pq
from inrush.results.schema import RESULT_SCHEMA, SCHEMAS
from inrush.results.store import SealedRun
folder = pathlib.Path({folder!r})
pq.write_table(pa.Table.from_pylist([{{}}] * 3, SCHEMAS["proofs"]), folder / "proofs.parquet")
tables = {{"proofs": {{"file": "proofs.parquet"}}}}
(folder / "run.json").write_text(json.dumps({{"schema": RESULT_SCHEMA, "run": "r", "tables": tables}}))
assert SealedRun(folder).table("proofs").num_rows == 3
"""


def test_a_table_of_a_sealed_run_is_read_without_what_reads_many_files(tmp_path: Path) -> None:
    assert "pyarrow.dataset" not in loaded(SEALED.format(folder=str(tmp_path)))


def test_pandas_is_not_loaded_where_it_is_installed() -> None:
    # Not by `find_spec`: a command that ran in this process before has left a finder that finds none.
    if not any(d.name == "pandas" for d in importlib.metadata.distributions()):
        pytest.skip("NOT TESTED: pandas is not installed, so that nothing could load it")
    array = "import pyarrow\npyarrow.array([1])\n"
    assert "pandas" in loaded(array), "pyarrow loads it by itself"
    command = OURS.format(words=["version"]).replace("main()\n", "")
    assert "pandas" not in loaded(f"{command}try:\n    main()\nexcept SystemExit:\n    pass\n{array}")
