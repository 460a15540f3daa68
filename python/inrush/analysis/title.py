"""The title of a study as it was run. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inrush.text import listed

#: Parts of a study that change how often, in which order and how strictly it is measured, and not what.
HOW = ("repeats.", "stop.", "accept.", "engines.")
#: Characters of changes that a title has room for.
ROOM = 80


def title_of(study: Mapping[str, Any]) -> str:
    """What the file calls the study; where `-P` changed what is measured, that may be wrong, and the changes stand in its place.

    study: the document of a study's results.
    """
    name = str(study.get("study") or "inrush")
    words = (str(change).partition("=") for change in study.get("overrides") or ())
    # Of a key that was changed twice the last value counts.
    changed = {key.strip(): value.strip() for key, _, value in words if not key.strip().startswith(HOW)}
    if not changed:
        return str(study.get("title") or name)
    whole = ", ".join(f"{key} = {value}" for key, value in changed.items())
    return f"{name} with {whole if len(whole) <= ROOM else 'changed ' + listed(list(changed))}"
