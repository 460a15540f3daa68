"""The tables of archive-types: the committed files are those of the tool, and they hold what Tango has."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from inrush.study.shipped import shipped_studies
from inrush.study.study import load_study
from inrush.workload import LOGICAL_TYPES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("archive_types", ROOT / "tools" / "archive_types.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["archive_types"] = module
    spec.loader.exec_module(module)
    return module


def test_the_committed_files_are_those_of_the_tool(tool: ModuleType) -> None:
    for path, text in tool.files().items():
        assert path.read_text() == text, f"{path.name}: run tools/archive_types.py"


def test_every_type_of_tango_has_a_table_of_each_access_or_is_named_as_absent(tool: ModuleType) -> None:
    assert len(tool.TYPES) + len(tool.ABSENT_SCALARS) == 14
    study = load_study("archive-types", scale="xs")
    held = set(study.workload.tables)
    for name in tool.TYPES:
        assert {f"att_scalar_{name}_ro", f"att_scalar_{name}_rw"} <= held
    lists = {t.list for t in tool.TYPES.values() if t.list}
    assert lists <= set(LOGICAL_TYPES) and len([n for n in held if "_array_" in n]) == 2 * len(lists)


def test_each_table_is_loaded_compressed_and_read() -> None:
    study = load_study("archive-types", scale="xs")
    steps = [step.name for step in study.steps]
    for table in study.workload.tables:
        name = table.removeprefix("att_")
        load, compact, read = (steps.index(f"{do}_{name}") for do in ("load", "compact", "read"))
        assert load < compact < steps.index("settle") < read


def test_a_workload_of_one_study_is_no_study() -> None:
    assert "archive-types-workload" not in {study.name for study in shipped_studies()}
