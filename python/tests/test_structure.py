"""ARCHITECTURE.md as it is in the code: which stage may know which, what decides without looking, and what prints."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import inrush
from inrush.known import ENGINES

PACKAGE = Path(inrush.__file__).parent
CORE = PACKAGE.parents[1] / "rust"
PAGE = PACKAGE.parents[1] / "ARCHITECTURE.md"
#: Titles of the two halves there.
HALVES = ("The half on the clock: `rust`", "The half off the clock: `python/inrush`")
#: Folder or file -> what it imports, itself left out.
Edges = dict[str, set[str]]
#: Every folder may use them, and they are in no picture: they import nothing of inrush, or only each other.
GROUND = {"errors", "extras", "text", "times", "workload", "known", "metrics"}
CORE_GROUND = {"clock", "error", "handle", "lock"}
#: Crates that are one room each. Of the others, each module of the first level is one.
WHOLE_CRATES = {"fuzz", "load"}
#: From below to above: a folder knows those below it, and none beside it. What stands in no folder is below all.
LAYERS = (
    {"errors", "extras", "text", "times", "workload", "known", "metrics", "_core"},
    {"border", "machine"},
    {"study", "results"},
    {"engines", "stats"},
    {"agent", "plan", "model"},
    {"analysis"},
    {"guards", "targets"},
    {"load"},
    {"fleet"},
    {"run"},
    {"predict"},
    {"report"},
    {"commands"},
    {"cli"},
    {"__main__"},
)
#: Folders of deciders: no I/O and no clock.
PURE = ("border", "plan", "stats", "guards", "analysis", "model")
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
#: Folders where every value has a type: no `Any`, nothing that mypy is told to pass over.
TYPED = ("border", "machine", "model", "guards", "plan", "cli")
#: The same of single modules, in folders that also read rows of tables and events.
TYPED_MODULES = (
    *(
        f"agent/{name}.py"
        for name in (
            "drive",
            "end",
            "ends",
            "parent",
            "patience",
            "process",
            "program",
            "realtime",
            "stopping",
        )
    ),
    "load/pipeline/inputs.py",
    "results/unanswered.py",
    "run/oracle.py",
)
#: All but the instruments, and a file: `null` is also a word for what is not there, `device` for a disk.
DATABASES = {name for name, module in ENGINES.items() if module not in ("null", "device")}
#: Modules outside of `engines` with the name of an engine, and what it is there.
NAMED = {
    "border/segment.py": {"postgresql"},  # a hash function of the plan, named after the database that has it
    "cli/words.py": {"mysql", "postgresql"},  # a format of files and an example of a URL, in help
    "extras.py": {"duckdb"},  # a package
    "known.py": DATABASES,  # the list of engines
    "study/formats.py": {"mysql"},  # a format of files
    "study/new.py": {"duckdb", "sqlite"},  # engines of the study that it writes, which the user changes
    "workload.py": {"postgresql"},  # what it calls a type, of the core's table
}
#: Programs that a parent starts: one says how it wants to be called, one what it came to.
PRINTS = {"cli", "commands", "engines/servers/limit_probe.py", "agent/program.py"}


@cache
def modules() -> list[tuple[str, Path, ast.Module]]:
    """Stage, path in the package and syntax tree of every module: parsed once, for parsing is what takes the time."""
    return [
        (place.parts[0].removesuffix(".py"), place, ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(PACKAGE.rglob("*.py"))
        if (place := path.relative_to(PACKAGE)).parts != ("__init__.py",)
    ]


@cache
def imported(tree: ast.Module) -> list[str]:
    """Dotted names, wherever in the module they are imported."""
    return list(imports_of(tree))


def imports_of(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "inrush":
            yield from (f"inrush.{name.name}" for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def above(stage: str, names: Iterable[str]) -> list[str]:
    """Those of the names that stand above the stage, or beside it; what stands in no folder may know each other."""
    height = {stage: k for k, layer in enumerate(LAYERS) for stage in layer}
    known = {stage} | (LAYERS[0] if stage in LAYERS[0] else set())
    others = [(n, n.split(".")[1]) for n in names if n.startswith("inrush.")]
    return [n for n, of in others if of not in known and height[of] >= height[stage]]


def test_a_stage_knows_those_below_it_and_none_above() -> None:
    found = [
        f"{place} imports {name}" for stage, place, tree in modules() for name in above(stage, imported(tree))
    ]
    assert found == []
    assert {stage for stage, _, _ in modules()} | {"_core"} == set().union(*LAYERS)


def test_an_import_of_what_stands_above_is_seen() -> None:
    lazy = ast.parse(
        "def f():\n    from inrush.run.run import run_study\n    from inrush.engines.base.twin import Twin\n"
    )
    assert above("plan", imported(lazy)) == ["inrush.run.run"]
    assert above("stats", ["inrush.engines.base.twin", "inrush.stats.stats"]) == ["inrush.engines.base.twin"]


def circles(knows: Mapping[str, Collection[str]]) -> list[str]:
    """Modules that know themselves by way of others."""
    reached = {module: set(names) for module, names in knows.items()}
    for via in reached:
        for names in reached.values():
            if via in names:
                names |= reached[via]
    return sorted(module for module, names in reached.items() if module in names)


def test_no_two_modules_know_each_other_by_whatever_way() -> None:
    trees = {
        ".".join(("inrush", *place.with_suffix("").parts)).removesuffix(".__init__"): tree
        for _, place, tree in modules()
    }
    knows = {
        module: {n for n in imported_modules(tree, set(trees)) if n != module}
        for module, tree in trees.items()
    }
    assert circles(knows) == []
    assert sum(map(len, knows.values())) > len(knows), "imports were found at all"


def test_a_circle_is_seen() -> None:
    assert circles({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}) == ["a", "b", "c"]


def imported_modules(tree: ast.Module, known: Collection[str]) -> Iterator[str]:
    """The modules that are imported: of `from inrush.x import y` that which is called so, and else `inrush.x`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                yield whole if whole in known else node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in known)


