"""Every word that stands for files is answered in one line, whatever lies there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inrush.errors import UsageError
from inrush.load.expand import expand
from inrush.study.sniff import sniff


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (".", r"\.: is a folder; '\./\*' means its files"),
        ("./", r"\./: is a folder; '\./\*' means its files"),
        ("..", r"\.\.: is a folder; '\.\./\*' means its files"),
        ("/", r"/: is a folder; '/\*' means its files"),
        ("//", r"//: is a folder; '/\*' means its files"),
        ("d", r"d: is a folder; 'd/\*' means its files"),
        ("", r"'': names no file"),
        ("absent.csv", r"absent\.csv: there is no such file"),
        ("a**b", r"a\*\*b: (is no pattern|there is no such file)"),
        ("a**b/c", r"a\*\*b/c: (is no pattern|there is no such file)"),
        ("a\0*/c", r"a\0\*/c: (is no pattern|there is no such file)"),
        ("pipe", r"pipe: is a pipe, .*, or load it as standard input: -"),
        ("/dev/null", r"/dev/null: is a device, .*, or load it as standard input: -"),
        ("y" * 300, r"y{300}: cannot be read \(File name too long\)"),
    ],
)
def test_a_word_that_names_no_file_is_one_line(
    word: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=f"^{said}"):
        expand([word])
    assert expand(["-"]) == ["-"]


def test_a_new_study_of_a_pipe_waits_for_no_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is a pipe, and files are read more than once; write what it gives"):
        sniff(tmp_path / "pipe")
