"""Many files in one folder: those that are like another one are not looked at closely, and nothing is taken for what it is not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from inrush.agent.parent import Lines
from inrush.errors import UsageError
from inrush.load.expand import expand
from inrush.load.input import LOOK_ROWS, looked_at, open_inputs
from inrush.load.spool import seen
from inrush.study.patterns import pattern
from inrush.study.sniff import sniff

FILES = 300


def made(folder: Path, text: Callable[[int], str], ending: str = "tsv") -> list[str]:
    for n in range(FILES):
        (folder / f"{n:04}.{ending}").write_text(text(n))
    return expand([f"{folder}/*.{ending}"])


def test_of_many_files_that_are_alike_a_few_are_looked_at_and_each_has_its_size_and_digest(
    tmp_path: Path,
) -> None:
    from inrush import _core

    names = made(tmp_path, lambda n: f"{n}\tname {n}\t{n * 0.25}\n" * (n % 7 + 1))
    inputs = open_inputs(names, tmp_path / "spool", LOOK_ROWS)
    assert [i.shown for i in inputs] == names and 0 < len(looked_at(inputs)) < 10
    for of in inputs[1:]:
        digest, size, _ = _core.file_digest(of.shown)
        assert of.stamp == seen(of.shown) and of.stamp.bytes == size
        assert of.digest == digest
        # As each would be by itself.
        alone = sniff(Path(of.shown), LOOK_ROWS)
        assert (alone.format, alone.written, alone.header) == (
            of.sniffed.format, of.sniffed.written, of.sniffed.header,
        )  # fmt: skip


def test_a_new_table_takes_its_types_from_every_file(tmp_path: Path) -> None:
    inputs = open_inputs(made(tmp_path, lambda n: f"{n}\ta\n"), tmp_path / "spool")
    assert len(looked_at(inputs)) == FILES


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\tx\ty\n", "has other columns or another format than"),
        ("id\tname\n1\tx\n", "has other columns or another format than"),
        ("1\t\0\n", "is not text"),
    ],
)
def test_one_file_of_another_kind_among_many_is_named(tmp_path: Path, text: str, said: str) -> None:
    names = made(tmp_path, lambda n: f"{n}\tname {n}\n")
    Path(names[211]).write_text(text)
    with pytest.raises(UsageError) as refused:
        open_inputs(names, tmp_path / "spool", LOOK_ROWS)
    assert str(refused.value).startswith(f"{names[211]}: ") and said in str(refused.value)


def test_each_file_has_its_own_word_for_null(tmp_path: Path) -> None:
    words = ("", "NA", "NULL")
    names = made(tmp_path, lambda n: f"k,v\n{n},1\n{n},{words[n % 3]}\n", "csv")
    inputs = open_inputs(names, tmp_path / "spool", LOOK_ROWS)
    assert [i.sniffed.written.get("null", "") for i in inputs] == [words[n % 3] for n in range(FILES)]
    assert len(looked_at(inputs)) < 10


def test_a_pattern_of_one_folder_is_what_a_pattern_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("b.tsv", "a.tsv", ".c.tsv", "A.TSV", "[x].tsv", "d.tsv/in", "e"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1\n")
    (tmp_path / "link.tsv").symlink_to(tmp_path / "a.tsv")
    (tmp_path / "gone.tsv").symlink_to(tmp_path / "nowhere")
    monkeypatch.chdir(tmp_path.parent)
    for word in (
        f"{tmp_path}/*.tsv",
        f"{tmp_path.name}/*.tsv",
        f"./{tmp_path.name}/?.tsv",
        f"{tmp_path}/[[]x].tsv",
    ):
        found = expand([word])
        assert found and found == pattern(word)
    monkeypatch.chdir(tmp_path)
    assert expand(["*.tsv"]) == pattern("*.tsv") == [".c.tsv", "[x].tsv", "a.tsv", "b.tsv", "link.tsv"]


def test_a_line_of_megabytes_comes_whole_in_whatever_parts() -> None:
    read, write = os.pipe()
    lines = Lines(read)
    os.write(write, b"a\nb")
    assert lines.ready() == ["a"]
    os.write(write, b"c" * 5_000)
    assert lines.ready() == []
    os.write(write, b"\nd\n")
    os.close(write)
    assert lines.ready() == ["b" + "c" * 5_000, "d"]
    assert lines.ready() == [] and lines.wait() == []
    os.close(read)
