"""Which column's values stand in other rows than in the files, where every column has its sum and the rows have not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from inrush.border.load import FilesPlan
from inrush.border.plan import ChecksumItem, SumRows
from inrush.load import proof, readback
from inrush.load.look import begun_of
from inrush.load.proof import Figures
from inrush.plan import ends

if TYPE_CHECKING:
    from inrush.load.readback import AnyShards, Targets


#: Hashing the rows once for each of many columns takes long in a large table: then its columns are not named, s.
NAMED_S = 600.0


def moved_columns(wanted: ends.Wanted, shards: AnyShards, targets: Targets, name: str) -> list[str]:
    """Those without which the rows of the table `name` are the rows of the files: one of them is as it is in the files,
    but for its place. Empty where none is, or the server took too long.

    Raises CoreFailure of reading the files.
    """
    from inrush import _core

    begun = begun_of(wanted)
    [row] = [item for item in begun.proof.items if item["kind"] == "sum_rows"]
    items: list[ChecksumItem] = [{"kind": "rows"}, *without_each(row)]
    in_files = of_files(wanted, shards, items)
    try:
        in_table = of_table(wanted, shards, targets, name, items)
    except _core.CoreFailure:
        return []
    same = zip(row["columns"], in_files[1:], in_table[1:], strict=True)
    return [str(column) for column, should, has in same if should == has]


def without_each(row: SumRows) -> list[SumRows]:
    """The item of whole rows, once without each of its columns. Pure."""

    def without(left: str) -> SumRows:
        def kept(columns: Sequence[str]) -> list[str]:
            return [c for c in columns if c != left]

        return {
            **row,
            "columns": kept(row["columns"]),
            "unsigned": kept(row.get("unsigned", ())),
            "trimmed": kept(row.get("trimmed", ())),
        }

    return [without(column) for column in row["columns"]]


def of_files(wanted: ends.Wanted, shards: AnyShards, items: Sequence[ChecksumItem]) -> Figures:
    """Of all good rows of the files, read once more."""
    from inrush import _core

    columns = [c.name for c in wanted.table.columns]
    document: FilesPlan = {
        "tables": readback.files_read(wanted, shards.twin),
        "columns": columns,
        "items": list(items),
        "without": readback.refused_rows(wanted),
    }
    return proof.figures(json.loads(_core.read_files(json.dumps(document)))["sums"])


def of_table(
    wanted: ends.Wanted, shards: AnyShards, targets: Targets, name: str, items: Sequence[ChecksumItem]
) -> Figures:
    """Of the table `name` on all shards."""
    columns = readback.read_columns(items)
    checksum_query = shards.loading.checksum_query(wanted.table, name, items)
    parts = []
    for _, target in targets:
        by_sql = proof.one_row(shards.ask(target, checksum_query, NAMED_S))
        read: Figures = ()
        if columns:
            document = readback.scan_document(wanted, shards, name, columns, readback.read_items(items))
            read = proof.figures(shards.scan(target, document)["sums"])
        parts.append(proof.together(items, by_sql, read))
    return proof.added(items, parts)
