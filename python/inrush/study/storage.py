"""The factor `storage`: names of folders on which each engine runs, one point beside the other. Pure."""

from __future__ import annotations

import re

from inrush.border.labels import STORAGE
from inrush.study.document import Node
from inrush.study.forms import Factors, FromFactor

NAME = re.compile(r"[a-z][a-z0-9_-]*")
NAMED_SO = "storages are named by lower case letters, digits, - and _"


def parse_storage(factors: Factors, root: Node) -> FromFactor | None:
    """The factor `storage` is meant without a key of its own: its values are names, and only a command line has folders."""
    for i, value in enumerate(factors.get(STORAGE, ())):
        if not isinstance(value, str) or not NAME.fullmatch(value):
            root.at(f"factors.{STORAGE}[{i}]", value).problem(NAMED_SO)
    return FromFactor(STORAGE) if STORAGE in factors else None
