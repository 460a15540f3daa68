"""The twins by name: one folder per engine, the same names as in `KNOWN` of rust/engines/src/engine/known.rs."""

from __future__ import annotations

import difflib
import functools
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from inrush.border import address
from inrush.errors import UsageError
from inrush.known import ENGINES

if TYPE_CHECKING:
    from inrush.engines.base.twin import Twin

__all__ = ["ENGINES", "engine_of_url", "known_twin", "server", "title", "twins"]


def server(engine: str) -> Twin:
    """A twin by the name of its engine; only its module is loaded. Raises UsageError with the nearest name."""
    name, _, wire = engine.partition(":")
    if name not in ENGINES or (wire and name != "null"):
        near = difflib.get_close_matches(name, ENGINES, 1)
        hint = f"did you mean {near[0]}?" if near else f"it is one of {', '.join(ENGINES)}"
        raise UsageError(f"{address.shown(engine)}: no such engine; {hint}")
    found = twins(ENGINES[name])
    # A wire that plans as its engine does has a twin of its own.
    return found.get(engine, found[name])()


@functools.cache
def known_twin(engine: str) -> Twin | None:
    """The twin of an engine that a result names; None where this inrush has none of that name."""
    try:
        return server(engine)
    except UsageError:
        return None


def title(engine: str) -> str:
    """An engine as its makers write it: `ClickHouse`. The instrument's own engines, and names without a twin, stay as they are."""
    module = ENGINES.get(engine)
    return (twins(module)[engine].title if module else "") or engine


def engine_of_url(url: str) -> str:
    """The engine that a URL's scheme names. Raises UsageError when none does, and for an address with anything wrong."""
    if address.PLAIN.fullmatch(url):
        file = Path(url).absolute()
        raise UsageError(
            f"{url}: this is no URL; a database file is written sqlite://{file} or duckdb://{file}"
        )
    read = address.read(url).check()
    # Most schemes are names of engines: the first twin that is loaded knows it.
    for name in sorted(ENGINES, key=lambda name: name != read.scheme):
        if read.scheme in server(name).schemes:
            return name
    schemes = sorted(s for name in ENGINES for s in server(name).schemes)
    raise UsageError(
        f"{read.shown}: no engine speaks {read.scheme}://; known are {', '.join(f'{s}://' for s in schemes)}"
    )


def twins(module: str) -> dict[str, type[Twin]]:
    """The twins that a module defines, by engine."""
    found = importlib.import_module(f"inrush.engines.{module}")
    from inrush.engines.base.twin import Twin

    # Python 3.10 takes `dict[str, str]` for an instance of type, and then fails to ask it for its bases.
    classes = [c for c in vars(found).values() if issubclass(type(c), type) and issubclass(c, Twin)]
    return {c.name: c for c in classes if c.__module__ == found.__name__}
