"""A study's `[pipeline]`: files of generated rows, and how they go through client and load server to the shards. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inrush.study.document import Node
from inrush.study.forms import (
    FromFactor,
    PerSession,
    Total,
    read_count,
    read_reference,
    read_rows,
    values_of,
)
from inrush.workload import Workload

KIND = "pipeline"
#: The one role of such a study: a session is a pipeline, a call is a file.
ROLE = "pipelines"
KEYS = (
    "table", "row_bytes", "file_bytes", "files", "pipelines", "client", "process_per_file", "shards", "connections",
    "chunk_rows", "flush_rows", "device_bytes_per_s", "pipeline_bytes_per_s", "shard_rows_per_s", "load_server_cores",
    "cold_inputs",
)  # fmt: skip
REQUIRED = ("table", "row_bytes", "file_bytes", "files")
CLIENTS = ("shared", "own")
#: A load server with less of a core does not come to work.
LEAST_CORES, MOST_CORES = 0.01, 1024.0
MOST_PIPELINES, MOST_SHARDS, MOST_FILES = 256, 256, 100_000
#: One file is no larger: inputs lie on the disk of whoever runs the study.
MOST_FILE_BYTES = 10**12


@dataclass(frozen=True)
class Pipeline:
    """Every number may be a factor. A rate of 0 is no limit."""

    table: str
    #: Of a row as text, about: rows of a file are its bytes over this.
    row_bytes: int
    file_bytes: int | FromFactor
    #: Of all pipelines together, or of each.
    files: Total | PerSession
    pipelines: int | FromFactor = 1
    #: `shared`: one process reads for all pipelines; `own`: each has its own.
    client: str = "shared"
    #: A load server and a client of its own for each file, one file after the other.
    process_per_file: bool | FromFactor = False
    shards: int | FromFactor = 1
    connections: int | FromFactor = 1
    chunk_rows: int | FromFactor = 20_000
    flush_rows: int | FromFactor = 100_000
    #: A slow disk: what all pipelines may read together; a slow line: what each may.
    device_bytes_per_s: int | FromFactor = 0
    pipeline_bytes_per_s: int | FromFactor = 0
    #: A slow shard.
    shard_rows_per_s: int | FromFactor = 0
    #: Cores that the load server may use, also a part of one; 0: all.
    load_server_cores: float | FromFactor = 0.0
    #: Files are read from the disk and not from the kernel's memory of it.
    cold_inputs: bool = True


def parse_pipeline(
    node: Node | None, factors: Mapping[str, Sequence[Any]], workload: Workload
) -> Pipeline | None:
    if node is None:
        return None
    fields = node.fields(KEYS, REQUIRED)
    if any(key not in fields for key in REQUIRED):
        return None

    def count(key: str, otherwise: int, low: int, high: int) -> int | FromFactor:
        return read_count(fields[key], factors, low, high) if key in fields else otherwise

    table = fields["table"].text(workload.tables, "table")
    if table and workload.tables[table].files is not None:
        fields["table"].problem("its rows come from files already; name a table with generators")
    if table and not workload.tables[table].identity:
        fields["table"].problem("rows are placed by the table's identity, and it has none")
    client = (fields["client"].text(CLIENTS, "client") if "client" in fields else "") or CLIENTS[0]
    found = Pipeline(
        table=table,
        row_bytes=fields["row_bytes"].integer(1, 10**6),
        file_bytes=count("file_bytes", 1, 1, MOST_FILE_BYTES),
        files=read_rows(fields["files"], factors),
        pipelines=count("pipelines", 1, 1, MOST_PIPELINES),
        client=client,
        process_per_file=read_flag(fields["process_per_file"], factors)
        if "process_per_file" in fields
        else False,
        shards=count("shards", 1, 1, MOST_SHARDS),
        connections=count("connections", 1, 1, 64),
        chunk_rows=count("chunk_rows", 20_000, 1, 1_000_000),
        flush_rows=count("flush_rows", 100_000, 1, 10_000_000),
        device_bytes_per_s=count("device_bytes_per_s", 0, 0, 10**12),
        pipeline_bytes_per_s=count("pipeline_bytes_per_s", 0, 0, 10**12),
        shard_rows_per_s=count("shard_rows_per_s", 0, 0, 10**9),
        load_server_cores=read_cores(fields["load_server_cores"], factors)
        if "load_server_cores" in fields
        else 0.0,
        cold_inputs=fields["cold_inputs"].flag() if "cold_inputs" in fields else True,
    )
    if client == "own" and found.device_bytes_per_s != 0:
        fields["device_bytes_per_s"].problem(
            'clients of their own do not share a bucket; write client = "shared"'
        )
    return found


def read_cores(node: Node, factors: Mapping[str, Sequence[Any]]) -> float | FromFactor:
    """A number of cores, also a part of one, or a factor whose values are; 0: all."""
    reference, found = read_reference(node, factors), 0.0
    if reference is None and isinstance(node.value, str) and node.value.startswith("@"):
        return found
    for value in [node] if reference is None else values_of(node, reference, factors):
        found = value.number(0.0)
        if found and not LEAST_CORES <= found <= MOST_CORES:
            value.problem(f"write {LEAST_CORES:g} to {MOST_CORES:g} cores, or 0 for all of them")
    return reference or found


def read_flag(node: Node, factors: Mapping[str, Sequence[Any]]) -> bool | FromFactor:
    if not (isinstance(node.value, str) and node.value.startswith("@")):
        return node.flag()
    reference = read_reference(node, factors)
    if reference is None:
        return False
    for value in values_of(node, reference, factors):
        value.flag()
    return reference
