"""A file in place of a database: what the disk below a folder can do. Twin of rust/engines/src/engine/device.rs.

It has no tables and no language: calls read and write records, and what they do stands in directives.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from inrush.border.plan import Statement
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.instance import Target
from inrush.engines.base.plans import OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.twin import Twin
from inrush.machine.device_probe import opens_direct
from inrush.workload import Operation, Table

#: The row (file, bytes); fails where the file is gone.
SIZE: Statement = {"text": "size of the file", "directives": {"file": {"kind": "size"}}}
NO_TABLES = "device reads and writes records of a file, and has no tables: its operations are of kind io"


class DeviceFile(Twin):
    name: ClassVar[str] = "device"
    title = "Device"
    schemes = ("device",)
    methods = ("bulk",)
    embedded = True
    works_in_client = True
    takes_records = True
    takes_url = False
    indexes = False
    rate = (1e-4, 0.0)

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        return ()

    def drop_namespace(self, namespace: str) -> tuple[Statement, ...]:
        return ()

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        wire = {column.name: "" for column in table.columns}
        return TablePlan(table.name, (), (), (), wire, takes_no_rows=NO_TABLES)

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        return OpPlan("") if operation.kind == "io" else Unsupported(NO_TABLES)

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return Proof("", (), "")

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        # Among the counters it is asked after every step: a file that was removed meanwhile ends the run.
        return Probes(sizes=(SIZE,), counters=(SIZE,))

    def durability(self, settings: Mapping[str, str]) -> Durability:
        """A write is acknowledged when the device has it, which may be in a cache that loses power."""
        return Durability(Survives.PROCESS_CRASH, because={"engine": "no write is flushed"})

    def run_target(self, target: Target, data: Path) -> Target:
        return replace(target, url=f"device://{data.absolute()}/inrush.device")

    def unfit(self, folder: Path, options: Mapping[str, str], needed_bytes: int) -> str:
        stat = os.statvfs(folder)
        if (free := stat.f_bavail * stat.f_frsize) < needed_bytes:
            return f"has {free:,} bytes free, and the file needs {needed_bytes:,}; lower sizes.file_bytes, or name another folder"
        if options.get("direct", "true") != "true":
            return ""
        probe = folder / f".inrush-direct-{os.getpid()}"
        try:
            is_direct = opens_direct(probe)
        finally:
            probe.unlink(missing_ok=True)
        if is_direct:
            return ""
        return (
            "its filesystem has no direct I/O; name a folder on another one, or write direct = false under [options.device], "
            "which measures the kernel's cache too"
        )
