"""The numbers of a pipeline at one point. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from inrush.engines.base.twin import Twin
from inrush.study.forms import Plain
from inrush.study.pipeline import Ends


@dataclass(frozen=True)
class PipelineNumbers:
    """The numbers of one point."""

    pipelines: int
    process_per_file: bool
    shards: int
    files: int
    file_bytes: int
    rows_per_file: int
    connections: int
    chunk_rows: int
    flush_rows: int
    device_bytes_per_s: int
    pipeline_bytes_per_s: int
    shard_rows_per_s: int
    load_server_cores: float
    hash_threads: int = 0
    replica: bool = False
    client_hosts: int = 1

    @property
    def rows(self) -> int:
        return self.files * self.rows_per_file


def numbers_of(
    of: Ends[Plain],
    files: int,
    file_bytes: int,
    rows_per_file: int,
    shards: int = 1,
    replica: bool = False,
    client_hosts: int = 1,
) -> PipelineNumbers:
    return PipelineNumbers(
        pipelines=of.pipelines,
        process_per_file=of.process_per_file,
        shards=shards,
        files=files,
        file_bytes=file_bytes,
        rows_per_file=rows_per_file,
        connections=of.connections,
        chunk_rows=of.chunk_rows,
        flush_rows=of.flush_rows,
        device_bytes_per_s=of.device_bytes_per_s,
        pipeline_bytes_per_s=of.pipeline_bytes_per_s,
        shard_rows_per_s=of.shard_rows_per_s,
        load_server_cores=float(of.load_server_cores),
        hash_threads=of.hash_threads,
        replica=replica,
        client_hosts=client_hosts,
    )


def contradiction(at: PipelineNumbers, server: Twin) -> str:
    """Why this engine cannot run the point; empty when it can."""
    if at.process_per_file and at.pipelines > 1 and server.embedded:
        return f"{server.name}: one process at a time opens its file, so that several load servers cannot share it"
    if at.process_per_file and at.device_bytes_per_s and at.pipelines > 1:
        return "clients of their own do not share a bucket: device_bytes_per_s needs process_per_file = false"
    if at.client_hosts > 1 and at.device_bytes_per_s:
        return (
            "clients on hosts of their own do not share a bucket: device_bytes_per_s needs client_hosts = 1"
        )
    if at.client_hosts > 1 and at.process_per_file:
        return (
            "a load server of each file is on the host of its client: process_per_file needs client_hosts = 1"
        )
    if at.connections > 1 and server.max_writers is not None:
        return f"{server.name} lets {server.max_writers} session write at a time: connections = 1"
    if at.replica and at.shards < 2:
        return "a replica lies on another shard: replica needs two shards at least"
    if at.replica and (server.loading is None or not server.loading.transactional):
        return f"{server.name} does not store rows and ledger together: replica = false"
    if at.files < at.pipelines:
        return f"{at.files} files do not keep {at.pipelines} pipelines at work"
    return ""
