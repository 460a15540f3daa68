"""Ends of a load one after the other, each in a process of its own, whose events are ours.

A plan begins one, and a word is for the one at work; when it has gone, we say so. This process lives as long as its run: the CPU
of ends that come and go is in its account.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator

from inrush.agent.parent import GIVEN, Parent, environment_of_child
from inrush.agent.process import AGENT
from inrush.border.words import Document, Word


def work(document: Document, parent: Parent) -> int:
    words = itertools.chain.from_iterable(iter(parent.wait, []))
    for word in words:
        if word["do"] == "load":
            parent.say({"event": "left", "code": hosted(word, words)})
    return 0


def hosted(load: Word, words: Iterator[Word]) -> int:
    """One end from its plan to its exit code. A load server works until a word stops it."""
    with subprocess.Popen(
        [*AGENT, "end"],
        stdin=subprocess.PIPE,
        text=True,
        env=environment_of_child(),
    ) as end:
        assert end.stdin is not None

        def say(said: Document | Word) -> None:
            assert end.stdin is not None
            end.stdin.write(json.dumps(said) + "\n")
            end.stdin.flush()

        say(Document(does="end", environment=GIVEN))
        say(load)
        if load["plan"]["role"] == "server":
            say(next(words, Word(do="stop")))
        return end.wait()