def test_deciders_look_at_no_file_and_no_clock() -> None:
    found = [
        f"{place} imports {name}"
        for stage, place, tree in modules()
        for name in imported(tree)
        if stage in PURE and name.split(".")[0] in IMPURE
    ]
    assert found == []


def untyped(source: str) -> list[str]:
    """What a checker of types is told to let pass: `Any`, and comments that silence it. Pure."""
    named = [
        node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name) and node.id == "Any"
    ]
    return named + re.findall(r"# type: ignore", source)


def test_typed_rooms_are_typed_without_exception() -> None:
    typed = [path for room in TYPED for path in sorted((PACKAGE / room).rglob("*.py"))]
    typed += [PACKAGE / module for module in TYPED_MODULES]
    found = {
        str(path.relative_to(PACKAGE)): holes
        for path in typed
        if (holes := untyped(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_an_exception_from_types_is_seen() -> None:
    source = "from typing import Any\nx: dict[str, Any] = {}\ny: int = ''  # type: ignore[assignment]\n"
    assert untyped(source) == ["Any", "# type: ignore"]


def engines_named(tree: ast.Module) -> set[str]:
    """Names of engines in a module's strings, whole words, and in its imports; docstrings are left out. Pure."""
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
    ]
    words = {word for text in [*texts, *imported(tree)] for word in re.findall(r"[a-z0-9]+", text)}
    return words & DATABASES


def test_only_twins_know_an_engine_by_its_name() -> None:
    found = {
        str(place): named
        for stage, place, tree in modules()
        if stage != "engines"
        if (named := engines_named(tree))
    }
    assert found == NAMED


def test_what_engines_share_knows_none_of_them_and_a_twin_is_made_of_no_server() -> None:
    shared = {"base": {"base"}, "servers": {"base", "servers"}}
    for _, place, tree in modules():
        if place.parts[0] == "engines" and (known := shared.get(place.parts[1])):
            folders = {of.split(".")[2] for of in imported(tree) if of.startswith("inrush.engines.")}
            assert folders <= known, f"{place} imports engines/{', engines/'.join(sorted(folders - known))}"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('if engine == "mysql":\n    pass\n', {"mysql"}),
        ('LOST = {"postgresql": 1, "valkey": 2}\n', {"postgresql", "valkey"}),
        ("match twin.name:\n    case 'clickhouse':\n        pass\n", {"clickhouse"}),
        ("def f():\n    from inrush.engines.sqlite import Sqlite\n", {"sqlite"}),
        ("import duckdb\n", {"duckdb"}),
        ('x = f"--start influxdb,{setting}"\n', {"influxdb"}),
        ('"""Of mysql."""\nx = "MySQL and mysqld"\n', set()),
    ],
)
def test_an_engine_that_is_named_is_seen(source: str, found: set[str]) -> None:
    assert engines_named(ast.parse(source)) == found


