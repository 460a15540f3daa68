"""Recipes of docs/fleet.md as a reader pastes them: the blocks of a section, with the reader's own in place of the first."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.test_docs import PAGES

PAGE = "docs/fleet.md"


def blocks(heading: str, kind: str = "sh", text: str | None = None) -> list[str]:
    """Code blocks of one kind below a heading, up to the next one."""
    page = PAGES[PAGE].text if text is None else text
    parts = re.split(r"^## (.*)$", page, flags=re.MULTILINE)
    section = dict(zip(parts[1::2], parts[2::2], strict=True))[heading]
    return re.findall(rf"^```{kind}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def settings(block: str) -> dict[str, str]:
    """What the first block of a recipe sets: name -> what stands there."""
    lines = [re.sub(r"\s+#.*", "", line) for line in block.splitlines()]
    return {name: value for name, _, value in (line.partition("=") for line in lines if line)}


def with_own(block: str, own: Mapping[str, str]) -> str:
    """The block with other values. Raises AssertionError unless they are for just what it sets."""
    assert settings(block).keys() == own.keys(), (settings(block), own)
    return "".join(f"{name}={value}\n" for name, value in own.items())
