"""`inrush loads`: what was loaded into a database."""

from __future__ import annotations

from collections.abc import Sequence

from inrush.commands.printing import say, show, show_json


def loads(urls: Sequence[str], table: str | None, as_json: bool) -> None:
    """urls: of a server, or of each of its shards. Raises UsageError and TargetError."""
    from inrush.load.history import HEADER, past_loads
    from inrush.load.shards import shards_at
    from inrush.text import columns

    shards = shards_at(urls, say)
    found = past_loads(shards, table, say)
    if as_json:
        show_json([of.document() for of in found])
    elif not found:
        say(
            f"{', '.join(target.url for target in shards.targets)}: nothing was loaded{f' into {table}' if table else ''} by inrush"
        )
    else:
        show(columns([of.cells for of in found], HEADER, right=(3, 4, 5)))
