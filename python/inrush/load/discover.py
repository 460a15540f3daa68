"""A coordinator knows its shards: `--into` alone is enough where it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from inrush.errors import UsageError
from inrush.targets.passwords import by_file_of

if TYPE_CHECKING:
    from inrush.load.call import Call
    from inrush.load.shards import Shards


def with_shards(call: Call, into: Shards, note: Callable[[str], None]) -> Call:
    """The call with the shards behind `--into`, and the key that its table is placed by; as it was where there are none.

    A table that lies on the coordinator alone is loaded there. Raises UsageError for a table with rows that cannot be
    placed, and for another key than the table's.
    """
    cluster = into.twin.cluster
    if call.shards or cluster is None:
        return call
    target = into.documents()[0][1]
    schema, _, name = call.table.rpartition(".")
    here = into.ask(target, cluster.ask_table(schema, name))
    rule, name_there = None, call.table
    if here:
        found = cluster.sharded_table(call.table, here)
        if found is None:
            return call
        if call.key and call.key != found.key:
            raise UsageError(
                f"--key {','.join(call.key)}: rows of table {call.table} are placed by {','.join(found.key)}; leave --key out"
            )
        urls, key, rule, name_there = found.urls, found.key, found.rule, found.name
    else:
        urls, key = cluster.shard_urls(into.ask(target, cluster.ask_shards())), call.key
        if not urls:
            return call
        if not key:
            note(
                f"{into.targets[0].url} has {len(urls)} shards; --key COLUMN,… spreads a new table over them, this one stays here"
            )
            return call
    urls = by_file_of(into.targets[0].url, urls)
    note(f"{into.targets[0].url} has {len(urls)} shards; rows are placed by {', '.join(key)}")
    return replace(call, shards=urls, key=key, rule=rule, table=name_there)
