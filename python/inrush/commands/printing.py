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


#: What a terminal may take for a command: a server's or a file's text is shown, and does nothing.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def say(message: str) -> None:
    """A message, on stderr."""
    print(harmless(message), file=sys.stderr)


def harmless(text: str) -> str:
    """The text with control characters spelled out, such as `\\x1b`; ends of lines and tabs stay. Pure."""
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def show(lines: Sequence[str], bold: bool = False) -> None:
    """Results, on stdout; on a terminal INVALID is red, and bold are the best rows of tables, and lines where asked."""
    coloured = is_coloured(sys.stdout)
    for line in lines:
        shown = harmless(line)
        print(painted(shown, bold or isinstance(line, BestLine)) if coloured else shown)


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