def test_commands_print_and_nothing_else_does() -> None:
    printing = {
        str(place)
        for stage, place, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        if stage not in PRINTS
    }
    assert printing == {name for name in PRINTS if name.endswith(".py")}


def edges(imports: Iterable[tuple[str, str]], nodes: Iterable[str]) -> Edges:
    """The graph of imports between nodes. Pure.

    imports: pairs of a node and what it imports; names that are no nodes are left out.
    """
    known, found = set(nodes), Edges()
    for node, name in imports:
        if node in known and name in known and node != name:
            found.setdefault(node, set()).add(name)
    return found


def drawn(page: str, heading: str) -> Edges:
    """The lines `folder → folder, folder` in the code block of a section. Pure."""
    _, _, section = page.partition(f"\n## {heading}\n")
    lines = re.findall(r"^([a-z_]+) +→ (.+)$", section.partition("\n## ")[0], re.MULTILINE)
    return {node: set(names.split(", ")) for node, names in lines}


def differences(picture: Mapping[str, set[str]], real: Mapping[str, set[str]]) -> list[str]:
    """One line for each edge that only one of the two has. Pure."""
    pairs = [{(node, name) for node, names in graph.items() for name in names} for graph in (picture, real)]
    return [f"not imported: {a} → {b}" for a, b in sorted(pairs[0] - pairs[1])] + [
        f"not in the picture: {a} → {b}" for a, b in sorted(pairs[1] - pairs[0])
    ]


def python_imports() -> list[tuple[str, str]]:
    return [
        (stage, name.split(".")[1])
        for stage, _, tree in modules()
        for name in imported(tree)
        if name.startswith("inrush.")
    ]


def shipped(source: str) -> str:
    """A Rust file without its comments and its tests, which stand at its end. Pure."""
    code = re.split(r"^ *#\[cfg\(test\)\]\n *mod \w+ \{", source, maxsplit=1, flags=re.MULTILINE)[0]
    return "\n".join(line for line in code.splitlines() if not line.lstrip().startswith("//"))


def rust_imports() -> list[tuple[str, str]]:
    """Of the shipped code: tests, and what is built for them alone (`fuzz`), are left out."""
    return [
        (room_of(place), name)
        for path in sorted(CORE.glob("*/src/**/*.rs"))
        if (place := path.relative_to(CORE)).name not in ("tests.rs", "fuzz.rs") and place.parts[0] != "fuzz"
        for name in rooms_named(shipped(path.read_text(encoding="utf-8")), place)
    ]


def room_of(place: Path) -> str:
    """Of a source file, by its path from `rust`. Pure."""
    return place.parts[0] if place.parts[0] in WHOLE_CRATES else place.parts[2].removesuffix(".rs")


