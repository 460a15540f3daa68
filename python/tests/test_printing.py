"""Colour is for a terminal: never in a pipe, never against NO_COLOR."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import inrush
from inrush.commands.printing import harmless, painted, say, show
from inrush.errors import from_core
from inrush.guards.run import conditions_last
from inrush.text import percent, signed_percent

INVALID = "mysql 12 ms INVALID, INVALIDATED"


class Terminal:
    def __init__(self, tty: bool) -> None:
        self.tty, self.text = tty, ""

    def isatty(self) -> bool:
        return self.tty

    def write(self, text: str) -> None:
        self.text += text


@pytest.mark.parametrize(
    ("tty", "variables", "coloured"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": ""}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_colour_stands_on_a_terminal_that_wants_it(
    monkeypatch: pytest.MonkeyPatch, tty: bool, variables: dict[str, str], coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal(tty)
    monkeypatch.setattr("sys.stdout", terminal)
    show([INVALID])
    show(["best"], bold=True)
    red = "mysql 12 ms \x1b[1;31mINVALID\x1b[0m, INVALIDATED\n\x1b[1mbest\x1b[0m\n"
    assert terminal.text == (red if coloured else f"{INVALID}\nbest\n")


def test_a_bold_line_stays_bold_behind_a_red_word() -> None:
    assert painted("a INVALID b", bold=True) == "\x1b[1ma \x1b[1;31mINVALID\x1b[0m\x1b[1m b\x1b[0m"
    assert painted("", bold=True) == "" and painted("valid: 3 runs") == "valid: 3 runs"


def test_notes_on_the_conditions_stand_behind_the_others() -> None:
    held = ["long enough", "no waves", "quiet machine", "keeps the rate"]
    assert conditions_last(held) == ["no waves", "keeps the rate", "long enough", "quiet machine"]


def test_a_percentage_is_written_with_a_blank_and_as_many_digits_as_it_is_asked_for() -> None:
    assert [percent(0.05), percent(0.0025, 2), percent(1)] == ["5 %", "0.25 %", "100 %"]
    assert [signed_percent(0.05), signed_percent(-0.2), signed_percent(0.012, 1)] == [
        "+5 %",
        "-20 %",
        "+1.2 %",
    ]


def test_no_program_writes_percentages_another_way() -> None:
    """Neither Python's format (`38%`), nor a sign right behind a figure, nor a chart's format."""
    other = re.compile(r"\.\d%|(?<!&)[\d}]%(?![\dA-Fa-f(]|[a-z])|format=\"%")
    files = [
        *Path(inrush.__file__).parent.rglob("*.py"),
        *(Path(inrush.__file__).parents[1] / "benches").rglob("*.py"),
    ]
    found = [
        f"{path.name}: {line.strip()}"
        for path in files
        for line in path.read_text().splitlines()
        if other.search(line)
    ]
    assert files and found == []
    assert [bool(other.search(s)) for s in ("{share:.0%}", "38% of", "{a}%", "5 %", "p%C2")] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_a_server_s_words_command_no_terminal_and_pass_for_no_line_of_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = "\x1b]0;mine\x07\x1b[31m no\rproven\x9b2J\tat"
    say(words)
    show([words])
    shown = "\\x1b]0;mine\\x07\\x1b[31m no\\x0dproven\\x9b2J\tat\n"
    assert capsys.readouterr() == (shown, shown)
    assert harmless("Zürich, µs – ok\n") == "Zürich, µs – ok\n"
    failure = from_core("target", "db: refused: no\nproven: all rows\n  in: SELECT 1")
    assert str(failure) == "db: refused: no\n  proven: all rows\n  in: SELECT 1"
