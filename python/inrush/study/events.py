"""Which rows a generated table has and how they follow one another: `rates` and `chunks` of a table, `row_order` of a
study. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from inrush.study.document import Node
from inrush.study.forms import Factors, FromFactor
from inrush.study.sizes import parse_size, read_place
from inrush.workload import PROFILES, Chunks, Rates

ORDERS = ("key", "time", "random")
#: Of rows that have no time.
ORDERS_OF_CHUNKS = ("key", "random")
#: `60 files`: the table's time cut into so many parts.
FILES = re.compile(r"([1-9][0-9]{0,8}) files?\Z")
SIGMA_MOST = 3.0
#: Chunks of a sky of 340 stripes.
CHUNKS_MOST = 146_332
#: What rows in files of chunks do not have -> why.
NOT_OF_CHUNKS: Mapping[str, str] = {
    "series": "rows in files of chunks are no events of series; remove it",
    "period_s": "rows in files of chunks have no times; remove it",
    "rates": "rows in files of chunks have no rates; remove it",
    "source": "chunks lay out rows that are generated; remove it, or the chunks",
    "files": "chunks lay out rows that are generated; remove it, or the chunks",
}


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


def parse_chunks(fields: Mapping[str, Node], sizes: Mapping[str, float]) -> Chunks | None:
    """`{ files = 1_000, run_rows = 550, profile = "survey" }` of a table's fields; None: it has none."""
    if "chunks" not in fields:
        return None
    for key, why in NOT_OF_CHUNKS.items():
        if key in fields:
            fields[key].problem(why)
    own = fields["chunks"].fields(("files", "run_rows", "profile"), required=("files", "run_rows"))
    files = parse_size(own["files"], sizes) if "files" in own else 1
    if files > CHUNKS_MOST:
        own["files"].problem(f"a file holds one chunk, and a sky has {CHUNKS_MOST:,} of them")
    said = own["profile"].text(PROFILES, "profile") if "profile" in own else ""
    profile = next((known for known in PROFILES if known == said), PROFILES[0])
    return Chunks(files, parse_size(own["run_rows"], sizes) if "run_rows" in own else 1, profile)


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
