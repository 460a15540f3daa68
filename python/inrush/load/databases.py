"""The database that a load goes into: where it is missing, `--create` makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from inrush.border import address
from inrush.engines.base.instance import Target
from inrush.errors import UsageError, from_core
from inrush.load.shards import Shards

#: The core's remedy for a database that is missing, and for nothing else: `on_connect` in rust/engines/src/engine.
MISSING = "; create it, or name another one in the URL"


def need_databases(
    shards: Shards, create: bool, note: Callable[[str], None], check: Callable[[], None]
) -> None:
    """Makes those that are missing, or raises UsageError that names the first; TargetError where a server cannot be reached.

    check: raises for what the load would be refused for later; asked before the first one is made.
    """
    if shards.loading.first_database is None:
        return
    for target in shards.targets:
        failure = connecting(shards, target)
        name = address.read(target.url).database
        if failure is None:
            continue
        if not name or not failure[1].endswith(MISSING):
            raise from_core(*failure)
        if not create:
            raise UsageError(f"{target.url}: database {name} does not exist; --create makes it")
        check()
        make(shards, target, name)
        note(f"database {name} did not exist; it is made")


def connecting(shards: Shards, target: Target) -> tuple[str, str] | None:
    """Kind and message of the failure to connect; None where it connects."""
    from inrush import _core

    here = replace(shards, targets=[target])
    try:
        here.ask(here.documents()[0][1], "SELECT 1")
    except _core.CoreFailure as failure:
        kind, message = failure.args
        return str(kind), str(message)
    return None


def make(shards: Shards, target: Target, name: str) -> None:
    """Raises TargetError, CoreError with the server's words."""
    from inrush import _core

    first = replace(target, url=address.read(target.url).with_database(shards.loading.first_database or ""))
    there = replace(shards, targets=[first])
    try:
        there.ask(there.documents()[0][1], shards.loading.create_database(name))
    except _core.CoreFailure as failure:
        # Another load may have made it at the same moment.
        if connecting(shards, target) is not None:
            raise from_core(*failure.args) from None
