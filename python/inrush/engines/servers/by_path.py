"""Programs of a server that the user names by their folder: for a newer version than the one that inrush fetches."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from inrush.engines.base.instance import Release
from inrush.errors import TargetError

#: Longest wait for a program that says its version, s.
ASK_S = 30.0


def variable(engine: str) -> str:
    """The variable of the environment that names the folder."""
    return f"INRUSH_{engine.upper()}_BIN"


def program(folder: Path, names: Sequence[str]) -> Path | None:
    """The first of these programs that the folder has."""
    return next(
        (path for name in names if os.access(path := folder / name, os.X_OK) and path.is_file()), None
    )


def release(engine: str, names: Sequence[str]) -> Release | None:
    """None where the user names no folder. Raises TargetError where it has no such program, or one that does not run."""
    named = os.environ.get(variable(engine))
    if not named:
        return None
    folder = Path(named).absolute()
    if (found := program(folder, names)) is None:
        raise TargetError(
            f"{variable(engine)} is {named}, which holds no {' or '.join(names)}; name the folder that does"
        )
    try:
        done = subprocess.run(
            [found, "--version"], capture_output=True, text=True, errors="replace", check=False, timeout=ASK_S
        )
        said = done.stdout + done.stderr
    except (OSError, subprocess.TimeoutExpired) as e:
        raise TargetError(f"{found} does not say its version: {e}") from None
    version = re.search(r"\d+\.\d+[\w.~-]*", said.replace(str(found), ""))
    if version is None:
        raise TargetError(f"{found} does not say its version: {said.strip()[-300:]}")
    return Release(engine, version[0], folder, f"{variable(engine)}={folder}")
