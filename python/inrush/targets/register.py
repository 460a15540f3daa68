"""Folders in which servers were started, so that `inrush engines status` and `stop` find them without `--data`.

A list beside the download cache. A folder that is gone is dropped; a list that cannot be read or written is none.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from inrush.engines.servers import life, private


def file() -> Path:
    return life.cache_folder() / "data-folders.json"


def folders() -> list[Path]:
    """Those that are there, the oldest first."""
    try:
        kept = json.loads(private.text_of(file()) or "[]")
    except (OSError, ValueError):
        return []
    names = [name for name in kept if isinstance(name, str)] if isinstance(kept, list) else []
    return [folder for folder in map(Path, names) if is_folder(folder)]


def remember(folder: Path) -> None:
    """Adds a folder, which is about to be made."""
    change(lambda known: [*known, folder.absolute()])


def forget(folder: Path) -> None:
    """Takes a folder off the list."""
    change(lambda known: [f for f in known if f != folder.absolute()])


def change(of: Callable[[list[Path]], Iterable[Path]]) -> None:
    """A server starts and stops also where the list cannot be kept."""
    with contextlib.suppress(OSError), life.locked(file().with_suffix(".lock")):
        kept = list(dict.fromkeys(map(str, of(folders()))))
        private.write(file(), json.dumps(kept, indent=1) + "\n")


def is_folder(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.is_dir()
    return False
