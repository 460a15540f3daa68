"""`--reversed-files`: the same tests, the last file first."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import reversed_files


def test_files_are_reversed_and_the_tests_of_a_file_are_not() -> None:
    files = [Path(name) for name in ("a", "a", "b", "c", "c")]
    assert reversed_files(["a1", "a2", "b1", "c1", "c2"], files) == ["c1", "c2", "b1", "a1", "a2"]
