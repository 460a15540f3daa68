"""Drives a run, or its share of one, by sessions of the core."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from inrush import _core
    from inrush.agent.parent import Parent
    from inrush.border.words import Document, Word

#: How long one poll of the core waits, s: the longest a word stays unread.
POLL_S = 0.1


def work(document: Document, parent: Parent) -> int:
    return driven(document["plan"], document["parts"], parent, parent.say)


def driven(
    plan: object, parts: str, parent: Parent, hear: Callable[[str], None], words: Sequence[Word] = ()
) -> int:
    """hear: takes each event. words: that came before. Raises CoreFailure of a plan that cannot begin."""
    from inrush import _core

    run = _core.start(json.dumps(plan), parts)
    for word in words:
        obey(run, word)
    return followed(run, parent, lambda word: obey(run, word), hear)


class AtWork(Protocol):
    """What the core does in threads of its own: a run, or an end of a load."""

    def done(self) -> bool: ...

    def poll(self, timeout_s: float) -> list[str]: ...


def followed(
    of: AtWork,
    parent: Parent,
    obey: Callable[[Word], None],
    hear: Callable[[str], None],
    poll_s: float = POLL_S,
) -> int:
    """Carries events out and words in. 0: it has finished; 1: it failed, and an event says how."""
    failed = False
    for events in said(of, poll_s):
        for event in events:
            failed = failed or json.loads(event)["event"] == "failed"
            hear(event)
        for word in parent.words() if not of.done() else ():
            obey(word)
    return 1 if failed else 0


def said(of: AtWork, poll_s: float = POLL_S) -> Iterator[list[str]]:
    """What the core says until it has ended, again and again: nothing where it had nothing to say for so long."""
    done = False
    while not done:
        done = of.done()  # asked before the poll: what the core said last is still read
        yield of.poll(0.0 if done else poll_s)


def obey(run: _core.Run, word: Word) -> None:
    match word["do"]:
        case "resume":
            threads = {int(tid): name for tid, name in word.get("threads", {}).items()}
            run.resume(word.get("processes", {}), threads)
        case "go":
            others = word.get("others")
            run.start_at(word["at_ns"], json.dumps(others) if others else None)
        case "stop":
            run.stop()
        case other:
            raise ValueError(f"unknown word {other!r}: resume, go or stop")