def rooms_named(code: str, place: Path) -> list[str]:
    """Rooms of any crate that the code of this file names. Pure."""
    own = [] if place.parts[0] in WHOLE_CRATES else re.findall(r"\bcrate::(\w+)", code)
    others = [(crate, room) for crate, room in re.findall(r"\binrush_(\w+)(?:::(\w+))?", code)]
    return own + [crate if crate in WHOLE_CRATES else room for crate, room in others]


def rust_nodes() -> set[str]:
    return {room_of(path.relative_to(CORE)) for path in CORE.glob("*/src/*")} - {"lib", "fuzz"}


def test_the_picture_of_the_python_half_has_the_imports_that_are_there() -> None:
    nodes = {stage for stage, _, _ in modules()} - GROUND - {"__main__"} | {"_core"}
    picture = drawn(PAGE.read_text(encoding="utf-8"), HALVES[1])
    assert differences(picture, edges(python_imports(), nodes)) == []


def test_the_picture_of_the_core_has_the_imports_that_are_there() -> None:
    picture = drawn(PAGE.read_text(encoding="utf-8"), HALVES[0])
    assert differences(picture, edges(rust_imports(), rust_nodes() - CORE_GROUND)) == []


def test_the_ground_imports_nothing_that_is_in_a_picture() -> None:
    python, rust = python_imports(), rust_imports()
    beyond = [pair for pair in python if pair[0] in GROUND and pair[1] not in GROUND]
    # The types of columns are a table of the core.
    assert beyond == [("workload", "_core")]
    assert [pair for pair in rust if pair[0] in CORE_GROUND and pair[1] in rust_nodes() - CORE_GROUND] == []


def test_every_folder_has_a_line_that_says_what_may_be_changed_in_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rust, python = (text.index(title) for title in HALVES)
    folders = {stage for stage, _, _ in modules()} - GROUND - {"__main__"}
    assert rooms_in(text[rust:python], cells=6) == sorted(rust_nodes() | {"fuzz"})
    assert rooms_in(text[python:], cells=5) == sorted(folders)


def rooms_in(text: str, cells: int) -> list[str]:
    """The names in the first column of rows with so many cells, as often as they stand there."""
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    return sorted(name for row in rows if len(row) == cells for name in re.findall(r"`([a-z_]+)`", row[1]))


def test_a_room_that_stands_twice_or_in_the_wrong_table_is_seen() -> None:
    page = "| `plan` | rows | the plan | time |\n| `load` | files | figures |\n"
    assert (rooms_in(page, cells=6), rooms_in(page, cells=5)) == (["plan"], ["load"])
    assert rooms_in(page * 2, cells=6) == ["plan", "plan"]


def test_an_edge_too_many_and_one_too_few_are_seen() -> None:
    page = "# A\n\n## Half\n\n```\nplan    → rows, time\nrows    → text\n```\n\n## Next\n\nx → y\n"
    picture = drawn(page, "Half")
    assert picture == {"plan": {"rows", "time"}, "rows": {"text"}}
    real = edges([("plan", "rows"), ("plan", "plan"), ("plan", "os"), ("rows", "plan"), ("rows", "text")],
                 ["plan", "rows", "time", "text"])  # fmt: skip
    assert differences(picture, real) == ["not imported: plan → time", "not in the picture: rows → plan"]


def test_what_a_rust_test_imports_is_no_edge() -> None:
    source = "use crate::rows;\n// crate::time\n#[cfg(test)]\nmod tests {\n    use crate::engine;\n}\n"
    assert rooms_named(shipped(source), Path("engines/src/mix.rs")) == ["rows"]


def test_a_room_of_another_crate_is_an_edge() -> None:
    source = "use inrush_rows::plan::RunPlan;\nuse inrush_load as load;\nfn f() { crate::pace::wait(); }\n"
    assert rooms_named(source, Path("engines/src/mix.rs")) == ["pace", "plan", "load"]
    assert rooms_named(source, Path("load/src/client.rs")) == ["plan", "load"]
    assert (room_of(Path("engines/src/mix/keys.rs")), room_of(Path("load/src/client.rs"))) == ("mix", "load")
