"""Names that a server would cut without a word: two tables would become one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from inrush.engines.loading import Loading
from inrush.errors import UsageError


def refuse_long_table(loading: Loading, table: str, replica: bool = False) -> None:
    """Raises UsageError for a table, or a schema before it, with a longer name than the engine keeps."""
    for part in table.split("."):
        refuse_long(loading, f"--table {table}", part)
    if replica:
        refuse_long(loading, f"--replica with --table {table}", f"{table.rpartition('.')[2]}_replica")


def refuse_long_columns(loading: Loading, names: Sequence[str], file: str) -> None:
    """Raises UsageError for the first column with a longer name than the engine keeps."""
    for name in names:
        refuse_long(loading, f"{file}: column {name}", name)


def refuse_long(loading: Loading, what: str, name: str) -> None:
    if loading.name_limit is None:
        return
    most, unit = loading.name_limit
    length = len(name) if unit == "characters" else len(name.encode())
    if length > most:
        raise UsageError(
            f"{what}: the name {name} has {length} {unit}, and the server keeps {most} of them; give a shorter name"
        )
