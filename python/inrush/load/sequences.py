"""Sequences that stand lower than the rows that a load brought: the next insert of an application would take a number again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inrush.border import plan as border
from inrush.engines.base.sql import literal, quote
from inrush.plan import ends

if TYPE_CHECKING:
    from inrush.load.remote import RemoteShards
    from inrush.load.shards import Shards


def lines(
    wanted: ends.Wanted, shards: Shards | RemoteShards, targets: Sequence[tuple[str, border.Target]]
) -> list[str]:
    """One for each sequence that a loaded column has gone beyond, with the command that sets it."""
    asked = shards.loading.ask_sequences(wanted.target_table)
    loaded = {column.name for column in wanted.table.columns}
    found = []
    for name, target in targets if asked else ():
        for column, sequence, last in shards.ask(target, asked):
            if column not in loaded:
                continue
            most = f"SELECT coalesce(max({quote(column)}), 0) FROM {wanted.target_table}"
            top = int(shards.ask(target, most)[0][0])
            if top > int(last):
                found.append(
                    f"{name}: the sequence of column {column} stands at {last}, its rows at {top}: the next insert without a "
                    f"value may meet a number that is taken; SELECT setval({literal(sequence)}, {top})"
                )
    return found
