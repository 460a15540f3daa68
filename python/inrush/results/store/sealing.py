"""A run while it is written, and its sealing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from inrush.results.schema import RESULT_SCHEMA, SCHEMAS, conform, empty
from inrush.results.store.files import Doc, sha256, sync, whole_batches, write_json

#: Folder of what killed workers have left of a run that goes on.
EARLIER = "earlier"


@dataclass(frozen=True)
class OpenRun:
    """A run that is being written; the core writes `parts`, `seal` ends it."""

    path: Path

    @property
    def plan_path(self) -> Path:
        """The worker's: of one that goes on with a killed run beside its tables."""
        own = self.parts / "plan.json"
        return own if own.is_file() else self.path / "plan.json"

    @property
    def parts(self) -> Path:
        return self.path / "parts"

    @property
    def earlier(self) -> list[Path]:
        """Parts of the workers that were killed in this run, the first one first."""
        kept = self.path / EARLIER
        return sorted(kept.iterdir()) if kept.is_dir() else []

    @property
    def log(self) -> Path:
        n = len(self.earlier)
        return self.path / (f"worker-{n + 1}.log" if n else "worker.log")

    def table(self, name: str) -> pa.Table:
        """A table as far as it is written."""
        path = self.parts / f"{name}.arrows"
        batches = list(whole_batches(path)) if path.is_file() else []
        return conform(name, pa.Table.from_batches(batches)) if batches else empty(name)

    def seal(self, doc: Mapping[str, Any]) -> Doc:
        """Parts become Parquet, then run.json appears: from here on the run counts."""
        parts = sorted(self.parts.glob("*.arrows"))
        # Each waits for its own fsync: the disk is asked for all of them together.
        with ThreadPoolExecutor(len(parts) or 1) as pool:
            written = pool.map(_to_parquet, parts, [self.path / f"{p.stem}.parquet" for p in parts])
            tables = {p.stem: entry for p, entry in zip(parts, written, strict=True)}
        sync(self.path)
        sealed = {"schema": RESULT_SCHEMA, **doc, "run": self.path.name, "tables": tables}
        write_json(self.path / "run.json", sealed)
        shutil.rmtree(self.path / EARLIER, ignore_errors=True)
        shutil.rmtree(self.parts)
        for log in self.path.glob("worker*.log"):
            if log.stat().st_size == 0:
                log.unlink()
        return sealed


def _to_parquet(part: Path, path: Path) -> Doc:
    """Writes a table's Parquet from its stream; returns its entry in run.json."""
    name = path.stem
    temporary = path.with_name(path.name + ".tmp")
    rows = 0
    schema = SCHEMAS.get(name)
    metadata = {b"inrush.schema": str(RESULT_SCHEMA).encode(), b"inrush.table": name.encode()}
    writer: pq.ParquetWriter | None = None
    for batch in whole_batches(part):
        table = conform(name, pa.Table.from_batches([batch]))
        if writer is None:
            schema = table.schema
            writer = pq.ParquetWriter(temporary, schema.with_metadata(metadata), compression="zstd")
        writer.write_table(table.replace_schema_metadata(metadata))
        rows += table.num_rows
    if writer is None:
        writer = pq.ParquetWriter(
            temporary, (schema or pa.schema([])).with_metadata(metadata), compression="zstd"
        )
    writer.close()
    with temporary.open("rb") as f:
        os.fsync(f.fileno())
    temporary.rename(path)
    return {"file": path.name, "rows": rows, "bytes": path.stat().st_size, "sha256": sha256(path)}
