"""What is recorded of a load while it goes on, line after line in a file: what a kill leaves of it is its beginning.

A line is a JSON object with its kind as `said`; its times are CLOCK_MONOTONIC. Nothing of it is kept in memory, however
many files and hours a load has. `stretches` makes the tables of it.
"""

from __future__ import annotations

import heapq
import json
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from inrush.agent.clocks import SAME, Clock

Doc = dict[str, Any]

#: Two looks at the clients are so far apart at least; and a load that goes on is recorded at least so often.
LOOK_NS, ALIVE_NS = 100_000_000, 200_000_000

#: Keys of lines that are times of CLOCK_MONOTONIC, of the host that the line is of.
TIMES = ("t_ns", "start_ns", "sent_ns", "end_ns")


class Journal:
    """Of one load, as long as its worker lives. Several threads may say something."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._out = path.open("a", encoding="utf-8")
        self._one = threading.Lock()
        self._look_ns = self._said_ns = 0

    def say(self, said: str, **line: Any) -> None:
        """With the kernel when it returns: a kill of this process loses none of it."""
        text = json.dumps({"said": said, **line}, separators=(",", ":"))
        with self._one:
            if not self._out.closed:
                self._out.write(text + "\n")
                self._out.flush()
                self._said_ns = time.monotonic_ns()

    def look(self, rows: int, size: int, last: bool = False) -> None:
        """Rows stored and bytes read so far by the clients of this journal. last: none follows."""
        now_ns = time.monotonic_ns()
        if last or now_ns - self._look_ns >= LOOK_NS:
            self._look_ns = now_ns
            self.say("look", t_ns=now_ns, rows=rows, bytes=size)

    def alive(self) -> None:
        """Called again and again: until when a load that was killed went on."""
        now_ns = time.monotonic_ns()
        if now_ns - self._said_ns >= ALIVE_NS:
            self.say("alive", t_ns=now_ns)

    def close(self) -> None:
        with self._one:
            self._out.close()


def lines(path: Path) -> Iterator[Doc]:
    """One after the other; half a line, which a kill left, says nothing."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as held:
        for text in held:
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                continue
            if isinstance(line, dict):
                yield line


def begun(path: Path) -> Doc | None:
    """What it was when its files were due; None of a load that did not come so far."""
    return next((line for line in lines(path) if line["said"] == "go"), None)


def on_one_clock(path: Path, clocks: Mapping[int, Clock], to: Path) -> Path:
    """With the times of each host on this one's clock, and looks at single clients added up. clocks: by host.

    Lines of one host are in order of time; those of all are merged, one pass for each host.
    """

    def of(host: int | None) -> Iterator[Doc]:
        clock = SAME if host is None else clocks[host]
        for line in lines(path):
            if line.get("host") == host:
                yield {
                    k: clock.here(v) if k in TIMES and host is not None else v
                    for k, v in line.items()
                    if k != "host"
                }

    hosts = sorted({line["host"] for line in lines(path) if "host" in line})
    by_key: dict[str, tuple[int, int]] = {}
    with to.open("w", encoding="utf-8") as out:
        for line in heapq.merge(*(of(host) for host in (None, *hosts)), key=said_ns):
            if "of" in line:
                by_key[line.pop("of")] = line["rows"], line["bytes"]
                line["rows"], line["bytes"] = (sum(each) for each in zip(*by_key.values(), strict=True))
            out.write(json.dumps(line, separators=(",", ":")) + "\n")
    return to


def said_ns(line: Doc) -> int:
    return int(line["t_ns"] if "t_ns" in line else line.get("end_ns", 0))
