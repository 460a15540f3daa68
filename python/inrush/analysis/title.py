"""The title of a study as it was run. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Parts of a study that change how often, in which order and how strictly it is measured, and not what.
HOW = ("repeats.", "stop.", "accept.", "engines.")


def title_of(study: Mapping[str, Any]) -> str:
    """What the file calls the study; where `-P` changed what is measured, that may be wrong, and the changes stand in its place.

    study: the document of a study's results.
    """
    name = str(study.get("study") or "inrush")
    changed = [change for change in study.get("overrides") or () if not str(change).startswith(HOW)]
    if changed:
        return f"{name} with {', '.join(str(change).replace('=', ' = ', 1) for change in changed)}"
    return str(study.get("title") or name)
