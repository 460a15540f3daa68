"""Packages that not every command needs, by the extra of `pip install 'inrush[…]'` that brings them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from inrush.errors import UsageError

#: Extra -> the modules of its packages; `pyproject.toml` has the packages. `report` brings what `stats` brings.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "duckdb": ("duckdb",),
    "fleet": ("distributed",),
    "live": ("starlette", "uvicorn"),
    "report": ("altair", "vl_convert", "scipy"),
    "stats": ("scipy",),
}


def need(what: str, *extras: str) -> None:
    """Raises UsageError with the one command that installs what is missing of these extras. Imports none of them.

    what: subject of the message, such as `inrush show`. An empty extra stands for none.
    """
    wanted = sorted({extra for extra in extras if extra and any(map(is_absent, EXTRAS[extra]))})
    if wanted:
        absent = dict.fromkeys(m for extra in wanted for m in EXTRAS[extra] if is_absent(m))
        raise UsageError(f"{what} needs {', '.join(absent)}; pip install 'inrush[{','.join(wanted)}]'")


def is_absent(module: str) -> bool:
    return find_spec(module) is None
