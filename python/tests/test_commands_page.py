"""docs/commands.md: the committed page is that of the tool, with every command and every option of the parser."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.test_docs import COMMANDS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("commands_page", ROOT / "tools" / "commands.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_page_is_that_of_the_tool(tool: ModuleType) -> None:
    committed = (ROOT / "docs" / "commands.md").read_text()
    assert committed == tool.page(), "renew it: .venv/bin/python tools/commands.py"


def test_it_has_every_command_and_each_of_its_options_once(tool: ModuleType) -> None:
    sections = re.split(r"^## ", tool.page(), flags=re.MULTILINE)[1:]
    assert [section.splitlines()[0] for section in sections] == list(COMMANDS)
    for section, command in zip(sections, COMMANDS.values(), strict=True):
        named = re.findall(r"^\* `([^`]+)`: \S", section, re.MULTILINE)
        for shared in re.findall(r"^\* As of \[[\w-]+\]\(#[\w-]+\): ((?:.|\n  )+)", section, re.MULTILINE):
            named += re.findall(r"`([^`]+)`", shared)
        # `-q, --quiet` and `--scale NAME`: the names alone.
        words = sorted(word for words in named for word in re.findall(r"(?<!\S)-{1,2}[\w-]+", words))
        assert words == sorted(name for p in command.params for name in p.opts if name.startswith("-"))


def test_every_option_says_what_it_does_and_names_what_it_takes() -> None:
    """An option without help has an empty line on the page, and one without a name for its value shows a type of Python's."""
    options = [(name, p) for name, c in COMMANDS.items() for p in c.params]
    assert [f"{name} {p.name}" for name, p in options if not p.help] == []
    values = [(name, p) for name, p in options if not getattr(p, "is_flag", False)]
    assert [f"{name} {p.name}" for name, p in values if not p.metavar and p.opts[0].startswith("-")] == []
