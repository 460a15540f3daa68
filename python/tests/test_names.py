"""A public class has a name of its own in the program."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "inrush"
#: Classes of one name in several files, as they are. Types of the border stand beside the program's own of that name; the
#: others are to be renamed. Nothing is added here.
SEVERAL = {
    "border": {"Asked", "Interval", "OpPlan", "PointPlan", "Progress", "TablePlan", "Target"},
    "left": {"Cold", "Measured", "Objection", "Part", "Pipeline", "Store"},
}


def test_no_public_class_name_stands_in_two_files_but_those_that_are_left() -> None:
    files: dict[str, set[str]] = defaultdict(set)
    for path in PROGRAM.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].add(str(path.relative_to(PROGRAM)))
    twice = {name: places for name, places in files.items() if len(places) > 1}
    allowed = set().union(*SEVERAL.values())
    assert twice.keys() - allowed == set(), {name: twice[name] for name in twice.keys() - allowed}
    assert allowed - twice.keys() == set(), "it has a name of its own now: remove it from the list"
