"""What client and load server say while they load: files, rows and bytes so far, and where it is said on."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from inrush.agent.shared_run import OnEvent, Words
from inrush.border.events import NO_LATENCIES, LoadProgress, RoleProgress
from inrush.load.pipeline.ends import Said
from inrush.load.pipeline.inputs import Inputs
from inrush.load.pipeline.journal import Journal

Doc = dict[str, Any]


def is_stopped(words: Words) -> bool:
    return any(word["do"] == "stop" for word in words())


class Speaking(Protocol):
    def said(self, timeout_s: float) -> Iterable[Said]:
        """What was said since; waits for the first."""


class Heard:
    """Of one load. What grows with it goes to its journal; here are sums."""

    def __init__(self, on_event: OnEvent, journal: Journal) -> None:
        self.on_event, self.journal = on_event, journal
        #: Files that have ended.
        self.ended = 0
        #: Of processes at work, by process: what its clients have stored and read, what its load server has received.
        self.at_work: dict[str, tuple[int, int]] = {}
        self.received: dict[str, int] = {}
        #: The same of processes that have ended.
        self.left = (0, 0)
        self.received_before = 0
        #: Shard and what of it -> how much the load servers that have ended stored there.
        self.stored_in: dict[str, int] = {}
        #: Rows that were stored before this journal began, and rows of all files; 0: not known yet.
        self.rows_before = self.rows_due = 0
        #: Of a load that was killed before: from when to when no client loaded, ns.
        self.gaps: Sequence[tuple[int, int]] = ()

    @property
    def rows(self) -> int:
        return self.left[0] + sum(rows for rows, _ in self.at_work.values())

    @property
    def bytes(self) -> int:
        return self.left[1] + sum(size for _, size in self.at_work.values())

    def listen(self, ends: Speaking, timeout_s: float) -> None:
        for said in ends.said(timeout_s):
            self.take(said)

    def take(self, said: Said) -> None:
        event = said.event
        # Of another host's clock, which is set right when its drift is known (`on_one_clock`).
        there = {} if said.host is None else {"host": said.host}
        match event["event"], said.role:
            case "begins", _:
                self.journal.say(
                    "begins", t_ns=event["start_ns"], file=event["number"], pipeline=event["reader"], **there
                )
            case "file", _:
                self.ended += 1
                self.journal.say(
                    "file", file=event["number"], pipeline=event["reader"],
                    **{name: event[name] for name in ("start_ns", "sent_ns", "end_ns", "bytes", "rows", "rejected")},
                    **there,
                )  # fmt: skip
            case (("progress" | "finished"), "client"):
                # A load server that was killed may have stored what its client sends again.
                stored = event["rows_stored"] + event["rows_of_others"]
                self.at_work[said.key] = stored, event["bytes"]
                if event["event"] == "finished":
                    rows, size = self.at_work.pop(said.key)
                    self.left = self.left[0] + rows, self.left[1] + size
                if said.host is None:
                    self.journal.look(self.rows, self.bytes)
                else:
                    counts = {"rows": stored, "bytes": event["bytes"]}
                    self.journal.say("look", t_ns=event["t_ns"], of=said.key, **counts, **there)
            case (("progress" | "finished"), "load_server"):
                self.received[said.key] = event["bytes"]
                if event["event"] == "finished":
                    self.received_before += self.received.pop(said.key)
                    self.stored_by(event)
                total = self.received_before + sum(self.received.values())
                heard_ns = time.monotonic_ns() if said.host is None else event["t_ns"]
                self.journal.say("net", t_ns=heard_ns, bytes=total, **there)
            case "note", _:
                self.on_event({"event": "note", "text": event["text"]})

    def stored_by(self, event: Doc) -> None:
        for shard in event["shards"]:
            counts = {"rows": shard["rows"] + shard["rows_of_others"], "commits": shard["commits"]}
            for what, count in counts.items():
                name = f"{shard['name']} {what}"
                self.stored_in[name] = self.stored_in.get(name, 0) + count

    def counted(self, segment: int, read: Inputs, t_ns: int, held_by: str) -> list[Doc]:
        """Rows of `counters`: what the kernel held of the files, what holds the load server, what each shard got."""
        held: dict[str, int | str] = {"inputs_bytes": read.bytes, "inputs_cached_bytes": read.cached_bytes}
        if held_by:
            held["load server held by"] = held_by
        stored = self.stored_in
        if self.rows_before:
            # Of one shard. How many commits earlier load servers made is not known.
            stored = {k: n + self.rows_before for k, n in stored.items() if k.endswith(" rows")}
        return [
            {"segment": segment, "t_ns": t_ns, "name": name, "value": str(value)}
            for name, value in {**held, **stored}.items()
        ]

    def progress(
        self, segment: int, label: str, phase: str, role: str, share: float, seconds: float = 0.0
    ) -> None:
        per_s, files_per_s = (x / seconds if seconds else 0.0 for x in (self.rows, self.ended))
        done: RoleProgress = {
            "rows": self.rows, "ops": self.ended, "rows_per_s": per_s, "ops_per_s": files_per_s, "p99_ms": None,
            "errors": 0, "due": None, "backlog": 0, "lag_p99_ms": None, "late": 0, "failed": {}, "latency": NO_LATENCIES,
        }  # fmt: skip
        own = share - self.share_before
        left_s = seconds * (1 - share) / own if seconds and own > 0 else None
        loaded: LoadProgress | None = None
        if seconds and self.rows_due:
            gaps = self.gaps
            loaded = {
                "rows": self.rows_before + self.rows, "of": self.rows_due, "gaps": len(gaps),
                "gaps_s": sum(end - begin for begin, end in gaps) / 1e9,
            }  # fmt: skip
        self.on_event({
            "event": "progress", "t_ns": round(seconds * 1e9), "segment": segment, "label": label, "phase": phase,
            "repetition": 0, "began_ns": 0, "share": share, "left_s": left_s, "roles": {role: done}, "client_cpu": None,
            "resources": (),
            **({"loaded": loaded} if loaded is not None else {}),
        })  # fmt: skip

    @property
    def share_before(self) -> float:
        """Of all rows, what was stored before this journal began."""
        return self.rows_before / self.rows_due if self.rows_due else 0.0
