"""Results on stdout, talk on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inrush.results.store import Store


def say(message: str) -> None:
    """Talk, on stderr."""
    print(message, file=sys.stderr)


def show(lines: Sequence[str]) -> None:
    """Results, on stdout."""
    for line in lines:
        print(line)


def show_json(document: Any) -> None:
    print(json.dumps(document, indent=1, ensure_ascii=False, default=str))


def opened_store() -> Store:
    from inrush.results.store import Store

    return Store()
