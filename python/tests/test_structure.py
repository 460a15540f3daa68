"""ARCHITECTURE.md as it is in the code: which stage may know which, who decides without looking, and who prints."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import inrush

PACKAGE = Path(inrush.__file__).parent
#: From below to above: a module knows its own layer and those below it.
LAYERS = (
    {"errors", "text", "workload", "_core"},
    {"study", "studies", "engines"},
    {"results"},
    {"stats"},
    {"guards", "model"},
    {"analysis"},
    {"plan", "load", "run", "pipeline"},
    {"predict"},
    {"report"},
    {"commands"},
    {"cli"},
    {"__main__"},
)
#: Folders of deciders: no I/O and no clock.
PURE = ("plan", "stats", "guards", "analysis", "model")
IMPURE = {
    "os",
    "shutil",
    "socket",
    "sqlite3",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "pathlib",
    "duckdb",
}
#: The program that the parent starts says how it wants to be called.
PRINTS = {"cli", "commands", "run/worker.py"}


def modules() -> Iterator[tuple[str, Path, ast.Module]]:
    """Stage, path in the package and syntax tree of every module."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts != ("__init__.py",):
            yield place.parts[0].removesuffix(".py"), place, ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    """Dotted names, wherever in the module they are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "inrush":
            yield from (f"inrush.{name.name}" for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_a_stage_knows_those_below_it_and_none_above() -> None:
    height = {stage: k for k, layer in enumerate(LAYERS) for stage in layer}
    upward = [
        f"{place} imports {name}"
        for stage, place, tree in modules()
        for name in imported(tree)
        if name.startswith("inrush.") and height[name.split(".")[1]] > height[stage]
    ]
    assert upward == []
    assert {stage for stage, _, _ in modules()} | {"_core"} == set(height)


def test_deciders_look_at_no_file_and_no_clock() -> None:
    found = [
        f"{place} imports {name}"
        for stage, place, tree in modules()
        for name in imported(tree)
        if stage in PURE and name.split(".")[0] in IMPURE
    ]
    assert found == []


def test_commands_print_and_nothing_else_does() -> None:
    printing = {
        str(place)
        for stage, place, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        if stage not in PRINTS
    }
    assert printing == {name for name in PRINTS if name.endswith(".py")}
