"""Sizes of the table while it is loaded: a server is asked on a connection of its own, of an embedded engine's files the
file system is. The load server has such a database open, and its engine lets no other process in."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.border.plan import SamplePlan
from inrush.engines import server
from inrush.engines.base.sql import file_of
from inrush.engines.servers.page_cache import BESIDE
from inrush.targets.ask import ask

if TYPE_CHECKING:
    from inrush import _core

#: Takes what was found: pairs of name and bytes.
Take = Callable[[Sequence[tuple[str, str]]], None]

#: Limit of one statement, s, however often it is asked; and how long the end of a load waits for the one in hand.
ASK_S, END_S = 60.0, 5.0


@contextlib.contextmanager
def sampled(plan: SamplePlan | None, target: Mapping[str, Any], take: Take) -> Iterator[None]:
    """Looks every `plan["every_ns"]` as long as the block lasts. A look that fails is a gap in the curve and no more."""
    if plan is None:
        yield
        return
    over = threading.Event()
    looker = threading.Thread(target=look_until, args=(over, plan, target, take), name="sizes", daemon=True)
    looker.start()
    try:
        yield
    finally:
        over.set()
        looker.join(END_S)


def look_until(over: threading.Event, plan: SamplePlan, target: Mapping[str, Any], take: Take) -> None:
    every_s = plan["every_ns"] / 1e9
    look = of_files(target) if server(target["engine"]).embedded else of_server(plan, target)
    while not over.wait(every_s):
        found = look()
        if found and not over.is_set():
            take(found)


def of_files(target: Mapping[str, Any]) -> Callable[[], list[tuple[str, str]]]:
    path = file_of(str(target["url"]))

    def look() -> list[tuple[str, str]]:
        """`file` is the database's, `log` what its engine keeps beside it."""
        held = {end: size_of(Path(path + end)) for end in BESIDE}
        if not path or not held[""]:
            return []
        log = sum(size for end, size in held.items() if end)
        return [("file", str(held[""])), ("log", str(log))]

    return look


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def of_server(plan: SamplePlan, target: Mapping[str, Any]) -> Callable[[], list[tuple[str, str]]]:
    from inrush import _core

    held: list[_core.Control] = []

    def look() -> list[tuple[str, str]]:
        try:
            if not held:
                held.append(_core.Control(json.dumps(target)))
            return [
                (str(name), str(value))
                for probe in plan["probes"]
                for name, value, *_ in ask(target, probe["statement"], ASK_S, held[0])
            ]
        except _core.CoreFailure:
            # A server that was restarted answers on another connection.
            held.clear()
            return []

    return look
