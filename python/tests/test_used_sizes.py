"""Sizes that `-P` may set: those that a study runs something with."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.errors import UsageError
from inrush.study.operations import tables_of
from inrush.study.reading import load_study, parse_study
from inrush.study.toml import read_toml
from inrush.study.used_sizes import used_sizes
from inrush.study.workload_file import parse_workload
from tests.strategies import KNOWN, shipped_files, small_tree, workload_tree


def test_a_size_that_the_study_runs_nothing_with_is_refused_and_those_that_it_uses_are_named() -> None:
    with pytest.raises(UsageError) as caught:
        parse_study(
            small_tree(),
            workload_tree(),
            name="s",
            file="s.toml",
            known=KNOWN,
            overrides=["processes=7", "sizes.retention_s=60", "ports=40"],
        )
    assert [str(p) for p in caught.value.problems] == [
        f"-P {text}; nothing that this study runs has this size; remove it. It uses: ports, sweep_s"
        for text in ("processes=7: sizes.processes is 7", "sizes.retention_s=60: sizes.retention_s is 60")
    ]


@pytest.mark.parametrize("path", shipped_files(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_size_is_used_if_what_a_study_calls_reads_or_writes_changes_with_it(path: Path) -> None:
    work = load_study(str(path), known=KNOWN).work
    tree = read_toml(Path(work.workload.file))
    used = used_sizes(work, tree)
    # Look-ups load rows by their number: only its phases have a size.
    assert used or path.parent.name == "keylookup"
    for name, value in work.workload.sizes.items():
        # Files have whole blocks.
        other = {**work.workload.sizes, name: value + (4096 if name.endswith("_bytes") else 1)}
        changed = parse_workload(tree, "w.toml", "w", [], KNOWN.generators, other)
        called = work.called & changed.operations.keys()
        read = {t for o in called for t in tables_of(changed.operations[o], changed)}
        same = all(changed.operations[o] == work.workload.operations[o] for o in called)
        same = same and all(changed.tables[t] == work.workload.tables[t] for t in read | work.written)
        assert same == (name not in used), name
