"""An end of a load, client or load server: it waits for its plan, so that the interpreter is there when a load begins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from inrush.agent.drive import followed

if TYPE_CHECKING:
    from inrush.agent.parent import Parent
    from inrush.border.words import Document, Word

#: How long one poll of the core waits, s: the longest a word stays unread.
POLL_S = 0.05


def work(document: Document, parent: Parent) -> int:
    from inrush import _core

    if not (words := parent.wait()):
        return 0  # it was not needed
    first, *behind = words
    load = _core.start_load(json.dumps(first["plan"]))

    def obey(word: Word) -> None:
        if word["do"] == "stop":
            load.stop()

    for word in behind:
        obey(word)
    return followed(load, parent, obey, parent.say, POLL_S)
