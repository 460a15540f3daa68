"""Which rows a generated table has and how they follow one another: `rates` of a table, `row_order` of a study. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from inrush.study.document import Node
from inrush.study.forms import Factors, FromFactor
from inrush.study.sizes import read_place
from inrush.workload import Rates

ORDERS = ("key", "time", "random")
#: `60 files`: the table's time cut into so many parts.
FILES = re.compile(r"([1-9][0-9]{0,8}) files?\Z")
SIGMA_MOST = 3.0


def parse_rates(node: Node, series: int, sizes: Mapping[str, float]) -> Rates | None:
    """`{ sigma = 1.2, pinned = 17, share = 0.012 }`; None where it says nothing that can be meant."""
    fields = node.fields(("sigma", "pinned", "share"), required=("sigma",))
    if "sigma" not in fields:
        return None
    sigma = fields["sigma"].number()
    if sigma > SIGMA_MOST:
        fields["sigma"].problem(
            f"the spread of rates (standard deviation of their logarithms) is 0 to {SIGMA_MOST:g}"
        )
    if ("pinned" in fields) != ("share" in fields):
        node.problem("`pinned`, a series from 0, and `share`, its part of all rows, are given together")
        return None
    if "pinned" not in fields:
        return Rates(sigma)
    pinned, share = read_place(fields["pinned"], sizes), fields["share"].number()
    if pinned >= series:
        fields["pinned"].problem(f"the table has {series} series, from 0")
    if not 0 < share < 1:
        fields["share"].problem("write a share above 0 and below 1")
    return Rates(sigma, pinned, share)


def parse_order(node: Node | None, factors: Factors, root: Node) -> str | FromFactor | None:
    """An order that all generated tables have; the factor `row_order` is meant without a value."""
    if node is None or node.value == "@row_order":
        for i, value in enumerate(factors.get("row_order", ())):
            check_order(root.at(f"factors.row_order[{i}]", value))
        return FromFactor("row_order") if "row_order" in factors else None
    check_order(node)
    return str(node.value)


def check_order(node: Node) -> None:
    if not isinstance(node.value, str) or not (node.value in ORDERS or FILES.match(node.value)):
        node.problem(f"an order is {', '.join(ORDERS)}, or `60 files`: the table's time in so many parts")
