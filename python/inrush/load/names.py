"""Names that are none, and those that a server would cut without a word: two tables would become one. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from inrush.engines.base.loading import Loading
from inrush.errors import Problem
from inrush.plan.ledger import merged_loads, replica_load

#: A name of these alone is a shell's mistake.
BLANKS = " \t\r\n\"'`"


def table_name_problems(loading: Loading, table: str, replica: bool = False) -> Iterator[Problem]:
    """A table, or a schema before it, with a longer name than the engine keeps."""
    for part in table.split("."):
        yield from name_problems(loading, f"--table {table}", part)
    if replica:
        name = f"{table.rpartition('.')[2]}_replica"
        yield from name_problems(loading, f"--replica with --table {table}", name)


def blank_name_problems(table: str) -> Iterator[Problem]:
    """A table, or a schema before it, without a name."""
    if any(not part.strip(BLANKS) for part in table.split(".")):
        shown = shlex.quote(table)
        yield Problem.sentence(f"--table {shown}: a name is missing; give NAME, or SCHEMA.NAME")


#: What a ledger puts behind the name of an import.
ENDINGS = (replica_load(""), *merged_loads(""))


def import_name_problems(name: str | None) -> Iterator[Problem]:
    """An import whose lines another one would take for its own."""
    if name is not None and name.endswith(ENDINGS):
        yield Problem.sentence(
            f"--import-id {name}: a ledger puts {', '.join(ENDINGS)} behind the name of an import; give another one"
        )


def column_name_problems(loading: Loading, names: Sequence[str], file: str) -> Iterator[Problem]:
    """Columns with a longer name than the engine keeps."""
    for name in names:
        yield from name_problems(loading, f"{file}: column {name}", name)


def name_problems(loading: Loading, what: str, name: str) -> Iterator[Problem]:
    if loading.name_limit is None:
        return
    most, unit = loading.name_limit
    length = len(name) if unit == "characters" else len(name.encode())
    if length > most:
        yield Problem.sentence(
            f"{what}: the name {name} has {length} {unit}, and the server keeps {most} of them; give a shorter name"
        )
