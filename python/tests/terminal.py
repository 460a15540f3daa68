"""`inrush` as its user meets it, in this process: words in; exit code, stdout and stderr out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from inrush import cli
from inrush.results.store import Store
from tests.strategies import ENVIRONMENT
from tests.undisturbed import undisturbed


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Inrush:
    """`inrush` in this process, with results of its own; what other tests take from its runs is left out."""

    def __init__(self, capsys: pytest.CaptureFixture[str], results: Path) -> None:
        self.capsys, self.store = capsys, Store(results)

    def __call__(self, *words: str) -> Said:
        before, sys.argv = sys.argv, ["inrush", *words]
        try:
            with undisturbed():
                cli.main()
            code: Any = 0
        except SystemExit as e:
            code = e.code
        finally:
            sys.argv = before
        out, err = self.capsys.readouterr()
        return Said(int(code or 0), out, err)


def pipeline_results(words: Sequence[str], changes: Sequence[str], cwd: Path) -> Path:
    """Results of `pipeline-parallel` at its smallest, made by the command in a process of its own."""
    command = [
        *(sys.executable, "-m", "inrush.cli", "run", "pipeline-parallel", *words, "--scale", "xs", "--json"),
        *(word for change in changes for word in ("-P", change)),
    ]
    done = subprocess.run(
        command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=280, check=False
    )
    # 3: the machine was busy or the core is a debug build; what a test holds of the results holds all the same.
    assert done.returncode in (0, 3), done.stderr
    found: Path = cwd / json.loads(done.stdout)["run_dir"]
    return found
