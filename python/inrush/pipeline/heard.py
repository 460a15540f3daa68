"""What client and load server say while they load: files, rows and bytes so far, and where it is said on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from inrush.pipeline import tables
from inrush.pipeline.ends import LoadProcesses, Said
from inrush.pipeline.inputs import Inputs
from inrush.study.pipeline import ROLE

Doc = dict[str, Any]
OnEvent = Callable[[Mapping[str, Any]], None]


class Heard:
    """Of one load."""

    def __init__(self, on_event: OnEvent) -> None:
        self.on_event = on_event
        self.files: list[Doc] = []
        self.net: list[tuple[int, int]] = []
        #: What every client has stored and every load server has received, by process.
        self.stored: dict[str, int] = {}
        self.received: dict[str, int] = {}
        #: Bytes that every client has read, and (t_ns, rows stored, bytes read) of all of them, as they said it.
        self.read: dict[str, int] = {}
        self.looks: list[tuple[int, int, int]] = []
        self.written: dict[str, Doc] = {}

    @property
    def rows(self) -> int:
        return sum(self.stored.values())

    def listen(self, ends: LoadProcesses, timeout_s: float) -> None:
        for said in ends.said(timeout_s):
            self.take(said)

    def take(self, said: Said) -> None:
        event = said.event
        match event["event"], said.role:
            case "file", _:
                self.files.append(event)
            case (("progress" | "finished"), "client"):
                self.stored[said.key], self.read[said.key] = event["rows_stored"], event["bytes"]
                self.looks.append((time.monotonic_ns(), self.rows, sum(self.read.values())))
            case (("progress" | "finished"), "load_server"):
                self.received[said.key] = event["bytes"]
                self.net.append((time.monotonic_ns(), sum(self.received.values())))
                if event["event"] == "finished":
                    self.written[said.key] = event
            case "note", _:
                self.on_event({"event": "note", "text": event["text"]})

    def counted(self, segment: int, read: Inputs, t_ns: int, held_by: str) -> list[Doc]:
        """Rows of `counters`: what the kernel held of the files, what holds the load server, what each shard got."""
        held: dict[str, int | str] = {"inputs_bytes": read.bytes, "inputs_cached_bytes": read.cached_bytes}
        if held_by:
            held["load server held by"] = held_by
        stored: dict[str, int] = {}
        for event in self.written.values():
            for shard in event["shards"]:
                for what in ("rows", "commits"):
                    name = f"{shard['name']} {what}"
                    stored[name] = stored.get(name, 0) + shard[what]
        return [
            {"segment": segment, "t_ns": t_ns, "name": name, "value": str(value)}
            for name, value in {**held, **stored}.items()
        ]

    def progress(
        self,
        label: str,
        share: float,
        seconds: float = 0.0,
        segment: int = tables.MEASURED,
        phase: str = "",
        role: str = ROLE,
    ) -> None:
        """phase: where it is not called as the segment is."""
        per_s, files_per_s = (x / seconds if seconds else 0.0 for x in (self.rows, len(self.files)))
        done = {
            "rows": self.rows, "ops": len(self.files), "rows_per_s": per_s, "ops_per_s": files_per_s, "p99_ms": None,
            "errors": 0, "backlog": 0,
        }  # fmt: skip
        left_s = seconds * (1 - share) / share if seconds and share else None
        self.on_event({
            "event": "progress", "t_ns": 0, "segment": segment, "label": label, "phase": phase or label, "repetition": 0,
            "share": share, "left_s": left_s, "roles": {role: done}, "client_cpu": None,
        })  # fmt: skip
