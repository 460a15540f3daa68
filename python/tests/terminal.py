"""`inrush` as its user meets it, in this process: words in; exit code, stdout and stderr out."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from inrush import cli
from inrush.results.store import Store


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Inrush:
    """`inrush` in this process, with results of its own."""

    def __init__(self, capsys: pytest.CaptureFixture[str], results: Path) -> None:
        self.capsys, self.store = capsys, Store(results)

    def __call__(self, *words: str) -> Said:
        before, sys.argv = sys.argv, ["inrush", *words]
        try:
            cli.main()
            code: Any = 0
        except SystemExit as e:
            code = e.code
        finally:
            sys.argv = before
        out, err = self.capsys.readouterr()
        return Said(int(code or 0), out, err)
