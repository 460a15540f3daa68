"""Columns `bit(n)`: strings of 1 to 64 bits, as the numbers that they are. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from inrush.study.document import Node

BIT = re.compile(r"bit(?:\((\d+)\))?\Z")
#: What a number of 64 bits holds, and MySQL takes.
MOST = 64


def parse_bits(members: Mapping[str, Node]) -> int:
    """n of a column with type `bit(n)`; 0 of any other."""
    kind = members["type"].value if "type" in members else None
    found = BIT.match(kind) if isinstance(kind, str) else None
    if found is None:
        return 0
    bits = int(found[1] or 0)
    if not 1 <= bits <= MOST:
        members["type"].problem(f"bit(n) has 1 to {MOST} bits; write bit(8)")
        return 8
    return bits


def of_bits(gen: Mapping[str, Any], bits: int, node: Node) -> dict[str, Any]:
    """The generator of a string of bits, which knows how many its column's type has."""
    if "bits" in gen:
        node.problem("`bits` stands in the column's type; leave it out here")
    return {**gen, "bits": bits}
