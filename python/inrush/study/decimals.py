"""Columns `decimal(p, s)`: numbers of p digits, s of them behind the point. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from inrush.study.document import Node

DECIMAL = re.compile(r"decimal(?:\((\d+)(?:, *(\d+))?\))?\Z")
#: Digits at most. Twin of PRECISION_MOST in rust/rows/src/rows/decimals.rs.
MOST = 38


def parse_decimal(members: Mapping[str, Node]) -> tuple[int, int] | None:
    """(p, s) of a column with type `decimal(p, s)`; None of any other."""
    kind = members["type"].value if "type" in members else None
    found = DECIMAL.match(kind) if isinstance(kind, str) else None
    if found is None:
        return None
    precision, scale = int(found[1] or 0), int(found[2] or 0)
    if not 1 <= precision <= MOST or scale > precision:
        members["type"].problem(
            f"a decimal has 1 to {MOST} digits, not more of them behind the point; write decimal(10, 2)"
        )
        return 10, 2
    return precision, scale


def of_digits(gen: Mapping[str, Any], digits: tuple[int, int], node: Node) -> dict[str, Any]:
    """The generator of a decimal, which knows the digits of its column's type."""
    for given in ("precision", "scale"):
        if given in gen:
            node.problem(f"`{given}` stands in the column's type; leave it out here")
    return {**gen, "precision": digits[0], "scale": digits[1]}
