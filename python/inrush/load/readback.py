"""What is read back of a load: columns that no SQL sums, and with `--verify` the whole table beside the files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inrush.border import plan as border
from inrush.border.load import FilesPlan, Scan
from inrush.border.plan import ChecksumItem, SumHash, SumRows
from inrush.engines.base.plans import Proof
from inrush.engines.base.sql import quote
from inrush.engines.base.twin import Twin
from inrush.load.look import Summed, begun_of
from inrush.load.proof import Figures, LoadVerdict, figures
from inrush.load.rejects import refused_by_file
from inrush.plan import ends
from inrush.plan.ends import TextFile

if TYPE_CHECKING:
    from inrush.load.remote import RemoteShards
    from inrush.load.shards import Shards

    AnyShards = Shards | RemoteShards
Targets = Sequence[tuple[str, border.Target]]


def read_items(items: Sequence[ChecksumItem]) -> list[SumHash | SumRows]:
    """Those that no SQL computes."""
    hashed = [item for item in items if item["kind"] == "sum_hash" or item["kind"] == "sum_rows"]
    return [item for item in hashed if item["hash"] == "read_back"]


def read_columns(items: Sequence[ChecksumItem]) -> list[str]:
    """The columns of those items that no SQL computes, each once."""
    columns = (
        item["columns"] if item["kind"] == "sum_rows" else [item["column"]] for item in read_items(items)
    )
    return list(dict.fromkeys(c for of in columns for c in of))


def summed(wanted: ends.Wanted, shards: AnyShards, targets: Targets, proof: Proof, name: str) -> Summed:
    """The tables of this name on all shards."""
    checksum_query = proof.checksum_query.replace(f" FROM {wanted.target_table}", f" FROM {name}")
    items = read_items(proof.items)
    columns = read_columns(items)

    def scan(k: int) -> Figures:
        if not items:
            return ()
        document = scan_document(wanted, shards, name, columns, items)
        return figures(shards.scan(targets[k][1], document)["sums"])

    types = {column.name: column.type for column in wanted.table.columns}
    return Summed(name, replace(proof, checksum_query=checksum_query), types, scan)


def scan_document(
    wanted: ends.Wanted, shards: AnyShards, name: str, columns: Sequence[str], items: Sequence[ChecksumItem]
) -> Scan:
    table = part_of(wanted, shards.twin, columns)
    read = (shards.loading.read_column(c) for c in wanted.table.columns if c.name in columns)
    statement = f"SELECT {', '.join(read)} FROM {name}"
    return {"table": table, "statement": statement, "items": list(items)}


def part_of(wanted: ends.Wanted, twin: Twin, columns: Sequence[str]) -> border.TablePlan:
    """These columns of the table, as the core takes it."""
    left = tuple(c for c in wanted.table.columns if c.name in columns)
    table = replace(wanted.table, columns=left, identity=(), layouts={})
    planned = ends.table_plan(twin, table, wanted.target_table)
    # How texts are read is the client's alone.
    source = ends.source_of(replace(wanted, times={}, zone=()), ["-"], ends.NO_FILES, "-", 0)
    return ends.table_document(replace(wanted, table=table), planned, source)


def verified(
    wanted: ends.Wanted, shards: AnyShards, targets: Targets, found: LoadVerdict
) -> tuple[bool | None, LoadVerdict]:
    """The table read back beside the files read again: equal digests of all rows. None where nothing can be said of it."""
    begun = begun_of(wanted)
    if found.verdict not in ("proven", "counted"):
        return None, found
    left = {*begun.weak, *padded(begun.proof)}
    columns = [c.name for c in wanted.table.columns if c.name not in left]
    in_files = digest_of_files(wanted, shards.twin, columns)
    names = [wanted.target_table, *([wanted.replica_table] if wanted.replica_table else [])]
    for name in names:
        document = scan_document(wanted, shards, name, columns, [])
        read = [shards.scan(target, document) for _, target in targets]
        rows = sum(int(r["rows"]) for r in read)
        digest = sum(int(r["digest"], 16) for r in read) % 2**128
        if (rows, digest) != in_files:
            why = f"{name} was read back: {rows:,} rows, {in_files[0]:,} in the files"
            if rows == in_files[0]:
                why += ", and not the same values in each"
            return False, LoadVerdict("different", why, found.columns)
    columns_said = {
        column: f"{how}, read back" if column in columns else how for column, how in found.columns.items()
    }
    unread = [c.name for c in wanted.table.columns if c.name not in columns]
    if found.verdict == "proven" or not unread:
        shown = ", ".join(quote(name) for name in unread)
        but = (
            f" in all columns but {shown}, of which the sums alone were compared; they are equal"
            if unread
            else ""
        )
        why = f"the table was read back: every row is as the files have it{but}"
        return True, LoadVerdict("proven", why, columns_said)
    return True, LoadVerdict("counted", found.why, columns_said)


def padded(proof: Proof) -> set[str]:
    """Columns of type char(n): blanks at the end, which a server adds or takes away, would make a digest another one."""
    return {str(item["column"]) for item in proof.items if item["kind"] == "sum_hash" and item.get("trimmed")}


def digest_of_files(wanted: ends.Wanted, twin: Twin, columns: Sequence[str]) -> tuple[int, int]:
    """Good rows of all files, and their digest."""
    from inrush import _core

    document: FilesPlan = {
        "tables": files_read(wanted, twin),
        "columns": list(columns),
        "without": refused_rows(wanted),
    }
    found = json.loads(_core.read_files(json.dumps(document)))
    return int(found["rows"]), int(found["digest"], 16)


def refused_rows(wanted: ends.Wanted) -> dict[str, list[int]]:
    """Path of a file -> numbers of its good rows that a server refused."""
    numbers = wanted.numbers or range(len(wanted.files))
    paths = {number: file["path"] for number, file in zip(numbers, wanted.files, strict=True)}
    found = refused_by_file(Path(wanted.rejects)) if wanted.rejects else {}
    return {paths[number]: rows for number, rows in found.items() if number in paths}


def files_read(wanted: ends.Wanted, twin: Twin, rejects: str = "/dev/null") -> list[border.TablePlan]:
    """The files as tables of the core, rejecting what was rejected. rejects: where that is noted, with a place for the number of
    files that are read alike; without, nowhere."""
    planned = ends.table_plan(twin, wanted.table, wanted.target_table)
    alike: dict[tuple[object, ...], list[TextFile]] = {}
    for file in wanted.files:
        alike.setdefault(ends.read_as(file), []).append(file)
    sources = [
        ends.source_of(wanted, [file["path"] for file in files], files[0], rejects.format(k), 2**62)
        for k, files in enumerate(alike.values())
    ]
    return [ends.table_document(wanted, planned, source) for source in sources]
