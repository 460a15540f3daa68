"""A node of a fleet with one thing other than it should be, named by the file `odd` in its folder: for tests of what is found.

`python -m tests.odd_node`, as inrush.agent.program; with arguments of a node behind it, it is one without a parent.
"""

from __future__ import annotations

import asyncio
import io
import sys
import time
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from inrush.agent import program
from inrush.agent.parent import Lines, Parent
from inrush.border.words import Document
from inrush.fleet import node, remote

#: What is odd at a worker named so.
NAMES = ("002", "host-2")
AHEAD_NS = 50_000_000
ahead_ns = ContextVar("ahead_ns", default=0)


def work(document: Document, parent: Parent) -> int:
    words = document["arguments"]
    if "--name" in words and words[words.index("--name") + 1] in NAMES:
        folder = Path(words[words.index("--local-directory") + 1])
        said = folder / "odd"

        def odd() -> str:
            return said.read_text() if said.is_file() else ""

        def lying() -> int:
            return time.monotonic_ns() + ahead_ns.get()

        def decide() -> None:
            # One answer has one clock: of one that is set in the middle of it, half is seen.
            ahead_ns.set(AHEAD_NS if odd() == "clock" else 0)

        def echoed() -> tuple[int, int]:
            decide()
            return echo()

        async def polled(*words: Any) -> Any:
            decide()
            return await poll(*words)

        sources, word, echo, poll = remote.sources, remote.word, remote.echo, remote.poll

        async def heard(key: str, text: str) -> None:
            if odd() == "deaf":
                await asyncio.sleep(60.0)
            word(key, text)

        clock = SimpleNamespace(monotonic_ns=lying, monotonic=time.monotonic)
        setattr(remote, "time", clock)  # noqa: B010
        setattr(remote, "word", heard)  # noqa: B010
        setattr(remote, "echo", echoed)  # noqa: B010
        setattr(remote, "poll", polled)  # noqa: B010
        setattr(remote, "sources", lambda: "0ther" if odd() == "sources" else sources())  # noqa: B010
    return as_ever(document, parent)


if __name__ == "__main__":
    as_ever = node.work
    setattr(node, "work", work)  # noqa: B010
    # A node with a parent has its document from it, and words behind its program that only name it.
    if sys.argv[1:2] == ["worker"]:
        sys.exit(work({"does": "node", "arguments": sys.argv[1:]}, Parent(Lines(0), io.StringIO())))
    sys.exit(program.main())
