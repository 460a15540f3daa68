"""A whole number that a type has no room for is not called something else than a whole number."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.study.chosen import choose_columns
from inrush.study.column_lines import lines
from inrush.study.sniff import sniff


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            ("9223372036854775807", "-9223372036854775808", "9223372036854775808"),
            "1 of 3 values does not fit 64 bits with a sign",
        ),
        (("5", "6", "7", "x"), "1 of 4 values is no whole number"),
    ],
)
def test_why_a_column_of_whole_numbers_is_text(values: tuple[str, ...], said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,v\n" + "".join(f"{k},{v}\n" for k, v in enumerate(values)))
    found = sniff(file)
    assert any(said in line for line in lines(choose_columns([found]), [found], ["a.csv"]))
