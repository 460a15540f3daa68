"""In which order files are tested: the last one first where that is asked for, the longest first with `-n`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import DEAR, by_file, weight


def test_files_change_places_and_the_tests_of_a_file_do_not() -> None:
    files = [Path(name) for name in ("a", "b", "a", "c", "c")]
    assert by_file(["a1", "b1", "a2", "c1", "c2"], files) == [["a1", "a2"], ["b1"], ["c1", "c2"]]


@pytest.mark.parametrize("mark", ["ci", "slow"])
def test_a_file_of_one_dear_test_begins_before_one_of_a_few_others(mark: str) -> None:
    def test(*marks: str) -> SimpleNamespace:
        return SimpleNamespace(get_closest_marker=lambda name: name if name in marks else None)

    few, dear, many = [test()] * (DEAR - 1), [test(mark)], [test()] * (DEAR + 1)
    assert sorted([few, dear, many], key=weight, reverse=True) == [many, dear, few]
