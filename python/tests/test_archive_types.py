"""The tables of archive-types: the committed files are those of the tool, and they hold what Tango has."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from inrush.study.reading import load_study
from inrush.study.shipped import shipped_studies

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


def test_every_type_of_tango_has_a_table_of_each_format_and_access(tool: ModuleType) -> None:
    assert len(tool.TYPES) == 14 and tool.NO_ARRAYS == ("devencoded",)
    formats = {name: ("scalar",) if name in tool.NO_ARRAYS else ("scalar", "array") for name in tool.TYPES}
    wanted = {
        f"att_{of}_{name}_{access}"
        for name, of_it in formats.items()
        for of in of_it
        for access in ("ro", "rw")
    }
    tables = load_study("archive-types", scale="xs").workload.tables
    assert set(tables) == wanted and len(wanted) == 54
    for name, table in tables.items():
        tango = tool.TYPES[name.split("_")[2]]
        values = [c for c in table.columns if c.name in ("value_r", "value_w")]
        assert len(values) == (2 if name.endswith("_rw") else 1)
        assert {c.type for c in values} == {tango.list if "_array_" in name else tango.type}


def test_arrays_are_empty_long_and_null_and_unsigned_ones_pass_every_signed_number() -> None:
    tables = load_study("archive-types", scale="xs").workload.tables
    arrays = [t.column("value_r") for name, t in tables.items() if "_array_" in name]
    assert {(c.gen["min_items"], c.gen["max_items"], c.null_share) for c in arrays if c.gen} == {
        (0, 1_000, 0.05)
    }
    largest = tables["att_array_devulong64_ro"].column("value_r").gen
    assert largest is not None and {0, 2**63 - 1, 2**63, 2**64 - 1} == set(largest["of"]["values"])
    assert tables["att_scalar_devenum_ro"].column("value_r").labels == ("OFF", "ON", "MOVING", "FAULT")
    assert tables["att_scalar_devencoded_ro"].column("value_r").gen == {
        "kind": "bytes", "min_bytes": 0, "max_bytes": 256
    }  # fmt: skip


def test_each_table_is_loaded_compressed_and_read() -> None:
    study = load_study("archive-types", scale="xs")
    steps = [step.name for step in study.steps]
    for table in study.workload.tables:
        name = table.removeprefix("att_")
        load, compact, read = (steps.index(f"{do}_{name}") for do in ("load", "compact", "read"))
        assert load < compact < steps.index("settle") < read


def test_a_workload_of_one_study_is_no_study() -> None:
    assert "archive-types-workload" not in {study.name for study in shipped_studies()}
