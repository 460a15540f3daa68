"""Extras: what pyproject.toml and the code say of them is the same, and a command without its packages says so at once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from inrush.errors import UsageError
from inrush.extras import EXTRAS, need
from inrush.study.toml import read_toml
from tests.terminal import Inrush

ROOT = Path(__file__).parents[2]
#: Every module that only an extra brings.
OPTIONAL = sorted({module for modules in EXTRAS.values() for module in modules})
#: Where a package and its module differ in name.
MODULES = {"vl-convert-python": "vl_convert"}


def project() -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_toml(ROOT / "pyproject.toml")["project"]
    return found


def names(requirements: Sequence[str]) -> list[str]:
    return [re.split(r"[<>=;\[ ]", requirement)[0] for requirement in requirements]


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Modules that are not installed, as far as this process can tell."""

    def hidden(*modules: str) -> None:
        for module in modules:
            monkeypatch.setitem(sys.modules, module, None)

    return hidden


# What the project says of its packages.


def test_the_extras_of_the_project_bring_the_modules_that_commands_ask_for() -> None:
    extras = project()["optional-dependencies"]
    brought = {extra: [MODULES.get(n, n) for n in names(packages)] for extra, packages in extras.items()}
    assert brought.pop("all") == OPTIONAL
    assert {extra: set(modules) for extra, modules in brought.items()} == {
        extra: set(modules) for extra, modules in EXTRAS.items()
    }


def test_a_package_has_one_version_in_all_extras_and_none_is_in_the_base() -> None:
    extras = project()["optional-dependencies"]
    every = {requirement for packages in extras.values() for requirement in packages}
    assert len(every) == len(set(names(sorted(every))))
    assert not set(names(sorted(every))) & set(names(project()["dependencies"]))


def test_the_page_on_installing_has_a_row_for_every_package() -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    rows = {name for line in text.splitlines() if line.startswith("| `") for name in re.findall(r"`([\w-]+)`", line.split("|")[1])}  # fmt: skip
    packages = [*project()["dependencies"], *project()["optional-dependencies"]["all"]]
    assert set(names(packages)) <= rows, "a package is missing in the table of docs/tutorial.md"
    assert {f"`{extra}`" for extra in EXTRAS} <= set(re.findall(r"`\w+`", text))


# What a command says without its packages.


def test_what_is_missing_is_named_with_the_smallest_extra_that_brings_it(hide: Any) -> None:
    need("inrush report", "report", "duckdb", "")
    hide("scipy")
    with pytest.raises(UsageError, match=r"^inrush show needs scipy; pip install 'inrush\[stats\]'$"):
        need("inrush show", "stats")
    hide("altair", "duckdb")
    with pytest.raises(
        UsageError, match=r"^it needs duckdb, altair, scipy; pip install 'inrush\[duckdb,report\]'$"
    ):
        need("it", "report", "", "duckdb")


@pytest.mark.parametrize(
    ("words", "hidden", "brings"),
    [
        (("run", "quickstart"), OPTIONAL, "duckdb,report"),
        (("run", "quickstart", "--scale", "xs"), ["duckdb"], "duckdb"),
        (("run", "batch", "sqlite", "--scale", "xs"), ["altair"], "report"),
        (("run", "batch", "sqlite", "--scale", "xs"), ["vl_convert"], "report"),
        (("run", "batch", "sqlite", "--scale", "xs", "--quiet"), ["scipy"], "report"),
        # DuckDB answers the queries of a server a second time; nothing listens at this address.
        (("run", "queries", "postgresql://inrush@127.0.0.1:1/db", "--scale", "xs"), ["duckdb"], "duckdb"),
        (("report",), ["altair"], "report"),
        (("show",), ["scipy"], "stats"),
        (("compare", "a", "b"), ["scipy"], "stats"),
        (("predict", "--to", "4"), ["scipy"], "stats"),
        (("predict", "--rows-per-s", "1000"), ["scipy"], "stats"),
        (("prove", "latest"), ["vl_convert"], "report"),
        (("scoreboard",), ["altair"], "report"),
        (("scoreboard", "--json"), ["scipy"], "stats"),
        (("load", "rows.csv", "--table", "t", "--create", "--into", "duckdb://rows.db"), ["duckdb"], "duckdb"),
        (("load-server", "--into", "duckdb://rows.db"), ["duckdb"], "duckdb"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, (tuple, list)) else value,
)  # fmt: skip
def test_a_command_without_its_packages_is_one_line_and_code_2_before_it_runs_anything(
    inrush: Inrush,
    hide: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    hidden: list[str],
    brings: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("id,name\n1,a\n")
    hide(*hidden)
    said = inrush(*words)
    assert (said.code, said.out) == (2, ""), said.err
    assert re.fullmatch(rf"inrush: .* needs .*; pip install 'inrush\[{brings}\]'\n", said.err), said.err
    assert inrush.store.studies() == []
    assert [path.name for path in tmp_path.iterdir() if path.suffix] == ["rows.csv"]


@pytest.fixture
def base(tmp_path: Path) -> Mapping[str, str]:
    """The environment of a process, and of those that it starts, where no extra is installed."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "sitecustomize.py").write_text(
        f"import sys\nsys.modules.update(dict.fromkeys({OPTIONAL!r}))\n"
    )
    path = os.pathsep.join([str(tmp_path / "hidden"), str(ROOT / "python")])
    return {**os.environ, "PYTHONPATH": path, "INRUSH_RESULTS": str(tmp_path / "results"), "NO_COLOR": "1"}


def test_everything_but_the_answers_of_studies_works_with_the_base_alone(
    base: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("id,name\n" + "".join(f"{i},n{i}\n" for i in range(100)))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=base, capture_output=True, text=True, check=False
        )

    assert "import of scipy halted" in run("-c", "import scipy").stderr, "it is hidden"
    for words in (
        ("version",),
        ("studies",),
        ("config", "quickstart"),
        ("plan", "quickstart"),
        ("plan", "keepup", "postgresql://inrush@127.0.0.1:1/db", "--scale", "xs"),
        ("plan", "pipeline-parallel", "--scale", "xs"),
        ("new", "mine", "--from", "rows.csv"),
        ("engines",),
        ("runs",),
        ("doctor", "--seconds", "0.05"),
        ("load", "rows.csv", "--table", "t", "--create", "--verify", "--into", "sqlite://rows.db"),
    ):
        done = run("-m", "inrush", *words)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    done = run("-m", "inrush", "run", "quickstart")
    assert done.returncode == 2 and done.stderr.endswith("pip install 'inrush[duckdb,report]'\n"), done.stderr
