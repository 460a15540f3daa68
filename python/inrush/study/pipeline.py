"""A study's `[pipeline]`: files of generated rows, and how they go through client and load server to the shards. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic

from inrush.errors import Problem
from inrush.study.document import Node, Reader, given, whole, word
from inrush.study.forms import Factors, FromFactor, PerSession, Ref, Total, count, read_amount, read_form
from inrush.workload import Workload

KIND: Final = "pipeline"
#: The one role of such a study: a session is a pipeline, a call is a file.
ROLE = "pipelines"
#: Keys of a study that a step does not have.
OF_SHARDS = ("shards", "replica")
#: The same of hosts.
OF_HOSTS = ("client_hosts", "load_server_on", "clients_on")
REQUIRED = ("table", "row_bytes", "file_bytes")
CLIENTS = ("shared", "own")
#: A load server with less of a core does not come to work.
LEAST_CORES, MOST_CORES = 0.01, 1024.0
MOST_PIPELINES, MOST_SHARDS, MOST_FILES = 256, 256, 100_000
#: As of the load server (`rust/load/src/hashers.rs`).
MOST_HASH_THREADS = 64
#: One file is no larger: inputs lie on the disk of the client's machine.
MOST_FILE_BYTES = 10**12


@dataclass(frozen=True, kw_only=True)
class Ends(Generic[Ref]):
    """How files go through the loader. Every number may be a factor. A rate of 0 is no limit."""

    pipelines: int | Ref = 1
    #: `shared`: one process reads for all pipelines; `own`: each has its own.
    client: str = "shared"
    #: A load server and a client of its own for each file, one file after the other.
    process_per_file: bool | Ref = False
    connections: int | Ref = 1
    chunk_rows: int | Ref = 20_000
    flush_rows: int | Ref = 100_000
    #: A slow disk: what all pipelines may read together; a slow line: what each may.
    device_bytes_per_s: int | Ref = 0
    pipeline_bytes_per_s: int | Ref = 0
    #: A slow shard.
    shard_rows_per_s: int | Ref = 0
    #: Cores that the load server may use, also a part of one; 0: all.
    load_server_cores: float | Ref = 0.0
    #: Its threads that place rows on shards; 0: the thread of each connection places its own.
    hash_threads: int | Ref = 0
    #: Files are read from the disk and not from the kernel's memory of it.
    cold_inputs: bool = True


@dataclass(frozen=True, kw_only=True)
class Pipeline(Ends[Ref]):
    """Of a study of its own kind: its files are made of a size."""

    table: str
    #: Of a row as text, about: rows of a file are its bytes over this.
    row_bytes: int
    #: Of files of unequal sizes, on average.
    file_bytes: int | Ref
    #: Of all pipelines together, or of each; None: those that the table lies in by itself.
    files: Total[Ref] | PerSession[Ref] | None = None
    shards: int | Ref = 1
    #: Hosts that its pipelines are shared out to; more than one are workers of a fleet.
    client_hosts: int | Ref = 1
    #: Worker of a fleet, by its name or its host, that is the load server; those of clients, the first one first. Others are
    #: dealt out.
    load_server_on: str = ""
    clients_on: tuple[str, ...] = ()
    #: Each row once more, on the next shard.
    replica: bool | Ref = False


@dataclass(frozen=True, kw_only=True)
class StepPipeline(Ends[Ref]):
    """Of a load step: the rows of the step are made into so many files, or are those of a dump."""

    #: None: those that the table lies in by itself, or one.
    files: int | Ref | None = None


def readers_of_ends(factors: Factors) -> dict[str, Reader]:
    """Key -> what reads it, of keys that every pipeline has."""
    return {
        "client": word(CLIENTS, "client"),
        "pipelines": count(factors, 1, MOST_PIPELINES),
        "process_per_file": lambda flag: read_form(flag, factors, Node.flag, False),
        "connections": count(factors, 1, 64),
        "chunk_rows": count(factors, 1, 1_000_000),
        "flush_rows": count(factors, 1, 10_000_000),
        "device_bytes_per_s": count(factors, 0, 10**12),
        "pipeline_bytes_per_s": count(factors, 0, 10**12),
        "shard_rows_per_s": count(factors, 0, 10**9),
        "hash_threads": count(factors, 0, MOST_HASH_THREADS),
        "load_server_cores": lambda cores: read_form(cores, factors, read_cores, 0.0),
        "cold_inputs": Node.flag,
    }


def parse_pipeline(node: Node | None, factors: Factors, workload: Workload) -> Pipeline[FromFactor] | None:
    if node is None:
        return None
    readers: dict[str, Reader] = {
        "table": lambda table: parse_table(table, workload),
        "row_bytes": whole(1, 10**6),
        "file_bytes": count(factors, 1, MOST_FILE_BYTES),
        "files": lambda files: read_amount(files, factors),
        "shards": count(factors, 1, MOST_SHARDS),
        "client_hosts": count(factors, 1, MOST_PIPELINES),
        "load_server_on": Node.text,
        "clients_on": lambda names: names.texts(at_least=1),
        "replica": lambda flag: read_form(flag, factors, Node.flag, False),
        **readers_of_ends(factors),
    }
    fields = node.fields(readers, REQUIRED)
    if any(key not in fields for key in REQUIRED):
        return None
    found: Pipeline[FromFactor] = Pipeline(**given(fields, readers))
    check_bucket(found, fields)
    check_files(node, found, fields, workload)
    hosts = found.client_hosts
    if isinstance(hosts, int) and len(found.clients_on) > hosts:
        fields["clients_on"].problem(
            f"names {len(found.clients_on)} workers, and client_hosts is {hosts}; write client_hosts = {len(found.clients_on)}"
        )
    return found


def check_files(
    node: Node, found: Pipeline[FromFactor], fields: Mapping[str, Node], workload: Workload
) -> None:
    """A table that lies in files by itself says how many there are, and no other table does."""
    table = workload.tables.get(found.table)
    if table is None:
        return
    if table.chunks is None:
        if found.files is None:
            at = node.at("files", None).key
            remedy = "is missing; every table without chunks says how many there are"
            node.problems.append(Problem(node.file, at, "", remedy))
    elif found.files not in (None, Total(table.chunks.files)):
        fields["files"].problem(
            f"{table.name} lies in {table.chunks.files:,} files by itself (chunks); remove it"
        )


def parse_step_pipeline(node: Node, factors: Factors, from_dump: bool) -> StepPipeline[FromFactor]:
    """`[steps.pipeline]` of a load step."""
    readers = {**readers_of_ends(factors), "files": count(factors, 1, MOST_FILES)}
    fields = node.fields((*readers, *OF_SHARDS, *OF_HOSTS))
    for key in OF_SHARDS:
        if key in fields:
            fields[key].problem('later steps look at one server; several shards are kind = "pipeline"')
    for key in OF_HOSTS:
        if key in fields:
            fields[key].problem('the loader of a step is on one host; several are kind = "pipeline"')
    if from_dump and "files" in fields:
        fields["files"].problem("its files are those of the dump; remove it")
    found: StepPipeline[FromFactor] = StepPipeline(
        **given({k: v for k, v in fields.items() if k in readers}, readers)
    )
    check_bucket(found, fields)
    return found


def read_resumable(node: Node, fields: Mapping[str, Node], before: Mapping[str, str]) -> bool:
    """before: names of the steps so far, this one included."""
    if not node.flag():
        return False
    if "pipeline" not in fields:
        node.problem("sessions keep no ledger to go on by; write pipeline = { … }, or remove it")
    elif len(before) > 1:
        node.problem(
            f"what {next(iter(before))} did would have to be done again; make the load the first step, or remove it"
        )
    else:
        return True
    return False


def check_bucket(found: Ends[FromFactor], fields: Mapping[str, Node]) -> None:
    if found.client == "own" and found.device_bytes_per_s != 0:
        fields["device_bytes_per_s"].problem(
            'clients of their own do not share a bucket; write client = "shared"'
        )


def parse_table(node: Node, workload: Workload) -> str:
    table = node.text(workload.tables, "table")
    if table and workload.tables[table].files is not None:
        node.problem("its rows come from files already; name a table with generators")
    if table and not workload.tables[table].identity:
        node.problem("rows are placed by the table's identity, and it has none")
    return table


def read_cores(node: Node) -> float:
    """A number of cores, also a part of one; 0: all."""
    found = node.number(0.0)
    if found and not LEAST_CORES <= found <= MOST_CORES:
        node.problem(f"write {LEAST_CORES:g} to {MOST_CORES:g} cores, or 0 for all of them")
    return found
