"""Results on stdout, talk on stderr."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from inrush.text import BestLine

if TYPE_CHECKING:
    from inrush.results.store import Store


def say(message: str) -> None:
    """A message, on stderr."""
    print(message, file=sys.stderr)


def show(lines: Sequence[str], bold: bool = False) -> None:
    """Results, on stdout; on a terminal INVALID is red, and bold are the best rows of tables, and lines where asked."""
    coloured = is_coloured(sys.stdout)
    for line in lines:
        print(painted(line, bold or isinstance(line, BestLine)) if coloured else line)


#: Words that a reader must not overlook.
ALARM = re.compile(r"\bINVALID\b")
BOLD, RED, PLAIN = "\x1b[1m", "\x1b[1;31m", "\x1b[0m"


def painted(line: str, bold: bool = False) -> str:
    """A line with colours of a terminal. Pure."""
    before = BOLD if bold else ""
    line = ALARM.sub(lambda found: f"{RED}{found[0]}{PLAIN}{before}", line)
    return f"{BOLD}{line}{PLAIN}" if bold and line else line


def is_coloured(stream: TextIO) -> bool:
    """A terminal that knows colours, unless NO_COLOR is set (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def took(whole_s: float, parts: Mapping[str, float]) -> str:
    """`took 12.3 s: planning 1.02 s, runs 10.1 s, the rest 1.20 s`. Pure."""
    from inrush.stats.quantity import show

    names = {"rest_s": "the rest"}
    spent = [f"{names.get(part, part.removesuffix('_s'))} {show(s, part)}" for part, s in parts.items()]
    return f"took {show(whole_s, 'whole_s')}: {', '.join(spent)}"


def show_json(document: Any) -> None:
    print(json.dumps(document, indent=1, ensure_ascii=False, default=str))


def opened_store() -> Store:
    from inrush.results.store import Store

    return Store()
